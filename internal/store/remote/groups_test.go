package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// slow is a driver whose Append blocks until the test releases it. It counts the calls.
type slow struct {
	remote.Driver
	through chan bool
	appends int
}

type slowPlace struct {
	remote.Place
	d *slow
}

type slowHold struct {
	remote.Hold
	d *slow
}

func (d *slow) Place(name string) (remote.Place, error) {
	p, err := d.Driver.Place(name)
	return slowPlace{p, d}, err
}

func (p slowPlace) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	h, err := p.Place.Lock(ctx, info)
	return slowHold{h, p.d}, err
}

func (h slowHold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	h.d.appends++ // calls are not concurrent
	<-h.d.through
	return h.Hold.Append(ctx, version, n, chunk)
}

// However many operations wait while a request with records is in flight, the next request contains the records of all
// of them.
func TestOperationsThatWaitShareARequest(t *testing.T) {
	const operations = 100
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &slow{Driver: memory.New(), through: make(chan bool)}
		w := workspaceOf(remote.New(remote.Options{Driver: d, Rescue: []string{folder}}))
		session, err := w.Lock(t.Context(), state.LockRequest{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := session.Begin(t.Context(), state.RunInfo{ID: "run", Command: "apply"})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		together := func(do func(op string) error) {
			t.Helper()
			before := d.appends
			for n := range operations {
				wg.Go(func() {
					if err := do(fmt.Sprint(n)); err != nil {
						t.Error(err)
					}
				})
				if n == 0 {
					synctest.Wait() // the first request is in flight
				}
			}
			synctest.Wait()
			d.through <- true
			d.through <- true
			wg.Wait()
			if got := d.appends - before; got != 2 {
				t.Errorf("%d operations took %d requests", operations, got)
			}
		}
		together(func(op string) error { return j.Intent(storetest.Create(op, "t.o"+op)) })
		together(func(op string) error { return j.Result(op, storetest.Put("t.o"+op, op, "")) })
		close(d.through)
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := session.Unlock(); err != nil {
			t.Error(err)
		}
	})
}
