package tfjson

import (
	"io"

	"github.com/tombolo-iac/tombolo/diag"
)

// Diagnostic is a problem in its JSON form.
type Diagnostic struct {
	Severity string   `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Address  string   `json:"address,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
}

// Range is a part of a source file.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a place in a source file. Line and column count from one; the byte offset counts from zero.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the source that a diagnostic speaks of.
type Snippet struct {
	// Context is the header of the block around it, such as `resource "terraform_data" "a"`; nil at the top level.
	Context *string `json:"context"`
	Code    string  `json:"code"`
	// StartLine is the line of the file on which Code starts; the offsets are bytes in Code.
	StartLine            int             `json:"start_line"`
	HighlightStartOffset int             `json:"highlight_start_offset"`
	HighlightEndOffset   int             `json:"highlight_end_offset"`
	Values               []SnippetValue  `json:"values"`
	FunctionCall         *SnippetFunCall `json:"function_call,omitempty"`
}

// SnippetValue tells what an operand of the expression was: `is 5`.
type SnippetValue struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// SnippetFunCall tells which function failed.
type SnippetFunCall struct {
	CalledAs  string         `json:"called_as"`
	Signature *FuncSignature `json:"signature,omitempty"`
}

// FuncSignature describes a function by name and parameters.
type FuncSignature struct {
	Name          string      `json:"name"`
	Description   string      `json:"description,omitempty"`
	Params        []FuncParam `json:"params"`
	VariadicParam *FuncParam  `json:"variadic_param,omitempty"`
}

// FuncParam is one parameter of a FuncSignature.
type FuncParam struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Diagnostics gives the JSON form of a list in its order. sources holds the text of files by the names that ranges carry; diagnostics
// in files that it lacks have no snippet.
func Diagnostics(list diag.List, sources map[string][]byte) []Diagnostic { return nil }

// Validate writes the document of `validate -json`, indented.
func Validate(w io.Writer, list diag.List, sources map[string][]byte) error { return nil }
