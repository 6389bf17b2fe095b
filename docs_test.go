package tombolo_test

import (
	"context"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// The programs at the beginning of docs/programs.md work as the page describes.
func TestDocumentedProgramsWork(t *testing.T) {
	for _, name := range []string{"python3", "bash", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs ", name, ", which the documentation uses")
		}
	}
	dir := t.TempDir()
	for _, file := range blocks(t, filepath.Join("docs", "programs.md"), "file") {
		path := filepath.Join(dir, filepath.FromSlash(file[0]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file[1]), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, old, replacement string) {
		t.Helper()
		path = filepath.Join(dir, path)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s does not say %s: %v", path, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	actions, outputs := applyIn(t, filepath.Join(dir, "data"))
	if diff := cmp.Diff(map[string]string{"title": "The title of abc123"}, outputs); diff != "" || len(actions) > 0 {
		t.Errorf("data: %v (-want +got):\n%s", actions, diff)
	}
	write("data/main.tf", `["python3", "${path.module}/example.py"]`, `["${path.module}/lookup.sh"]`)
	write("data/main.tf", `id = "abc123"`, `foo = "it's", baz = "\"here\""`)
	write("data/main.tf", `result.title`, `result.foobaz`)
	if _, outputs := applyIn(t, filepath.Join(dir, "data")); outputs["title"] != `it's "here"` {
		t.Errorf("lookup.sh: %v", outputs)
	}

	resource, note := filepath.Join(dir, "resource"), filepath.Join(dir, "resource", "notes", "hello.txt")
	steps := []struct {
		old, new string
		lose     bool
		want     []string
		words    string
	}{
		{`"Hello, world."`, `"Hello, world."`, false, []string{"create"}, "2"},
		{"", "", false, nil, "2"},
		{`"Hello, world."`, `"Hello, whole world."`, false, []string{"update"}, "3"},
		{`name = "hello"`, `name = "greeting"`, false, []string{"update"}, "3"},
		{`name = "greeting"`, `name = "hello"`, false, []string{"update"}, "3"},
		{"", "", true, []string{"create"}, "3"},
		{"", "", false, nil, "3"},
	}
	for i, step := range steps {
		if step.lose {
			if err := os.Remove(note); err != nil {
				t.Fatal(err)
			}
		}
		write("resource/main.tf", step.old, step.new)
		actions, outputs := applyIn(t, resource)
		if diff := cmp.Diff(step.want, actions); diff != "" || outputs["words"] != step.words {
			t.Errorf("step %d: outputs %v (-want +got):\n%s", i, outputs, diff)
		}
	}
	if err := os.WriteFile(filepath.Join(resource, "main.tf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if actions, _ := applyIn(t, resource); !cmp.Equal(actions, []string{"delete"}) {
		t.Errorf("without its block: %v", actions)
	}
	if _, err := os.Stat(note); !os.IsNotExist(err) {
		t.Errorf("the note is still there: %v", err)
	}
}

// applyIn plans and applies the configuration in a directory, and returns the actions on objects and the outputs.
func applyIn(t *testing.T, dir string) (actions []string, outputs map[string]string) {
	t.Helper()
	p, st := applied(t, dir)
	for _, c := range p.Changes {
		if c.Action != plan.NoOp {
			actions = append(actions, c.Action.String())
		}
	}
	outputs = map[string]string{}
	for _, name := range st.OutputNames() {
		outputs[name] = st.Output(name).Value.AsString()
	}
	return actions, outputs
}

// applied applies a configuration, and returns the plan and the final state.
func applied(t *testing.T, dir string) (*plan.Plan, *state.State) {
	t.Helper()
	ctx := context.Background()
	project, diags := tombolo.Load(ctx, tombolo.Options{Dir: dir, Environ: []string{}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer run.Close(ctx)
	p, diags := run.Plan(ctx, tombolo.PlanOptions{})
	if !diags.HasErrors() {
		_, diags = run.Apply(ctx, p, tombolo.ApplyOptions{})
	}
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return p, run.State()
}

// The outputs of the configuration in docs/references.md have the values in its comments.
func TestDocumentedReferencesHaveTheShownValues(t *testing.T) {
	dir := t.TempDir()
	files := blocks(t, filepath.Join("docs", "references.md"), "file")
	files = append(files, [2]string{".terraform/modules/modules.json",
		`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"child","Source":"./child","Dir":"child"}]}`})
	for _, file := range files {
		path := filepath.Join(dir, filepath.FromSlash(file[0]))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^output "(\w+)" .* # (.*)$`).FindAllStringSubmatch(files[0][1], -1) {
		want[m[1]] = m[2]
	}
	t.Chdir(dir)
	_, st := applied(t, ".")
	got := map[string]string{}
	for _, name := range st.OutputNames() {
		v := st.Output(name).Value
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("-documented +got:\n%s", diff)
	}
}

// documents returns the pages below docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	below, belowErr := filepath.Glob("docs/*/*.md")
	if err != nil || belowErr != nil || len(pages) < 5 || len(below) < 30 {
		t.Fatal(pages, err, below, belowErr)
	}
	return append(pages, below...)
}

func TestDocumentationLinksExist(t *testing.T) {
	pages := documents(t)
	link, heading := regexp.MustCompile(`\]\(([^)\s]+)\)`), regexp.MustCompile("(?m)^#+ (.*)$")
	drop, code := regexp.MustCompile(`[^\p{L}\p{N} _-]`), regexp.MustCompile("(?s)\n```.*?\n```|`[^`\n]*`")
	pages = append(pages, "README.md", "ARCHITECTURE.md", "RATIONALE.md", "CHANGELOG.md", "CONTRIBUTING.md",
		"SECURITY.md", "conformance/README.md", "bench/README.md")
	linked := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(name))
				linked[target] = true
			}
			there, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr != nil || err != nil && !info.IsDir() {
				t.Errorf("%s: there is no %s", page, m[1])
				continue
			}
			found := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(string(there), -1) {
				found = found || strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""),
					" ", "-") == anchor
			}
			if !found {
				t.Errorf("%s: %s has no such heading", page, m[1])
			}
		}
	}
	for _, page := range documents(t) {
		if !linked[page] {
			t.Errorf("no page has a link to %s", page)
		}
	}
}

// Go code in documents is formatted, so that a tool that rewraps lines cannot break it unnoticed.
func TestGoCodeInDocumentsIsFormatted(t *testing.T) {
	pages := documents(t)
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			code := m[1]
			formatted, err := format.Source([]byte(code))
			if err != nil { // perhaps members of a literal
				code = "var _ = x{\n" + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(code, "\t$1") + "}\n"
				formatted, err = format.Source([]byte(code))
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			} else if string(formatted) != code {
				t.Errorf("%s: gofmt writes\n%s", page, formatted)
			}
		}
	}
}
