// Package inspect has the commands that show what there is and change nothing: show, output, version.
package inspect
