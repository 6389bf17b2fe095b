//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package handler

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestLeftoverProcessesDoNotKeepTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: func(_ context.Context, hold []*os.File) error {
		child.ExtraFiles = hold
		return child.Start()
	}}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = child.Wait()
	}()
	made := false
	if err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Again: true, Waiting: func() {
		t.Error("the run waits for it")
	}, Make: func(context.Context, []*os.File) error {
		made = true
		return nil
	}}); err != nil || !made {
		t.Errorf("got %v, made is %t", err, made)
	}
}
