//go:build unix

package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// log collects the output of hooks.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) Send(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, e.(event.ProgramOutput).Line)
}

func fire(t *testing.T, script string, timeout time.Duration, d hook.Document) (diag.List, *log) {
	t.Helper()
	out := &log{}
	set := hook.New([]hook.Hook{{Name: "h", Events: []hook.Event{hook.BeforePlan}, Timeout: timeout,
		Command: []string{"sh", "-c", script}}}, hook.Options{Dir: t.TempDir(), Events: out})
	return set.Fire(t.Context(), hook.BeforePlan, d), out
}

// With any misbehavior of a hook, its run ends, returns the problem, and keeps only a limited part of the output.
func TestMisbehavingHooks(t *testing.T) {
	t.Parallel()
	large := hook.Document{Plan: &hook.Plan{Changes: make([]hook.Change, 100_000)}}
	for name, c := range map[string]struct {
		script, want string // the error; "" if there is none
		timeout      time.Duration
		lines        int
	}{
		"prints without an end": {"while :; do echo y; done", "longer than its timeout", time.Second, 1001},
		"prints one line without an end": {"while :; do printf yyyyyyyy; done", "longer than its timeout", time.Second,
			1001},
		"reads nothing":    {"exit 0", "", time.Minute, 0},
		"closes its input": {"exec <&-; exit 0", "", time.Minute, 0},
		"ignores signals": {"trap '' TERM INT HUP; echo here; while :; do sleep 1; done", "longer than its timeout",
			time.Second, 1},
		"leaves children": {"(trap '' TERM HUP; sleep 1000) & (sleep 1000) & echo here", "", time.Minute, 1},
		"is killed":       {"kill -9 $$", "killed", time.Minute, 0},
		"is not there":    {"exec /nowhere/x", "exit status 127", time.Minute, 1},
		"is no text":      {`printf '\377\376\n'; exit 3`, "exit status 3", time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diags, out := fire(t, c.script, c.timeout, large)
			if failed := diags.HasErrors(); failed != (c.want != "") {
				t.Errorf("problems: %s, want %q", diags, c.want)
			} else if failed && (!strings.Contains(diags[0].Detail, c.want) || len(diags[0].Detail) > 4000) {
				t.Errorf("the error says %.5000q, want %q", diags[0].Detail, c.want)
			}
			if len(out.lines) > c.lines || c.lines == 1 && len(out.lines) != 1 {
				t.Errorf("%d lines are shown, at most %d are wanted", len(out.lines), c.lines)
			}
		})
	}
}

