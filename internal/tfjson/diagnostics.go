package tfjson

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// Diagnostic is a problem in its JSON form.
type Diagnostic struct {
	Severity string   `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	Address  string   `json:"address,omitempty"`
	Code     string   `json:"code,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
	// Origin is the deprecated output value that a warning is about.
	Origin string `json:"deprecation_origin_description,omitempty"`
	// Within is the module or resource instance that was being evaluated, for texts.
	Within string `json:"-"`
}

// Range is a part of a source file.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a position in a source file. Line and column count from one; the byte offset counts from zero.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the source that a diagnostic refers to.
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

// SnippetValue is the value of an operand of the expression: `is 5`.
type SnippetValue struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// SnippetFunCall is the function that failed.
type SnippetFunCall struct {
	CalledAs  string         `json:"called_as"`
	Signature *FuncSignature `json:"signature,omitempty"`
}

// FuncSignature describes a function by name and parameters.
type FuncSignature struct {
	Name          string          `json:"name"`
	Description   string          `json:"description,omitempty"`
	Params        []FuncParam     `json:"params"`
	VariadicParam *FuncParam      `json:"variadic_param,omitempty"`
	ReturnType    json.RawMessage `json:"return_type"`
}

// FuncParam is one parameter of a FuncSignature.
type FuncParam struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

// Diagnostics returns the JSON form of a list in its order. sources holds the text of files by the file names in
// ranges; diagnostics in other files have no snippet.
func Diagnostics(list diag.List, sources map[string][]byte) []Diagnostic {
	out := make([]Diagnostic, 0, len(list))
	excerpts := NewExcerpts(sources)
	for _, d := range list {
		out = append(out, excerpts.diagnostic(d))
	}
	return out
}

func (e *Excerpts) diagnostic(d *diag.Diagnostic) Diagnostic {
	out := Diagnostic{Severity: d.Severity.String(), Summary: d.Summary, Detail: d.Text(diag.Program),
		Address: d.Address, Code: d.Code(), Within: d.Within}
	if deprecation, ok := extra[diag.Deprecation](d); ok {
		out.Origin = deprecation.Origin
	}
	if d.Subject == nil {
		return out
	}
	// An empty range is shown as one character.
	subject := *d.Subject
	if subject.Empty() {
		subject.End.Byte++
		subject.End.Column++
	}
	out.Range = &Range{Filename: subject.Filename, Start: position(subject.Start), End: position(subject.End)}
	from := e.of(subject.Filename)
	if !from.visible {
		return out
	}
	shown := subject
	if d.Context != nil && d.Context.Filename == subject.Filename {
		shown = hcl.RangeOver(shown, *d.Context)
	}
	out.Snippet = &Snippet{Values: []SnippetValue{}}
	if context := from.blockAround(subject); context != "" {
		out.Snippet.Context = &context
	}
	out.Snippet.cut(from.source, shown, subject)
	out.Snippet.operands(d)
	return out
}

func position(p hcl.Pos) Pos { return Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }

// blockAround returns the header of the innermost top-level block around a range.
func (x *excerpt) blockAround(rng hcl.Range) string {
	if x.file == nil {
		return ""
	}
	return hcled.ContextString(x.file, rng.Start.Byte-1)
}

// cut takes the whole lines of a range from the source, and finds the subject in them. It uses byte offsets, because
// line numbers in JSON strings count escaped line breaks. A range that includes a line break also shows the next line.
func (s *Snippet) cut(source []byte, shown, subject hcl.Range) {
	first := clamp(shown.Start.Byte, len(source))
	last := max(clamp(shown.End.Byte, len(source)), first)
	start := bytes.LastIndexByte(source[:first], '\n') + 1
	end := len(source)
	if next := bytes.IndexByte(source[last:], '\n'); next >= 0 {
		end = last + next
	}
	s.StartLine = shown.Start.Line
	s.Code = string(bytes.TrimRight(source[start:end], "\r\n"))
	s.HighlightStartOffset = clamp(subject.Start.Byte-start, len(s.Code))
	s.HighlightEndOffset = max(clamp(subject.End.Byte-start, len(s.Code)), s.HighlightStartOffset)
}

// MarshalJSON omits empty lines, and carriage returns at the ends of lines, like Terraform; the offsets refer to the
// result. Texts keep them, so that lines have the correct numbers.
func (s Snippet) MarshalJSON() ([]byte, error) {
	type plain Snippet
	out, at := plain(s), 0
	var code []byte
	for line := range strings.Lines(s.Code) {
		kept := strings.TrimRight(line, "\r\n")
		if kept != "" && len(code) > 0 {
			code = append(code, '\n')
		}
		for _, offset := range []struct{ from, to *int }{{&s.HighlightStartOffset, &out.HighlightStartOffset},
			{&s.HighlightEndOffset, &out.HighlightEndOffset}} {
			if *offset.from >= at {
				*offset.to = len(code) + min(*offset.from-at, len(kept))
			}
		}
		code, at = append(code, kept...), at+len(line)
	}
	out.Code = string(code)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the enclosing encoder escapes if necessary
	err := enc.Encode(out)
	return b.Bytes(), err
}

func clamp(n, most int) int { return max(0, min(n, most)) }

// Validate writes the document of `validate -json`, indented.
func Validate(w io.Writer, list diag.List, sources map[string][]byte) error {
	doc := struct {
		FormatVersion string       `json:"format_version"`
		Valid         bool         `json:"valid"`
		ErrorCount    int          `json:"error_count"`
		WarningCount  int          `json:"warning_count"`
		Diagnostics   []Diagnostic `json:"diagnostics"`
	}{FormatVersion: validateFormat, Valid: !list.HasErrors(), Diagnostics: Diagnostics(list, sources)}
	for _, d := range list {
		if d.Severity == diag.Error {
			doc.ErrorCount++
		} else {
			doc.WarningCount++
		}
	}
	return indented(w, doc)
}

func indented(w io.Writer, doc any) error {
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func typeJSON(ty cty.Type) json.RawMessage {
	var b bytes.Buffer
	if err := Type(&b, ty); err != nil {
		return json.RawMessage(`"dynamic"`)
	}
	return b.Bytes()
}
