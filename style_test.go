package tombolo_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generated matches the line of files that a tool has written.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// maxColumns is how wide a line may be, with four columns for a tab.
const maxColumns = 120

// walkFiles calls f for each file of the project with one of the given endings, but for those of other modules, and
// data of tests.
func walkFiles(t *testing.T, f func(path, text string), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			hidden := strings.HasPrefix(name, ".") && name != ".ci"
			if path != "." && (hidden || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		wanted := slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) })
		if !wanted || !d.Type().IsRegular() {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(path), string(src))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func columns(line string) int {
	n := 0
	for _, r := range line {
		if r == '\t' {
			n += 3
		}
		n++
	}
	return n
}

// Lines of code are at most 120 columns wide. What stands inside of a raw string of several lines is data, examples in
// comments are code that people copy, and a long word cannot be broken.
func TestLinesOfCodeAreNarrow(t *testing.T) {
	walkFiles(t, func(path, text string) {
		if generated.MatchString(text) {
			return
		}
		data := rawLines(text)
		for i, line := range strings.Split(text, "\n") {
			example := strings.HasPrefix(line, "//\t") || strings.HasPrefix(line, "//go:")
			if columns(line) > maxColumns && !data[i] && !example && !unbreakable(line) && !isData(path, line) {
				t.Errorf("%s:%d has %d columns, at most %d are allowed", path, i+1, columns(line), maxColumns)
			}
		}
	}, ".go")
}

// rawLines returns the lines that raw strings of several lines are on.
func rawLines(text string) map[int]bool {
	out := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.STRING && strings.HasPrefix(lit, "`") && strings.Contains(lit, "\n") {
			first := file.Line(pos) - 1
			for i := range strings.Count(lit, "\n") + 1 {
				out[first+i] = true
			}
		}
	}
}

// isData reports whether a line of a test is a row with a raw string, such as a JSON document, that fills most of it.
func isData(path, line string) bool {
	first, last := strings.Index(line, "`"), strings.LastIndex(line, "`")
	return strings.HasSuffix(path, "_test.go") && first >= 0 && last-first > maxColumns/2
}

// unbreakable reports whether one word takes most of a line: an address, a digest, a pattern.
func unbreakable(line string) bool {
	for _, word := range strings.Fields(line) {
		if len(word) > maxColumns*2/3 {
			return true
		}
	}
	return false
}

// Lines of documents are at most 120 columns wide, but for tables, blocks of code and lines with a long address.
func TestLinesOfDocumentsAreNarrow(t *testing.T) {
	walkFiles(t, func(path, text string) {
		if strings.HasPrefix(path, "examples/") && strings.Contains(path, "/docs/") {
			return // made from schemas, a paragraph a line
		}
		if path == "docs/compatibility.md" {
			return // made from tables by internal/compat
		}
		fence := ""
		for i, line := range strings.Split(text, "\n") {
			trimmed := strings.TrimSpace(line)
			if mark := fenceOf(trimmed); mark != "" && (fence == "" || trimmed == fence) {
				if fence == "" {
					fence = mark
				} else {
					fence = ""
				}
				continue
			}
			free := fence != "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(trimmed, "|") ||
				strings.HasPrefix(trimmed, ">")
			if !free && columns(line) > maxColumns && !unbreakable(line) {
				t.Errorf("%s:%d has %d columns, at most %d are allowed", path, i+1, columns(line), maxColumns)
			}
		}
	}, ".md")
}

func fenceOf(line string) string {
	n := len(line) - len(strings.TrimLeft(line, "`"))
	if n < 3 {
		return ""
	}
	return line[:n]
}

