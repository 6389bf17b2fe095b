// Package install has the commands that bring what a directory needs and say what that is: init, get, providers.
package install
