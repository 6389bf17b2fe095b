// Package kits holds files that make program providers shorter to write: one file for each language, without
// dependencies. Programs have a copy beside them (`tombolo provider new` creates one). Kits are optional: the protocol
// is simple enough without one. The kit for Go is a package, in the folder tombolo.
package kits

import _ "embed"

// The texts of the kits.
var (
	//go:embed python/tombolo.py
	Python []byte
	//go:embed node/tombolo.js
	Node []byte
	//go:embed node/tombolo.d.ts
	NodeTypes []byte // for TypeScript and editors
	//go:embed ruby/tombolo.rb
	Ruby []byte
	//go:embed bash/tombolo.sh
	Bash []byte
)

// The names of the files, under which programs import them.
const (
	PythonName    = "tombolo.py"
	NodeName      = "tombolo.js"
	NodeTypesName = "tombolo.d.ts"
	RubyName      = "tombolo.rb"
	BashName      = "tombolo.sh"
)