// turns are turns of phrase that were taken out, and must not come back. Each has what to write in its place.
var turns = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`^// \w+ gives\b`), `"returns", or another verb`},
	{regexp.MustCompile(`^// \w+ tells (whether|if)\b`), `"reports whether"`},
	{regexp.MustCompile(`^// \w+ tells that\b`), `"means that" or "reports that"`},
	{regexp.MustCompile(`^// \w+ tells (what|why|how|which|when|where|who)\b`), `"is" for data, "returns" for a function`},
	{regexp.MustCompile(`^// \w+ says (that|whether)\b`), `"reports"`},
	{regexp.MustCompile(`^// \w+ says (what|how|who|where|why|at|of)\b`), `"is" for data, "returns" for a function`},
	{regexp.MustCompile(`^// \w+ tells (of|at|by|for|under)\b`), `"reports", "holds" or "returns"`},
	{regexp.MustCompile(`^// \w+ makes sure\b`), `"checks" or "ensures"`},
	{regexp.MustCompile(`gives a wrong answer`), `"sent an invalid answer"`},
	{regexp.MustCompile(`\bis no (JSON|message|pattern|managed resource|absolute path)\b`), `"is not", an article`},
	{regexp.MustCompile(`could keep things in|as it likes to be told|nobody vouches for it`), "say what is missing"},
	{regexp.MustCompile(`^//.*\band tells whether\b`), `"and reports whether"`},
	{regexp.MustCompile(`^//.*\bmakes sure that\b`), `"ensures that", and "checks that" in a test`},
	{regexp.MustCompile(`^//.*\bwhat \w+ gives\.?$`), `"returns"`},
	{regexp.MustCompile(`hardly meant`), "say what to do if it was meant"},
	{regexp.MustCompile(`\bis none for\b`), `"is not valid" with what is`},
	{regexp.MustCompile(`leave them to nobody`), `"leave them unmanaged"`},
	{regexp.MustCompile(`[Tt]ake back that\b`), `"remove", "undo"`},
	{regexp.MustCompile(`is done all the same`), "say that it may have happened, and what to check"},
	{regexp.MustCompile(`slip of the pen`), "ask whether the other was meant"},
	{regexp.MustCompile(`^("\S+":\s+)?"(Gives|Tells) `), `"Returns", "Reports whether"`},
	{regexp.MustCompile(`\b[Aa]sk nothing\b`), `"do not ask for input"`},
	{regexp.MustCompile(`ask for different things`), `"conflict"`},
	{regexp.MustCompile(`[Ww]ithout someone who answers`), `"without interactive input"`},
	{regexp.MustCompile(`which no state is\b|\bno state holds that`), `"the limit for a state"`},
	{regexp.MustCompile(`greater than %d bytes`), `"larger than"`},
	{regexp.MustCompile(`\bor look whether\b|[Ww]hatever answers there|what answers at`), `"check", "the server"`},
	{regexp.MustCompile(`what the document says of`), `"the document's record of"`},
	{regexp.MustCompile(`the journal in the bucket has what was done`), `"the results so far"`},
	{regexp.MustCompile(`nobody can tell\b.*"`), `"it is not known"`},
	{regexp.MustCompile(`[Bb]elongs? on standard error`), `"write messages to standard error"`},
	{regexp.MustCompile(`^// \w+ makes an? (error|blob) of\b`), `"returns the error for"`},
	{regexp.MustCompile(`^// \w+ is what came of\b`), `"is the result of"`},
	{regexp.MustCompile(`^// \w+ takes secrets out of\b`), `"removes secrets from"`},
	{regexp.MustCompile(`^// \w+ asks (nobody|the \w+ nothing)\b|It asks (nobody|the \w+ nothing)\b`), `"sends no requests"`},
	{regexp.MustCompile(`^// ([A-Z]\w+|[a-z]+[A-Z]\w*) (is|are) what\b`), `"is the ...", or a verb`},
	{regexp.MustCompile(`^// \w+ makes (up|ready)\b`), `"generates", "prepares"`},
	{regexp.MustCompile(`^// (New|With|At|Open)\w* makes\b`), `"returns"`},
	{regexp.MustCompile(`^// \w*Options (say|tell)\b`), `"configures", "selects"`},
	{regexp.MustCompile(`^// [A-Z]\w+ (has|holds|keeps|knows) what\b`), `"holds the ..."`},
	{regexp.MustCompile(`^// \w+ (finds|returns|gathers|collects) what is wrong\b`), `"the problems of"`},
	{regexp.MustCompile(`^// \w+ (looks (at|up)|hands (over|out)|takes out of)\b`),
		`"checks", "returns", "holds", "removes from"`},
	{regexp.MustCompile(`^//.*\bhas said (so|why)\b`), `"has reported it"`},
	{regexp.MustCompile(`^//.*\bnil for nobody\b`), `"may be nil"`},
	{regexp.MustCompile(`did not end well"`), `"did not stop cleanly"`},
	{regexp.MustCompile(`[Nn]obody has agreed`), `"nobody has approved"`},
	{regexp.MustCompile(`does not do what it must`), `"does not meet the contract"`},
	{regexp.MustCompile(`does not find itself`), "say what is unknown"},
	{regexp.MustCompile(`are shown to programs alone|is shown to programs alone`), `"is only shown as JSON"`},
	{regexp.MustCompile(`^//.*\b[Ww]hoever (is|has|must|publishes|reads one|comes)\b`), "the process, run or caller"},
	{regexp.MustCompile(`^//.*; (nil|"") (if|when) there (is|are) none\b`), `"or nil if there is none"`},
	{regexp.MustCompile(`^//.*\b[Ww]ith errors there is none\b`), `"if there are errors, it is nil"`},
	{regexp.MustCompile(`^//.*\bbut for (the|a|an|what|one|those)\b`), `"except for"`},
	{regexp.MustCompile(`\b(takes?|took|taking) the place of\b`), `"replaces"`},
	{regexp.MustCompile(`^// \w+ makes (a|the) call\b`), `"performs a call"`},
	{regexp.MustCompile(`^//.*\bgoes on( with)?\b`), `"continues"`},
	{regexp.MustCompile(`^//.*\ban? (test|folder|paragraph|session|module|goroutine|package|member|place) of (its|their) own\b`),
		`"its own ..."`},
	{regexp.MustCompile(`nobody (could|can) (leave|manage)`), `"it cannot be ..."`},
}

