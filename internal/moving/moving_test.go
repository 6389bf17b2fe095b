package moving_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/moving"
	"github.com/tombolo-iac/tombolo/state"
)

var builtin = addr.AbsProviderConfig{Provider: addr.BuiltinProvider("terraform")}

// load loads a configuration from files, whose modules are local directories.
func load(t testing.TB, files map[string]string) *config.Config {
	t.Helper()
	src := map[string][]byte{}
	for name, text := range files {
		src[name] = []byte(text)
	}
	cfg, diags := config.Load(context.Background(), config.Options{Dir: ".", DataDir: ".terraform",
		LanguageVersion: state.LanguageVersion, Files: config.SnapshotFiles(src)})
	if diags.HasErrors() {
		t.Fatalf("load: %v", diags.Err())
	}
	return cfg
}

// stored returns a state with objects at the addresses; each object's id is its original address.
func stored(t testing.TB, addresses ...string) *state.State {
	t.Helper()
	b := (*state.State)(nil).Builder()
	ty := cty.Object(map[string]cty.Type{"id": cty.String})
	for _, text := range addresses {
		a, diags := addr.ParseInstance(text)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		o, err := state.NewObject(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(text)}), ty, state.Object{})
		if err != nil {
			t.Fatal(err)
		}
		b.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: a}, Provider: builtin, Object: o}})
	}
	return b.State()
}

// places lists "ORIGIN -> ADDRESS" of every object, sorted.
func places(s *state.State) []string {
	var out []string
	for _, r := range s.Resources() {
		for key, i := range r.Instances {
			origin := strings.TrimSuffix(strings.TrimPrefix(string(i.Current.Attributes), `{"id":"`), `"}`)
			out = append(out, strings.ReplaceAll(origin, `\"`, `"`)+" -> "+r.Addr.Instance(key).String())
		}
	}
	slices.Sort(out)
	return out
}

func moved(from, to string) string {
	return fmt.Sprintf("moved {\n from = %s\n to = %s\n}\n", from, to)
}

func TestObjectsFollowMovedBlocks(t *testing.T) {
	cases := map[string]struct {
		blocks  string
		objects []string
		want    []string
		blocked int
	}{
		"a chain in any order": {
			moved("x.b", "x.c") + moved("x.a", "x.b"),
			[]string{"x.a"}, []string{"x.a -> x.c"}, 0,
		},
		"a whole resource keeps its keys": {
			moved("x.a", "x.b"),
			[]string{"x.a[0]", "x.a[1]"}, []string{"x.a[0] -> x.b[0]", "x.a[1] -> x.b[1]"}, 0,
		},
		"one key alone names one instance": {
			moved("x.a", `x.b["k"]`),
			[]string{"x.a", "x.a[0]"}, []string{`x.a -> x.b["k"]`, "x.a[0] -> x.a[0]"}, 0,
		},
		"a chain goes on from what is there: the first move is blocked": {
			moved("x.a[1]", "x.a[2]") + moved("x.a[0]", "x.a[1]"),
			[]string{"x.a[0]", "x.a[1]"}, []string{"x.a[0] -> x.a[0]", "x.a[1] -> x.a[2]"}, 1,
		},
		"a module with all that is in it": {
			moved("module.a", "module.b"),
			[]string{"module.a.x.r", "module.a[3].x.r", `module.a["k"].module.c.x.r`},
			[]string{`module.a["k"].module.c.x.r -> module.b["k"].module.c.x.r`, "module.a.x.r -> module.b.x.r",
				"module.a[3].x.r -> module.b[3].x.r"}, 0,
		},
		"an instance of a module": {
			moved("module.a", "module.a[0]"),
			[]string{"module.a.x.r", "module.a[1].x.r"}, []string{"module.a.x.r -> module.a[0].x.r",
				"module.a[1].x.r -> module.a[1].x.r"}, 0,
		},
		"within a module before the module goes": {
			moved("module.a", "module.b") + moved("module.a.x.r", "module.a.x.s"),
			[]string{"module.a.x.r"}, []string{"module.a.x.r -> module.b.x.s"}, 0,
		},
		"within the new place after the module came": {
			moved("module.b.x.r", "x.s") + moved("module.a", "module.b"),
			[]string{"module.a.x.r"}, []string{"module.a.x.r -> x.s"}, 0,
		},
		"what is taken stays taken": {
			moved("x.a", "x.b"),
			[]string{"x.a", "x.b"}, []string{"x.a -> x.a", "x.b -> x.b"}, 1,
		},
		"a whole resource is blocked by any instance": {
			moved("x.a", "x.b"),
			[]string{"x.a[0]", "x.b[7]"}, []string{"x.a[0] -> x.a[0]", "x.b[7] -> x.b[7]"}, 1,
		},
		"modules inside of a blocked module move for themselves": {
			moved("module.a", "module.b"),
			[]string{"module.a.x.r", "module.a.module.c.x.r", "module.b.x.r"},
			[]string{"module.a.module.c.x.r -> module.b.module.c.x.r", "module.a.x.r -> module.a.x.r",
				"module.b.x.r -> module.b.x.r"}, 1,
		},
		"into its own inside": {
			moved("module.a", "module.a.module.a"),
			[]string{"module.a.x.r"}, []string{"module.a.x.r -> module.a.module.a.x.r"}, 0,
		},
		"a cycle moves nothing": {
			moved("x.a", "x.b") + moved("x.b", "x.a"),
			[]string{"x.a", "x.b"}, []string{"x.a -> x.a", "x.b -> x.b"}, 0,
		},
		"a managed object never becomes a data source": {
			moved("x.a", "data.x.a"),
			[]string{"x.a"}, []string{"x.a -> x.a"}, 0,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := moving.Run(load(t, map[string]string{"main.tf": c.blocks}), stored(t, c.objects...), nil)
			got := places(r.State)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			if len(r.Blocked) != c.blocked {
				t.Errorf("blocked: %v, want %d", r.Blocked, c.blocked)
			}
		})
	}
}

