package suite_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/provider"
)

// A meeting blocks each caller until all have joined.
type meeting struct {
	mu      sync.Mutex
	missing int
	all     chan struct{}
}

func newMeeting(n int) *meeting { return &meeting{missing: n, all: make(chan struct{})} }

// join waits for the others, and reports whether they joined.
func (m *meeting) join() bool {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return true
	case <-time.After(time.Minute):
		return false
	}
}

// TestParallelRunsAreConcurrent has three runs whose first changes wait for each other, and so do the deletions of
// their objects.
func TestParallelRunsAreConcurrent(t *testing.T) {
	h := newHouse(t, `test { parallel = true }
provider "world" {}
run "one" {
  state_key = "one"
  variables { p = "one" }
}
run "two" {
  state_key = "two"
  variables { p = "two" }
}
run "three" {
  state_key = "three"
  variables { p = "three" }
}
run "after" {
  parallel = false
  state_key = "after"
  variables { p = "after" }
}
`)
	made, deleted := newMeeting(3), newMeeting(3)
	h.onApply = func(req provider.ApplyRequest) {
		v, m := req.Planned, made
		if v.IsNull() {
			v, m = req.Prior, deleted
		}
		if name := v.GetAttr("name").AsString(); strings.HasSuffix(name, "-b") && name != "after-b" && !m.join() {
			t.Errorf("%s was alone", name)
		}
	}
	result := h.run(t, t.Context(), context.Background())
	if list := h.exists(t); result.Status != suite.Pass || len(list) > 0 {
		t.Errorf("status %s, left %v\n%s", result.Status, list, problems(result, h.left))
	}
	want := []string{"one starts", "one: pass", "two starts", "two: pass", "three starts", "three: pass",
		"after starts", "after: pass", "tearing down", "after destroys", "three destroys", "two destroys",
		"one destroys"}
	if d := cmp.Diff(want, h.reports); d != "" {
		t.Error(d)
	}
}

// TestReportsDoNotDependOnTiming runs random files sequentially and concurrently. The reports and the results must be
// the same.
func TestReportsDoNotDependOnTiming(t *testing.T) {
	failed := 0
	for seed := range uint64(40) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 0x706172))}
		tests := g.file()
		var reports [2][]string
		for i, parallelism := range []int{1, 10} {
			h := newHouse(t, tests)
			h.parallelism = parallelism
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			var mu sync.Mutex
			h.onApply = func(provider.ApplyRequest) {
				mu.Lock()
				d := time.Duration(r.IntN(3)) * time.Millisecond
				mu.Unlock()
				time.Sleep(d)
			}
			result := h.run(t, t.Context(), context.Background())
			reports[i] = h.reports
			if result.Status == suite.Error {
				failed++
			}
		}
		if d := cmp.Diff(reports[0], reports[1]); d != "" {
			t.Fatalf("seed %d: one after another, and at the same time:\n%s\n%s", seed, d, tests)
		}
	}
	if failed == 0 {
		t.Error("nothing ever failed: the generator makes nothing of interest")
	}
}
