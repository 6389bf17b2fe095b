package fetch_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
)

// pinWorld is a project that pins its modules, the published modules, and the expected lock file and installed modules.
type pinWorld struct {
	t    *testing.T
	rand *rand.Rand
	log  []string
	s    *store
	dir  string
	made int

	calls map[string]pinned // calls in the configuration, by name
	locks map[string]pinned // expected entries of the lock file
	inst  map[string]string // installed content
	known map[string]pinned // modules that were installed last
}

// pinned is a call and its result.
type pinned struct{ source, constraint, version, content string }

func newPinWorld(t *testing.T, seed uint64) *pinWorld {
	w := &pinWorld{t: t, rand: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(),
		s:     &store{versions: []string{"1.0.0"}, packages: map[string]map[string]string{}},
		calls: map[string]pinned{}, locks: map[string]pinned{}, inst: map[string]string{},
		known: map[string]pinned{}}
	for _, where := range []string{"https://example.com/net-1.0.0.zip", "https://example.com/a.zip",
		"https://example.com/b.zip"} {
		w.publish(where)
	}
	return w
}

// publish publishes new content at a location.
func (w *pinWorld) publish(where string) {
	w.made++
	content := fmt.Sprintf("# %d\n", w.made)
	w.s.packages[where] = map[string]string{"top/main.tf": content, "main.tf": content}
	w.logf("publish %s: %d", where, w.made)
}

func (w *pinWorld) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *pinWorld) pick(list ...string) string { return list[w.rand.IntN(len(list))] }

// change makes one random change.
func (w *pinWorld) change() {
	name := w.pick("x", "y")
	switch w.rand.IntN(7) {
	case 0:
		w.publish(w.pick(slices.Sorted(maps.Keys(w.s.packages))...))
	case 1:
		v := fmt.Sprintf("1.%d.0", len(w.s.versions))
		w.s.versions = append(w.s.versions, v)
		w.publish("https://example.com/net-" + v + ".zip")
	case 2:
		w.calls[name] = pinned{source: "https://example.com/" + w.pick("a", "b") + ".zip"}
		w.logf("call %s: %+v", name, w.calls[name])
	case 3:
		w.calls[name] = pinned{source: "corp/net/aws", constraint: w.pick(">= 1.0.0", "~> 1.0.0", "1.0.0")}
		w.logf("call %s: %+v", name, w.calls[name])
	case 4:
		w.logf("a fresh checkout")
		w.inst, w.known = map[string]string{}, map[string]pinned{}
		if err := os.RemoveAll(filepath.Join(w.dir, config.DefaultDataDir)); err != nil {
			w.t.Fatal(err)
		}
	case 5:
		for _, name := range slices.Sorted(maps.Keys(w.inst)) {
			w.logf("spoil what is installed of %s", name)
			w.inst[name] = "# spoilt\n"
			if err := os.WriteFile(w.installed(name), []byte("# spoilt\n"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		}
	case 6:
		delete(w.calls, name)
		w.logf("no call %s", name)
	}
}

func (w *pinWorld) installed(name string) string {
	dir := filepath.Join(w.dir, config.DefaultDataDir, "modules", name)
	if w.calls[name].constraint != "" {
		dir = filepath.Join(dir, "top")
	}
	return filepath.Join(dir, "main.tf")
}

// published returns the current result of fetching a call.
func (w *pinWorld) published(c pinned) pinned {
	where := c.source
	if c.constraint != "" {
		if c.version == "" {
			c.version = "1.0.0"
			if c.constraint == ">= 1.0.0" {
				c.version = w.s.versions[len(w.s.versions)-1]
			}
		}
		where = "https://example.com/net-" + c.version + ".zip"
	}
	c.content = w.s.packages[where]["main.tf"]
	return c
}

// expect returns the locks that init must write, and whether it should succeed.
func (w *pinWorld) expect(upgrade bool) (locks map[string]pinned, ok bool) {
	locks, ok = maps.Clone(w.locks), true
	if upgrade {
		locks = map[string]pinned{}
	}
	for name, c := range w.calls {
		lock, has := locks[name]
		allowed := func(version string) bool {
			return c.constraint == "" || c.constraint == ">= 1.0.0" || version == "1.0.0"
		}
		if known := w.known[name]; !has && !upgrade && known.source == c.source && allowed(known.version) {
			c.version = known.version
		}
		if has && lock.source == c.source && allowed(lock.version) {
			found := w.published(lock)
			ok = ok && (w.inst[name] == lock.content || found.content == lock.content)
			lock.constraint = c.constraint
			locks[name] = lock
			continue
		}
		locks[name] = w.published(c)
	}
	return locks, ok
}

func (w *pinWorld) init(upgrade bool) {
	t := w.t
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.calls)) {
		fmt.Fprintf(&text, "module %q {\n  source = %q\n", name, w.calls[name].source)
		if c := w.calls[name].constraint; c != "" {
			fmt.Fprintf(&text, "  version = %q\n", c)
		}
		text.WriteString("}\n")
	}
	rewrite(t, w.dir, text.String())
	before, _ := os.ReadFile(filepath.Join(w.dir, pins.Name))
	want, ok := w.expect(upgrade)
	w.logf("init, upgrade %v", upgrade)
	_, _, diags := install(t, w.dir, fetch.Options{Packages: w.s, Pins: fetch.Pinned, Upgrade: upgrade})
	if diags.HasErrors() == ok {
		t.Fatalf("init succeeds: %v, want %v: %v", !ok, ok, diags.Err())
	}
	if after, _ := os.ReadFile(filepath.Join(w.dir, pins.Name)); !ok {
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Fatalf("a failed init changed the lock file:\n%s", diff)
		}
		return
	}
	w.locks = want
	for name := range w.calls {
		content, err := os.ReadFile(w.installed(name))
		if err != nil || string(content) != want[name].content {
			t.Fatalf("%s is %q (%v), want %q", name, content, err, want[name].content)
		}
		w.inst[name], w.known[name] = want[name].content, want[name]
	}
	file, diags := pins.Load(w.dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for name, lock := range want {
		e, found := file.Entry(name)
		if !found || e.Version != lock.version {
			t.Fatalf("the lock of %s is %+v, want %+v", name, e, lock)
		}
	}
	if len(file.Entries()) != len(want) {
		t.Fatalf("the lock file has %+v, want %+v", file.Entries(), want)
	}
}

// Whatever is published, changed and damaged, in whatever order: a locked module stays as it was when it was locked, or
// init reports that it is no longer available. Only a changed call or an upgrade changes it.
func TestLockedModulesDoNotChange(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newPinWorld(t, seed)
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(w.log, "\n"))
				}
			}()
			for range 20 {
				w.change()
				if w.rand.IntN(2) == 0 {
					w.init(w.rand.IntN(5) == 0)
				}
			}
		})
	}
}
