package starter

import (
	"embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

//go:embed stores
var stores embed.FS

// storeWords maps languages to the commands of stores.
var storeWords = map[string][]string{"bash": {"bash", "./store.sh"}, "node": {"node", "./store.js"},
	"python": {"python3", "./store.py"}}

// StoreLanguages lists the languages in which there is a store.
var StoreLanguages = slices.Sorted(maps.Keys(storeWords))

// StoreCommand returns the command that runs a store in a folder.
func StoreCommand(lang string) []string { return storeWords[lang] }

// Store returns the files of a store, by file name, or nil for an unknown language.
func Store(lang, name string) map[string][]byte {
	words := storeWords[lang]
	if words == nil {
		return nil
	}
	list, err := json.Marshal(words)
	script := strings.TrimPrefix(words[1], "./")
	out := map[string][]byte{}
	fill := strings.NewReplacer("NAME", name, "SCRIPT", script, "WORDS", strings.Join(words, " "), "LIST",
		strings.ReplaceAll(string(list), ",", ", "))
	for _, file := range []string{script, "README.md"} {
		var text []byte
		if text, err = stores.ReadFile("stores/" + file); err != nil {
			break
		}
		out[file] = []byte(fill.Replace(string(text)))
	}
	if err != nil {
		panic("starter: " + err.Error()) // the files are embedded
	}
	return out
}
