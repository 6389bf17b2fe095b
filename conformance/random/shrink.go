package random

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

type partKind int

const (
	expression partKind = iota
	attribute
	body // a block with its header
)

// A part is a part of a file: a block, an attribute or an expression.
type part struct {
	kind       partKind
	start, end int
	key        string // identifies a block in every version
}

// partsOf returns the parts of a file, outer before inner ones, or nil if it cannot be parsed.
func partsOf(src string) []part {
	f, diags := hclsyntax.ParseConfig([]byte(src), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	var parts []part
	add := func(kind partKind, r hcl.Range, key string) {
		parts = append(parts, part{kind: kind, start: r.Start.Byte, end: r.End.Byte, key: key})
	}
	var walk func(*hclsyntax.Body, string)
	walk = func(b *hclsyntax.Body, path string) {
		for _, block := range b.Blocks {
			key := path + block.Type + " " + strings.Join(block.Labels, " ")
			if len(block.Labels) == 0 {
				key += src[block.Range().Start.Byte:block.Body.Range().End.Byte]
			}
			add(body, hcl.RangeBetween(block.TypeRange, block.CloseBraceRange), key)
			walk(block.Body, key+"/")
		}
		for _, name := range sortedAttributes(b.Attributes) {
			a := b.Attributes[name]
			add(attribute, a.SrcRange, path+name)
			hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hcl.Diagnostics {
				if e, ok := n.(hclsyntax.Expression); ok {
					if _, isKey := e.(*hclsyntax.ObjectConsKeyExpr); !isKey &&
						e.Range().End.Byte > e.Range().Start.Byte {
						add(expression, e.Range(), "")
					}
				}
				return nil
			})
		}
	}
	walk(f.Body.(*hclsyntax.Body), "")
	return parts
}

func sortedAttributes(attributes hclsyntax.Attributes) []string {
	var names []string
	for name := range attributes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return attributes[a].SrcRange.Start.Byte - attributes[b].SrcRange.Start.Byte
	})
	return names
}

// Shrink returns a smaller case for which fails still returns true, with at most tries calls of it. The case need not
// be one of Generate's.
func Shrink(archive []byte, tries int, fails func([]byte) bool) []byte {
	s := &shrinker{a: txtar.Parse(archive), tries: tries, fails: fails, seen: map[string]bool{}}
	for {
		before := string(txtar.Format(s.a))
		s.steps()
		s.sections()
		s.blocks()
		s.attributes()
		s.expressions()
		if s.tries <= 0 || string(txtar.Format(s.a)) == before {
			return txtar.Format(s.a)
		}
	}
}

type shrinker struct {
	a     *txtar.Archive
	tries int
	fails func([]byte) bool
	seen  map[string]bool // cases already tried
}

// try adopts a changed archive if it still fails.
func (s *shrinker) try(files []txtar.File) bool {
	next := &txtar.Archive{Comment: s.a.Comment, Files: files}
	data := txtar.Format(next)
	if s.tries <= 0 || s.seen[string(data)] || string(data) == string(txtar.Format(s.a)) {
		return false
	}
	s.seen[string(data)] = true
	s.tries--
	if s.fails(data) {
		s.a = next
		return true
	}
	return false
}

// edited returns the files with one of them changed.
func (s *shrinker) edited(change func(name, text string) string) []txtar.File {
	files := slices.Clone(s.a.Files)
	for i, f := range files {
		files[i].Data = []byte(change(f.Name, string(f.Data)))
	}
	return files
}

func (s *shrinker) steps() {
	for i := len(s.stepLines()) - 1; i > 0; i-- { // the first is the tier of the case
		lines := s.stepLines()
		if strings.HasPrefix(lines[i], "oracle: ") {
			continue
		}
		without := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n") + "\n"
		s.try(s.edited(func(name, text string) string {
			if name == "steps" {
				return without
			}
			return text
		}))
	}
}

func (s *shrinker) stepLines() []string {
	for _, f := range s.a.Files {
		if f.Name == "steps" {
			return strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		}
	}
	return nil
}

func (s *shrinker) sections() {
	for i := len(s.a.Files) - 1; i > 0; i-- {
		s.try(slices.Delete(slices.Clone(s.a.Files), i, i+1))
	}
}

