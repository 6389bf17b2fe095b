// Package kits holds files that make program providers shorter to write: one file for each language, without
// dependencies. Programs have a copy beside them (`tombolo provider new` creates one). Kits are optional: the protocol
// is simple enough without one.
package kits

import _ "embed"

// The texts of the kits, and the names under which programs import them.
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
