package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

var (
	helpFlag    = regexp.MustCompile(`(?m)(?:^[ \t]+|aliases: )-([a-z][a-z-]*)`)
	helpCommand = regexp.MustCompile(`(?m)^ {2,4}([a-z][a-z-]*) {2,}`)
)

// TestEveryFlagOfTerraformIsThere reads the help of every command of terraform, and asks tombolo's for the same
// commands and flags.
func TestEveryFlagOfTerraformIsThere(t *testing.T) {
	terraform := findTerraform(t)
	tombolo := findTombolo(t)
	environ := programtest.Environ()
	help := func(program string, path []string) string {
		cmd := programtest.Bounded(t, program, append(slices.Clone(path), "-help")...)
		cmd.Env = environ
		text, _ := cmd.CombinedOutput() // some families exit with 1 after their help
		_, options, _ := strings.Cut(string(text), "\n")
		return options // without the usage line, which has placeholders
	}
	var compare func(path []string)
	compare = func(path []string) {
		theirs, ours := help(terraform, path), help(tombolo, path)
		for _, flag := range names(helpFlag, theirs) {
			if !slices.Contains(names(helpFlag, ours), flag) {
				t.Errorf("%s: the option -%s is missing", strings.Join(path, " "), flag)
			}
		}
		if len(path) > 0 && !slices.Contains([]string{"metadata", "providers", "state", "workspace"}, path[0]) ||
			len(path) > 1 {
			return // no family: what looks like commands in its help are arguments
		}
		for _, name := range names(helpCommand, theirs) {
			member := append(slices.Clone(path), name)
			if !slices.Contains(names(helpCommand, ours), name) {
				t.Errorf("the command %q is missing", strings.Join(member, " "))
				continue
			}
			compare(member)
		}
	}
	compare(nil)
}

func names(pattern *regexp.Regexp, text string) (list []string) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}
