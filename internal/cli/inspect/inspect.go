// Package inspect has the commands that only show things: show, output, console, graph, metadata, version.
package inspect
