// Package starter contains a small example provider in several languages, from which users start their own: a program
// with a manifest, a WASI module with a manifest, a plugin in Go, or for an HTTP API only a manifest.
package starter

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/kits"
)

//go:embed files
var files embed.FS

// language holds the files of a provider in a language.
type language struct {
	program, command, requires string
	kit                        string // name of its kit, or ""
	text                       []byte
	session                    bool // it takes long to start
	// plugin means that it is not a program with a manifest; folder means that all its files are in the folder of that
	// name.
	plugin, folder bool
	// module is the command that compiles the program to a WASI module, if it is one, and source the name of its file.
	module, source string
}

var languages = map[string]language{
	"bash": {program: "provider.sh", command: `["bash", "./provider.sh"]`,
		requires: `{"command": "jq", "hint": "apt install jq, brew install jq"}`,
		kit:      kits.BashName, text: kits.Bash},
	"python": {
		program: "provider.py",
		command: `{"default": ["python3", "./provider.py"], "windows": ["python", "./provider.py"]}`,
		kit:     kits.PythonName, text: kits.Python, session: true},
	"go": {plugin: true, folder: true}, "http": {folder: true},
	"go-wasm": {source: "main.go", module: `GOOS=wasip1 GOARCH=wasm go build -ldflags "-s -w" -o NAME.wasm .`},
	"rust":    {source: "main.rs", module: "rustc --target wasm32-wasip1 -O -C strip=symbols -o NAME.wasm main.rs"},
	"c":       {source: "main.c", module: "clang --target=wasm32-wasi -O2 -s -o NAME.wasm main.c"},
	"node": {program: "provider.js", command: `["node", "./provider.js"]`, session: true, kit: kits.NodeName,
		requires: `{"command": "node", "hint": "https://nodejs.org"}`, text: kits.Node},
	"ruby": {program: "provider.rb", command: `["ruby", "./provider.rb"]`, session: true, kit: kits.RubyName,
		requires: `{"command": "ruby", "hint": "apt install ruby, brew install ruby"}`, text: kits.Ruby},
}

// Languages lists the names of the languages.
var Languages = slices.Sorted(maps.Keys(languages))

// Try returns the commands for trying a provider in a folder; program is the name of the running command.
func Try(lang, program, name, dir string) string {
	l := languages[lang]
	switch {
	case l.plugin:
		return "cd " + dir + " && go mod tidy && go test ."
	case l.module != "":
		return "cd " + dir + " && " + strings.ReplaceAll(l.module, "NAME", name) + " && " + program + " provider test ."
	}
	return program + " provider test " + dir
}

// Advice returns additional advice for users, or "" for most languages.
func Advice(lang, dir string) string {
	switch {
	case lang == "rust":
		return "This needs the standard library for the target: rustup target add wasm32-wasip1. Versions of Rust " +
			"before 1.78 call it wasm32-wasi."
	case lang == "c":
		return "This needs clang, lld and wasi-libc: apt install clang lld wasi-libc libclang-rt-dev-wasm32."
	case lang == "http":
		return "Before that, set API_URL and API_TOKEN, and change the manifest to the requests of your API."
	case !languages[lang].plugin:
		return ""
	}
	return "With a checkout of Tombolo in CHECKOUT instead of a release, run this before:\n  cd " + dir +
		" && go mod edit -replace github.com/tombolo-iac/tombolo=CHECKOUT"
}

// Files returns the files of a provider, by file name, or nil for an unknown language.
func Files(lang, name string) map[string][]byte {
	l, ok := languages[lang]
	if !ok {
		return nil
	}
	switch {
	case l.folder:
		return folderFiles(lang, name)
	case l.module != "":
		return moduleFiles(l, name)
	}
	fill := func(file string) []byte {
		mode := "one-shot"
		if l.session {
			mode = "session"
		}
		text, err := files.ReadFile("files/" + file)
		if err != nil {
			panic("starter: " + err.Error()) // the files are embedded
		}
		return []byte(strings.NewReplacer("NAME", name, "SCRIPT", l.program, "COMMAND", l.command, "REQUIRES",
			l.requires, "MODE", mode).Replace(string(text)))
	}
	out := map[string][]byte{
		"tombolo-provider.json": fill("manifest.json"), "tombolo-test.json": fill("test.json"),
		"README.md": fill("README.md"), l.program: fill(l.program),
	}
	if l.kit != "" {
		out[l.kit] = l.text
	}
	return out
}

// moduleFiles returns the files of a module: those that are the same for all languages, and its source.
func moduleFiles(l language, name string) map[string][]byte {
	out := folderFiles("wasm", name)
	for _, other := range languages {
		if other.source != l.source {
			delete(out, other.source)
		}
	}
	if l.source != "main.go" {
		delete(out, "go.mod")
	}
	build := strings.ReplaceAll(l.module, "NAME", name)
	out["README.md"] = []byte(strings.NewReplacer("SOURCE", l.source, "BUILD", build).Replace(string(out["README.md"])))
	return out
}

// folderFiles returns the files of a folder. Files that the Go tool would treat as parts of this module are embedded
// under other names.
func folderFiles(folder, name string) map[string][]byte {
	entries, err := files.ReadDir("files/" + folder)
	out := map[string][]byte{}
	for _, e := range entries {
		var text []byte
		if text, err = files.ReadFile("files/" + folder + "/" + e.Name()); err != nil {
			break
		}
		out[strings.TrimSuffix(e.Name(), ".txt")] = []byte(strings.ReplaceAll(string(text), "NAME", name))
	}
	if err != nil {
		panic("starter: " + err.Error()) // the files are embedded
	}
	return out
}
