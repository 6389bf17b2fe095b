package tfjson

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Excerpts extracts the lines that diagnostics refer to from source files. Each file is parsed once, however many
// diagnostics refer to it.
//
// Values of sensitive or ephemeral variables are replaced by asterisks: in variable files, as defaults, in the
// variables of test files, and as literal arguments of modules. Values of undeclared variables are covered as well,
// because their names may be mistyped. A variable file that cannot be parsed is not shown at all if there are such
// variables, because their positions are unknown.
type Excerpts struct {
	sources map[string][]byte
	files   map[string]*excerpt
	// declared are the variables of all modules, and whether any of them is secret. It is nil until first use.
	declared map[string]bool
}

// excerpt is a file that diagnostics refer to.
type excerpt struct {
	file    *hcl.File // nil if it could not be parsed
	source  []byte    // a copy with secrets covered
	visible bool
}

// NewExcerpts returns the excerpts of files; sources holds their text by the file names in ranges.
func NewExcerpts(sources map[string][]byte) *Excerpts {
	return &Excerpts{sources: sources, files: map[string]*excerpt{}}
}

// Diagnostic returns the JSON form of one problem. A problem in a file without text has no snippet.
func (e *Excerpts) Diagnostic(d *diag.Diagnostic) Diagnostic { return e.diagnostic(d) }

// of returns the file that a diagnostic refers to.
func (e *Excerpts) of(name string) *excerpt {
	if x, ok := e.files[name]; ok {
		return x
	}
	x := &excerpt{}
	e.files[name] = x
	source, ok := e.sources[name]
	if !ok {
		return x
	}
	file, whole := parseQuietly(source, name)
	x.file, x.source, x.visible = file, bytes.Clone(source), true
	switch {
	case isConfiguration(name):
		e.coverConfiguration(x, name, whole)
	case isValues(name) || isTest(name):
		e.coverValues(x, name, whole)
	}
	return x
}

func isConfiguration(name string) bool {
	switch filepath.Ext(strings.TrimSuffix(name, ".json")) {
	case ".tf", ".tofu", ".tombolo":
		return true
	}
	return strings.HasSuffix(name, ".tfquery.hcl") || strings.HasSuffix(name, ".tfquery.json")
}

func isTest(name string) bool {
	for _, ext := range []string{".tftest.hcl", ".tftest.json", ".tfmock.hcl"} {
		if slices.ContainsFunc(flavor.OpenTofu.Extensions(ext), func(ext string) bool {
			return strings.HasSuffix(name, ext)
		}) {
			return true
		}
	}
	return false
}

// isValues treats all other files as variable files, because -var-file accepts any name.
func isValues(name string) bool {
	if name == "tombolo.hcl" { // the project file only has settings
		return false
	}
	for _, other := range []string{".lock.hcl", ".tfrc", "terraformrc", "tombolo-provider.json"} {
		if strings.HasSuffix(name, other) {
			return false
		}
	}
	return !isConfiguration(name) && !isTest(name) && !strings.HasPrefix(name, "<")
}

// parseQuietly parses a file for its blocks, ignoring problems, which are already known; whole reports whether there
// are none.
func parseQuietly(source []byte, filename string) (file *hcl.File, whole bool) {
	if nesting.Check(source, filename).HasErrors() {
		return nil, false // its problem is already reported
	}
	var diags hcl.Diagnostics
	if strings.HasSuffix(filename, ".json") {
		file, diags = json.Parse(source, filename)
	} else {
		file, diags = hclsyntax.ParseConfig(source, filename, hcl.InitialPos)
	}
	return file, !diags.HasErrors()
}

var secretParts = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "variable", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}},
	{Type: "run", LabelNames: []string{"name"}}, {Type: "variables"}, {Type: "terraform"},
	{Type: "data", LabelNames: []string{"type", "name"}}, {Type: "backend", LabelNames: []string{"type"}},
}}

// blocksOf returns the blocks of a body that may hold secrets.
func blocksOf(body hcl.Body) hcl.Blocks {
	if body == nil {
		return nil
	}
	content, _, _ := body.PartialContent(secretParts)
	if content == nil {
		return nil
	}
	return content.Blocks
}

// secretName reports whether the value of a variable must be covered. If no declaration is known, every value is
// covered.
func (e *Excerpts) secretName(name string) bool {
	secret, declared := e.declarations()[name]
	return secret || !declared
}

// declarations returns the declared variables.
func (e *Excerpts) declarations() map[string]bool {
	if e.declared != nil {
		return e.declared
	}
	e.declared = map[string]bool{}
	for name, source := range e.sources {
		if !isConfiguration(name) || !bytes.Contains(source, []byte("variable")) {
			continue
		}
		file, _ := parseQuietly(source, name)
		if file == nil {
			continue
		}
		for _, b := range blocksOf(file.Body) {
			if b.Type == "variable" {
				e.declared[b.Labels[0]] = e.declared[b.Labels[0]] || declaresSecret(b)
			}
		}
	}
	return e.declared
}

