package states

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
)

// places are the components of addresses in these tests.
var (
	modules   = []string{"", "module.a.", "module.a[0].", "module.a[0].module.in.", `module.b["x"].`, "module.ab."}
	resources = []string{"terraform_data.x", "terraform_data.y", "terraform_data.xy"}
	keys      = []string{"", "[0]", "[1]", `["k"]`}
)

func builtin(t *testing.T) addr.AbsProviderConfig {
	t.Helper()
	p, err := addr.ParseProvider("terraform.io/builtin/terraform")
	if err != nil {
		t.Fatal(err)
	}
	return addr.AbsProviderConfig{Provider: p}
}

func instance(t *testing.T, text string) addr.AbsResourceInstance {
	t.Helper()
	a, diags := addr.ParseTarget(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return addr.AbsResourceInstance{Module: a.Module, Resource: a.Resource, Key: a.Key}
}

// randomState returns a state whose objects have unique ids. Some are deposed, and some have dependencies.
func randomState(t *testing.T, r *rand.Rand, ids string) *state.State {
	t.Helper()
	b := (&state.State{}).Builder()
	provider, n := builtin(t), 0
	for _, m := range modules {
		for _, res := range resources {
			style := r.IntN(4) // none, one without a key, numbers, texts
			for i, key := range keys {
				if style == 0 || style == 1 && i != 0 || style == 2 && i != 1 && i != 2 || style == 3 && i != 3 {
					continue
				}
				a := instance(t, m+res+key)
				object := func(o addr.Object) {
					n++
					b.Fold(state.Edit{Put: &state.PutObject{Addr: o, Provider: provider, Object: &state.Object{
						Status: state.Ready, Attributes: json.RawMessage(fmt.Sprintf(`{"id":"%s%d"}`, ids, n)),
						Dependencies: []addr.ConfigResource{instance(t, "terraform_data.x").Config()},
					}}})
				}
				object(addr.Object{Instance: a})
				if r.IntN(5) == 0 {
					object(addr.Object{Instance: a, Deposed: "00000001"})
				}
			}
		}
	}
	return b.State()
}

// objects returns the address of each object by its id.
func objects(t *testing.T, list ...*state.State) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range list {
		for _, r := range s.Resources() {
			for _, key := range r.Keys() {
				inst := r.Instances[key]
				all := map[string]*state.Object{}
				for _, d := range inst.DeposedKeys() {
					all[string(d)] = inst.Deposed[d]
				}
				if inst.Current != nil {
					all[""] = inst.Current
				}
				for deposed, o := range all {
					id := string(o.Attributes)
					if out[id] != "" {
						t.Errorf("%s is there twice: %s and %s", id, out[id], r.Addr.Instance(key))
					}
					out[id] = strings.TrimSpace(r.Addr.Instance(key).String() + " " + deposed)
				}
			}
		}
	}
	return out
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// place returns a random address of a module, a resource or an instance.
func place(r *rand.Rand) string {
	m := pick(r, modules)
	if m != "" && r.IntN(3) == 0 {
		return strings.TrimSuffix(m, ".")
	}
	return m + pick(r, resources) + pick(r, keys)
}

func target(t *testing.T, text string) addr.Target {
	t.Helper()
	a, diags := addr.ParseTarget(text)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return a
}

func quiet(args ...string) (*command.Call, *bytes.Buffer) {
	var out bytes.Buffer
	return &command.Call{App: &command.App{Out: &out, Err: &out}, Args: args}, &out
}

// TestMovesLoseNoObject performs random moves within a state and to another one. Afterwards each object is at its old
// address or below the target, and none was replaced.
func TestMovesLoseNoObject(t *testing.T) {
	done := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 0x6d76))
		s, from, to := randomState(t, r, "s"), place(r), place(r)
		there, other := s, (*state.State)(nil)
		if r.IntN(2) == 0 {
			other = randomState(t, r, "o")
			there = other
		}
		before := objects(t, s)
		if other != nil {
			before = objects(t, s, other)
		}
		m := &moving{from: target(t, from), to: target(t, to)}
		steps, diags := m.plan(s, there)
		if diags.HasErrors() {
			if len(steps) > 0 {
				t.Errorf("seed %d: a move that is refused has steps", seed)
			}
			continue
		}
		done++
		var after map[string]string
		if other == nil {
			b := s.Builder()
			for _, step := range steps {
				b.Fold(state.Edit{Move: &step})
			}
			b.Rename(s.Moves(steps))
			after = objects(t, b.State())
		} else {
			after = objects(t, moveTo(t, s, other, m)...)
		}
		if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
			t.Errorf("seed %d: state mv %s %s: the objects were %v and are %v", seed, from, to, before, after)
		}
		for id, was := range before {
			if now := after[id]; now != was && !strings.HasPrefix(now, to) {
				t.Errorf("seed %d: state mv %s %s: %s went from %s to %s", seed, from, to, id, was, now)
			}
		}
		if t.Failed() {
			return
		}
	}
	if done < 30 {
		t.Errorf("only %d moves were possible", done)
	}
}

