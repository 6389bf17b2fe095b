// Package code has the commands that look at configuration alone, without state and without real objects: fmt,
// validate.
package code
