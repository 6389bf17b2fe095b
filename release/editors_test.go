package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/projectfile"
)

var update = flag.Bool("update", false, "write the grammars in docs/schemas")

func TestGrammarsAreThoseOfTheReaders(t *testing.T) {
	files, err := grammars("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join("..", filepath.FromSlash(schemas), name)
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		stored, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(stored, text) {
			t.Errorf("%s differs from the tables of the readers (%v). To write it: go test ./release -update", path,
				err)
		}
	}
}

// words returns the words of a named rule of a grammar.
func words(t *testing.T, file, rule string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(schemas), file))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Repository map[string]struct{ Patterns []struct{ Match string } }
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`\(\?:([a-z_|0-9]+)\)`).FindStringSubmatch(g.Repository[rule].Patterns[0].Match)
	if list == nil {
		t.Fatalf("%s: the rule %s begins with %+v", file, rule, g.Repository[rule].Patterns)
	}
	return strings.Split(list[1], "|")
}

// The reader of tombolo.hcl knows a word in some block if, and only if, the grammar has it.
func TestEveryWordOfTheProjectFileIsInItsGrammar(t *testing.T) {
	const file = "tombolo-project.tmLanguage.json"
	blocks, arguments := words(t, file, "blocks"), words(t, file, "arguments")
	page, err := os.ReadFile(filepath.Join("..", "docs", "extensions", "tombolo-hcl.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| (\\S+) \\|")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		path := strings.Split(row[1], ".")
		name, list := path[len(path)-1], arguments
		if row[2] == "block" {
			list = blocks
		}
		documented[name] = true
		if !slices.Contains(list, name) {
			t.Errorf("%s: there is no %s, of the row %s", file, name, row[1])
		}
	}
	for _, name := range append(slices.Clone(blocks), arguments...) {
		if !documented[name] {
			t.Errorf("%s: there is no row for %s in the documentation", file, name)
		}
	}
	for _, name := range blocks {
		known := false
		for _, text := range []string{name + " {\n}\n", name + " \"a/b\" {\n}\n",
			"provider \"a/b\" {\n  " + name + " {\n  }\n}\n",
			"provider \"a/b\" {\n  " + name + " \"a_b\" {\n  }\n}\n"} {
			_, diags := projectfile.Parse(projectfile.Name, []byte(text))
			known = known || !strings.Contains(fmt.Sprint(diags), "are not expected here")
		}
		if !known {
			t.Errorf("%s: the reader knows no block %s", file, name)
		}
	}
}

// closed are the blocks whose arguments only the language determines, and no provider.
var closed = []string{"variable", "output", "moved", "removed", "import", "lifecycle", "type", "function", "parameter",
	"validation", "precondition", "postcondition", "assert"}

// Every block and argument in the files of the repository that the reader accepts is in the grammar.
func TestWordsOfRealFilesAreInTheGrammar(t *testing.T) {
	const file = "tombolo.tmLanguage.json"
	blocks, arguments := words(t, file, "blocks"), words(t, file, "arguments")
	for _, w := range []string{"type", "function", "parameter", "variable", "resource", "run", "mock_provider"} {
		if !slices.Contains(blocks, w) {
			t.Errorf("%s has no block %s", file, w)
		}
	}
	for _, w := range []string{"definition", "result", "variadic", "for_each", "source", "expect_failures"} {
		if !slices.Contains(arguments, w) {
			t.Errorf("%s has no argument %s", file, w)
		}
	}
	read := 0
	err := filepath.WalkDir(filepath.Join("..", "examples"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !regexp.MustCompile(`\.(tf|tombolo|tftest\.hcl)$`).MatchString(path) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, diags := hclsyntax.ParseConfig(text, path, hcl.InitialPos)
		if diags.HasErrors() {
			return nil // on purpose
		}
		read++
		var check func(body *hclsyntax.Body, within string)
		check = func(body *hclsyntax.Body, within string) {
			for _, b := range body.Blocks {
				if (within == "" || slices.Contains(closed, within)) && !slices.Contains(blocks, b.Type) {
					t.Errorf("%s has no block %s, which is in %s", file, b.Type, path)
				}
				check(b.Body, b.Type)
			}
			for name := range body.Attributes {
				if slices.Contains(closed, within) && !slices.Contains(arguments, name) {
					t.Errorf("%s has no argument %s of %s, which is in %s", file, name, within, path)
				}
			}
		}
		check(parsed.Body.(*hclsyntax.Body), "")
		return nil
	})
	if err != nil || read < 5 {
		t.Errorf("%d files, %v", read, err)
	}
}

