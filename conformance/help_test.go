package conformance

import (
	"path/filepath"
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

// experiments are flags that no released program accepts, according to their help.
var experiments = []string{"enable-pluggable-state-storage-experiment", "create-default-workspace",
	"state-provider-lock-file"}

// servicesOnly are commands that are implemented by a plugin of the vendor's service.
var servicesOnly = []string{"stacks"}

// TestEveryFlagOfTerraformIsThere reads the help of every command of terraform, and of the newer programs if they are
// installed, and checks that tombolo has the same commands and flags.
func TestEveryFlagOfTerraformIsThere(t *testing.T) {
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			path := o.look(t)
			if path == "" {
				t.Skip("needs " + o.where())
			}
			everyFlagIsThere(t, path, filepath.Join(filepath.Dir(findTombolo(t)), o.flavor().Command()))
		})
	}
}

func everyFlagIsThere(t *testing.T, terraform, tombolo string) {
	environ := programtest.Environ()
	help := func(program string, path []string) string {
		cmd := programtest.Bounded(t, program, append(slices.Clone(path), "-help")...)
		cmd.Env = environ
		text, _ := cmd.CombinedOutput() // some command groups exit with 1 after their help
		_, options, _ := strings.Cut(string(text), "\n")
		return options // without the usage line, which has placeholders
	}
	var compare func(path []string)
	compare = func(path []string) {
		theirs, ours := help(terraform, path), help(tombolo, path)
		for _, flag := range names(helpFlag, theirs) {
			if !slices.Contains(experiments, flag) && !slices.Contains(names(helpFlag, ours), flag) {
				t.Errorf("%s: the option -%s is missing", strings.Join(path, " "), flag)
			}
		}
		if len(path) > 0 && !slices.Contains([]string{"metadata", "providers", "state", "workspace"}, path[0]) ||
			len(path) > 1 {
			return // not a command group: the apparent commands in its help are arguments
		}
		for _, name := range names(helpCommand, theirs) {
			member := append(slices.Clone(path), name)
			if slices.Contains(servicesOnly, name) {
				continue
			}
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
