//go:build unix

package crash

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
)

const header = `terraform {
  required_providers {
    world = { source = "tombolo/world" }
  }
}

provider "world" {
  delay = "2ms"
  seed  = 5
}
`

// everything returns two versions of a configuration. The change from one to the other creates, updates, replaces in
// both orders and destroys objects, with references between them; expected is how often each name may be created.
func everything() (before, after string, expected map[string]int) {
	const objects = `
resource "world_object" "keep" {
  count = 2
  name  = "keep-${count.index}"
}

resource "world_object" "update" {
  count = 4
  name  = "update-${count.index}"
  value = "VERSION ${world_object.keep[0].id}"
}

resource "world_object" "replace" {
  count  = 3
  name   = "replace-${count.index}-VERSION"
  secret = "hush"
}

resource "world_object" "safely" {
  count = 3
  name  = "safely-${count.index}-VERSION"
  value = world_object.replace[count.index].id
  lifecycle {
    create_before_destroy = true
  }
}
`
	const removed = `
resource "world_object" "gone" {
  count = 3
  name  = "gone-${count.index}"
}
`
	const added = `
resource "world_object" "new" {
  count = 4
  name  = "new-${count.index}"
  value = world_object.update[count.index].value
}

resource "world_object" "early" {
  name   = "early"
  behave = { half = "early", delay = "4ms" }
}

output "ids" {
  value = world_object.new[*].id
}
`
	expected = map[string]int{"early": 2} // an object that was reported early is incomplete: it is replaced
	for name, n := range map[string]int{"keep-%d": 2, "update-%d": 4, "replace-%d-v1": 3, "replace-%d-v2": 3,
		"safely-%d-v1": 3, "safely-%d-v2": 3, "gone-%d": 3, "new-%d": 4} {
		for i := range n {
			expected[fmt.Sprintf(name, i)] = 1
		}
	}
	before = header + strings.ReplaceAll(objects, "VERSION", "v1") + removed
	after = header + strings.ReplaceAll(objects, "VERSION", "v2") + added
	return before, after, expected
}

// killed runs a command that should kill itself, and reports whether it did. If it ends normally, it must succeed.
func killed(t testing.TB, cmd *exec.Cmd) bool {
	t.Helper()
	return killedAfter(t, cmd, time.Hour)
}

// killedAfter runs a command and kills it after a while, unless it has ended by then.
func killedAfter(t testing.TB, cmd *exec.Cmd, moment time.Duration) bool {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(moment, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Errorf("neither killed nor successful: %v\n%s", err, output.Bytes())
	}
	return false
}

// template returns a project in which the first version is applied and the second is configured.
func template(t testing.TB) (*testProject, map[string]int) {
	t.Helper()
	before, after, expected := everything()
	r := newTestProject(t, before)
	r.noErrors(r.job.do(t.Context(), nil))
	r.settled()
	r.configure(after)
	return r, expected
}

// each calls f with 1, 2, 3 and so on from several goroutines, until a call returns false.
func each(f func(n int) bool) {
	var mu sync.Mutex
	next, end := 0, false
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				mu.Lock()
				next++
				n := next
				stop := end
				mu.Unlock()
				if stop {
					return
				}
				if !f(n) {
					mu.Lock()
					end = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

func TestKilledAtEveryStoreCall(t *testing.T) {
	t.Parallel()
	modes := []faults.Mode{faults.Kill, faults.KillShort, faults.KillAfter}
	tmpl, expected := template(t)
	kills := 0
	var mu sync.Mutex
	each(func(n int) bool {
		if !full && n/3%3 != int(seed)%3 {
			return true
		}
		hit := false
		for i, mode := range modes {
			if !full && i != (n+int(seed))%len(modes) {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", mode, n), func(t *testing.T) {
				r := tmpl.copyTo(t)
				j := r.job
				j.Fault = fmt.Sprintf("%s:%d", mode, n)
				if killed(t, j.command()) {
					hit = true
					mu.Lock()
					kills++
					mu.Unlock()
				}
				r.aftermath(expected)
			})
		}
		return hit && !t.Failed()
	})
	t.Logf("killed %d times", kills)
	if kills < 20 && !t.Failed() {
		t.Errorf("killed %d times only", kills)
	}
}

// The first apply also creates the state file.
func TestKilledAtEveryStoreCallOfAFirstApply(t *testing.T) {
	t.Parallel()
	config, expected := objects(5, "value = \"v\"")
	tmpl := newTestProject(t, config)
	for n := 1; !t.Failed(); n++ {
		if !full && n%9 != int(seed)%9 {
			continue
		}
		alive := false
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := tmpl.copyTo(t)
			j := r.job
			j.Fault = fmt.Sprintf("kill:%d", n)
			alive = !killed(t, j.command())
			r.aftermath(expected)
		})
		if alive {
			break
		}
	}
}

