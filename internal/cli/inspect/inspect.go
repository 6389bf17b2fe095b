// Package inspect has the commands that show things and change nothing: show, output, console, graph, metadata,
// version.
package inspect
