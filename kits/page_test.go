//go:build unix

package kits_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/kits"
	"github.com/tombolo-iac/tombolo/provider"
)

// page returns the reference page of the kits.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/kits.md")
	must(t, err)
	return string(text)
}

// block returns the only code block of the page in a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n```"+language+"\n")
	text, after, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed || strings.Contains(after, "\n```"+language+"\n") {
		t.Fatalf("docs/kits.md does not have exactly one block of %s", language)
	}
	return text + "\n"
}

var fences = map[string]string{"node": "javascript"}

// The programs on the page manage objects, in both modes and in every language.
func TestProgramsOfThePageWork(t *testing.T) {
	text := page(t)
	for _, l := range languages {
		for _, mode := range []string{"one-shot", "session"} {
			t.Run(l.name+" "+mode, func(t *testing.T) {
				fence := l.name
				if other := fences[l.name]; other != "" {
					fence = other
				}
				described := strings.Replace(block(t, text, "json"), `"command"`, `"mode": "MODE", "command"`, 1)
				m, diags := manifest.Load(l.folderOf(t, []byte(block(t, text, fence)), described, mode))
				must(t, diags.Err())
				lifeOfANote(t, m)
			})
		}
	}
}

// lifeOfANote creates a note, reads, changes and deletes it.
func lifeOfANote(t *testing.T, m *manifest.Manifest) {
	t.Helper()
	ctx := t.Context()
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir()}), handler.Options{})
	defer p.Close()
	schema, diags := p.Schema(ctx)
	must(t, diags.Err())
	null := cty.NullVal(schema.Type(provider.ManagedResource, "notes_note").Block.ImpliedType())
	path := filepath.Join(t.TempDir(), "note")
	apply := func(prior cty.Value, text string) cty.Value {
		t.Helper()
		config := map[string]cty.Value{"id": cty.NullVal(cty.String), "path": cty.StringVal(path),
			"text": cty.StringVal(text)}
		req := provider.PlanRequest{Type: "notes_note", Prior: prior, Config: cty.ObjectVal(config)}
		config["id"] = cty.UnknownVal(cty.String)
		if !prior.IsNull() {
			config["id"] = prior.GetAttr("id")
		}
		req.Proposed = cty.ObjectVal(config)
		if text == "" {
			req.Config, req.Proposed = null, null
		}
		plan := p.Plan(ctx, req)
		must(t, plan.Diagnostics.Err())
		resp := p.Apply(ctx, provider.ApplyRequest{Type: "notes_note", Prior: prior, Planned: plan.Planned,
			Config: req.Config})
		must(t, resp.Diagnostics.Err())
		return resp.State
	}
	note := null
	for _, text := range []string{"größe\n\n", "-n"} {
		note = apply(note, text)
		if got, err := os.ReadFile(path); err != nil || string(got) != text || note.GetAttr("id").AsString() != path {
			t.Errorf("after %q the file has %q (%v), and the object is %#v", text, got, err, note)
		}
	}
	must(t, os.WriteFile(path, []byte("changed"), 0o600))
	for _, want := range []string{"changed", ""} {
		resp := p.Read(ctx, provider.ReadRequest{Type: "notes_note", Prior: note})
		must(t, resp.Diagnostics.Err())
		if want != "" && resp.State.GetAttr("text").AsString() != want || want == "" && !resp.State.IsNull() {
			t.Errorf("read: got %#v, want %q", resp.State, want)
		}
		if want != "" && !apply(resp.State, "").IsNull() {
			t.Error("the note was not deleted")
		}
	}
}

// definitions match the words of each kit for a call in its source.
var definitions = map[string]*regexp.Regexp{
	"python": regexp.MustCompile(`(?m)^    def ([a-z]\w*)\(self, ?(?:\w+|\*\*\w+).*\):$|^        self\.(cancelled) =`),
	"node":   regexp.MustCompile(`(?m)^  (?:get )?([a-z]\w*)\(.*\) \{`),
	"ruby":   regexp.MustCompile(`(?m)^    def ([a-z]\w*\??)`),
	"bash":   regexp.MustCompile(`(?m)^call\.(\w+)\(\)`),
	"go":     regexp.MustCompile(`(?m)^func \(c \*Call\) ([A-Z]\w*)\(`),
}

// The table of words has all that a call offers in each language, and nothing else.
func TestThePageHasTheWordsOfEveryKit(t *testing.T) {
	_, table, _ := strings.Cut(page(t), "\n## The words\n")
	for column, l := range languages {
		kit := string(l.kit)
		if l.kit == nil {
			text, err := os.ReadFile("tombolo/tombolo.go")
			must(t, err)
			kit = string(text)
		}
		from := regexp.MustCompile(`(?m)^ *class Call\b`).FindStringIndex(kit) // bash and Go have no classes
		if from != nil {
			kit = kit[from[0]:]
			kit = kit[:regexp.MustCompile(`(?m)^(}|  end|def run.*|  # Handles the calls.*)$`).FindStringIndex(kit)[0]]
		}
		want := map[string]bool{}
		for _, m := range definitions[l.name].FindAllStringSubmatch(kit, -1) {
			want[m[1]+strings.Join(m[2:], "")] = true
		}
		for _, own := range []string{"initialize", "method_missing", "respond_to_missing?", "cancel", "constructor"} {
			delete(want, own)
		}
		got := map[string]bool{}
		for line := range strings.Lines(table) {
			cells := strings.Split(line, " | ")
			if len(cells) != len(languages)+1 {
				continue
			}
			for _, m := range regexp.MustCompile(`\bcall\.(\w+\??)`).FindAllStringSubmatch(cells[column+1], -1) {
				got[m[1]] = true
			}
		}
		for _, member := range []string{"planned", "Planned", "Params"} {
			delete(got, member)
		}
		if len(got) < 7 || !maps.Equal(got, want) {
			t.Errorf("%s: the page has %v\nthe kit has %v", l.name, slices.Sorted(maps.Keys(got)),
				slices.Sorted(maps.Keys(want)))
		}
	}
}

// The types of the kit for Node.js have what the kit exports, and each word of a call.
func TestTypesOfTheNodeKitAreComplete(t *testing.T) {
	declared := string(kits.NodeTypes)
	_, list, _ := strings.Cut(string(kits.Node), "module.exports = {")
	list, _, _ = strings.Cut(list, "}")
	for name := range strings.SplitSeq(list, ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), ":")
		if !regexp.MustCompile(`(?m)^export (class|function) ` + name + `\b|\bas ` + name + ` }`).MatchString(declared) {
			t.Errorf("%s is not declared", name)
		}
	}
	for _, m := range definitions["node"].FindAllStringSubmatch(string(kits.Node), -1) {
		if _, class, _ := strings.Cut(string(kits.Node), "class Call "); !strings.Contains(class, m[0]) {
			continue
		}
		_, table, _ := strings.Cut(page(t), "\n## The words\n")
		if regexp.MustCompile(`call\.`+m[1]+`\b`).MatchString(table) && !strings.Contains(declared, "\n  "+m[1]+"(") &&
			!strings.Contains(declared, "readonly "+m[1]+":") {
			t.Errorf("%s of a call is not declared", m[1])
		}
	}
	if _, err := exec.LookPath("tsc"); err != nil {
		t.Skip("needs tsc, to check the declarations themselves")
	}
	out, err := exec.Command("tsc", "--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom",
		"node/tombolo.d.ts").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The bash kit has no mistakes that shellcheck finds.
func TestTheBashKitIsChecked(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("needs shellcheck")
	}
	if out, err := exec.Command("shellcheck", "-S", "warning", "bash/tombolo.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
