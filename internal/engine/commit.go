package engine

import (
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

var commitName = regex.Lazy(`^[0-9a-f]{40,64}$`)

// commitOf returns the current commit of the Git repository around a folder, or "" if there is none. It only reads
// files.
func commitOf(dir string) string {
	dir, err := filepath.Abs(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		head, readErr := regular.Read(filepath.Join(git, "HEAD"), 1<<12)
		if readErr == nil {
			return resolvedHead(git, strings.TrimSpace(string(head)))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

func resolvedHead(git, head string) string {
	name, isRef := strings.CutPrefix(head, "ref: ")
	if !isRef {
		return ifCommit(head)
	}
	if !filepath.IsLocal(name) {
		return ""
	}
	if text, err := regular.Read(filepath.Join(git, name), 1<<12); err == nil {
		return ifCommit(strings.TrimSpace(string(text)))
	}
	packed, err := regular.Read(filepath.Join(git, "packed-refs"), 64<<20)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == name {
			return ifCommit(commit)
		}
	}
	return ""
}

func ifCommit(text string) string {
	if commitName().MatchString(text) {
		return text
	}
	return ""
}
