package applying_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/applying"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/provider"
)

// TestWavesLimitConcurrentChanges changes objects of two blocks in random waves, some of which fail, and checks during
// each call how many objects of each wave are changing, and whether a failure should have stopped the wave.
func TestWavesLimitConcurrentChanges(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(3, seed))
		s := newSite(t)
		waves := []*watchedWave{}
		for _, pattern := range []string{"lab_thing.a[*]", "lab_thing.*", "lab_thing.b[1]"} {
			w := &watchedWave{Wave: applying.Wave{Name: pattern, AtOnce: random.IntN(4), Stop: random.IntN(3) == 0,
				Select: linking.Select([]addr.Target{{Pattern: pattern}})}}
			waves, s.waves = append(waves, w), append(s.waves, w.Wave)
		}
		failing := map[string]bool{}
		var mu sync.Mutex // guards the counts of the waves
		begun := 0
		answer := func(name string, address string) func(provider.ApplyRequest) provider.ApplyResponse {
			a, _ := addr.ParseInstance(address)
			return func(r provider.ApplyRequest) provider.ApplyResponse {
				mu.Lock()
				begun++
				for _, w := range waves {
					if problem := w.enter(a); problem != "" {
						t.Errorf("seed %d, %s: %s", seed, name, problem)
					}
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				for _, w := range waves {
					w.leave(a, failing[name])
				}
				if failing[name] {
					problems := diag.List{}.Errorf(nil, "No", "It is %s.", name)
					return provider.ApplyResponse{State: nothing(r), Diagnostics: problems}
				}
				v := r.Planned
				if !v.IsNull() {
					v = done(r)
				}
				return provider.ApplyResponse{State: v}
			}
		}
		for i := range 6 {
			for _, block := range []string{"a", "b"} {
				name := fmt.Sprint(block, i)
				failing[name] = random.IntN(6) == 0
				s.lab.answer[name] = answer(name, fmt.Sprintf("lab_thing.%s[%d]", block, i))
				s.lab.answer["delete "+name] = answer(name, fmt.Sprintf("lab_thing.%s[%d]", block, i))
			}
		}
		_, counts, diags := s.run(`resource "lab_thing" "a" {
			count = 6
			name  = "a${count.index}"
		}
		resource "lab_thing" "b" {
			count = 6
			name  = "b${count.index}"
		}`)
		reported, halted := strings.Contains(fmt.Sprint(diags), "stop_on_failure"), false
		for _, w := range waves {
			halted = halted || w.failed
		}
		if reported && !halted || begun < 12 && !reported || counts.Added > begun {
			t.Errorf("seed %d: %d objects were begun, %+v; a wave was halted: %t; %v", seed, begun, counts, halted,
				diags)
		}
		clear(failing)
		for _, w := range waves {
			w.failed = false
		}
		if _, _, diags := s.run("# nothing"); diags.HasErrors() || !s.state().IsEmpty() {
			t.Errorf("seed %d: after a destroy: %v", seed, diags)
		}
	}
}

// watchedWave counts the running changes of a wave.
type watchedWave struct {
	applying.Wave
	active int
	failed bool
}

func (w *watchedWave) enter(a addr.AbsResourceInstance) string {
	if !w.Select.Contains(a) {
		return ""
	}
	w.active++
	if w.AtOnce > 0 && w.active > w.AtOnce {
		return fmt.Sprintf("%d of %s change at once, at most %d may", w.active, w.Name, w.AtOnce)
	}
	// With AtOnce = 1, a failure is known before the next change begins.
	if w.failed && w.AtOnce == 1 {
		return fmt.Sprintf("it begins after another one of %s has failed", w.Name)
	}
	return ""
}

func (w *watchedWave) leave(a addr.AbsResourceInstance, failed bool) {
	if w.Select.Contains(a) {
		w.active--
		w.failed = w.failed || failed && w.Stop
	}
}

// An object that fails because of its postcondition stops its wave, too.
func TestAFailedConditionStopsAWave(t *testing.T) {
	s := newSite(t)
	s.waves = []applying.Wave{{Name: "lab_thing.a", AtOnce: 1, Stop: true,
		Select: linking.Select([]addr.Target{{Pattern: "lab_thing.*"}})}}
	s.lab.answer["a0"] = func(r provider.ApplyRequest) provider.ApplyResponse {
		vals := done(r).AsValueMap()
		vals["size"] = cty.NumberIntVal(9)
		return provider.ApplyResponse{State: cty.ObjectVal(vals)}
	}
	for i := 1; i < 4; i++ {
		s.lab.answer[fmt.Sprint("a", i)] = s.lab.answer["a0"]
	}
	_, counts, diags := s.run(`resource "lab_thing" "a" {
		count = 4
		name  = "a${count.index}"
		lifecycle {
			postcondition {
				condition     = self.size < 5
				error_message = "It is too large."
			}
		}
	}`)
	if counts.Added != 1 || !strings.Contains(fmt.Sprint(diags), "lab_thing.a (3) were not started") {
		t.Errorf("%+v, %v", counts, diags)
	}
}