// An apply that replaces the key of the state is killed at every call of the store: from an unencrypted state to an
// encrypted one, from one key to another, and back to an unencrypted one. Whatever was done, settings with the former
// key as a fallback continue, and in the end the new key alone decrypts everything. While there is a key, no file
// contains the state's secret.
func TestKilledWhileAKeyIsReplaced(t *testing.T) {
	t.Parallel()
	before, after, expected := everything()
	for _, keys := range [][]int{{1, 0}, {2, 1}, {0, 2}} {
		t.Run(fmt.Sprintf("from %d to %d", keys[1], keys[0]), func(t *testing.T) {
			tmpl := newTestProject(t, before)
			tmpl.job.Keys = keys[1:]
			tmpl.noErrors(tmpl.job.do(t.Context(), nil))
			tmpl.settled()
			tmpl.configure(after)
			for n := 1; !t.Failed(); n++ {
				if !full && n%27 != int(seed)%27 {
					continue
				}
				alive := false
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					r := tmpl.copyWith(t, keys)
					j := r.job
					j.Fault = fmt.Sprintf("kill:%d", n)
					alive = !killed(t, j.command())
					r.keepsWithout(keys[0])
					r.aftermath(expected)
					done := r.read()
					r.job.Keys = keys[:1]
					if err := sameSnapshot(done, r.recovered(), true); err != nil {
						t.Errorf("the new key alone reads something else: %s", err)
					}
					for name, text := range r.contents() {
						if keys[0] != 0 && strings.Contains(text, `"hush"`) { // encrypted text contains no quotes
							t.Errorf("the secret is in %s: %.300q", name, text)
						}
					}
				})
				if alive {
					break
				}
			}
		})
	}
}

// keepsWithout uses only the new key, too early: files that it cannot decrypt are not changed.
func (r *testProject) keepsWithout(key int) {
	r.t.Helper()
	j := r.job
	j.Keys, j.RecoverOnly = []int{key}, true
	before := r.contents()
	switch diags := j.do(r.t.Context(), nil); {
	case !diags.HasErrors(): // the new key was already sufficient
	case !strings.Contains(diags.Err().Error(), "crypt"):
		r.t.Errorf("without the former key: %v", diags.Err())
	default:
		now := r.contents()
		for name, text := range before {
			if now[name] != text {
				r.t.Errorf("without the former key %s became %.1000q, it was %.1000q (%v)", name, now[name], text,
					diags.Err())
			}
		}
		for name := range now {
			if _, was := before[name]; !was {
				r.t.Errorf("without the former key there is %s now", name)
			}
		}
	}
}

// Large objects make a journal that is applied to the state during the run. The kills are at the calls that do so.
func TestKilledAroundCheckpoints(t *testing.T) {
	t.Parallel()
	config, expected := objects(48, `value = format("%0190000d", count.index)`)
	tmpl := newTestProject(t, config)
	var moments []int
	trial := tmpl.copyTo(t)
	files := faults.Wrap(store.OS{}, faults.Plan{})
	files.Seen = func(n int, _, name string) {
		if strings.HasSuffix(name, "terraform.tfstate") || strings.HasSuffix(name, ".image") {
			moments = append(moments, n)
		}
	}
	trial.noErrors(trial.job.do(t.Context(), files))
	kills := 0
	trial.settled()
	if s := trial.read().State.Serial; s < 2 {
		t.Fatalf("serial %d after one run: there was no snapshot on the way", s)
	}
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	for _, i := range random.Perm(len(moments)) {
		if kills++; !full && kills > 2 || kills > 40 {
			break
		}
		t.Run(fmt.Sprint(moments[i]), func(t *testing.T) {
			r := tmpl.copyTo(t)
			j := r.job
			j.Fault = fmt.Sprintf("kill-short:%d", moments[i])
			killed(t, j.command())
			r.aftermath(expected)
		})
	}
}
