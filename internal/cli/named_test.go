package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// flagsOf returns the names of the flags that a command accepts.
func flagsOf(cmd *command.Command, path string) []string {
	app := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo"}}
	names := []string{"help", "version"}
	for _, f := range app.Flags(cmd, path) {
		names = append(names, f.Name)
	}
	return names
}

var (
	flagNamed  = regexp.MustCompile(`(?:^|[\s("'\x60])-([a-z][a-z0-9-]*)`)
	quotedCall = regexp.MustCompile(`"~ ([^"]*)"`)
)

// A command accepts every option that its help names. An option of another command follows that command's name.
func TestOptionsInHelpExist(t *testing.T) {
	eachCommand(func(path string, cmd *command.Command) {
		if cmd.Setup == nil || cmd.Absent {
			return
		}
		own := flagsOf(cmd, path)
		app := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo"}}
		texts := []string{cmd.Long, cmd.ExitCodes()}
		for _, f := range app.Flags(cmd, path) {
			texts = append(texts, f.Text)
		}
		for _, text := range texts {
			text = strings.Join(strings.Fields(text), " ")
			for _, m := range quotedCall.FindAllStringSubmatch(text, -1) {
				checkLine(t, "the help of "+path, "tombolo "+m[1])
			}
			text = quotedCall.ReplaceAllString(text, "")
			for _, at := range flagNamed.FindAllStringSubmatchIndex(text, -1) {
				if name := text[at[2]:at[3]]; !slices.Contains(own, name) && !ofCommandBefore(text[:at[0]], name) {
					t.Errorf("the help of %s names -%s, which it does not accept: %q", path, name, text)
				}
			}
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			checkLine(t, "the example of "+path, strings.ReplaceAll(line, "~", "tombolo"))
		}
	})
}

// ofCommandBefore reports whether a text ends with the name of a command that accepts the flag.
func ofCommandBefore(text, flag string) bool {
	found := false
	eachCommand(func(path string, cmd *command.Command) {
		if strings.HasSuffix(text, " "+path) || strings.HasSuffix(text, `"`+path) {
			found = found || slices.Contains(flagsOf(cmd, path), flag)
		}
	})
	return found
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```")
	inlineCode  = regexp.MustCompile("`([^`]+)`")
	continued   = regexp.MustCompile(`\\\n\s*`)
	endOfCall   = regexp.MustCompile(`\s+(\||\|\||&&|>|>>|<|2>|#|&)(\s|$)|;|\)`)
	assignment  = regexp.MustCompile(`^[A-Z_]+=`)
)

// Every command line in README.md and docs/*.md, in shell blocks and between backquotes, calls an existing command with
// options that it accepts.
func TestCommandLinesOfDocumentsAreAccepted(t *testing.T) {
	pages, err := filepath.Glob(filepath.FromSlash("../../docs/*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	lines := 0
	for _, page := range append(pages, filepath.FromSlash("../../README.md")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		text := string(raw)
		for _, m := range fencedBlock.FindAllStringSubmatch(text, -1) {
			if m[1] != "sh" && m[1] != "console" && m[1] != "bash" {
				continue
			}
			for line := range strings.SplitSeq(continued.ReplaceAllString(m[2], " "), "\n") {
				lines += checkLine(t, name, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
			lines += checkLine(t, name, strings.Join(strings.Fields(m[1]), " "))
		}
	}
	if lines < 50 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// checkLine checks each call of the program in a line of a shell, and returns the number of calls.
func checkLine(t *testing.T, where, line string) (calls int) {
	t.Helper()
	for _, part := range endOfCall.Split(line, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 2 && strings.Join(words[:2], " ") == "go run" && strings.HasSuffix(words[2], "cmd/tombolo") {
			words = append([]string{"tombolo"}, words[3:]...)
		}
		if len(words) < 2 {
			continue
		}
		if program := words[0]; program == "tombolo" || program == "./tombolo" {
			calls++
			checkCall(t, where, part, words[1:], true)
		} else if find(Commands(), program) != nil {
			calls++
			checkCall(t, where, part, words, false)
		}
	}
	return calls
}

// checkCall checks the words after the program's name. If the line begins with only the name of a command, other words
// may be anything: a sentence, an argument, a statement of the language.
func checkCall(t *testing.T, where, line string, words []string, certain bool) {
	t.Helper()
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		name, _, _ := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
		if !slices.ContainsFunc(GlobalOptions, func(f command.Flag) bool { return f.Name == name }) {
			t.Errorf("%s: %q: there is no global option -%s", where, line, name)
		}
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "help" || words[0] == strings.ToUpper(words[0]) {
		return // a COMMAND for the reader to fill in
	}
	cmd, path := find(Commands(), words[0]), words[0]
	if cmd == nil {
		if certain {
			t.Errorf("%s: %q: there is no command %s", where, line, words[0])
		}
		return
	}
	for words = words[1:]; len(cmd.Members) > 0 && len(words) > 0 && !strings.HasPrefix(words[0], "-"); {
		member := find(cmd.Members, words[0])
		if member == nil {
			if certain && cmd.Setup == nil && words[0] != strings.ToUpper(words[0]) {
				t.Errorf("%s: %q: %s has no command %s", where, line, path, words[0])
			}
			break
		}
		cmd, path, words = member, path+" "+words[0], words[1:]
	}
	if cmd.Absent || cmd.Setup == nil {
		return
	}
	known := flagsOf(cmd, path)
	for _, word := range words {
		word = strings.Trim(word, `"'`+"[],.")
		if word == "--" {
			return
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "-") || word == "-" || strings.ContainsAny(name, "0123456789") || name == "" {
			continue
		}
		if !slices.Contains(known, name) && name != strings.ToUpper(name) {
			t.Errorf("%s: %q: %s does not accept -%s", where, line, path, name)
		}
	}
}
