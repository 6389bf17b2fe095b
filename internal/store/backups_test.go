package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// TestConcurrentEditsKeepAllBackups edits one state concurrently, with and without the lock, while the clock stands
// still or jumps. Each edit keeps the previous state in its own file.
func TestConcurrentEditsKeepAllBackups(t *testing.T) {
	const writers, edits = 6, 4
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "terraform.tfstate")
			var clock atomic.Int64
			clock.Store(1700000000)
			jumps := seed%2 == 1
			open := func() state.Workspace {
				ws, err := store.New(store.Options{Path: path, StampBackup: true, Rescue: []string{},
					Now: func() time.Time { return time.Unix(clock.Load(), 0) }}).Workspace("default")
				must(t, err)
				return ws
			}
			seedOn(t, open(), put("t.seed", "0"))
			var all sync.WaitGroup
			began := time.Now()
			for w := range writers {
				r := rand.New(rand.NewPCG(seed, uint64(w)))
				all.Go(func() {
					for n := range edits {
						unlocked := r.IntN(3) == 0
						for {
							if jumps {
								clock.Store(1700000000 + r.Int64N(3))
							}
							err := edit(open(), unlocked, fmt.Sprintf("t.w%d_%d", w, n))
							if err == nil {
								break
							}
							if time.Since(began) > time.Minute {
								t.Errorf("writer %d: %v", w, err)
								break
							}
							time.Sleep(time.Millisecond) // another edit was faster, perhaps without a lock
						}
					}
				})
			}
			all.Wait()
			judgeBackups(t, path, writers*edits)
		})
	}
}

// edit adds an object to the current state.
func edit(ws state.Workspace, unlocked bool, at string) error {
	s, err := state.Acquire(ctx, ws, state.LockRequest{Unlocked: unlocked}, time.Minute, nil)
	if err != nil {
		return err
	}
	b := s.Snapshot().State.Builder()
	b.Fold(put(at, "1"))
	return errors.Join(s.Write(ctx, b.State()), s.Unlock())
}

// judgeBackups checks that there are backups with one object, with two, and so on, and that the state has all objects.
func judgeBackups(t *testing.T, path string, edits int) {
	t.Helper()
	names, err := filepath.Glob(path + ".*.backup")
	must(t, err)
	var sizes []int
	for _, name := range append(names, path) {
		text, err := os.ReadFile(name)
		must(t, err)
		st, err := decoded(text)
		must(t, err)
		sizes = append(sizes, len(st.Resources()))
	}
	if last := sizes[len(sizes)-1]; last != edits+1 {
		t.Errorf("the state has %d objects, want %d", last, edits+1)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes) // an edit without a lock that another one overtook after its backup leaves a copy
	for i := range edits + 1 {
		if i >= len(sizes) || sizes[i] != i+1 {
			t.Fatalf("after %d edits there are states of %v objects, want one of each number", edits, sizes)
		}
	}
}
