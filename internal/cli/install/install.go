// Package install has the commands that install and list what a directory needs: init, get, providers.
package install
