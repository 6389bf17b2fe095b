package tombolo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// crashing is a provider that panics in one of its methods.
type crashing struct {
	empty
	at string
}

func (c crashing) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	if c.at == "Schema" {
		panic(c.at)
	}
	return c.empty.Schema(ctx)
}

func (c crashing) Close() error {
	if c.at == "Close" {
		panic(c.at)
	}
	return nil
}

// A panic in a goroutine without a caller becomes a warning. After a panic that was recovered, the project reports it.
func TestPanicsOutsideOfCallsAreWarnings(t *testing.T) {
	for _, at := range []string{"Close", "Schema"} {
		o := projectIn(t, note)
		o.Providers = map[string]provider.Factory{"example/note": func(context.Context) (provider.Provider, error) {
			return crashing{at: at}, nil
		}}
		run := opened(t, loaded(t, o), tombolo.OpenOptions{})
		for i := range 2 {
			func() {
				defer func() {
					if v := recover(); (v != nil) != (at == "Schema" && i == 0) {
						t.Errorf("%s, call %d: recovered from %v", at, i, v)
					}
				}()
				_, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
				if text := fmt.Sprint(diags); !strings.Contains(text, at) && !strings.Contains(text, "crashed") {
					t.Errorf("%s: %s", at, text)
				}
			}()
		}
	}
}

// forgetful is a store whose sessions panic when the state is read.
type forgetful struct {
	state.Store
	panics *bool
}

type forgetfulWorkspace struct {
	state.Workspace
	panics *bool
}

type forgetfulSession struct {
	state.Session
	panics *bool
}

func (f forgetful) Workspace(name string) (state.Workspace, error) {
	w, err := f.Store.Workspace(name)
	return forgetfulWorkspace{w, f.panics}, err
}

func (f forgetfulWorkspace) Lock(ctx context.Context, r state.LockRequest) (state.Session, error) {
	s, err := f.Workspace.Lock(ctx, r)
	if err != nil {
		return nil, err
	}
	return forgetfulSession{s, f.panics}, nil
}

func (f forgetfulSession) Snapshot() *state.Snapshot {
	if *f.panics {
		panic("no snapshot")
	}
	return f.Session.Snapshot()
}

func TestAPanicOfOpenFreesTheLock(t *testing.T) {
	o, panics := projectIn(t, simple), true
	o.Store = forgetful{tombolo.MemoryStore(), &panics}
	project := loaded(t, o)
	_, diags := project.Open(t.Context(), tombolo.OpenOptions{})
	var found *diag.PanicError
	if err := diags.Err(); !errors.As(err, &found) || found.Value != "no snapshot" ||
		!strings.Contains(err.Error(), "Session.Snapshot of the store failed") {
		t.Errorf("got %v", err)
	}
	panics = false
	opened(t, project, tombolo.OpenOptions{})
}
