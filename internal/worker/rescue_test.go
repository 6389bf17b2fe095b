package worker

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Runs of one repository overlap at random. Each brings the results that are there, adds some to the state (their files
// are removed), and leaves new ones. A model knows which results are still missing in the state.
func TestResultsOutliveCheckouts(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			rescued := filepath.Join(t.TempDir(), "rescued")
			dirs := []string{"a", "b/c", "d"}
			type run struct {
				root, own string // own is the only directory in which it changes something
				brought   []string
			}
			var open []run
			want := map[string]string{}
			for step := range 40 {
				if len(open) < 3 && random.IntN(2) == 0 {
					free := slices.DeleteFunc(slices.Clone(dirs), func(d string) bool {
						return slices.ContainsFunc(open, func(r run) bool { return r.own == d })
					})
					if len(free) == 0 {
						continue
					}
					r := run{root: t.TempDir(), own: free[random.IntN(len(free))]}
					for _, d := range dirs {
						if d == r.own || random.IntN(3) > 0 { // other commits lack directories
							must(t, os.MkdirAll(filepath.Join(r.root, d), 0o700))
						}
					}
					var err error
					r.brought, err = bring(rescued, r.root)
					must(t, err)
					open = append(open, r)
					continue
				}
				if len(open) == 0 {
					continue
				}
				i := random.IntN(len(open))
				r := open[i]
				open = slices.Delete(open, i, i+1)
				for _, name := range r.brought {
					if filepath.Dir(name) == r.own && random.IntN(2) == 0 {
						must(t, os.Remove(filepath.Join(r.root, name)))
						delete(want, name)
					}
				}
				if random.IntN(2) == 0 {
					name := filepath.Join(r.own, fmt.Sprintf("terraform.tfstate.%016x.journal", step))
					want[name] = fmt.Sprint("results of ", step)
					must(t, os.WriteFile(filepath.Join(r.root, name), []byte(want[name]), 0o600))
				}
				must(t, os.WriteFile(filepath.Join(r.root, r.own, "terraform.tfstate.backup"), nil, 0o600))
				must(t, keep(r.root, rescued, r.brought))
				got := map[string]string{}
				list, err := files(rescued)
				must(t, err)
				for name := range list {
					content, err := os.ReadFile(filepath.Join(rescued, name))
					must(t, err)
					got[name] = string(content)
				}
				if !maps.Equal(got, want) {
					t.Fatalf("step %d: kept %v, want %v", step, got, want)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldCheckoutsAreRemovedWithoutTheirResults(t *testing.T) {
	w := New(Options{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	old := filepath.Join(w.Dir, "checkouts", folderOf("x"), "1-a", "live")
	fresh := filepath.Join(w.Dir, "checkouts", folderOf("x"), "2-b")
	plans := filepath.Join(w.Dir, "plan-1")
	outside := t.TempDir()
	for _, dir := range []string{old, fresh, plans} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	const name = "terraform.tfstate.0123456789abcdef.journal"
	must(t, os.WriteFile(filepath.Join(old, name), []byte("results"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(w.Dir, "plan-link")))
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Dir(old), past, past))
	must(t, os.Chtimes(plans, past, past))
	w.sweep(time.Now().Add(-time.Minute))
	for dir, want := range map[string]bool{filepath.Dir(old): false, plans: false, fresh: true, outside: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", dir, err, want)
		}
	}
	content, err := os.ReadFile(filepath.Join(w.rescued("x"), "live", name))
	if err != nil || string(content) != "results" {
		t.Errorf("kept %q, %v", content, err)
	}
}