func TestTheExtensionHasEachFileThatItNames(t *testing.T) {
	files, err := extension("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", name)
		}
	}
	manifest := string(files["extension/package.json"])
	named := regexp.MustCompile(`"\./([^"]+)"`).FindAllStringSubmatch(manifest, -1)
	if len(named) < 5 {
		t.Errorf("the manifest names %v", named)
	}
	for _, m := range named {
		if files["extension/"+m[1]] == nil {
			t.Errorf("there is no %s", m[1])
		}
	}
	first, second := filepath.Join(t.TempDir(), "a.vsix"), filepath.Join(t.TempDir(), "b.vsix")
	t.Chdir("..")
	var both [2][]byte
	for i, file := range []string{first, second} {
		if err := writeExtension(t.Context(), file, nil); err != nil {
			t.Fatal(err)
		}
		if both[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(both[0], both[1]) {
		t.Error("a second extension has other bytes")
	}
}

// editorFile returns the configuration of an editor in docs/editors.md.
func editorFile(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "<!-- editor: "+name+" -->\n```")
	_, after, _ = strings.Cut(after, "\n")
	text, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("docs/editors.md has no %s", name)
	}
	return text
}

// With the configuration in the documentation, Vim and Neovim know the files, and show a block, an argument, a function
// and a reference in their groups.
func TestVimKnowsFilesAndWords(t *testing.T) {
	for name, config := range map[string][2]string{
		"nvim": {".config/nvim/init.lua", "vim.g.do_filetype_lua = 1 -- for 0.7\n" + editorFile(t, "init.lua")},
		"vim":  {".vim/vimrc", "syntax on\n" + editorFile(t, "vimrc")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip("needs ", name)
			}
			home := t.TempDir()
			write := func(path, text string) {
				path = filepath.Join(home, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			syntax, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(schemas), "tombolo.vim"))
			if err != nil {
				t.Fatal(err)
			}
			write(config[0], config[1])
			write(filepath.ToSlash(filepath.Dir(config[0]))+"/syntax/tombolo.vim", string(syntax))
			write("a.tombolo", "function \"f\" {\n  result = upper(var.a) # why\n  odd = \"${var.a}\"\n}\n")
			write("tombolo.hcl", "modules {\n  lock = true\n}\n")
			write("a.tombolotest.hcl", "run \"a\" {\n}\n")
			write("script.vim", `syntax on
let found = [&filetype]
for at in [[1, 1], [2, 3], [2, 12], [2, 18], [2, 25], [3, 3], [3, 9]]
  call add(found, synIDattr(synID(at[0], at[1], 1), "name"))
endfor
for name in ["tombolo.hcl", "a.tombolotest.hcl"]
  execute "edit " . name
  call add(found, &filetype)
endfor
call add(found, synIDattr(synID(1, 1, 1), "name"))
call writefile(found, "out")
qall!
`)
			cmd := exec.CommandContext(t.Context(), name, "-i", "NONE", "-n", "-es", "-u", config[0],
				"-S", "script.vim", "a.tombolo")
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "TERM=dumb")
			text, err := cmd.CombinedOutput()
			found, readErr := os.ReadFile(filepath.Join(home, "out"))
			if readErr != nil {
				t.Fatalf("%v, %v\n%s", err, readErr, text)
			}
			want := "tombolo\ntomboloBlock\ntomboloArgument\ntomboloFunction\ntomboloReference\ntomboloComment\n\n" +
				"tomboloString\ntombolo\ntombolo\ntomboloBlock\n"
			if string(found) != want {
				t.Errorf("the groups are\n%swant\n%s\n%s", found, want, text)
			}
		})
	}
}
