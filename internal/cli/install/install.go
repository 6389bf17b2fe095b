// Package install has the commands that install and list the dependencies of a directory: modules, providers, tokens of
// hosts.
package install
