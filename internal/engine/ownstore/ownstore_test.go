package ownstore_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine/ownstore"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// foreign is a store of a type that the guard does not recognise.
type foreign struct{ state.Store }

// Guarded stores pass the test suite of stores.
func TestGuardedStoresPassTheSuite(t *testing.T) {
	storetest.Run(t, func(*testing.T) (a, b state.Store) {
		s := ownstore.Guard(foreign{mem.New()}, nil)
		return s, s
	})
	if s := mem.New(); ownstore.Guard(s, nil) != s {
		t.Error("a store of this module is guarded")
	}
}

// The empty types wrap a nil store: each of their methods panics.
type (
	emptyStore     struct{ state.Store }
	emptyWorkspace struct{ state.Workspace }
	emptySession   struct{ state.Session }
	emptyJournal   struct{ state.Journal }
)

func (emptyStore) Workspace(string) (state.Workspace, error) { return emptyWorkspace{}, nil }

func (emptyWorkspace) Lock(context.Context, state.LockRequest) (state.Session, error) {
	return emptySession{}, nil
}

func (emptySession) Context() context.Context { return context.Background() }

func (emptySession) Snapshot() *state.Snapshot { return &state.Snapshot{} }

func (emptySession) Begin(context.Context, state.RunInfo) (state.Journal, error) {
	return emptyJournal{}, nil
}

func (emptyJournal) Working() *state.Builder { return (*state.State)(nil).Builder() }

// TestEveryMethodIsGuarded calls methods that panic, by reflection, so that new methods of the interfaces in package
// state are included.
func TestEveryMethodIsGuarded(t *testing.T) {
	s := ownstore.Guard(emptyStore{}, nil)
	w, err := s.Workspace("w")
	if err != nil {
		t.Fatal(err)
	}
	session, err := w.Lock(t.Context(), state.LockRequest{})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := session.Begin(t.Context(), state.RunInfo{})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{"Name": true, "Workspace": true, "Lock": true, "Begin": true, "Context": true,
		"Snapshot": true, "Working": true}
	for of, v := range map[reflect.Type]any{reflect.TypeFor[state.Store](): s, reflect.TypeFor[state.Workspace](): w,
		reflect.TypeFor[state.Session](): session, reflect.TypeFor[state.Journal](): journal} {
		for i := range of.NumMethod() {
			name := of.Method(i).Name
			method := reflect.ValueOf(v).MethodByName(name)
			var in []reflect.Value
			for k := range method.Type().NumIn() {
				if k == method.Type().NumIn()-1 && method.Type().IsVariadic() {
					break
				}
				in = append(in, reflect.Zero(method.Type().In(k)))
				if k == 0 && method.Type().In(0) == reflect.TypeFor[context.Context]() {
					in[0] = reflect.ValueOf(t.Context())
				}
			}
			out := method.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			var panicked *diag.PanicError
			if !answers[name] && (!errors.As(err, &panicked) || !strings.Contains(err.Error(), name+" of the store")) {
				t.Errorf("%s.%s: got %v", of.Name(), name, err)
			}
		}
	}
}

// slow is a workspace whose Lock returns late.
type slow struct {
	emptyWorkspace
	unlocked *bool
}

type lateSession struct {
	emptySession
	unlocked *bool
}

func (s lateSession) Unlock() error {
	*s.unlocked = true
	return nil
}

type slowStore struct {
	state.Store
	unlocked *bool
}

func (s slowStore) Workspace(string) (state.Workspace, error) { return slow{unlocked: s.unlocked}, nil }

func (s slow) Lock(context.Context, state.LockRequest) (state.Session, error) {
	time.Sleep(time.Hour)
	return lateSession{unlocked: s.unlocked}, nil
}

// A lock that is acquired after its call was abandoned is released.
func TestLateLocksAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unlocked := false
		w, err := ownstore.Guard(slowStore{unlocked: &unlocked}, nil).Workspace("w")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := w.Lock(ctx, state.LockRequest{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if !unlocked {
			t.Error("the lock is held")
		}
	})
}
