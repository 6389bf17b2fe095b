package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

// readers are the packages that read files in the language: their schemas have the words of the grammar.
var readers = []string{"internal/config", "internal/suite/testfile"}

// references is the file with the function that reads references.
const references = "addr/reference.go"

// vocabulary holds the words of a language.
type vocabulary struct {
	blocks, arguments, roots, functions []string
}

// types and keywords are the words of expressions that are no functions and no references.
var (
	types    = []string{"any", "bool", "list", "map", "number", "object", "optional", "set", "string", "tuple"}
	keywords = []string{"else", "endfor", "endif", "for", "if", "in"}
)

// writeGrammars writes the files of docs/schemas that are made from the tables of the readers: a TextMate grammar for
// each of the two kinds of files, and the same words as a syntax file for Vim.
func writeGrammars(_ context.Context, dir string, _ io.Writer) error {
	files, err := grammars(".")
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// grammars returns the files by name; tree is the root of the repository.
func grammars(tree string) (map[string][]byte, error) {
	language, err := languageWords(tree)
	if err != nil {
		return nil, err
	}
	project := projectWords(reflect.TypeFor[projectfile.File]())
	files := map[string][]byte{"tombolo.vim": vimSyntax(language, project)}
	for name, g := range map[string]any{
		"tombolo.tmLanguage.json": grammar(title, "source.tombolo", language, "tombolo", "tombolotest.hcl"),
		"tombolo-project.tmLanguage.json": grammar(title+" project file", "source.tombolo.project", project,
			projectfile.Name),
	} {
		if files[name], err = indented(g); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// projectWords returns the words of the project file: the tags of the fields that the file is decoded into.
func projectWords(t reflect.Type) (v vocabulary) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		switch {
		case f.Tag.Get("doc") == "": // a label, or a range
		case kind == "block":
			inner := f.Type
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			below := projectWords(inner)
			v.blocks = append(append(v.blocks, name), below.blocks...)
			v.arguments = append(v.arguments, below.arguments...)
		default:
			v.arguments = append(v.arguments, name)
		}
	}
	return v.sorted()
}

func (v vocabulary) sorted() vocabulary {
	for _, list := range []*[]string{&v.blocks, &v.arguments, &v.roots, &v.functions} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return v
}

// languageWords returns the words of the language. Those of blocks are the literals of the schemas in the source code
// of the readers, so that none can be forgotten here.
func languageWords(tree string) (v vocabulary, err error) {
	for name := range funcs.Table(funcs.Options{}) {
		if !strings.Contains(name, "::") {
			v.functions = append(v.functions, name)
		}
	}
	v.roots = []string{"param", "type"} // only in files of Tombolo
	set := token.NewFileSet()
	for _, dir := range readers {
		names, err := filepath.Glob(filepath.Join(tree, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			return v, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return v, err
			}
			ast.Inspect(file, v.schemas)
		}
	}
	file, err := parser.ParseFile(set, filepath.Join(tree, filepath.FromSlash(references)), nil,
		parser.SkipObjectResolution)
	if err != nil {
		return v, err
	}
	ast.Inspect(file, v.cases)
	if v = v.sorted(); len(v.blocks) < 20 || len(v.arguments) < 40 || len(v.roots) < 10 || len(v.functions) < 100 {
		return v, fmt.Errorf("the tables of the readers were not found: %+v", v)
	}
	return v, nil
}

// schemas adds the words of a literal of type hcl.AttributeSchema or hcl.BlockHeaderSchema, or of a slice of them.
func (v *vocabulary) schemas(n ast.Node) bool {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return true
	}
	add := func(one *ast.CompositeLit, typ ast.Expr) {
		selector, ok := typ.(*ast.SelectorExpr)
		if !ok {
			return
		}
		switch selector.Sel.Name {
		case "AttributeSchema":
			v.arguments = append(v.arguments, member(one, "Name")...)
		case "BlockHeaderSchema":
			v.blocks = append(v.blocks, member(one, "Type")...)
		}
	}
	add(literal, literal.Type)
	if slice, ok := literal.Type.(*ast.ArrayType); ok {
		for _, e := range literal.Elts {
			if one, ok := e.(*ast.CompositeLit); ok && one.Type == nil {
				add(one, slice.Elt)
			}
		}
	}
	return true
}

