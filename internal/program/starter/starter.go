// Package starter holds a small provider in several languages, to begin one's own with: a program with a manifest, or
// in Go a plugin, and for an HTTP API a manifest alone.
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
	kit                        string // the name of its kit; empty: none
	text                       []byte
	// plugin means that it is no program with a manifest, and folder that the folder of that name has all its files.
	plugin, folder bool
}

var languages = map[string]language{
	"bash": {program: "provider.sh", command: `["bash", "./provider.sh"]`,
		requires: `{"command": "jq", "hint": "apt install jq, brew install jq"}`},
	"python": {
		program: "provider.py",
		command: `{"default": ["python3", "./provider.py"], "windows": ["python", "./provider.py"]}`,
		kit:     kits.PythonName, text: kits.Python},
	"go": {plugin: true, folder: true}, "http": {folder: true},
	"node": {program: "provider.js", command: `["node", "./provider.js"]`,
		requires: `{"command": "node", "hint": "https://nodejs.org"}`, kit: kits.NodeName, text: kits.Node},
}

// Languages are their names.
var Languages = slices.Sorted(maps.Keys(languages))

// Try returns what tries a provider in a folder; program is how the present one is called.
func Try(lang, program, dir string) string {
	if languages[lang].plugin {
		return "cd " + dir + " && go mod tidy && go test ."
	}
	return program + " provider test " + dir
}

// Advice returns what else a person should know before that; empty for most languages.
func Advice(lang, dir string) string {
	switch {
	case lang == "http":
		return "Before that, set API_URL and API_TOKEN, and change the manifest to the requests of your API."
	case !languages[lang].plugin:
		return ""
	}
	return "With a checkout of Tombolo in CHECKOUT instead of a release, run this before:\n  cd " + dir +
		" && go mod edit -replace github.com/tombolo-iac/tombolo=CHECKOUT"
}

// Files returns the files of a provider of that name, by their names; nil for an unknown language.
func Files(lang, name string) map[string][]byte {
	l, ok := languages[lang]
	if !ok {
		return nil
	}
	if l.folder {
		return folderFiles(lang, name)
	}
	fill := func(file string) []byte {
		mode := "one-shot"
		if l.kit != "" {
			mode = "session" // these languages take long to start
		}
		text, err := files.ReadFile("files/" + file)
		if err != nil {
			panic("starter: " + err.Error()) // it is part of the program
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

// folderFiles returns the files of a folder. Those that the Go tool would take for parts of this module are kept under
// other names.
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
		panic("starter: " + err.Error()) // they are part of the program
	}
	return out
}
