// Package install has the commands that install and list what a directory needs: modules, providers, tokens of hosts.
package install