// member returns the word that a literal has for a field, if it is one.
func member(literal *ast.CompositeLit, field string) []string {
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == field {
			return word(pair.Value)
		}
	}
	return nil
}

// word returns the text of a literal, unless it is the wildcard of a schema.
func word(e ast.Expr) []string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		if text, err := strconv.Unquote(l.Value); err == nil && text != "_" {
			return []string{text}
		}
	}
	return nil
}

// cases adds the words that the switch over the root of a reference knows.
func (v *vocabulary) cases(n ast.Node) bool {
	s, ok := n.(*ast.SwitchStmt)
	if !ok {
		return true
	}
	if tag, ok := s.Tag.(*ast.Ident); !ok || tag.Name != "root" {
		return true
	}
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		for _, e := range clause.List {
			v.roots = append(v.roots, word(e)...)
		}
	}
	return true
}

// rule is a pattern of a TextMate grammar.
type rule map[string]any

func scope(name string) rule { return rule{"name": name} }

// grammar returns a TextMate grammar. Its patterns only use what the regular expressions of all editors have.
func grammar(title, name string, v vocabulary, files ...string) any {
	own := func(kind string) string { return kind + ".tombolo" }
	include := func(names ...string) (list []rule) {
		for _, n := range names {
			list = append(list, rule{"include": "#" + n})
		}
		return list
	}
	const identifier = `[A-Za-z_][\w-]*`
	expressions := include("comments", "heredocs", "strings", "constants", "functions", "references", "objects")
	rules := map[string]any{
		"comments": rule{"patterns": []rule{
			{"name": own("comment.line.number-sign"), "match": `#.*$`},
			{"name": own("comment.line.double-slash"), "match": `//.*$`},
			{"name": own("comment.block"), "begin": `/\*`, "end": `\*/`},
		}},
		"blocks": rule{"patterns": []rule{
			{"match": `^\s*(` + alternatives(v.blocks) + `)(?=\s*(?:\{|"))`,
				"captures": map[string]rule{"1": scope(own("keyword.control.block"))}},
			{"match": `^\s*(` + identifier + `)(?=\s*\{)`,
				"captures": map[string]rule{"1": scope(own("entity.name.type.block"))}},
		}},
		"arguments": rule{"patterns": []rule{
			{"match": `(?:^|[{;])\s*(` + alternatives(v.arguments) + `)\s*(=)(?![=>~])`,
				"captures": map[string]rule{"1": scope(own("support.variable.argument")),
					"2": scope(own("keyword.operator.assignment"))}},
			{"match": `(?:^|[{,;(])\s*(` + identifier + `)\s*(=)(?![=>~])`,
				"captures": map[string]rule{"1": scope(own("variable.other.property")),
					"2": scope(own("keyword.operator.assignment"))}},
		}},
		"strings": rule{"name": own("string.quoted.double"), "begin": `"`, "end": `"`,
			"patterns": append([]rule{{"name": own("constant.character.escape"),
				"match": `\\(?:[nrt"\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|\$\$\{|%%\{`}}, include("templates")...)},
		"heredocs": rule{"name": own("string.unquoted.heredoc"), "begin": `<<-?\s*(` + identifier + `)\s*$`,
			"end": `^\s*\1\s*$`, "patterns": include("templates")},
		"templates": rule{"name": own("meta.template"), "begin": `[$%]\{~?`, "end": `~?\}`,
			"beginCaptures": map[string]rule{"0": scope(own("punctuation.section.template.begin"))},
			"endCaptures":   map[string]rule{"0": scope(own("punctuation.section.template.end"))},
			"patterns":      expressions},
		"objects": rule{"begin": `\{`, "end": `\}`, "patterns": append(include("blocks", "arguments"), expressions...)},
		"constants": rule{"patterns": []rule{
			{"name": own("constant.language"), "match": `\b(?:true|false|null)\b`},
			{"name": own("constant.numeric"), "match": `\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`},
		}},
		"functions":  rule{"patterns": functionRules(own, identifier, v)},
		"references": rule{"patterns": referenceRules(own, v)},
	}
	return map[string]any{"name": title, "scopeName": name, "fileTypes": files, "repository": rules,
		"patterns": append(include("blocks", "arguments"), expressions...)}
}

