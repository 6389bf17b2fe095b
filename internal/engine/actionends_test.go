package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// acted is one run: a configuration and its result. Action "bad" fails.
type acted struct {
	// things is the resource block's own arguments; its lifecycle block has triggers.
	things, triggers string
	mode             plan.Mode
	done             string // the performed operations, in order
	problem, warning string // parts of the error and of a warning
	tainted          string // the objects that the next apply replaces
}

// TestActionsOnDestructionAndTheirFailures applies configurations one after another to one state.
func TestActionsOnDestructionAndTheirFailures(t *testing.T) {
	const (
		ends = "action_trigger {\n events = [before_destroy, after_destroy]\n" +
			" actions = [action.actor_say.one, action.actor_say.two]\n}\n"
		bad = "action_trigger {\n events = [%s]\n actions = [action.actor_say.bad, action.actor_say.one]\n %s\n}\n"
	)
	failing := func(event, word string) string {
		if word != "" {
			word = "on_failure = " + word
		}
		return fmt.Sprintf(bad, event, word)
	}
	one := func(name string) string { return "name = \"" + name + "\"" }
	for what, runs := range map[string][]acted{
		"destroy everything": {{things: one("a"), triggers: ends, done: "apply a apply dep-id-a"},
			{things: one("a"), triggers: ends, mode: plan.Destroy,
				done: "delete dep-id-a say one say two delete a say one say two"}},
		"an instance that is gone": {{things: "count = 2\nname = \"n${count.index}\"", triggers: ends,
			done: "apply n apply n apply dep-2"}, {things: "count = 1\nname = \"n${count.index}\"", triggers: ends,
			done: "say one say two delete n1 say one say two apply dep-1"}},
		"a replacement": {{things: one("a"), triggers: ends, done: "apply a apply dep-id-a"},
			{things: one("b"), triggers: ends,
				done: "delete dep-id-a say one say two delete a say one say two apply b apply dep-id-b"}},
		"a replacement, the new one first": {
			{things: one("a"), triggers: ends + "create_before_destroy = true\n", done: "apply a apply dep-id-a"},
			{things: one("b"), triggers: ends + "create_before_destroy = true\n",
				done: "delete dep-id-a apply b apply dep-id-b say one say two delete a say one say two"}},
		"a failure before the end": {{things: one("a"), triggers: failing("before_destroy", ""),
			done: "apply a apply dep-id-a"}, {things: "count = 0\n" + one("a"),
			triggers: failing("before_destroy", ""), done: "say bad", problem: "No way"},
			{things: "count = 0\n" + one("a"), triggers: failing("before_destroy", "continue"),
				done: "say bad say one delete a apply dep-0", warning: "No way"}},
		"a failure when all is destroyed": {{things: one("a"),
			triggers: failing("before_destroy, after_destroy", "halt"),
			done:     "apply a apply dep-id-a"}, {things: one("a"),
			triggers: failing("before_destroy, after_destroy", "halt"), mode: plan.Destroy,
			done: "delete dep-id-a say bad say one delete a say bad say one", warning: "No way"}},
		"a failure after the end": {{things: one("a"), triggers: failing("after_destroy", ""),
			done: "apply a apply dep-id-a"}, {things: "count = 0\n" + one("a"), triggers: failing("after_destroy", ""),
			done: "delete a say bad", problem: "No way"}},
		"halt": {{things: one("a"), triggers: failing("after_create", "halt"), done: "apply a say bad",
			problem: "No way"}, {things: one("a"), triggers: failing("after_create", "halt"), done: "apply dep-id-a"}},
		"taint": {{things: one("a"), triggers: failing("after_create", "taint"), done: "apply a say bad",
			problem: "No way", tainted: "actor_thing.a"},
			{things: one("a"), triggers: failing("after_create", "continue"),
				done: "delete a apply a say bad say one apply dep-id-a", warning: "No way"}},
		"continue": {{things: one("a"), triggers: failing("before_create, after_create", "continue"),
			done: "say bad say one apply a say bad say one apply dep-id-a", warning: "No way"}},
		"halt before": {{things: one("a"), triggers: failing("before_create", "halt"), done: "say bad",
			problem: "No way"}},
		"taint before": {{things: one("a"), triggers: failing("before_create", "taint"), done: "say bad",
			problem: "No way"}},
		"taint an update": {{things: one("a"), triggers: "", done: "apply a apply dep-id-a"},
			{things: one("b"), triggers: failing("after_update", "taint"), done: "apply b say bad", problem: "No way"}},
		"unknown at the end": {{things: one("a"), triggers: "action_trigger {\n events = [before_destroy]\n" +
			" actions = [action.actor_say.own]\n}\n", done: "apply a apply dep-id-a"},
			{things: one("a"), triggers: "action_trigger {\n events = [before_destroy]\n" +
				" actions = [action.actor_say.own]\n}\n", mode: plan.Destroy,
				done: "delete dep-id-a say id-a delete a"}},
	} {
		t.Run(what, func(t *testing.T) { actInTurn(t, runs, strings.HasPrefix(what, "a replacement")) })
	}
}

