package worker

import (
	"fmt"
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
			r := &rescuing{t: t, random: rand.New(rand.NewPCG(seed, 3)), stored: map[string][]byte{},
				want: map[string]string{}}
			for step := range 40 {
				r.step(step)
			}
		})
	}
}

type rescuing struct {
	t      *testing.T
	random *rand.Rand
	open   []checkedOut      // dir is the only directory in which the run changes something
	stored map[string][]byte // as in the database
	want   map[string]string
}

func (r *rescuing) step(n int) {
	if len(r.open) < 3 && r.random.IntN(2) == 0 {
		r.begin()
	} else if len(r.open) > 0 {
		i := r.random.IntN(len(r.open))
		c := r.open[i]
		r.open = slices.Delete(r.open, i, i+1)
		r.end(c, n)
	}
}

func (r *rescuing) begin() {
	dirs := []string{"a", "b/c", "d"}
	free := slices.DeleteFunc(slices.Clone(dirs), func(d string) bool {
		return slices.ContainsFunc(r.open, func(c checkedOut) bool { return c.dir == d })
	})
	if len(free) == 0 {
		return
	}
	c := checkedOut{root: r.t.TempDir(), dir: free[r.random.IntN(len(free))]}
	for _, d := range dirs {
		if d == c.dir || r.random.IntN(3) > 0 { // other commits lack directories
			must(r.t, os.MkdirAll(filepath.Join(c.root, d), 0o700))
		}
	}
	var err error
	c.brought, err = bring(r.stored, c.root)
	must(r.t, err)
	r.open = append(r.open, c)
}

func (r *rescuing) end(c checkedOut, n int) {
	for _, name := range c.brought {
		if filepath.Dir(name) == c.dir && r.random.IntN(2) == 0 {
			must(r.t, os.Remove(filepath.Join(c.root, name)))
			delete(r.want, name)
		}
	}
	if r.random.IntN(2) == 0 {
		name := filepath.Join(c.dir, fmt.Sprintf("terraform.tfstate.%016x.journal", n))
		r.want[name] = fmt.Sprint("results of ", n)
		must(r.t, os.WriteFile(filepath.Join(c.root, name), []byte(r.want[name]), 0o600))
	}
	must(r.t, os.WriteFile(filepath.Join(c.root, c.dir, "terraform.tfstate.backup"), nil, 0o600))
	folder := r.t.TempDir()
	fresh, gone, err := keep(c.root, folder, c.brought)
	must(r.t, err)
	for _, name := range fresh {
		if r.stored[name], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, name := range gone {
		delete(r.stored, name)
	}
	got := map[string]string{}
	for name, content := range r.stored {
		got[name] = string(content)
	}
	if !maps.Equal(got, r.want) {
		r.t.Fatalf("step %d: kept %v, want %v", n, got, r.want)
	}
}

func TestResultsOfOthersAreNotBrought(t *testing.T) {
	root := t.TempDir()
	brought, err := bring(map[string][]byte{"../terraform.tfstate.0123456789abcdef.journal": nil, "main.tf": nil,
		"/terraform.tfstate.0123456789abcdef.journal": nil, "terraform.tfstate.0123456789abcdeg.journal": nil}, root)
	if err != nil || len(brought) > 0 {
		t.Errorf("brought %v, %v", brought, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOldPlansAreRemoved(t *testing.T) {
	w := New(Options{Dir: t.TempDir()})
	outside := t.TempDir()
	old, fresh := filepath.Join(w.Dir, "plan-1"), filepath.Join(w.Dir, "plan-2")
	for _, dir := range []string{old, fresh} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	must(t, os.Symlink(outside, filepath.Join(w.Dir, "plan-link")))
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(old, past, past))
	w.sweep(time.Now().Add(-time.Minute))
	for dir, want := range map[string]bool{old: false, fresh: true, outside: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", dir, err, want)
		}
	}
}