func functionRules(own func(string) string, identifier string, v vocabulary) (list []rule) {
	if len(v.functions) == 0 {
		return []rule{}
	}
	return []rule{
		{"name": own("support.type"), "match": `\b` + alternatives(types) + `\b(?!\s*=[^=]|[.\w-])`},
		{"match": `\b(` + alternatives(v.functions) + `)(?=\()`,
			"captures": map[string]rule{"1": scope(own("support.function.builtin"))}},
		{"match": `\b(?:` + identifier + `::)+` + identifier + `(?=\()`, "name": own("support.function.namespaced")},
		{"match": `\b` + identifier + `(?=\()`, "name": own("entity.name.function")},
	}
}

func referenceRules(own func(string) string, v vocabulary) (list []rule) {
	if len(v.roots) == 0 {
		return []rule{}
	}
	return []rule{
		{"name": own("keyword.control"), "match": `\b` + alternatives(keywords) + `\b(?![\w-]|\s*=[^=])`},
		{"match": `(?<![.\w-])(` + alternatives(v.roots) + `)(?=[.\[])`,
			"captures": map[string]rule{"1": scope(own("variable.language"))}},
		{"name": own("keyword.operator"), "match": `==|!=|<=|>=|&&|\|\||=>|[-+*/%<>!?:]|\.\.\.`},
	}
}

// alternatives returns an expression for words, as a group without a number.
func alternatives(words []string) string {
	return `(?:` + strings.Join(words, "|") + `)(?![\w-])`
}

// vimSyntax returns a syntax file for Vim and Neovim, for the files of the language and the project file.
func vimSyntax(language, project vocabulary) []byte {
	var b strings.Builder
	b.WriteString(`" Syntax of *.tombolo and tombolo.hcl. Written by "go run ./release grammars": do not edit.
if exists("b:current_syntax")
  finish
endif
syntax iskeyword @,48-57,_,-
syntax match tomboloComment "#.*$\|//.*$" contains=@Spell
syntax region tomboloComment start="/\*" end="\*/" contains=@Spell
syntax region tomboloString start=+"+ skip=+\\\\\|\\"+ end=+"+ contains=tomboloTemplate,@Spell
syntax region tomboloString start="<<-\?\z([A-Za-z_][A-Za-z0-9_-]*\)$" end="^\s*\z1$" contains=tomboloTemplate
syntax region tomboloTemplate start="[$%]{" end="}" contained contains=TOP
syntax match tomboloNumber "\<\d\+\(\.\d\+\)\?\>"
syntax keyword tomboloConstant true false null
`)
	group := func(name, before, after string, words ...string) {
		slices.Sort(words)
		all := strings.Join(slices.Compact(words), `\|`)
		fmt.Fprintf(&b, "syntax match %s +%s\\%%(%s\\)%s+\n", name, before, all, after)
	}
	group("tomboloBlock", `^\s*\zs`, `\ze\s*["{]`, append(slices.Clone(language.blocks), project.blocks...)...)
	group("tomboloArgument", `^\s*\zs`, `\ze\s*=\(=\)\@!`,
		append(slices.Clone(language.arguments), project.arguments...)...)
	group("tomboloFunction", `\<`, `\ze(`, language.functions...)
	group("tomboloReference", `\(\.\)\@<!\<`, `\ze[.[]`, language.roots...)
	b.WriteString(`highlight default link tomboloComment Comment
highlight default link tomboloString String
highlight default link tomboloNumber Number
highlight default link tomboloConstant Constant
highlight default link tomboloBlock Keyword
highlight default link tomboloArgument Identifier
highlight default link tomboloFunction Function
highlight default link tomboloReference Special
let b:current_syntax = "tombolo"
`)
	return []byte(b.String())
}
