//go:build unix

package plugged

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipeBlock matches a recipe of docs/ci.md: its name, and its text.
var recipeBlock = regexp.MustCompile("(?s)<!-- ci: (\\w+) -->\n```yaml\n(.*?)```")

// recipeLine matches a command of Tombolo in a recipe.
var recipeLine = regexp.MustCompile(`(?m)^\s*(?:- )?(?:run: )?tombolo (\S.*)$`)

// The commands of docs/ci.md work one after the other in a project.
func TestRecipesForServicesWork(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := recipeBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 4 {
		t.Fatalf("the page has %d recipes", len(blocks))
	}
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) {
			p := newPlugged(t, "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n")
			lines := recipeLine.FindAllStringSubmatch(block[2], -1)
			if len(lines) < 2 {
				t.Fatalf("it has the commands %v", lines)
			}
			if block[1] == "approved" {
				p.wants(p.run(nil, "init", "-input=false"), 0)
			}
			hash := ""
			for _, line := range lines {
				command, file, _ := strings.Cut(line[1], " >")
				args := strings.Fields(strings.ReplaceAll(command, "$HASH", hash))
				got := p.run(nil, args...)
				p.wants(got, 0)
				if file != "" {
					p.write(file, got.out)
				}
				if strings.Contains(command, "-out=tfplan") {
					shown := p.run(nil, "show", "-markdown", "tfplan")
					hash = regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(shown.out)
				}
			}
		})
	}
}
