// Command platforms checks that all packages of the module and their tests compile for other platforms, and runs the
// analyzers of "go vet" on them. Unlike "go vet" with GOOS, it does not compile what they import: it checks types from
// source, without the bodies of functions outside of the module. That takes seconds instead of minutes a platform.
//
//	go run ./.ci/platforms linux/arm64 windows/amd64
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"golang.org/x/tools/go/packages"
)

func main() {
	debug.SetMemoryLimit(2 << 30) // garbage of one platform is collected before more is taken for the next
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(platforms []string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	files := &parsed{root: root + string(filepath.Separator), set: token.NewFileSet(), files: map[string]*ast.File{}}
	bad := 0
	for _, platform := range platforms {
		began := time.Now()
		problems, n, err := check(files, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for _, p := range problems {
			fmt.Fprintf(os.Stderr, "%s: %s\n", platform, p)
		}
		bad += len(problems)
		fmt.Printf("%s: %d packages, %.0f s\n", platform, n, time.Since(began).Seconds())
	}
	if bad > 0 {
		return fmt.Errorf("%d problems", bad)
	}
	return nil
}

// check returns the problems of all packages for a platform, and the number of packages.
func check(files *parsed, platform string) (problems []string, n int, err error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, 0, errors.New("expected SYSTEM/PROCESSOR, such as windows/amd64")
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule, Tests: true, Fset: files.set, ParseFile: files.parse,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return nil, 0, err
	}
	pkgs = slices.DeleteFunc(pkgs, func(p *packages.Package) bool { return strings.HasSuffix(p.PkgPath, ".test") })
	seen := map[string]bool{}
	add := func(problem string) {
		if !seen[problem] { // a package and its variant for tests have the same problems
			seen[problem] = true
			problems = append(problems, problem)
		}
	}
	for p := range packages.Postorder(pkgs) {
		if p.Module == nil || !p.Module.Main {
			p.Errors = nil // such as imports that only the bodies use
		}
		p.IllTyped = len(p.Errors) > 0
		for _, e := range p.Errors {
			add(e.Error())
		}
	}
	if len(problems) > 0 {
		return problems, len(pkgs), nil
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		return nil, 0, err
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			add(fmt.Sprintf("%s: %s: %v", act.Package.ID, act.Analyzer.Name, act.Err))
		}
		for _, d := range act.Diagnostics {
			add(fmt.Sprintf("%s: %s: %s", files.set.Position(d.Pos), act.Analyzer.Name, d.Message))
		}
	}
	return problems, len(pkgs), nil
}

// parsed holds the files that were read for any platform: most are the same for all.
type parsed struct {
	root  string
	set   *token.FileSet
	mu    sync.Mutex
	files map[string]*ast.File
}

func (p *parsed) parse(set *token.FileSet, name string, src []byte) (*ast.File, error) {
	p.mu.Lock()
	file := p.files[name]
	p.mu.Unlock()
	if file != nil {
		return file, nil
	}
	ours := strings.HasPrefix(name, p.root)
	mode := parser.SkipObjectResolution
	if ours {
		mode |= parser.ParseComments
	}
	file, err := parser.ParseFile(set, name, src, mode)
	if err != nil {
		return file, err
	}
	if !ours {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[name] = file
	return file, nil
}

// analyzers are those of "go vet", without the ones for cgo.
var analyzers = []*analysis.Analyzer{
	appends.Analyzer, asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer,
	composite.Analyzer, copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer,
	framepointer.Analyzer, hostport.Analyzer, httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer,
	lostcancel.Analyzer, nilfunc.Analyzer, printf.Analyzer, shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer,
	stdmethods.Analyzer, stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer,
	testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer, unreachable.Analyzer,
	unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
}
