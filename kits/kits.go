// Package kits holds the files that make writing a program provider in a language shorter: one for each, without
// dependencies. Programs get a copy of it beside them (`tombolo provider new` puts one there). They are optional: the
// protocol is made for languages without a kit.
package kits

import _ "embed"

// The kits, as the texts of their files, and the names that programs import them by.
var (
	//go:embed python/tombolo.py
	Python []byte
	//go:embed node/tombolo.js
	Node []byte
)

// The names of the files.
const (
	PythonName = "tombolo.py"
	NodeName   = "tombolo.js"
)
