package drivertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// Counts holds how many requests runs need for an existing state.
type Counts struct {
	Plan, Idle int // without changes: a session that is locked and unlocked, and one that also has a journal
	One, More  int // an apply that creates one object, and the requests for each further, dependent object
}

// Requests counts the requests of runs. One run precedes them.
func Requests(t *testing.T, d remote.Driver, requests func() int) (c Counts) {
	t.Helper()
	w, err := remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}, Beat: time.Hour,
		Who: "me@here"}).Workspace(state.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, runs := context.Background(), 0
	run := func(begins bool, objects int) int {
		t.Helper()
		runs++
		before := requests()
		session, err := w.Lock(ctx, state.LockRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if begins {
			j, err := session.Begin(ctx, state.RunInfo{ID: fmt.Sprint("run", runs), Command: "apply"})
			if err != nil {
				t.Fatal(err)
			}
			for n := range objects {
				op, at := fmt.Sprint(n), fmt.Sprintf("t.r%d_%d", runs, n)
				if err := j.Intent(storetest.Create(op, at)); err != nil {
					t.Fatal(err)
				}
				if err := j.Result(op, storetest.Put(at, at, "")); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := session.Unlock(); err != nil {
			t.Fatal(err)
		}
		return requests() - before
	}
	run(true, 1)
	c.Plan, c.Idle, c.One = run(false, 0), run(true, 0), run(true, 1)
	const more = 10
	last := run(true, 1+more)
	if c.More = (last - c.One) / more; last != c.One+more*c.More {
		t.Errorf("%d objects took %d requests, and one took %d", 1+more, last, c.One)
	}
	t.Logf("plan %d, apply without a change %d, of one object %d, each further one %d", c.Plan, c.Idle, c.One, c.More)
	return c
}
