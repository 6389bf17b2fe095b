package explain

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
)

// packed is an archive of about.txt and the folders pages and found. A test writes it: go test ./internal/explain
// -update.
//
//go:embed packed.gz
var packed []byte

// unpacked returns the files in packed, by name.
var unpacked = sync.OnceValue(func() *txtar.Archive {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("the pages about codes: " + err.Error())
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic("the pages about codes: " + err.Error())
	}
	return txtar.Parse(text)
})

// examples returns the examples by code: those written by hand, and those that were found in scripts.
var examples = sync.OnceValue(func() map[string]*Example {
	archives := map[string]*txtar.Archive{}
	for _, f := range unpacked().Files {
		code, name, ok := strings.Cut(f.Name, "/")
		if !ok {
			continue
		}
		if archives[code] == nil {
			archives[code] = &txtar.Archive{}
		}
		archives[code].Files = append(archives[code].Files, txtar.File{Name: name, Data: f.Data})
	}
	out := map[string]*Example{}
	for code, a := range archives {
		out[code] = Parse(a)
	}
	return out
})

// saying describes a code as used in the source: the parts of the program that report it, and the texts of such
// problems, with an ellipsis for each dynamic part.
type saying struct{ parts, texts []string }

var sayings = sync.OnceValue(func() map[string]*saying {
	out, last := map[string]*saying{}, &saying{}
	for line := range strings.Lines(string(unpacked().Comment)) {
		if text, ok := strings.CutPrefix(line, "\t"); ok {
			last.texts = append(last.texts, strings.TrimSpace(text))
		} else if words := strings.Fields(line); len(words) > 0 {
			last = &saying{parts: words[1:]}
			out[words[0]] = last
		}
	}
	return out
})

// about returns paragraphs about a kind of problem, generated from its uses in the source.
func (p Page) about() (out []string) {
	what := fmt.Sprintf("This code is about %s.", area(p.Kind.Code))
	if p.Kind.Says != "" {
		what += fmt.Sprintf(" It is for problems with this title whose text contains %q.", p.Kind.Says)
	}
	if strings.Contains(p.Kind.Title, "*") {
		what += " The asterisk in the title stands for a name or a number."
	}
	s := sayings()[p.Kind.Code]
	if s == nil {
		s = &saying{}
	}
	if from := raisedBy(s.parts); len(from) > 0 {
		what += " It is reported by " + strings.Join(from, "; or by ") + "."
	}
	out = append(out, what)
	if len(s.texts) > 0 {
		out = append(out, "Its text is one of these, with details of your project instead of each ellipsis:")
	}
	for _, text := range s.texts {
		out = append(out, "  "+text)
	}
	if p.Example == nil && len(s.texts) == 0 {
		out = append(out, "The text of the problem says what was found, where, what was expected and what to do.")
	}
	return out
}

// raising maps the parts of the program to the commands that run them.
var raising = []struct{ parts, by string }{
	{"hcl config nesting format iteration flavor", "all commands that read the configuration, such as plan"},
	{"eval value console addr", "commands that evaluate expressions, such as validate, plan, console and test"},
	{"planning access moving standing plan engine", "commands that make or use a plan, such as plan, apply, " +
		"destroy, refresh and test"},
	{"applying provision", "apply and destroy"},
	{"policy hook", "plan and apply, for policies and hooks"},
	{"fetch", "init, get, and the commands below providers"},
	{"pack reference cli/author", "the commands below provider and store"},
	{"host wire program external builtin provider sdk", "commands that use providers, such as init, plan and apply"},
	{"store state transfer backend encryption", "commands that read or write a state"},
	{"suite cli/testing", "test"},
	{"settings projectfile", "all commands, when they read their own configuration"},
	{"library", "calls of the Go library"},
	{"cli/install", "init and other commands that install something"},
	{"cli/code", "validate and fmt"},
	{"cli/run", "plan, apply and other commands that use the engine"},
	{"stack cli/stacks", "stack"},
	{"cli/runs cli/remote", "the commands below runs, and stack with -remote"},
	{"cli/serving pages", "serve"},
	{"cli/inspect", "commands that show something, such as show, output and graph"},
	{"cli/states", "commands that change states or workspaces"},
	{"cli/complete", "the completion in shells"},
	{"cli/command cli diag view tfjson tracing event", "all commands"},
}

// raisedBy returns texts with the commands that report problems of these parts.
func raisedBy(parts []string) (out []string) {
	for _, r := range raising {
		if slices.ContainsFunc(strings.Fields(r.parts), func(p string) bool { return slices.Contains(parts, p) }) {
			out = append(out, r.by)
		}
	}
	return out
}