// moveTo moves to another state, and returns both.
func moveTo(t *testing.T, s, other *state.State, m *moving) []*state.State {
	t.Helper()
	ws, err := mem.New().Workspace(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	session, err := ws.Lock(t.Context(), state.LockRequest{Info: state.LockInfo{Operation: "state-mv"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Write(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c, _ := quiet()
	next, diags := moveBetween(t.Context(), c, &state.Snapshot{State: s}, session, m)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	there := session.Snapshot().State
	if err := session.Unlock(); err != nil {
		t.Fatal(err)
	}
	return []*state.State{next.state, there}
}

// TestRemoveRemovesExactlyTheAddress performs random removals. Exactly the objects at or below the address are removed,
// and a dry run prints the same and changes nothing.
func TestRemoveRemovesExactlyTheAddress(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0x726d))
		s, at := randomState(t, r, "s"), place(r)
		before := objects(t, s)
		var want []string
		for id, a := range before {
			if !names(at, a) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		c, out := quiet(at)
		dry, _ := stateRm(c, &state.Snapshot{State: s}, true)
		if dry.state != nil {
			t.Errorf("seed %d: a dry run changes the state", seed)
		}
		would := strings.Count(out.String(), "Would remove ")
		done, diags := stateRm(c, &state.Snapshot{State: s}, false)
		if len(want) == len(before) {
			if !diags.HasErrors() || would > 0 {
				t.Errorf("seed %d: state rm %s: nothing is there, and %d would be removed: %v", seed, at, would, diags)
			}
			continue
		}
		if got := slices.Sorted(maps.Keys(objects(t, done.state))); diags.HasErrors() || !slices.Equal(got, want) {
			t.Errorf("seed %d: state rm %s leaves %v, want %v (%v)", seed, at, got, want, diags)
		}
		if removed := strings.Count(out.String(), "Removed "); removed != would {
			t.Errorf("seed %d: state rm %s: %d would be removed, and %d were", seed, at, would, removed)
		}
	}
}

// names reports whether an object is at or below an address. Module a stands for a[0] as well.
func names(at, object string) bool {
	rest, ok := strings.CutPrefix(object, at)
	return ok && (rest == "" || strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, ".") ||
		strings.HasPrefix(rest, " "))
}

// TestTaintAndUntaintChangeOnlyTheStatus taints and untaints each instance.
func TestTaintAndUntaintChangeOnlyTheStatus(t *testing.T) {
	s := randomState(t, rand.New(rand.NewPCG(7, 7)), "s")
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			a := r.Addr.Instance(key)
			if _, diags := mark(s, a, false, false); !diags.HasErrors() {
				t.Errorf("%s is not tainted, and untaint does not say so", a)
			}
			tainted, diags := mark(s, a, true, false)
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if got := tainted.state.Object(addr.Object{Instance: a}).Status; got != state.Tainted {
				t.Errorf("%s has status %v after taint", a, got)
			}
			back, diags := mark(tainted.state, a, false, false)
			if diags.HasErrors() || !back.state.SameContent(s) {
				t.Errorf("taint and untaint of %s leave a change (%v)", a, diags)
			}
		}
	}
	missing := instance(t, "terraform_data.nowhere")
	if _, diags := mark(s, missing, true, false); !diags.HasErrors() {
		t.Error("an instance that is not there can be tainted")
	}
	if got, diags := mark(s, missing, true, true); diags.HasErrors() || len(diags) != 1 || got.state != nil {
		t.Errorf("-allow-missing: %v", diags)
	}
}
