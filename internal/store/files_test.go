package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// writers lists the packages and files that may change files directly, with the reason. All others use store.Files, so
// that every place where a crash or a full disk does harm is tested. A folder covers all of its files.
var writers = map[string]string{
	"internal/store/files.go":          "is the implementation of store.Files",
	"internal/store/files_linux.go":    "is the implementation of store.Files",
	"internal/store/files_posix.go":    "is the implementation of store.Files",
	"internal/store/files_unix.go":     "is the implementation of store.Files",
	"internal/store/files_windows.go":  "is the implementation of store.Files",
	"internal/store/faults/faults.go":  "counts calls for the crash harness",
	"internal/fetch":                   "modules, providers and the lock file, all of which init can make again",
	"internal/pack":                    "archives of programs, which can be made again",
	"internal/cli/command/files.go":    "directories and logs of commands, and what programs read while they run",
	"internal/cli/author/store.go":     "the folder of a trial, which goes with it",
	"internal/cli/author/build.go":     "a folder for hosts that are unpacked, which goes with the command",
	"internal/worker":                  "clones, checkouts and results of runs, in its own folder",
	"kits/tombolo/listen.go":           "the socket of a program",
	"internal/cli/serving/plans.go":    "reads the folder of plans, from which no name leads out",
	"internal/replace":                 "plan files and other output of commands, replaced as a whole",
	"internal/program":                 "spools of programs, whose own protocol says what is durable when",
	"internal/host":                    "sockets of plugins",
	"internal/wire/handshake":          "sockets of plugins",
	"internal/regular":                 "opens files for reading alone",
	"internal/openapi":                 "opens the folder of a document for reading alone",
	"internal/world":                   "the ledger of the fake world that tests compare with",
	"provider/serve":                   "sockets of plugins",
	"sdk/schema/schematest":            "directories of tests",
	"examples/provider-notes":          "the notes of an example",
	"internal/pgtest":                  "the folder of a server for tests",
	"internal/provision/sshtest":       "the folder of a server for tests",
	"internal/tfjson/tfjsontest":       "recordings of tests, made anew",
	"internal/store/remote/drivertest": "certificates of servers for tests",
	"internal/provision/winrmtest":     "the folder of a server for tests",
	"internal/store/azure/azuretest":   "certificates of a server for tests",
	"conformance/providers":            "providers for tests, modules of their own",
	"bench":                            "generated configurations and reports",
	"release":                          "what a release is made of, all of which can be made again",

	"internal/store/kubernetes/kubernetestest": "keys of a server for tests",
}

var forbidden = map[string]bool{
	"WriteFile": true, "Rename": true, "Create": true, "CreateTemp": true, "OpenFile": true, "Truncate": true,
	"Remove": true, "RemoveAll": true,
	"Link": true, "Symlink": true, "Mkdir": true, "MkdirAll": true, "MkdirTemp": true, "Chmod": true, "Chtimes": true,
	"CopyFS": true, "OpenRoot": true,
}

func TestFilesAreChangedThroughOneInterface(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".") &&
			d.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if allowed(name) {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler reports it
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := call.X.(*ast.Ident); ok && (pkg.Name == "os" || pkg.Name == "ioutil") &&
				forbidden[call.Sel.Name] {
				t.Errorf("%s: %s.%s changes files; use store.Files, or add the place with its reason to the list in "+
					"this test", set.Position(n.Pos()), pkg.Name, call.Sel.Name)
			}
			return true
		})
		return nil
	})
	must(t, err)
}

func allowed(name string) bool {
	for by := range writers {
		if name == by || strings.HasPrefix(name, by+"/") {
			return true
		}
	}
	return false
}