// declaresSecret reports whether a variable is sensitive or ephemeral, or may be, if a flag is invalid.
func declaresSecret(b *hcl.Block) bool {
	attrs, _ := b.Body.JustAttributes()
	for _, flag := range []string{"sensitive", "ephemeral"} {
		if attr, ok := attrs[flag]; ok {
			if v, _ := attr.Expr.Value(nil); !v.IsKnown() || v.IsNull() || v.Type() != cty.Bool || v.True() {
				return true
			}
		}
	}
	return false
}

// defaultLine matches the default of a variable, for files that cannot be parsed.
var defaultLine = regex.Lazy(`(?m)^[ \t]*"?default"?[ \t]*[=:](.*)$`)

func (e *Excerpts) coverConfiguration(x *excerpt, name string, whole bool) {
	if !whole {
		if bytes.Contains(x.source, []byte("sensitive")) || bytes.Contains(x.source, []byte("ephemeral")) {
			for _, at := range defaultLine().FindAllSubmatchIndex(x.source, -1) {
				x.cover(at[2], at[3])
			}
		}
		x.coverSettingLines()
	}
	if x.file == nil || !slices.ContainsFunc([]string{"variable", "module", "backend", remoteState}, x.mentions) {
		return
	}
	for _, b := range blocksOf(x.file.Body) {
		attrs, _ := b.Body.JustAttributes()
		switch b.Type {
		case "variable":
			if attr := attrs["default"]; attr != nil && (declaresSecret(b) || e.declarations()[b.Labels[0]]) {
				x.coverExpression(attr)
			}
		case "module":
			for argument, attr := range attrs {
				if e.declarations()[argument] && len(attr.Expr.Variables()) == 0 {
					x.coverExpression(attr)
				}
			}
		case "terraform":
			x.coverBackends(b.Body)
		case "data":
			if config := attrs["config"]; config != nil && b.Labels[0] == remoteState {
				x.coverSettings(config.Expr)
			}
		}
	}
}

func (e *Excerpts) coverValues(x *excerpt, name string, whole bool) {
	if x.file == nil || !whole {
		// a test file without a block "variables" sets none
		x.visible = !e.anySecret() || isTest(name) && !bytes.Contains(x.source, []byte("variables"))
		return
	}
	if acceptsDrift(x.file.Body) {
		return
	}
	cover := func(body hcl.Body) {
		attrs, diags := body.JustAttributes()
		if diags.HasErrors() {
			e.coverOther(x, body)
		}
		for name, attr := range attrs {
			if e.secretName(name) {
				x.coverExpression(attr)
			}
		}
	}
	if isValues(name) {
		cover(x.file.Body)
		return
	}
	for _, b := range blocksOf(x.file.Body) {
		switch b.Type {
		case "variables":
			cover(b.Body)
		case "run":
			for _, inner := range blocksOf(b.Body) {
				if inner.Type == "variables" {
					cover(inner.Body)
				}
			}
		}
	}
}

// acceptsDrift reports whether a file consists of blocks with accepted drift, which hold no values.
func acceptsDrift(body hcl.Body) bool {
	native, ok := body.(*hclsyntax.Body)
	return ok && len(native.Attributes) == 0 && len(native.Blocks) > 0 &&
		!slices.ContainsFunc(native.Blocks, func(b *hclsyntax.Block) bool { return b.Type != "accept" })
}

// coverOther covers other content in variable files: blocks, whose labels may be values after a forgotten equals sign,
// and JSON of another form.
func (e *Excerpts) coverOther(x *excerpt, body hcl.Body) {
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		x.visible = x.visible && !e.anySecret()
		return
	}
	for _, b := range native.Blocks {
		from, secret := b.TypeRange, e.secretName(b.Type)
		if b.Type == "variable" { // a declaration in the wrong file: its name is not secret, and its default may not be
			from, secret = b.OpenBraceRange, len(e.declarations()) > 0 && e.anySecret() ||
				declaresSecret(b.AsHCLBlock())
		}
		if secret {
			x.cover(from.End.Byte, b.CloseBraceRange.Start.Byte)
		}
	}
}

// anySecret reports whether some variable is secret, or may be because no declaration is known.
func (e *Excerpts) anySecret() bool {
	declared := e.declarations()
	for _, secret := range declared {
		if secret {
			return true
		}
	}
	return len(declared) == 0
}

func (x *excerpt) coverExpression(attr *hcl.Attribute) {
	rng := attr.Expr.Range()
	x.cover(rng.Start.Byte, rng.End.Byte)
}

// cover replaces a part of the source, keeping its lines and length, so that positions do not change.
func (x *excerpt) cover(from, to int) {
	from, to = clamp(from, len(x.source)), clamp(to, len(x.source))
	if from >= to {
		return
	}
	for i := from; i < to; i++ {
		if c := x.source[i]; c != '\n' && c != '\r' {
			x.source[i] = '*'
		}
	}
}