// For all blocks and occupied addresses: each object has one address afterwards, none is lost, the edits result in the
// computed state, and the former addresses are reported.
func TestMovesLoseNoObject(t *testing.T) {
	names := []string{"x.a", "x.b", "x.a[0]", "x.b[1]", "module.m.x.a", "module.m[0].x.a", "module.n.x.b",
		"module.m.module.n.x.a", "module.n[1].x.a"}
	ends := append(slices.Clone(names), "module.m", "module.n", "module.m[0]", "module.n[1]", "module.m.module.n",
		"module.o")
	isModule := func(a string) bool { return !strings.Contains(a, "x.") }
	for seed := range int64(3000) {
		rng := rand.New(rand.NewSource(seed))
		var objects []string
		for _, n := range names {
			if rng.Intn(2) == 0 {
				objects = append(objects, n)
			}
		}
		blocks := ""
		for range 1 + rng.Intn(4) {
			from, to := ends[rng.Intn(len(ends))], ends[rng.Intn(len(ends))]
			if isModule(from) == isModule(to) {
				blocks += moved(from, to)
			}
		}
		prior := stored(t, objects...)
		r := moving.Run(load(t, map[string]string{"main.tf": blocks}), prior, nil)
		got := places(r.State)
		if len(got) != len(objects) {
			t.Fatalf("seed %d: %d objects became %d:\n%s\n%s\n%v", seed, len(objects), len(got),
				strings.Join(objects, "\n"), blocks, got)
		}
		for _, line := range got {
			origin, now, _ := strings.Cut(line, " -> ")
			a, _ := addr.ParseInstance(now)
			if was, ok := r.From[a]; ok != (origin != now) || ok && was.String() != origin {
				t.Fatalf("seed %d: %s, but From says %v", seed, line, was)
			}
		}
	}
}