// blocks removes blocks, first in all versions together, and many at a time.
func (s *shrinker) blocks() {
	for size := max(1, len(s.keys())/2); size > 0; size /= 2 {
		for at := 0; s.tries > 0; {
			chosen := s.keys()
			if at >= len(chosen) {
				break
			}
			chosen = chosen[at:min(at+size, len(chosen))]
			if !s.try(s.edited(func(name, text string) string {
				return without(text, func(p part) bool {
					return p.kind == body &&
						slices.Contains(chosen, folder(name)+p.key)
				})
			})) {
				at += size
			}
		}
	}
	s.each(body, func(string) []string { return []string{""} })
}

// folder returns the folder of a file, the same for all versions.
func folder(name string) string {
	if rest, versioned := strings.CutPrefix(name, "@"); versioned {
		_, name, _ = strings.Cut(rest, "/")
	}
	return name + ":"
}

// keys lists the keys of the blocks in all files.
func (s *shrinker) keys() []string {
	var keys []string
	for _, f := range s.a.Files {
		if !strings.HasSuffix(f.Name, ".tf") {
			continue
		}
		for _, p := range partsOf(string(f.Data)) {
			if key := folder(f.Name) + p.key; p.kind == body && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// without removes parts of a file. If the rest cannot be parsed, it returns src unchanged.
func without(src string, drop func(part) bool) string {
	var out strings.Builder
	end := 0
	for _, p := range partsOf(src) { // outer before inner ones
		if p.start >= end && drop(p) {
			out.WriteString(src[end:p.start])
			end = p.end
		}
	}
	out.WriteString(src[end:])
	if next := out.String(); len(partsOf(next)) > 0 || strings.TrimSpace(next) == "" {
		return strings.ReplaceAll(next, "\n\n", "\n")
	}
	return src
}

func (s *shrinker) attributes() {
	s.each(attribute, func(string) []string { return []string{""} })
}

// expressions replaces expressions by shorter ones: constants, or a part of them.
func (s *shrinker) expressions() {
	s.each(expression, func(text string) []string {
		options := []string{"null", "1", `"a"`, "[]", "{}", "true"}
		for _, p := range partsOf("x = " + text + "\n") {
			if inner := p.text("x = " + text + "\n"); p.kind == expression && len(inner) < len(text) {
				options = append(options, inner)
			}
		}
		return slices.DeleteFunc(options, func(o string) bool { return len(o) >= len(text) })
	})
}

func (p part) text(src string) string { return src[p.start:p.end] }

// each tries the replacements that instead returns for every part of a kind, first everywhere with the same text, then
// in one place.
func (s *shrinker) each(kind partKind, instead func(text string) []string) {
	for i := 0; i < len(s.a.Files); i++ {
		if !strings.HasSuffix(s.a.Files[i].Name, ".tf") {
			continue
		}
		for at := 0; ; at++ {
			src := string(s.a.Files[i].Data)
			parts := slices.DeleteFunc(partsOf(src), func(p part) bool { return p.kind != kind })
			if at >= len(parts) {
				break
			}
			p := parts[at]
			old := p.text(src)
			if s.tries <= 0 {
				return
			}
			for _, option := range instead(old) {
				if s.everywhere(old, option) || s.here(i, p, option) {
					at--
					break
				}
			}
		}
	}
}

func (s *shrinker) everywhere(old, option string) bool {
	if len(old) < 12 {
		return false
	}
	return s.try(s.edited(func(name, text string) string {
		if !strings.HasSuffix(name, ".tf") || !strings.Contains(text, old) {
			return text
		}
		if next := strings.ReplaceAll(text, old, option); len(partsOf(next)) > 0 || strings.TrimSpace(next) == "" {
			return next
		}
		return text
	}))
}

func (s *shrinker) here(file int, p part, option string) bool {
	src := string(s.a.Files[file].Data)
	next := src[:p.start] + option + src[p.end:]
	if len(partsOf(next)) == 0 && strings.TrimSpace(next) != "" {
		return false
	}
	files := slices.Clone(s.a.Files)
	files[file].Data = []byte(next)
	return s.try(files)
}
