// Package starter holds a small program provider in several languages, to begin one's own with.
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

// language says what a provider in it consists of.
type language struct {
	program, command, requires string
	kit                        string // the name of its kit; empty: none
	text                       []byte
}

var languages = map[string]language{
	"bash":   {program: "provider.sh", command: `["bash", "./provider.sh"]`, requires: `{"command": "jq", "hint": "apt install jq, brew install jq"}`},
	"python": {program: "provider.py", command: `{"default": ["python3", "./provider.py"], "windows": ["python", "./provider.py"]}`, kit: kits.PythonName, text: kits.Python},
	"node":   {program: "provider.js", command: `["node", "./provider.js"]`, requires: `{"command": "node", "hint": "https://nodejs.org"}`, kit: kits.NodeName, text: kits.Node},
}

// Languages are their names.
var Languages = slices.Sorted(maps.Keys(languages))

// Files gives the files of a provider of that name, by their names; nil for a language that there is none in.
func Files(lang, name string) map[string][]byte {
	l, ok := languages[lang]
	if !ok {
		return nil
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
		return []byte(strings.NewReplacer("NAME", name, "PROGRAM", l.program, "COMMAND", l.command, "REQUIRES", l.requires, "MODE", mode).Replace(string(text)))
	}
	out := map[string][]byte{
		"tombolo-provider.json": fill("manifest.json"), "tombolo-test.json": fill("test.json"), "README.md": fill("README.md"), l.program: fill(l.program),
	}
	if l.kit != "" {
		out[l.kit] = l.text
	}
	return out
}