// No comment, message or document has a turn of the list.
func TestTurnsThatWereTakenOutStayOut(t *testing.T) {
	walkFiles(t, func(path, text string) {
		if path == "style_test.go" {
			return
		}
		for i, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			for _, turn := range turns {
				if strings.HasPrefix(turn.pattern.String(), "^//") && !strings.HasPrefix(line, "//") {
					continue // which is most of the time that the test takes
				}
				if turn.pattern.MatchString(line) {
					t.Errorf("%s:%d: write %s: %s", path, i+1, turn.instead, line)
				}
			}
		}
	}, ".go", ".md")
}

// documentTurns are turns that must not come back in what users read.
var documentTurns = regexp.MustCompile(`\b([Ww]hoever|[Nn]obody|[Ss]omebody|goes on (with|when|if)|at once|hears (of|nothing)|` +
	`judge[sd]?|slip of|takes? the place of|laid over|came of|forbids? to|counts? more than|the own|of which (it|they))\b|` + "`\\.?\\w+` behind (it|its name)")

// Pages for users say who or what does something, and when: "another run", "immediately", "together".
func TestPagesSayWhoAndWhen(t *testing.T) {
	pages := 0
	walkFiles(t, func(path, text string) {
		top := path == "README.md" || path == "ARCHITECTURE.md" || path == "SECURITY.md" || path == "CONTRIBUTING.md"
		if !top && !strings.HasPrefix(path, "docs/") || path == "docs/compatibility.md" {
			return
		}
		pages++
		text = strings.ReplaceAll(text, "\n", " ") // a turn may be on two lines
		for _, at := range documentTurns.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-20):min(len(text), at[1]+20)]
			t.Errorf("%s: write who, what or when in place of %q", path, around)
		}
	}, ".md")
	if pages < 60 {
		t.Errorf("found only %d pages", pages)
	}
}

