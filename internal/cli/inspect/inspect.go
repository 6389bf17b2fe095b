// Package inspect has the commands that show what there is and change nothing: show, output, console, graph, metadata,
// version.
package inspect
