package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// TestNoActionIsForgottenByAStoppedApply creates or replaces objects with random triggers, and stops or fails at a
// random action. Afterwards, each action after a creation was invoked, or its object is tainted or was not created, or
// an error names the action: the next apply would not invoke it. If the object was not created, no error names it.
func TestNoActionIsForgottenByAStoppedApply(t *testing.T) {
	left := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		var src strings.Builder
		src.WriteString("terraform {\n  required_providers {\n    actor = { source = \"tombolo/actor\" }\n  }\n}\n")
		var actions, ends []string // the texts of all actions, and of those after a creation
		owner := map[string]string{}
		for i := range 1 + r.IntN(3) {
			name := string(rune('a' + i))
			fmt.Fprintf(&src, "resource \"actor_thing\" %q {\n  name = %q\n  lifecycle {\n", name, name)
			var blocks strings.Builder
			for range 1 + r.IntN(2) {
				event := []string{"before_create", "after_create", "after_create", "before_destroy",
					"after_destroy"}[r.IntN(5)]
				var list []string
				for range 1 + r.IntN(3) {
					text := fmt.Sprintf("%s%d", name, len(actions))
					actions, owner[text] = append(actions, text), name
					list = append(list, "action.actor_say."+text)
					fmt.Fprintf(&blocks, "action \"actor_say\" %q {\n  config {\n    text = %q\n  }\n}\n", text, text)
					if event == "after_create" {
						ends = append(ends, text)
					}
				}
				word := []string{"", "on_failure = halt", "on_failure = taint"}[r.IntN(3)]
				if event == "before_destroy" || event == "after_destroy" {
					word = ""
				}
				fmt.Fprintf(&src, "    action_trigger {\n      events  = [%s]\n      actions = [%s]\n      %s\n    }\n",
					event, strings.Join(list, ", "), word)
			}
			src.WriteString("  }\n}\n" + blocks.String())
		}
		dir, a := t.TempDir(), &actor{replaces: true}
		write := func(text string) {
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(2) == 0 {
			write(strings.ReplaceAll(src.String(), "  name = \"", "  name = \"old-"))
			a.invoke = func(string) provider.InvokeActionResponse { return provider.InvokeActionResponse{} }
			if _, _, _, diags := a.apply(t, dir); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			a.done = nil
		}
		write(src.String())
		until, stop := context.WithCancel(t.Context())
		bad, fails := actions[r.IntN(len(actions))], r.IntN(2) == 0
		a.until = until
		a.invoke = func(text string) (resp provider.InvokeActionResponse) {
			switch {
			case text != bad:
			case fails:
				resp.Diagnostics = diag.List{}.Errorf(nil, "No way", "It is bad.")
			default:
				stop()
			}
			return resp
		}
		_, _, _, diags := a.apply(t, dir)
		stop()
		told := ""
		for _, d := range diags {
			told += d.Detail + "\n"
		}
		for _, text := range ends {
			at, problems := addr.ParseInstance("actor_thing." + owner[text])
			if problems.HasErrors() {
				t.Fatal(problems.Err())
			}
			o := a.objects.Object(addr.Object{Instance: at})
			named := strings.Contains(told, "action.actor_say."+text+" ")
			created := o != nil && !strings.Contains(string(o.Attributes), "old-")
			switch {
			case !created && named:
				t.Errorf("seed %d, fails: %t, at %s: the error names %s, which the next apply invokes: %q\n%s\n%v",
					seed, fails, bad, text, a.done, src.String(), diags)
			case slices.Contains(a.done, "say "+text), !created, o.Status == state.Tainted:
			case named:
				left++
			default:
				t.Errorf("seed %d, fails: %t, at %s: %s is forgotten: %q\n%s\n%v", seed, fails, bad, text, a.done,
					src.String(), diags)
			}
		}
	}
	if left == 0 {
		t.Error("no action was left out")
	}
}
