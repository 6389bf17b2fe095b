// Package examples holds the example that the program can write: the one in the README.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed quickstart/*.tf quickstart/*.sh
var quickstart embed.FS

// Quickstart returns the files of the example quickstart by name.
func Quickstart() (map[string][]byte, error) {
	files := map[string][]byte{}
	entries, err := quickstart.ReadDir("quickstart")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if files[e.Name()], err = fs.ReadFile(quickstart, "quickstart/"+e.Name()); err != nil {
			return nil, err
		}
	}
	return files, nil
}
