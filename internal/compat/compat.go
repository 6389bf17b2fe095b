// Package compat lists the features of Terraform and OpenTofu and Tombolo's support for each of them. It generates
// docs/compatibility.md.
//
// The facts (terraform.json, opentofu.json) are lists of names: commands and their flags, the blocks of the language
// with their arguments, functions, backends, settings and environment variables. Most of them come from the programs
// themselves: their help texts, their lists of functions, and the names they accept in each block. If a program is
// installed, tests compare its list with it again. The rest comes from documentation.
//
// Whether Tombolo supports a name is determined from its table of commands, its table of functions, and the
// configurations with which the programs were tested. A remark (remarks.go) describes a difference, or the error. A
// proof is a case that uses the feature, in the conformance corpus or the scripts of the command line (proofs.json).
//
//	go test ./internal/compat            # does everything still agree?
//	go test ./internal/compat -update    # write the documents, and proofs if there are none
//	go test ./internal/compat -learn     # write the facts that can be asked of the terraform on PATH
package compat

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	//go:embed terraform.json
	terraformFacts []byte
	//go:embed opentofu.json
	openTofuFacts []byte
)

// Facts holds the names of all features of one version of a program.
type Facts struct {
	Program string `json:"program"` // Terraform or OpenTofu
	Version string `json:"version"`
	// flags without their dash, by command; "" has those before the command
	Commands    map[string][]string `json:"commands"`
	Bodies      map[string]Body     `json:"bodies"`      // by the path of block types; "" is a file
	Functions   []string            `json:"functions"`   //
	Backends    []string            `json:"backends"`    //
	Settings    []string            `json:"settings"`    // by the path of blocks
	Environment []string            `json:"environment"` // with NAME or HOST for the variable part

	shared map[string]bool // the commands with only their flags in these facts; see Without
}

// Body describes the arguments and blocks that a block may contain.
type Body struct {
	Arguments []string `json:"arguments,omitempty"`
	Blocks    []string `json:"blocks,omitempty"`
}

// Terraform returns the facts about Terraform.
func Terraform() (f Facts, err error) {
	err = json.Unmarshal(terraformFacts, &f)
	return f, err
}

// OpenTofu returns the facts about OpenTofu.
func OpenTofu() (f Facts, err error) {
	err = json.Unmarshal(openTofuFacts, &f)
	return f, err
}

// Without returns the facts that another program does not have.
func (f Facts) Without(other Facts) Facts {
	out := Facts{Program: f.Program, Version: f.Version, Commands: map[string][]string{}, Bodies: map[string]Body{},
		Functions: minus(f.Functions, other.Functions), Backends: minus(f.Backends, other.Backends),
		Settings: minus(f.Settings, other.Settings), Environment: minus(f.Environment, other.Environment),
		shared: map[string]bool{}}
	for path, flags := range f.Commands {
		if rest := minus(flags, other.Commands[path]); len(rest) > 0 || other.Commands[path] == nil {
			out.Commands[path], out.shared[path] = rest, other.Commands[path] != nil
		}
	}
	for path, body := range f.Bodies {
		rest := Body{minus(body.Arguments, other.Bodies[path].Arguments), minus(body.Blocks, other.Bodies[path].Blocks)}
		if len(rest.Arguments)+len(rest.Blocks) > 0 {
			out.Bodies[path] = rest
		}
	}
	return out
}

// minus returns the names that are not in others.
func minus(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

// Item is one feature.
type Item struct {
	Kind Kind
	Of   string // the command of a flag, the body of an argument or block
	Name string
}

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	Command  Kind = "command"
	Flag     Kind = "flag"
	Block    Kind = "block"
	Argument Kind = "argument"
	Function Kind = "function"
	Backend  Kind = "backend"
	Setting  Kind = "setting"
	Variable Kind = "variable"
)

// String returns the key of the item in remarks and proofs.
func (i Item) String() string {
	return strings.Join(strings.Fields(string(i.Kind)+" "+i.Of+" "+i.Name), " ")
}

// Items returns all items in the order of the document.
func (f Facts) Items() (list []Item) {
	add := func(kind Kind, of string, names ...string) {
		for _, name := range names {
			list = append(list, Item{kind, of, name})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.Commands)) {
		if f.names(path) {
			add(Command, "", path)
		}
		add(Flag, path, f.Commands[path]...)
	}
	for _, path := range slices.Sorted(maps.Keys(f.Bodies)) {
		add(Argument, path, f.Bodies[path].Arguments...)
		add(Block, path, f.Bodies[path].Blocks...)
	}
	add(Function, "", f.Functions...)
	add(Backend, "", f.Backends...)
	add(Setting, "", f.Settings...)
	add(Variable, "", f.Environment...)
	return list
}

// names reports whether a path is that of a command that is an item itself.
func (f Facts) names(path string) bool { return path != "" && !f.shared[path] }

// State is Tombolo's support for an item.
type State string

// The states of items.
const (
	Works   State = "works"
	Differs State = "differs"
	Refused State = "answered with an error"
	Absent  State = "not yet"
	Moot    State = "without meaning"
)

// Remark is a difference from Terraform in an item.
type Remark struct {
	State State
	Text  string // the difference, or the alternative
}

// RemarkOn returns the remark on an item, or on its command or block. It returns the zero remark if there is none.
func RemarkOn(i Item) Remark {
	if r, ok := remarks[i.String()]; ok {
		return r
	}
	switch i.Kind {
	case Flag:
		return remarks[string(Command)+" "+i.Of]
	case Argument, Block:
		if r, ok := remarks["body "+i.Of]; ok {
			return r
		}
		if at := strings.LastIndex(i.Of, "/"); i.Of != "" {
			return RemarkOn(Item{Block, i.Of[:max(at, 0)], i.Of[at+1:]})
		}
	}
	return Remark{}
}

