package cli

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/internal/explain"
)

var findExamples = flag.Bool("find", false, "look for examples of codes that have none, and write them")

// repository is the root of the module, relative to this package.
const repository = "../.."

// TestExamplesAreFound looks for a configuration for each code that has no example: in the scripts and cases of all
// packages, in test literals that are configurations or expressions, and in such files with one mistake (the slips of
// TestOneMistakeIsOneError). It minimizes the shortest one that fails with only this problem, and writes it to the
// folder found of package explain. It runs only with -find, preferably without network access:
//
//	unshare -rn go test ./internal/cli -run TestExamplesAreFound -find
func TestExamplesAreFound(t *testing.T) {
	if !*findExamples {
		t.Skip("runs with -find only")
	}
	home, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	m := newMistake(t)
	f := &finder{t: t, m: m, environ: slices.Clone(m.environ), home: home, best: map[string]attempt{}}
	for _, p := range explain.All() {
		if p.Example == nil {
			f.best[p.Kind.Code] = attempt{}
		}
	}
	f.texts()
	f.slips()
	f.archives()
	found := 0
	for _, code := range slices.Sorted(maps.Keys(f.best)) {
		if f.best[code].terminal == "" {
			continue
		}
		small := f.smaller(code, f.best[code])
		same := true
		for range 2 {
			same = f.run(small) == code && f.terminal == small.terminal && same
		}
		if !same {
			t.Logf("%s: not the same each time", code)
			continue
		}
		found++
		name := filepath.Join(home, "internal/explain/found", code+".txtar")
		if err := os.WriteFile(name, txtar.Format(small.archive()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d examples were found", found)
}

// attempt is a configuration with commands.
type attempt struct {
	commands []string
	files    []txtar.File // names with @ are files that a command writes later
	terminal string
}

func (a attempt) size() int {
	n := len(a.commands) * 60
	for _, f := range a.files {
		n += len(f.Data) + 30
	}
	return n + len(a.terminal)/4
}

func (a attempt) archive() *txtar.Archive {
	out := &txtar.Archive{Files: []txtar.File{{Name: "commands", Data: []byte(strings.Join(a.commands, "\n") + "\n")}}}
	out.Files = append(out.Files, a.files...)
	out.Files = append(out.Files, txtar.File{Name: "terminal", Data: []byte(a.terminal)})
	return out
}

// finder tries configurations.
type finder struct {
	t        *testing.T
	m        *mistake
	environ  []string
	home     string
	best     map[string]attempt // for the codes without another example
	terminal string             // the output of the last command
}

var (
	anyProblem = regexp.MustCompile(`(?m)^(?:Error|Warning): `)
	anyCode    = regexp.MustCompile(`(?m)^More: tombolo explain (TB\d{4})$`)
	// local matches text that differs between machines or runs, or that needs another machine.
	local = regexp.MustCompile(`/tmp/|/root|127\.0\.0\.1|localhost|\d+\.\d+\.\d+\.\d+:|<uuid>|<time>|after \d+s|dial tcp|` +
		`no such host|in \d+ms|panic|goroutine|/home/me/project|sha256:`)
	// waiting matches words of scripts and provisioners that wait.
	waiting = regexp.MustCompile(`sleep|while |mkfifo|\bwait\b|retry`)
	reaches = regexp.MustCompile(`backend\s+"?[^l"\s]|cloud\s*\{|://|required_providers|git::|registry|` +
		`(resource|data|ephemeral|provider)\s+"[^t"]|remote_state`)
)

// run runs an attempt in an empty directory and returns the code of the only problem of its last command, or "" if
// there are several or none.
func (f *finder) run(a attempt) string {
	if err := os.Chdir(f.m.dir); err != nil { // in case an option of a command has changed the directory
		f.t.Fatal(err)
	}
	entries, _ := os.ReadDir(f.m.dir)
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(f.m.dir, e.Name())); err != nil {
			f.t.Fatal(err)
		}
	}
	f.m.environ, f.m.sections = slices.Clone(f.environ), map[string][]byte{}
	return f.runHere(a)
}

func (f *finder) runHere(a attempt) string {
	for _, file := range a.files {
		f.m.sections[file.Name] = file.Data
		if file.Name[0] != '@' {
			if !filepath.IsLocal(file.Name) || os.MkdirAll(filepath.Dir(file.Name), 0o755) != nil ||
				os.WriteFile(file.Name, file.Data, 0o644) != nil {
				return ""
			}
		}
	}
	f.terminal = ""
	for _, line := range a.commands {
		if words := strings.Fields(line); words[0] == "write" && (len(words) != 3 || f.m.sections[words[2]] == nil) {
			return ""
		}
		began := time.Now()
		f.terminal = f.m.line(line)
		if took := time.Since(began); took > 2*time.Second {
			f.t.Logf("%s took %s: %s", line, took, f.terminal)
		}
	}
	f.terminal = f.m.clean(f.terminal)
	codes := anyCode.FindAllStringSubmatch(f.terminal, -1)
	if len(codes) != 1 || len(anyProblem.FindAllString(f.terminal, -1)) != 1 || local.MatchString(f.terminal) ||
		len(f.terminal) > 3000 {
		return ""
	}
	return codes[0][1]
}

// try stores an attempt if it is the shortest for a code, and returns the code.
func (f *finder) try(a attempt) string {
	code := f.run(a)
	a.terminal = f.terminal
	before, wanted := f.best[code]
	if wanted && (before.terminal == "" || a.size() < before.size()) {
		f.best[code] = a
	}
	return code
}

// steps tries the commands of a script one after the other: each can be the one that fails.
func (f *finder) steps(files []txtar.File, lines []string) {
	for i, line := range lines {
		if strings.HasPrefix(line, "tombolo ") {
			f.try(attempt{commands: slices.Clone(lines[:i+1]), files: files})
		}
	}
}

// archives tries the scripts and cases of the repository.
func (f *finder) archives() {
	count := 0
	for _, path := range f.paths(".txtar") {
		a, err := txtar.ParseFile(path)
		if err != nil {
			continue
		}
		lines, files := script(a)
		if len(files) > 12 || len(lines) > 14 || slices.ContainsFunc(files, func(x txtar.File) bool {
			return len(x.Data) > 4000 || waiting.Match(x.Data)
		}) {
			continue
		}
		if reachesOut(files) {
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "tombolo init") })
		}
		count++
		f.steps(files, lines)
		if len(files) > 0 && len(lines) == 0 {
			f.configuration(files)
		}
	}
	f.t.Logf("%d archives", count)
}

