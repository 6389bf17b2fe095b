package backend_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
)

var (
	heading     = regexp.MustCompile("^[^\n]*`backend \"(\\w+)\"`")
	example     = regexp.MustCompile("(?s)```hcl\n(terraform \\{.*?)```")
	ofArguments = regexp.MustCompile(`(?m)^\| argument \|.*\n\|[-|]+\n((?:\|.*\n)+)`)
	quoted      = regexp.MustCompile("`([^`]+)`")
	argument    = regexp.MustCompile(`\b[a-z][a-z0-9_]+\b`)
	isName      = regexp.MustCompile(`^[a-z][a-z0-9_]*( \{.*\})?$`) // neither the end of a name nor a value
	inBrackets  = regexp.MustCompile(`\([^)]*\)`)
	variable    = regexp.MustCompile(`^[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)
)

// The pages in docs/backends are correct: the examples are valid blocks, the tables name existing arguments and
// variables, and each page has all arguments of its backend.
func TestPagesNameExistingArguments(t *testing.T) {
	pages, err := filepath.Glob("../../docs/backends/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]map[string][]string
	stored, err := os.ReadFile(storedVariables)
	if err == nil {
		err = json.Unmarshal(stored, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	backends := 0
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimPrefix(string(page), "# ")
		head := heading.FindStringSubmatch(text)
		if head == nil {
			continue
		}
		kind := head[1]
		backends++
		t.Run(kind, func(t *testing.T) {
			examples := example.FindAllStringSubmatch(text, -1)
			if len(examples) == 0 {
				t.Error("there is no example")
			}
			for _, e := range examples {
				checkExample(t, e[1])
			}
			kinds := []string{kind}
			if kind == "remote" {
				kinds = append(kinds, "cloud")
			}
			known, asked := map[string]bool{}, map[string]bool{}
			for _, kind := range kinds {
				theirs, more := ours(kind)
				for _, names := range []types{theirs, more} {
					for name := range names {
						outer, inner, _ := strings.Cut(name, ".")
						known[outer], known[inner] = true, true
						if !regexp.MustCompile("\\b" + outer + "\\b").MatchString(text) {
							t.Errorf("the page does not have %s", outer)
						}
					}
				}
				for name := range askedBy(t, kind) {
					asked[name] = true
				}
			}
			checkTables(t, text, known, func(name string) bool {
				return asked[name] || slices.Contains(read["tombolo"][kind], name)
			})
		})
	}
	if backends < 11 {
		t.Errorf("there are pages of %d backends only", backends)
	}
}

// checkTables checks that the names in the tables of arguments exist.
func checkTables(t *testing.T, text string, known map[string]bool, reads func(variable string) bool) {
	t.Helper()
	for _, table := range ofArguments.FindAllStringSubmatch(text, -1) {
		for row := range strings.Lines(table[1]) {
			cells := strings.Split(row, "|")
			for _, q := range quoted.FindAllStringSubmatch(cells[1], -1) {
				for _, name := range argument.FindAllString(q[1], -1) {
					if isName.MatchString(q[1]) && !known[name] && backend.Types()[q[1]] == cty.NilType {
						t.Errorf("there is no argument %s", name)
					}
				}
			}
			for _, q := range quoted.FindAllStringSubmatch(cells[2], -1) {
				if variable.MatchString(q[1]) && !reads(q[1]) {
					t.Errorf("nothing reads the variable %s", q[1])
				}
			}
		}
	}
}

// The methods and key providers in docs/encryption.md are checked in the same way.
func TestThePageAboutEncryptionNamesExistingArguments(t *testing.T) {
	page, err := os.ReadFile("../../docs/encryption.md")
	if err != nil {
		t.Fatal(err)
	}
	var stored keyAnswers
	var read map[string]map[string][]string
	for name, into := range map[string]any{storedKeyArguments: &stored, storedVariables: &read} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := 0
	for _, part := range [][2]string{{"Methods", "method"}, {"Key providers", "key_provider"}} {
		_, table, _ := strings.Cut(string(page), "\n## "+part[0]+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		for row := range strings.Lines(table) {
			cells := strings.SplitN(row, "|", 3)
			if len(cells) < 3 || !strings.HasPrefix(cells[1], " `") {
				continue
			}
			rows++
			name := strings.Trim(cells[1], " `")
			known := map[string]bool{}
			for argument := range stored.Blocks[fmt.Sprintf("%s %q", part[1], name)] {
				outer, inner, _ := strings.Cut(argument, ".")
				known[outer], known[inner] = true, true
			}
			for _, q := range quoted.FindAllStringSubmatch(inBrackets.ReplaceAllString(cells[2], ""), -1) {
				if isName.MatchString(q[1]) && !known[q[1]] && backend.Types()[q[1]] == cty.NilType {
					t.Errorf("%s has no argument %s", name, q[1])
				}
			}
			for _, q := range quoted.FindAllStringSubmatch(cells[2], -1) {
				if variable.MatchString(q[1]) && !strings.HasPrefix(q[1], "AES_") &&
					!slices.Contains(read["tombolo"][name], q[1]) &&
					q[1] != "GOOGLE_KMS_CUSTOM_ENDPOINT" && // TestCloudKMSKeysEncryptAndDecrypt sets it
					!strings.Contains(cells[2], "except for the variable `"+q[1]) {
					t.Errorf("nothing reads the variable %s for %s", q[1], name)
				}
			}
		}
	}
	if rows < 9 {
		t.Errorf("there are %d rows only", rows)
	}
}

// checkExample decodes a terraform block with its backend.
func checkExample(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, diags := config.LoadModule(t.Context(), config.Options{}, dir, addr.RootModule)
	if !diags.HasErrors() {
		_, diags = backend.Of(m)
	}
	if diags.HasErrors() {
		t.Errorf("%s\n%v", text, diags.Err())
	}
}
