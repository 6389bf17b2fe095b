package handler

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func TestOneProcessPreparesAndOthersWait(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	begun, finish := make(chan struct{}), make(chan struct{})
	var works, waited atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Waiting: func() {
				if waited.Add(1) == 3 {
					close(finish)
				}
			}, Make: func(context.Context, []*os.File) error {
				if works.Add(1) == 1 {
					close(begun)
				}
				<-finish
				write(t, filepath.Join(dir, "x"), "whole")
				return nil
			}})
			if text, err2 := os.ReadFile(filepath.Join(dir, "x")); err != nil || err2 != nil ||
				string(text) != "whole" {
				t.Errorf("got %v, %v, %q", err, err2, text)
			}
		})
	}
	<-begun
	all.Wait()
	if works.Load() != 1 {
		t.Errorf("%d have worked", works.Load())
	}
}

func TestUnfinishedFoldersAreRecreated(t *testing.T) {
	dir, broken := filepath.Join(t.TempDir(), "d"), errors.New("broken")
	try := func(w preparedFolder, err error) (made bool) {
		w.Dir = dir
		got := prepareOnce(t.Context(), preparedFolder{Dir: dir, Again: w.Again, Whole: w.Whole,
			Make: func(context.Context, []*os.File) error {
				made = true
				if _, left := os.Stat(filepath.Join(dir, "left")); (left == nil) != w.Again {
					t.Errorf("what an earlier one has left: %v", left)
				}
				write(t, filepath.Join(dir, "left"), "")
				return err
			}})
		if !errors.Is(got, err) {
			t.Errorf("got %v", got)
		}
		return made
	}
	for _, step := range []struct {
		name string
		work preparedFolder
		err  error
		want bool
	}{
		{"fails", preparedFolder{}, broken, true},
		{"made from the beginning", preparedFolder{}, nil, true},
		{"there", preparedFolder{}, nil, false},
		{"again", preparedFolder{Again: true}, nil, true},
		{"there after that", preparedFolder{}, nil, false},
		{"not whole any more", preparedFolder{Whole: func() bool { return false }}, nil, true},
		{"again, and fails", preparedFolder{Again: true}, broken, true},
		{"not trusted after that", preparedFolder{}, nil, true},
	} {
		if made := try(step.work, step.err); made != step.want {
			t.Errorf("%s: made is %t", step.name, made)
		}
	}
}

func TestTheWaitEndsWithTheContext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: func(context.Context, []*os.File) error {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		err := prepareOnce(ctx, preparedFolder{Dir: dir, Waiting: func() { cancel(why) },
			Make: func(context.Context, []*os.File) error { return nil }})
		if !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}

func TestCompleteFoldersMayBeReadOnly(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	make := func(context.Context, []*os.File) error { return nil }
	if err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: make}); err != nil {
		t.Fatal(err)
	}
	// Remove the lock file, which could not be opened on a read-only disk.
	if err := os.Remove(dir + ".lock"); err != nil {
		t.Fatal(err)
	}
	if err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: make}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + ".lock"); err == nil {
		t.Error("the lock was taken to look at it")
	}
}

func TestUnfinishedReadOnlyFoldersAreRemoved(t *testing.T) {
	dir, broken := filepath.Join(t.TempDir(), "d"), errors.New("broken")
	cache := filepath.Join(dir, "module", "cache")
	err := prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: func(context.Context, []*os.File) error {
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return err
		}
		write(t, filepath.Join(cache, "x"), "x")
		return errors.Join(broken, os.Chmod(cache, 0o500), os.Chmod(filepath.Dir(cache), 0o500))
	}})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	err = prepareOnce(t.Context(), preparedFolder{Dir: dir, Make: func(context.Context, []*os.File) error {
		if _, err := os.Stat(cache); !os.IsNotExist(err) {
			t.Errorf("it is left: %v", err)
		}
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
}
