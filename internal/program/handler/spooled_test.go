package handler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// announced adds a token to every call that changes something, as the engine does.
type announced struct {
	handler.Caller
	n *atomic.Int64
}

func (a announced) Call(ctx context.Context, call handler.Call) (*handler.Answer, error) {
	switch call.Action {
	case "create", "update", "delete":
		call.Intent = fmt.Sprintf("run/op-%d", a.n.Add(1))
	}
	return a.Caller.Call(ctx, call)
}

// newSpooled returns the toy with a folder where its answers outlive this process.
func newSpooled(t *testing.T) provider.Factory {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, diags := manifest.Parse([]byte(sprintManifest(fmt.Sprintf("[%q]", filepath.ToSlash(exe)))), "m.json",
		t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	dir, spool := t.TempDir(), filepath.Join(t.TempDir(), "answers")
	s := handler.Surroundings{Env: append(os.Environ(), "TOY_DIR="+dir), Grace: time.Second,
		Spool: func() program.Spool { return program.Spool{Dir: spool} }}
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, announced{handler.NewOneShot(m, s), &atomic.Int64{}}, handler.Options{}), nil
	}
}