// paths returns the files of the repository whose names have a suffix.
func (f *finder) paths(end string) (out []string) {
	err := filepath.WalkDir(f.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "found" || d.Name() == "interrupts" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, end) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func reachesOut(files []txtar.File) bool {
	return slices.ContainsFunc(files, func(x txtar.File) bool { return reaches.Match(x.Data) })
}

var expected = regexp.MustCompile(`\s*(=> \d+|# want.*)$`)

// script returns the commands and the files of an archive: of a case, a mistake, a page or a script.
func script(a *txtar.Archive) (lines []string, files []txtar.File) {
	text, steps := string(a.Comment), false
	for _, x := range a.Files {
		switch x.Name {
		case "steps", "commands":
			text, steps = string(x.Data), x.Name == "steps"
		case "terminal", "mend", "then":
		default:
			if !strings.HasPrefix(x.Name, "mended/") {
				x.Data = []byte(regexp.MustCompile(`(?m)[ \t]*# want.*$`).ReplaceAllString(string(x.Data), ""))
				files = append(files, x)
			}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(expected.ReplaceAllString(strings.TrimSpace(line), ""))
		words, err := splitWords(strings.TrimLeft(line, "!? "))
		if err != nil || len(words) == 0 {
			continue
		}
		line = strings.TrimLeft(line, "!? ")
		switch {
		case words[0] == "env" && len(words) == 2 && strings.Contains(words[1], "=") && !strings.Contains(line, "$"),
			words[0] == "write" && len(words) == 3:
			lines = append(lines, line)
		case words[0] == "tombolo" && len(words) > 1 && !strings.Contains(line, "$") && !unsuitable(words[1:]):
			lines = append(lines, line)
		case steps && find(Commands(), words[0]) != nil && !strings.Contains(line, "$") && !unsuitable(words):
			if words[0] == "apply" || words[0] == "destroy" {
				line = strings.Replace(line, words[0], words[0]+" -auto-approve", 1)
			}
			lines = append(lines, "tombolo "+line)
		}
	}
	return lines, files
}

// unsuitable reports whether a command is unsuitable for an example, because it never ends or prints output for
// programs.
func unsuitable(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-json") || w == "-daemon" }) ||
		slices.Contains([]string{"login", "logout", "metadata", "serve"}, words[0])
}

// configuration tries a configuration without commands.
func (f *finder) configuration(files []txtar.File) {
	for _, lines := range [][]string{{"tombolo validate"}, {"tombolo plan"}, {"tombolo init"},
		{"tombolo init", "tombolo validate"}, {"tombolo init", "tombolo apply -auto-approve"}, {"tombolo test"}} {
		if lines[0] == "tombolo init" && reachesOut(files) {
			continue
		}
		f.try(attempt{commands: lines, files: files})
	}
}

// texts tries the string literals of tests that are configurations or expressions.
func (f *finder) texts() {
	seen := map[string]bool{}
	for _, path := range f.paths("_test.go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || seen[text] || len(text) > 1500 || strings.ContainsAny(text, "\x00\x1b") {
				return true
			}
			seen[text] = true
			f.text(text)
			return true
		})
	}
	f.t.Logf("%d texts of tests", len(seen))
}

