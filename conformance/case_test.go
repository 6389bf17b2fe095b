package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// A Case is one archive of the corpus: initial files, sections that later steps use, and the steps.
type Case struct {
	Name  string // "topic/name"
	Tier  int    // the capability that tombolo needs; see currentTier
	Steps []Step
	Hash  string // of the archive, see digest

	oracle         *oracle  // the program that the case is compared with, see oracle_test.go
	plugins        []string // names of plugins, see plugins_test.go
	stopsAtFailure bool     // the steps end with the first failed plan or apply

	service  bool                  // the case has its own HTTP service, see service_test.go
	changes  bool                  // the changes in the text of plans are compared line by line
	varies   map[string][]string   // type of resource -> attributes that differ in every run
	files    []txtar.File          // extracted before the first step
	sections map[string]txtar.File // "@name" sections, for the steps write and use
}

// A Step is one line of a case's steps section.
type Step struct {
	Line int    // in the steps section, from 1
	Text string // as written
	Verb string // harness verb or command name
	Args []string
	Exit int // the exit code that terraform must return
	// Interrupted commands get an interrupt as soon as the service blocks one of their requests.
	Interrupted bool
	// Global holds options before the command, such as -chdir=x.
	Global []string
	// Changes means that the text of a plan's changes must be equal.
	Changes bool
}

// anyNumber of arguments.
const anyNumber = -1

// harnessVerbs change the directory or the environment without running a binary. The value is the number of arguments.
var harnessVerbs = map[string]int{
	"write":  2, // write FILE @SECTION: put the section's text into FILE
	"use":    1, // use @DIR: put every section @DIR/x over x
	"remove": 1, // remove FILE
	"copy":   2, // copy FROM TO
	"env":    1, // env NAME=VALUE, or env NAME to unset
	"cd":     1, // cd DIR, relative to the case's directory
	"swap":   0, // from here on each directory is used by the other binary
	// service VERB ...: set the content of the HTTP service, or how it responds to the next requests; see
	// service_test.go
	"service": anyNumber,
	// package MIRROR SOURCE VERSION [FORM [PLATFORM]]: put a provider's package into a mirror, see mirror_test.go
	"package": anyNumber,
	// order 'delete a.b < delete c.d' ...: in the event stream of the step before, the first operation ends before the
	// second begins
	"order": anyNumber,
}

// swaps reports whether the binaries swap in the case.
func (c *Case) swaps() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Verb == "swap" })
}

// loadCases reads the whole corpus, sorted by name.
func loadCases(root string) ([]*Case, error) {
	var cases []*Case
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		c, err := parseCase(strings.TrimSuffix(filepath.ToSlash(rel), ".txtar"), data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		cases = append(cases, c)
		return nil
	})
	slices.SortFunc(cases, func(a, b *Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, err
}

func parseCase(name string, data []byte) (*Case, error) {
	sum := sha256.Sum256(data)
	c := &Case{Name: name, Hash: hex.EncodeToString(sum[:]), oracle: terraform1_11, sections: map[string]txtar.File{},
		varies: map[string][]string{}}
	var steps string
	for _, f := range txtar.Parse(data).Files {
		switch {
		case f.Name == "steps":
			steps = string(f.Data)
		case strings.HasPrefix(f.Name, "@"):
			c.sections[f.Name] = f
		default:
			c.files = append(c.files, f)
		}
	}
	if err := c.parseSteps(steps); err != nil {
		return nil, err
	}
	if c.Tier == 0 {
		return nil, fmt.Errorf("the steps section has no line \"tier: N\"")
	}
	if len(c.Steps) == 0 {
		return nil, fmt.Errorf("no steps")
	}
	return c, nil
}

func (c *Case) parseSteps(text string) error {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if v, ok := strings.CutPrefix(line, "tier:"); ok {
			tier, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil || tier < 1 {
				return fmt.Errorf("steps line %d: tier must be a positive number", i+1)
			}
			c.Tier = tier
			continue
		}
		if v, ok := strings.CutPrefix(line, "oracle:"); ok {
			if c.oracle = oracleNamed(strings.TrimSpace(v)); c.oracle == nil {
				return fmt.Errorf("steps line %d: there is no oracle %q", i+1, strings.TrimSpace(v))
			}
			continue
		}
		if v, ok := strings.CutPrefix(line, "plugin:"); ok {
			name := strings.TrimSpace(v)
			if _, ok := plugins[name]; !ok {
				return fmt.Errorf("steps line %d: there is no plugin %q", i+1, name)
			}
			c.plugins = append(c.plugins, name)
			continue
		}
		if line == "service:" {
			c.service = true
			continue
		}
		if line == "changes:" {
			c.changes = true
			continue
		}
		if v, ok := strings.CutPrefix(line, "varies:"); ok {
			words := strings.Fields(v)
			if len(words) < 2 {
				return fmt.Errorf("steps line %d: varies takes a type of resource and its attributes", i+1)
			}
			c.varies[words[0]] = words[1:]
			continue
		}
		step, err := parseStep(line)
		if err != nil {
			return fmt.Errorf("steps line %d: %w", i+1, err)
		}
		step.Line, step.Changes = i+1, c.changes
		if err := c.checkStep(step); err != nil {
			return fmt.Errorf("steps line %d: %w", i+1, err)
		}
		c.Steps = append(c.Steps, step)
	}
	return nil
}