// Document writes the page about the features of Terraform, and the additional ones of OpenTofu. Proofs maps the key of
// an item to a case.
func Document(terraform, tofu Facts, proofs map[string]string) string {
	d := &document{facts: terraform, proofs: proofs}
	d.printf(preface, terraform.Version, tofu.Version)
	d.summary()
	d.everything("##")
	d.facts = tofu.Without(terraform)
	d.printf(beside, tofu.Version)
	d.summary()
	d.everything("###")
	return d.text.String()
}

const preface = `# Compatibility with Terraform %[1]s and OpenTofu %[2]s

<!-- Generated: do not edit. "go test ./internal/compat -update" writes this page. -->

This page lists the features of Terraform %[1]s, the additional features of OpenTofu %[2]s, and how Tombolo supports
each of them. It is generated from three sources: lists of features (` + "`terraform.json` and `opentofu.json` in\n`internal/compat`" + `, which a test compares with the real programs if they are installed), Tombolo's own tables and
decoders, and remarks (` + "`remarks.go`" + `). A test fails if the page claims something that Tombolo does not have, or if it
is out of date. [newer.md](newer.md) describes the features that are newer than Terraform 1.11.

| state | meaning |
|---|---|
| works | as in Terraform |
| differs | it works, and the remark describes the difference |
| answered with an error | Tombolo knows it and refuses it; the message says what to do instead |
| not yet | it is missing |
| without meaning | it has no effect in Tombolo |

The last column names a test case that uses the feature. ` + "`TOPIC/NAME` is\n`conformance/testdata/TOPIC/NAME.txtar`" + `, which runs in both programs and compares the results. ` + "`cli/NAME`" + ` is a
script of the command line, ` + "`internal/cli/testdata/NAME.txtar`. `conformance/intended.json`" + ` lists the intended
differences in these cases.
`

const beside = `
## What OpenTofu %s has beside this

[opentofu.md](opentofu.md) describes how Tombolo works with projects of OpenTofu. Features that OpenTofu shares with
Terraform are listed above.
`

type document struct {
	text   strings.Builder
	facts  Facts
	proofs map[string]string
	level  string // of the headings of parts
}

func (d *document) printf(format string, args ...any) { fmt.Fprintf(&d.text, format, args...) }

// summary writes the counts.
func (d *document) summary() {
	d.printf("\n| | works | differs | answered with an error | not yet | without meaning | with a case |\n" +
		"|---|--:|--:|--:|--:|--:|--:|\n")
	counts := map[Kind]map[State]int{}
	proven := map[Kind]int{}
	for _, i := range d.facts.Items() {
		if counts[i.Kind] == nil {
			counts[i.Kind] = map[State]int{}
		}
		counts[i.Kind][cmp.Or(RemarkOn(i).State, Works)]++
		if d.proofs[i.String()] != "" {
			proven[i.Kind]++
		}
	}
	for _, kind := range []Kind{Command, Flag, Block, Argument, Function, Backend, Setting, Variable} {
		c := counts[kind]
		d.printf("| %ss | %d | %d | %d | %d | %d | %d |\n", kind, c[Works], c[Differs], c[Refused], c[Absent], c[Moot],
			proven[kind])
	}
}

// everything writes a part for each kind of item.
func (d *document) everything(level string) {
	d.level = level
	d.commands()
	d.language()
	d.list("Functions", "function", Function, d.facts.Functions)
	d.list("Backends", "backend", Backend, d.facts.Backends)
	d.list("Settings", "setting", Setting, d.facts.Settings)
	d.list("Environment variables", "variable", Variable, d.facts.Environment)
}

func (d *document) commands() {
	d.printf("\n%s Commands and flags\n", d.level)
	for _, path := range slices.Sorted(maps.Keys(d.facts.Commands)) {
		if path == "" {
			d.printf("\n%s# Before the command\n", d.level)
		} else {
			d.printf("\n%s# %s\n", d.level, path)
		}
		d.head("command")
		if d.facts.names(path) {
			d.row("`"+path+"`", Item{Command, "", path})
		}
		for _, name := range d.facts.Commands[path] {
			d.row("`-"+name+"`", Item{Flag, path, name})
		}
	}
}

func (d *document) language() {
	d.printf("\n%s Blocks and arguments\n\nBlocks are written `name { }`, arguments without braces. The arguments\n"+
		"of a resource that its provider declares are not listed.\n", d.level)
	for _, path := range slices.Sorted(maps.Keys(d.facts.Bodies)) {
		body := d.facts.Bodies[path]
		if path == "" {
			d.printf("\n%s# Top level of a file\n", d.level)
		} else {
			d.printf("\n%s# %s\n", d.level, strings.ReplaceAll(path, "/", " / "))
		}
		d.head("name")
		for _, name := range body.Arguments {
			d.row("`"+name+"`", Item{Argument, path, name})
		}
		for _, name := range body.Blocks {
			d.row("`"+name+" { }`", Item{Block, path, name})
		}
	}
}

func (d *document) list(title, head string, kind Kind, names []string) {
	if len(names) == 0 {
		return
	}
	d.printf("\n%s %s\n", d.level, title)
	d.head(head)
	for _, name := range names {
		d.row("`"+name+"`", Item{kind, "", name})
	}
}

func (d *document) head(first string) {
	d.printf("\n| %s | state | remark | case |\n|---|---|---|---|\n", first)
}

func (d *document) row(name string, i Item) {
	r := RemarkOn(i)
	proof := d.proofs[i.String()]
	if proof != "" {
		proof = "`" + proof + "`"
	}
	d.printf("| %s | %s | %s | %s |\n", name, cmp.Or(r.State, Works), r.Text, proof)
}