// No package compiles a regular expression when the program starts, and every constant one is valid.
func TestExpressionsAreCompiledWhenFirstUsed(t *testing.T) {
	checked := 0
	walkFiles(t, func(path, text string) {
		if !strings.Contains(text, "regex.Lazy(") && !strings.Contains(text, "regexp.MustCompile(") ||
			strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/regex/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				ast.Inspect(d, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
						checked += checkExpression(t, path, call)
					}
					return true
				})
			}
		}
	}, ".go")
	if checked < 40 {
		t.Errorf("checked only %d expressions", checked)
	}
}

// checkExpression checks a call outside of functions, and returns how many expressions it has compiled.
func checkExpression(t *testing.T, path string, call *ast.CallExpr) int {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return 0
	}
	pkg, _ := f.X.(*ast.Ident)
	text, constant := constantText(call.Args[0])
	switch {
	case pkg != nil && pkg.Name == "regexp" && inBinary(path):
		t.Errorf("%s: use regex.Lazy in place of regexp.%s outside of functions", path, f.Sel.Name)
		return 0
	case pkg == nil || pkg.Name != "regex" || !constant:
		return 0
	}
	if _, err := regexp.Compile(text); err != nil {
		t.Errorf("%s: %s", path, err)
	}
	return 1
}

// inBinary reports whether a file is part of cmd/tombolo, and not of a server for tests, a benchmark or an example.
func inBinary(path string) bool {
	return (strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "sdk/")) &&
		!strings.Contains(path, "test/")
}

// constantText returns the value of a string literal, or of several that are joined.
func constantText(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constantText(e.X)
		right, also := constantText(e.Y)
		return left + right, ok && also
	}
	return "", false
}

// The engine does not know the name by which the command line was called: commands that its problems say to run are
// values, a diag.Command each.
func TestProblemsOfTheEngineNameNoProgram(t *testing.T) {
	named := regexp.MustCompile(`"[^"]*(?:\\"|  |: )tombolo (?:init|plan|apply|recover|state|import|console)\b`)
	walkFiles(t, func(path, text string) {
		if !strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "internal/cli/") ||
			strings.HasSuffix(path, "_test.go") {
			return
		}
		for i, line := range strings.Split(text, "\n") {
			if named.MatchString(line) {
				t.Errorf("%s:%d: use diag.Command: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}, ".go")
}

// A test that is skipped says what it needs, or when it runs.
func TestSkipsSayWhenTheTestRuns(t *testing.T) {
	skip := regexp.MustCompile(`\b(?:t|tb|b|s|f\.t|r\.t)\.Skipf?\((err\b|"[^"]*)`)
	walkFiles(t, func(path, text string) {
		for i, line := range strings.Split(text, "\n") {
			m := skip.FindStringSubmatch(line)
			if m == nil || strings.HasPrefix(path, "provider/providertest/") || strings.HasPrefix(m[1], `"needs `) ||
				strings.HasPrefix(m[1], `"runs `) {
				continue
			}
			t.Errorf(`%s:%d: begin with "needs" or "runs": %s`, path, i+1, strings.TrimSpace(line))
		}
	}, ".go")
}

var (
	namedFile       = regexp.MustCompile(`[\w./-]*\b\w+\.(?:go|md|txtar)\b`)
	namedIdentifier = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*[a-z]\w*)\b`)
)

// Comments name files and identifiers of the project that exist.
func TestCommentsNameWhatExists(t *testing.T) {
	files := map[string]bool{} // every path, and every base name
	walkAll(t, func(path string) {
		files[path] = true
		files[filepath.Base(path)] = true
	})
	declared := map[string]map[string]bool{} // package name -> names
	type comment struct {
		at, dir, text string
		foreign       map[string]bool // names of packages of others that the file imports
	}
	var comments []comment
	walkFiles(t, func(path, text string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		if ast.IsGenerated(file) {
			return
		}
		name := strings.TrimSuffix(file.Name.Name, "_test")
		if declared[name] == nil {
			declared[name] = map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared[name][n.Name.Name] = true
			case *ast.TypeSpec:
				declared[name][n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					declared[name][id.Name] = true
				}
			}
			return true
		})
		foreign := map[string]bool{}
		for _, i := range file.Imports {
			if p := strings.Trim(i.Path.Value, `"`); !strings.HasPrefix(p, modulePath) {
				foreign[filepath.Base(p)] = true
			}
		}
		for _, group := range file.Comments {
			comments = append(comments, comment{fset.Position(group.Pos()).String(), filepath.Dir(path), group.Text(),
				foreign})
		}
	}, ".go")
	for _, c := range comments {
		for _, name := range namedFile.FindAllString(c.text, -1) {
			exists := files[strings.TrimPrefix(name, "./")] || files[filepath.ToSlash(filepath.Join(c.dir, name))] ||
				!strings.Contains(name, "/") && files[name]
			if !exists && !ofUsers.MatchString(name) {
				t.Errorf("%s: there is no file %s", c.at, name)
			}
		}
		for _, m := range namedIdentifier.FindAllStringSubmatch(c.text, -1) {
			if names := declared[m[1]]; names != nil && !names[m[2]] && !c.foreign[m[1]] && !others[m[1]] {
				t.Errorf("%s: there is no %s", c.at, m[0])
			}
		}
	}
}