func actInTurn(t *testing.T, runs []acted, replaces bool) {
	dir, a := t.TempDir(), &actor{replaces: replaces}
	a.invoke = func(text string) (resp provider.InvokeActionResponse) {
		if text == "bad" {
			resp.Diagnostics = resp.Diagnostics.Errorf(nil, "No way", "It is bad.")
		}
		return resp
	}
	for n, r := range runs {
		config := "terraform {\n  required_providers {\n    actor = { source = \"tombolo/actor\" }\n  }\n}\n"
		for _, name := range []string{"one", "two", "bad"} {
			config += fmt.Sprintf("action \"actor_say\" %q {\n  config {\n    text = %[1]q\n  }\n}\n", name)
		}
		counted := strings.Contains(r.things, "count")
		depends, own := "actor_thing.a.id", "actor_thing.a.id"
		if counted {
			depends, own = "tostring(length(actor_thing.a))", "\"counted\""
		}
		config += fmt.Sprintf("action \"actor_say\" \"own\" {\n  config {\n    text = %s\n  }\n}\n", own)
		config += fmt.Sprintf("resource \"actor_thing\" \"a\" {\n%s\nlifecycle {\n%s}\n}\n", r.things, r.triggers)
		config += fmt.Sprintf("resource \"actor_thing\" \"dependent\" {\n  name = \"dep-${%s}\"\n}\n", depends)
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		a.done, a.mode = nil, r.mode
		_, _, left, diags := a.apply(t, dir)
		got := strings.Join(a.done, " ")
		if n == 0 {
			got = strings.NewReplacer("n0", "n", "n1", "n").Replace(got) // instances come in any order
		}
		if got != r.done {
			t.Errorf("run %d: did %q, want %q", n, got, r.done)
		}
		if len(left) > 0 {
			t.Errorf("run %d: in flight %v", n, left)
		}
		text := fmt.Sprint(diags.Err())
		if diags.HasErrors() != (r.problem != "") || !strings.Contains(text, r.problem) {
			t.Errorf("run %d: got %s, want %q", n, text, r.problem)
		}
		warned := slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool {
			return d.Severity == diag.Warning && strings.Contains(d.Detail, r.warning)
		})
		if r.warning != "" && !warned {
			t.Errorf("run %d: there is no warning %q: %v", n, r.warning, diags)
		}
		tainted := ""
		for _, object := range a.objects.Resources() {
			for _, key := range object.Keys() {
				o := addr.Object{Instance: object.Addr.Instance(key)}
				if have := a.objects.Object(o); have != nil && have.Status == state.Tainted {
					tainted += o.String()
				}
			}
		}
		if tainted != r.tainted {
			t.Errorf("run %d: tainted %q, want %q", n, tainted, r.tainted)
		}
	}
}