// Open instances move like instances in the state, and do not affect the moves of others.
func TestOpenInstancesMoveLikeOthers(t *testing.T) {
	names := []string{"x.a", "x.b", "x.c", "x.a[0]", "x.b[1]", "module.m.x.a", "module.m[0].x.a", "module.n.x.b",
		"module.m.module.n.x.a"}
	ends := append(slices.Clone(names), "module.m", "module.n", "module.m[0]", "module.n[1]", "module.o")
	isModule := func(a string) bool { return !strings.Contains(a, "x.") }
	for seed := range int64(1500) {
		rng := rand.New(rand.NewSource(seed))
		var objects, there []string
		var open []addr.AbsResourceInstance
		for _, n := range names {
			switch rng.Intn(4) {
			case 0:
				a, _ := addr.ParseInstance(n)
				objects, open = append(objects, n), append(open, a)
			case 1:
				objects, there = append(objects, n), append(there, n)
			}
		}
		text := "resource \"x\" \"c\" {\n  count = 1\n}\n"
		for range 1 + rng.Intn(4) {
			from, to := ends[rng.Intn(len(ends))], ends[rng.Intn(len(ends))]
			if isModule(from) == isModule(to) {
				text += moved(from, to)
			}
		}
		cfg := load(t, map[string]string{"main.tf": text})
		want, got := moving.Run(cfg, stored(t, objects...), nil), moving.Run(cfg, stored(t, there...), open)
		all := places(got.State)
		for was, now := range got.Open {
			all = append(all, was.String()+" -> "+now.String())
		}
		slices.Sort(all)
		if !slices.Equal(all, places(want.State)) {
			t.Fatalf("seed %d: open: %v\n%s\ngot:\n  %s\nwant:\n  %s", seed, open, text, strings.Join(all, "\n  "),
				strings.Join(places(want.State), "\n  "))
		}
		for now, by := range got.Waiting {
			if got.State.Instance(now) == nil || !slices.Contains(open, by) {
				t.Fatalf("seed %d: %s waits for %s:\n%s", seed, now, by, text)
			}
		}
	}
}

func TestMovesRenameDependencies(t *testing.T) {
	r := moving.Run(load(t, map[string]string{"main.tf": moved("x.a", "x.b") + moved("x.c[0]", "x.d")}),
		stored(t, "x.a", "x.c[0]", "x.c[1]"), nil)
	dep := func(s string) addr.ConfigResource {
		d, _ := addr.ParseConfigResource(s)
		return d
	}
	got := fmt.Sprint(r.Follow([]addr.ConfigResource{dep("x.a"), dep("x.c"), dep("x.z")}))
	if want := "[x.b x.c x.d x.z]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Ten times the blocks and objects take about ten times as long.
func TestMovingIsLinear(t *testing.T) {
	took := func(n int) time.Duration {
		var blocks strings.Builder
		var objects []string
		for i := range n {
			blocks.WriteString(moved(fmt.Sprintf("module.m[%d].x.r", i), fmt.Sprintf("module.m[%d].x.s", i)))
			objects = append(objects, fmt.Sprintf("module.m[%d].x.r", i))
		}
		blocks.WriteString(moved("module.m", "module.n"))
		cfg, prior := load(t, map[string]string{"main.tf": blocks.String()}), stored(t, objects...)
		best := time.Hour
		for range 5 {
			started := time.Now()
			r := moving.Run(cfg, prior, nil)
			best = min(best, time.Since(started))
			if len(r.From) != n {
				t.Fatalf("%d of %d objects moved", len(r.From), n)
			}
		}
		return best
	}
	var small, large time.Duration
	for range 5 { // other load may affect a measurement, but not all of them
		if small, large = took(500), took(5000); large <= 60*small {
			return
		}
	}
	t.Errorf("500 blocks took %s, 5000 took %s", small, large)
}

func BenchmarkModuleOf10000Objects(b *testing.B) {
	var objects []string
	for i := range 10000 {
		objects = append(objects, fmt.Sprintf("module.m.x.r[%d]", i))
	}
	cfg, prior := load(b, map[string]string{"main.tf": moved("module.m", "module.n")}), stored(b, objects...)
	b.ReportAllocs()
	for b.Loop() {
		if r := moving.Run(cfg, prior, nil); len(r.From) != 10000 {
			b.Fatal(len(r.From))
		}
	}
}
