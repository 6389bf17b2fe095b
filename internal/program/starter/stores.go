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

// storeWords are the commands of stores, by languages.
var storeWords = map[string][]string{"bash": {"bash", "./store.sh"}, "node": {"node", "./store.js"},
	"python": {"python3", "./store.py"}}

// StoreLanguages are the languages that there is a store in.
var StoreLanguages = slices.Sorted(maps.Keys(storeWords))

// StoreCommand is how a store in a folder is run.
func StoreCommand(lang string) []string { return storeWords[lang] }

// Store returns the files of a store of that name, by their names; nil for an unknown language.
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
		panic("starter: " + err.Error()) // they are part of the program
	}
	return out
}
