package complete

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// place is a start-up file of a shell, and the lines to add to it.
type place struct {
	shell string
	file  string
	lines []string
	own   bool // only this program writes the file; Uninstall deletes it
}

// Install sets up completion in the user's shells. It is idempotent.
func Install(a *command.App) command.Outcome {
	return change(a, "Completion is already installed", func(p place) (bool, error) {
		return p.edit(func(content []byte) []byte {
			for _, line := range p.lines {
				content = appendLine(content, line)
			}
			return content
		})
	})
}

// Uninstall removes the lines that Install added, and keeps the rest of the files.
func Uninstall(a *command.App) command.Outcome {
	return change(a, "Completion is not installed", func(p place) (bool, error) {
		if p.own {
			err := command.RemoveFile(p.file)
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			return err == nil, err
		}
		return p.edit(func(content []byte) []byte {
			for _, line := range p.lines {
				content = removeLine(content, line)
			}
			return content
		})
	})
}

// change edits the file of every shell and prints the results.
func change(a *command.App, already string, do func(place) (bool, error)) command.Outcome {
	var diags diag.List
	list := places(a)
	if len(list) == 0 {
		diags = diags.Errorf(nil, "Did not find any shells to install", "There is neither a .bashrc, .bash_profile, "+
			".bash_login or .profile nor a .zshrc in the home directory %q, and no folder for the settings of fish. "+
			"Create the file that your shell reads and run this again, or add the output of \"%s completion SHELL\" "+
			"to it.", home(a), a.Program)
	}
	for _, p := range list {
		switch changed, err := do(p); {
		case err != nil:
			diags = diags.Errorf(nil, "Cannot change the settings of "+p.shell, "The file %s was not changed: %s.",
				p.file,
				err)
		case changed:
			fmt.Fprintf(a.Out, "Changed for %s: %s. It takes effect in new shells.\n", p.shell, p.file)
		default:
			fmt.Fprintf(a.Out, "%s for %s: %s\n", already, p.shell, p.file)
		}
	}
	if diags.HasErrors() {
		for _, d := range diags {
			fmt.Fprintf(a.Err, "Error: %s\n\n%s\n", d.Summary, view.Wrap(view.Clean(d.Detail), a.Width))
		}
		return command.Failed
	}
	return command.Done
}

func home(a *command.App) string {
	if dir := a.Getenv("HOME"); dir != "" {
		return dir
	}
	dir, _ := os.UserHomeDir() // without a home directory there are no start-up files
	return dir
}

// places returns the start-up files of the shells that the user has set up. The files and the lines are the same as
// Terraform's.
func places(a *command.App) (list []place) {
	dir := home(a)
	if dir == "" {
		return nil
	}
	program := self(a)
	complete := "complete -C " + quoted(program) + " " + a.Program
	for _, name := range []string{".bashrc", ".bash_profile", ".bash_login", ".profile"} {
		if file := filepath.Join(dir, name); isFile(file) {
			list = append(list, place{shell: "bash", file: file, lines: []string{complete}})
			break
		}
	}
	zsh := filepath.Join(cmp.Or(a.Getenv("ZDOTDIR"), dir), ".zshrc")
	if isFile(zsh) {
		list = append(list, place{shell: "zsh", file: zsh, lines: []string{
			"autoload -U +X bashcompinit && bashcompinit", strings.Replace(complete, "complete -C",
				"complete -o nospace -C", 1),
		}})
	}
	fish := filepath.Join(cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(dir, ".config")), "fish")
	if info, err := os.Stat(fish); err == nil && info.IsDir() {
		list = append(list, place{shell: "fish", file: filepath.Join(fish, "completions", a.Program+".fish"), own: true,
			lines: strings.Split(strings.TrimRight(script("fish", a.Program, program), "\n"), "\n")})
	}
	return list
}

// self returns the absolute path of the program.
func self(a *command.App) string {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	path, err := os.Executable()
	if err != nil {
		return a.Program
	}
	return path
}

// quoted quotes a path as one word for both the shell that reads the line and the one that runs the command in it.
func quoted(path string) string {
	once, _ := escape(path, 0)
	if once == path {
		return path
	}
	twice, _ := escape(once, 0)
	return twice
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// edit changes the content of the file atomically, and reports whether it changed.
func (p place) edit(f func([]byte) []byte) (bool, error) {
	content, err := os.ReadFile(p.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.own:
		if err := command.MakeDir(filepath.Dir(p.file)); err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	}
	var changed []byte
	if p.own {
		changed = []byte(strings.Join(p.lines, "\n") + "\n")
	} else {
		changed = f(bytes.Clone(content))
	}
	if bytes.Equal(changed, content) {
		return false, nil
	}
	return true, replace.File(p.file, 0o666, func(w io.Writer) error {
		_, err := w.Write(changed)
		return err
	})
}

// appendLine appends a line unless the text contains it. If the last line has no newline, the new line has none either,
// so that removing it restores the text exactly.
func appendLine(content []byte, line string) []byte {
	for have := range bytes.Lines(content) {
		if string(bytes.TrimRight(have, "\r\n")) == line {
			return content
		}
	}
	if len(content) > 0 && content[len(content)-1] != '\n' {
		return append(content, "\n"+line...)
	}
	return append(content, line+"\n"...)
}

// removeLine removes all occurrences of a line.
func removeLine(content []byte, line string) []byte {
	var kept []byte
	for have := range bytes.Lines(content) {
		switch {
		case string(have) == line: // without a newline: the line before had none either
			kept = bytes.TrimSuffix(kept, []byte("\n"))
		case string(bytes.TrimRight(have, "\r\n")) != line:
			kept = append(kept, have...)
		}
	}
	return kept
}