var block = regexp.MustCompile(`(?m)^\s*(resource|data|variable|output|locals|module|terraform|provider|check|moved|` +
	`removed|import|ephemeral|action|language|run|list|function|unknown)\b.*\{`)

func (f *finder) text(text string) {
	switch {
	case waiting.MatchString(text):
	case block.MatchString(text):
		f.configuration([]txtar.File{{Name: "main.tf", Data: []byte(strings.TrimSpace(text) + "\n")}})
	case strings.ContainsAny(text, "([{.+*<>=!") && !strings.Contains(text, "\n") && len(text) < 100:
		if _, diags := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos); diags.HasErrors() {
			return
		}
		files := []txtar.File{{Name: "main.tf", Data: []byte("output \"a\" {\n  value = " + text + "\n}\n")}}
		if f.try(attempt{commands: []string{"tombolo validate"}, files: files}) == "" {
			f.try(attempt{commands: []string{"tombolo plan"}, files: files})
		}
	}
}

// slips tries files with one mistake.
func (f *finder) slips() {
	var sources [][]byte
	for _, path := range f.paths(".txtar") {
		a, err := txtar.ParseFile(path)
		if err != nil {
			continue
		}
		for _, x := range a.Files {
			_, diags := hclsyntax.ParseConfig(x.Data, "x", hcl.InitialPos)
			if strings.HasSuffix(x.Name, ".tf") && !diags.HasErrors() && len(x.Data) > 40 && len(x.Data) < 900 {
				sources = append(sources, x.Data)
			}
		}
	}
	for seed := range uint64(12_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := randomSlip(f.t, r, sources[r.IntN(len(sources))])
		files := []txtar.File{{Name: "main.tf", Data: []byte(s.text)}}
		if f.try(attempt{commands: []string{"tombolo validate"}, files: files}) == "" && !reachesOut(files) {
			f.try(attempt{commands: []string{"tombolo plan"}, files: files})
		}
	}
}

// smaller removes commands, files and lines of an attempt while the problem stays the same.
func (f *finder) smaller(code string, a attempt) attempt {
	title := problemTitle(a.terminal)
	same := func(b attempt) (attempt, bool) {
		if f.run(b) != code || problemTitle(f.terminal) != title {
			return b, false
		}
		b.terminal = f.terminal
		return b, true
	}
	for i := len(a.commands) - 2; i >= 0; i-- {
		b := a
		b.commands = slices.Delete(slices.Clone(a.commands), i, i+1)
		if c, ok := same(b); ok {
			a = c
		}
	}
	for i := len(a.files) - 1; i >= 0; i-- {
		b := a
		b.files = slices.Delete(slices.Clone(a.files), i, i+1)
		if c, ok := same(b); ok {
			a = c
		}
	}
	for i := range a.files {
		a = f.fewerLines(a, i, same)
	}
	return a
}

// fewerLines removes lines of a file, many at once first.
func (f *finder) fewerLines(a attempt, i int, same func(attempt) (attempt, bool)) attempt {
	for n := len(strings.SplitAfter(string(a.files[i].Data), "\n")); n > 0; n /= 2 {
		for at := 0; ; {
			lines := strings.SplitAfter(string(a.files[i].Data), "\n")
			if at >= len(lines) {
				break
			}
			b := a
			b.files = slices.Clone(a.files)
			rest := slices.Delete(slices.Clone(lines), at, min(at+n, len(lines)))
			b.files[i].Data = []byte(strings.Join(rest, ""))
			if c, ok := same(b); ok && len(b.files[i].Data) < len(a.files[i].Data) {
				a = c
			} else {
				at += n
			}
		}
	}
	return a
}

func problemTitle(terminal string) string {
	at := anyProblem.FindStringIndex(terminal)
	title, _, _ := strings.Cut(terminal[at[0]:], "\n")
	return title
}