var (
	namedPath = regexp.MustCompile("`((?:addr|bench|cmd|conformance|diag|docs|event|internal|kits|plan|provider|sdk|state)" +
		"/[\\w./-]*\\w)`")
	namedSource = regexp.MustCompile("`([\\w-]+\\.go)`")
)

// Documents name folders and files of the project that exist.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	there := map[string]bool{} // every path, every folder, and every base name
	walkAll(t, func(path string) {
		there[path], there[filepath.Base(path)] = true, true
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			there[filepath.ToSlash(dir)] = true
		}
	})
	walkFiles(t, func(path, text string) {
		if path == "CHANGELOG.md" { // it tells of what is gone
			return
		}
		for i, line := range strings.Split(text, "\n") {
			found := slices.Concat(namedPath.FindAllStringSubmatch(line, -1),
				namedSource.FindAllStringSubmatch(line, -1))
			for _, m := range found {
				beside := filepath.ToSlash(filepath.Join(filepath.Dir(path), m[1]))
				if !there[m[1]] && !there[beside] && !ofUsers.MatchString(m[1]) {
					t.Errorf("%s:%d: there is no %s", path, i+1, m[1])
				}
			}
		}
	}, ".md")
}

// ofUsers matches the names that comments use for files of users.
var ofUsers = regexp.MustCompile(`^/|NAME|^(main|x)\.go$|^(docs|templates|resources)/\w+\.md$|^templates/index\.md$|/seed_\d+\.txtar$|^result\.md$`)

// others are names of packages of ours that examples in comments have for variables.
var others = map[string]bool{"command": true, "run": true}

func walkAll(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		hidden := path != "." && strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci"
		if err == nil && d.IsDir() && (hidden || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			f(filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// maxFunction is how many lines a function may have from its name to its end. Functions of tests may have more: many of
// them are tables.
const maxFunction = 60

func TestFunctionsAreShort(t *testing.T) {
	walkFiles(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := fset.Position(f.Pos()).Line
			if n := fset.Position(f.End()).Line - at + 1; n > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, at most %d are allowed", path, at, f.Name.Name, n, maxFunction)
			}
		}
	}, ".go")
}
