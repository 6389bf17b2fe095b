// Package code has the commands that use only the configuration, without state and without real objects: fmt and
// validate.
package code