// Processes that a hook has started are terminated when it ends.
func TestProcessesOfHooksAreTerminated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := hook.New([]hook.Hook{{Name: "h", Events: []hook.Event{hook.AfterApply},
		Command: []string{"sh", "-c", "sh -c 'echo $$ >pid; exec sleep 1000' & while [ ! -s pid ]; do :; done"}}},
		hook.Options{Dir: dir})
	if diags := set.Fire(t.Context(), hook.AfterApply, hook.Document{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	for range 600 { // a killed process exists until its parent has waited for it
		status, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("process %s is still there", pid)
}

// A hook is stopped when its context is cancelled, and the problem contains the cause.
func TestInterruptStopsAHook(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set := hook.New([]hook.Hook{{Name: "h", Events: []hook.Event{hook.BeforeApply}, Continue: true,
		Command: []string{"sh", "-c", "echo begun; exec sleep 1000"}}},
		hook.Options{Events: event.Func(func(event.Event) { cancel() })})
	diags := set.Fire(ctx, hook.BeforeApply, hook.Document{})
	if !diags.HasErrors() || !strings.Contains(diags[0].Summary, "interrupted") {
		t.Errorf("got %s, want an error about the interrupt, whatever on_failure says", diags)
	}
	if again := set.Fire(ctx, hook.BeforeApply, hook.Document{}); !again.HasErrors() {
		t.Error("a hook runs although its run was interrupted")
	}
}

// maker makes random values with public and secret texts.
type maker struct {
	*rand.Rand
	public, secret []string
}

func (m *maker) text(secret bool) cty.Value {
	if secret {
		text := fmt.Sprintf("secret-%08x", m.Uint32())
		m.secret = append(m.secret, text)
		return cty.StringVal(text)
	}
	text := fmt.Sprintf("public-%08x", m.Uint32())
	m.public = append(m.public, text)
	return cty.StringVal(text)
}

// value returns a random value and adds the paths of its secret parts to the list.
func (m *maker) value(depth int, at cty.Path, secret bool, paths *[]cty.Path) cty.Value {
	if !secret && m.IntN(4) == 0 {
		secret, *paths = true, append(*paths, slices.Clone(at))
	}
	kind := m.IntN(5)
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1, 2:
		parts := map[string]cty.Value{}
		for i := range 1 + m.IntN(3) {
			name := fmt.Sprintf("k%d", i)
			step := cty.PathStep(cty.GetAttrStep{Name: name})
			if kind == 2 {
				step = cty.IndexStep{Key: cty.StringVal(name)}
				parts[name] = m.leaf(append(at, step), secret, paths)
				continue
			}
			parts[name] = m.value(depth-1, append(at, step), secret, paths)
		}
		if kind == 2 {
			return cty.MapVal(parts)
		}
		return cty.ObjectVal(parts)
	case 3:
		parts := []cty.Value{}
		for i := range 1 + m.IntN(3) {
			parts = append(parts, m.value(depth-1, append(at, cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), secret,
				paths))
		}
		return cty.TupleVal(parts)
	case 4: // elements of sets have no paths of their own
		return cty.SetVal([]cty.Value{m.text(secret), m.text(secret)})
	}
	return m.text(secret)
}

func (m *maker) leaf(at cty.Path, secret bool, paths *[]cty.Path) cty.Value {
	if !secret && m.IntN(3) == 0 {
		secret, *paths = true, append(*paths, slices.Clone(at))
	}
	return m.text(secret)
}

// A document contains all public parts of a value and no secret ones, whether a path marks them or they are known
// secrets elsewhere.
func TestDocumentsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
		secrets := &value.Secrets{}
		known := "known-to-be-secret-" + fmt.Sprint(seed)
		secrets.Add(cty.StringVal(known), []cty.Path{nil})
		parts, attributes, paths := map[string]cty.Value{}, map[string]*provider.Attribute{}, []cty.Path(nil)
		for i := range 1 + m.IntN(4) {
			name := fmt.Sprintf("a%d", i)
			parts[name] = m.value(3, cty.GetAttrPath(name), false, &paths)
			attributes[name] = &provider.Attribute{Type: parts[name].Type()}
		}
		parts["copy"] = cty.StringVal("https://u:" + known + "@host")
		attributes["copy"] = &provider.Attribute{Type: cty.String}
		parts["own"], attributes["own"] = m.text(true), &provider.Attribute{Type: cty.String, Sensitive: true}
		parts["open"], attributes["open"] = cty.UnknownVal(cty.String), &provider.Attribute{Type: cty.String}
		block := &provider.Block{Attributes: attributes}
		v := cty.ObjectVal(parts)

		dir := t.TempDir()
		set := hook.New([]hook.Hook{{Name: "h", Events: []hook.Event{hook.BeforeObject, hook.AfterObject},
			Command: []string{"sh", "-c", "cat >$TOMBOLO_EVENT"}}}, hook.Options{Dir: dir, Secrets: secrets})
		around := set.Object(hook.Operation{Action: plan.Update, Block: block,
			Object: addr.Object{Instance: instance(t, "a.b")},
			Before: plan.Value{Value: v, Sensitive: paths}, After: plan.Value{Value: v, Sensitive: paths}})
		var texts []string
		if seed%50 == 0 { // only some values are tested with a process
			diags := around.Before(t.Context()).Extend(around.After(t.Context(), hook.OK, plan.Value{Value: v,
				Sensitive: paths}))
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			for _, name := range []string{"before_object", "after_object"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(text))
			}
		}
		kept, err := around.Record()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(texts, string(kept)) {
			if !json.Valid([]byte(text)) {
				t.Fatalf("seed %d: no JSON: %s", seed, text)
			}
			for _, s := range append(m.secret, known) {
				if strings.Contains(text, s) {
					t.Errorf("seed %d: the secret %s is in %s", seed, s, text)
				}
			}
			for _, s := range m.public {
				if !strings.Contains(text, s) {
					t.Errorf("seed %d: %s is missing in %s", seed, s, text)
				}
			}
			if !strings.Contains(text, `"own"`) || !strings.Contains(text, `"https://u:(sensitive value)@host"`) {
				t.Errorf("seed %d: a place is missing in %s", seed, text)
			}
		}
	}
}

func instance(t *testing.T, text string) addr.AbsResourceInstance {
	t.Helper()
	a, diags := addr.ParseInstance(text)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return a
}
