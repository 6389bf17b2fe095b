package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// Faults returns the kind of fault of the nth request, counted from 1, or "".
type Faults func(n int) string

// EveryRequest makes a run fail at each of its requests: once, or permanently from then on, with each kind of fault.
// Afterwards another run must find every acknowledged result and every operation that was begun. Open returns a driver
// whose requests have the faults, the number of its requests, and a driver without faults over the same storage, which
// is empty at first.
func EveryRequest(t *testing.T, kinds []string, open func(t *testing.T, f Faults) (d remote.Driver, requests func() int,
	calm remote.Driver)) {
	all := 0
	t.Run("without faults", func(t *testing.T) {
		d, requests, calm := open(t, func(int) string { return "" })
		one := &run{t: t, d: d, calm: calm, folder: t.TempDir(), real: map[string]bool{}}
		one.live()
		if all = requests(); one.err != nil || all < 5 {
			t.Fatalf("%d requests: %v", all, one.err)
		}
		one.look()
	})
	for _, kind := range kinds {
		for n := 1; n <= all; n++ {
			for name, from := range map[string]bool{"once": false, "from then on": true} {
				t.Run(fmt.Sprintf("%s at %d %s", kind, n, name), func(t *testing.T) {
					d, _, calm := open(t, func(at int) string {
						if at == n || from && at > n {
							return kind
						}
						return ""
					})
					one := &run{t: t, d: d, calm: calm, folder: t.TempDir(), real: map[string]bool{}}
					one.live()
					one.look()
				})
			}
		}
	}
}

// run is a run of the engine on one machine.
type run struct {
	t       *testing.T
	d, calm remote.Driver
	folder  string
	real    map[string]bool // existing objects, and whether their results were acknowledged
	err     error
	times   int // number of calls of clock
	// shown means that the run may have read a state other than the stored one, so that its results cannot be applied.
	shown bool
}

func (r *run) store(d remote.Driver) state.Workspace {
	r.t.Helper()
	w, err := remote.New(remote.Options{Driver: d, Rescue: []string{r.folder}, Pause: time.Millisecond, Tries: 3,
		Timeout: time.Minute, Beat: time.Hour, Who: "me@here", Now: r.clock}).Workspace(state.DefaultWorkspace)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// clock returns a wildly wrong time, and another one each time: no decision may depend on it.
func (r *run) clock() time.Time {
	wild := contract.WrongClocks()
	r.times++
	return wild[r.times%len(wild)]
}

// before creates an object without faults.
func (r *run) before() {
	r.t.Helper()
	if r.apply(r.calm, "before", "t.before"); r.err != nil {
		r.t.Fatal(r.err)
	}
}

// live creates three objects, unless it fails.
func (r *run) live() { r.apply(r.d, "run", "t.o0", "t.o1", "t.o2") }

// apply creates objects, or sets r.err.
func (r *run) apply(d remote.Driver, id string, objects ...string) {
	ctx := context.Background()
	session, err := r.store(d).Lock(ctx, state.LockRequest{})
	if err != nil {
		r.err = err
		return
	}
	j, err := session.Begin(ctx, state.RunInfo{ID: id, Command: "apply"})
	if err != nil {
		r.err = errors.Join(err, session.Unlock())
		return
	}
	for n, at := range objects {
		op := fmt.Sprint(n)
		if r.err = j.Intent(storetest.Create(op, at)); r.err != nil {
			break
		}
		r.real[at] = false
		err := j.Result(op, storetest.Put(at, at, ""))
		if r.err = errors.Join(err, j.Err()); r.err != nil {
			break
		}
		r.real[at] = true
		if n == 1 {
			if r.err = j.Checkpoint(ctx); r.err != nil {
				break
			}
		}
	}
	r.err = errors.Join(r.err, j.Close(ctx), session.Unlock())
}

// look performs another run, which must find all objects. A person releases the lock first.
func (r *run) look() {
	ctx := context.Background()
	p, err := r.calm.Place(state.DefaultWorkspace)
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := p.Holder(ctx)
	if err == nil && info != nil {
		// the service may have noticed that the run is gone and released the lock itself
		if freed := p.ForceUnlock(ctx, info.ID); freed != nil {
			if info, err = p.Holder(ctx); err == nil && info != nil {
				err = freed
			}
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	session, err := r.store(r.calm).Lock(ctx, state.LockRequest{})
	if err != nil {
		r.t.Fatalf("after %v: %v", r.err, err)
	}
	have := map[string]string{}
	snapshot := session.Snapshot()
	if snapshot.State != nil {
		for _, res := range snapshot.State.Resources() {
			for key, i := range res.Instances {
				have[res.Addr.Instance(key).String()] = idOf(i.Current.Attributes)
			}
		}
	}
	for _, f := range snapshot.InFlight {
		have[f.Object.String()] = "?"
	}
	for _, u := range snapshot.Unfolded { // results for a state other than the one that the run read
		for _, e := range u.Edits {
			if r.shown && e.Put != nil {
				have[e.Put.Addr.String()] = idOf(e.Put.Object.Attributes)
			}
		}
	}
	for at, known := range r.real {
		if have[at] == "" || known && have[at] != at {
			r.t.Errorf("%s exists (told: %t), and is known as %q; the run ended with %v", at, known, have[at], r.err)
		}
	}
	for at, id := range have {
		if _, real := r.real[at]; !real && id != "?" {
			r.t.Errorf("%s is known as %q, and does not exist", at, id)
		}
	}
	if err := session.Unlock(); err != nil {
		r.t.Error(err)
	}
}

// idOf returns the attribute id.
func idOf(attributes []byte) string {
	var has struct{ ID string }
	_ = json.Unmarshal(attributes, &has)
	return has.ID
}