func parseStep(line string) (Step, error) {
	s := Step{Text: line}
	words, err := splitWords(line)
	if err != nil {
		return s, err
	}
	if n := len(words); n >= 3 && words[n-2] == "=>" {
		if s.Exit, err = strconv.Atoi(words[n-1]); err != nil {
			return s, fmt.Errorf("exit code %q is not a number", words[n-1])
		}
		words = words[:n-2]
	}
	if len(words) > 1 && words[0] == "interrupted" {
		s.Interrupted, words = true, words[1:]
	}
	for len(words) > 1 && strings.HasPrefix(words[0], "-") && !strings.HasPrefix(words[1], "-") {
		s.Global = append(s.Global, words[0])
		words = words[1:]
	}
	if len(words) == 0 {
		return s, fmt.Errorf("no command in %q", line)
	}
	s.Verb, s.Args = words[0], words[1:]
	return s, nil
}

func (c *Case) checkStep(s Step) error {
	if (s.Interrupted || s.Verb == "service") && !c.service {
		return fmt.Errorf("%s needs a line \"service:\"", s.Text)
	}
	want, harness := harnessVerbs[s.Verb]
	if !harness {
		return nil
	}
	if want != anyNumber && len(s.Args) != want {
		return fmt.Errorf("%s takes %d arguments, got %d", s.Verb, want, len(s.Args))
	}
	switch s.Verb {
	case "service":
		if len(s.Args) == 0 {
			return fmt.Errorf("service what?")
		}
	case "order":
		for _, a := range s.Args {
			if !strings.Contains(a, " < ") {
				return fmt.Errorf("%q is no order", a)
			}
		}
	case "package":
		if len(s.Args) < 3 || len(s.Args) > 5 {
			return fmt.Errorf("package takes 3 to 5 arguments, got %d", len(s.Args))
		}
	case "write":
		if _, ok := c.sections[s.Args[1]]; !ok {
			return fmt.Errorf("no section %q", s.Args[1])
		}
	case "use":
		if len(c.under(s.Args[0])) == 0 {
			return fmt.Errorf("no sections under %q", s.Args[0])
		}
	}
	return nil
}

// under returns the sections below "@dir", keyed by the rest of their names.
func (c *Case) under(dir string) map[string][]byte {
	out := map[string][]byte{}
	for name, f := range c.sections {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = f.Data
		}
	}
	return out
}

// splitWords splits like a shell: blanks separate, single and double quotes group and are removed, nothing is expanded.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	started := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t':
			if started {
				words = append(words, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("quote %c is not closed", quote)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
