package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/explain"
)

// writeErrors writes a Markdown page for each group of codes: what the command explain prints about them.
func writeErrors(_ context.Context, dir string, _ io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range errorPages() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// errorPages returns the pages by file name: the prefix of their codes, in lower case.
func errorPages() map[string]string {
	words := explain.Words{Program: program, Title: title}
	pages := map[string]string{}
	for _, a := range explain.Areas() {
		var b strings.Builder
		fmt.Fprintf(&b, "# %s: %s\n\nProblems whose codes begin with %s. ", a.Prefix, a.About, a.Prefix)
		fmt.Fprintf(&b, "The command `%s explain CODE` prints the same.\n\n", program)
		for _, p := range a.Pages {
			b.WriteString(p.Markdown(words))
		}
		pages[strings.ToLower(a.Prefix)+".md"] = strings.TrimRight(b.String(), "\n") + "\n"
	}
	return pages
}
