//go:build unix

package handler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// unprepared is a provider whose preparation creates its program.
type unprepared struct {
	*testing.T
	dir   string // folder of the provider
	cache string // cache folder of the user
}

func newUnprepared(t *testing.T, members, prepare string) *unprepared {
	u := &unprepared{T: t, dir: t.TempDir(), cache: t.TempDir()}
	t.Setenv("XDG_CACHE_HOME", u.cache)
	t.Setenv("HOME", u.cache)
	u.write(manifest.FileName, fmt.Sprintf(smallManifest, `["{cache}/tool"]`, `"prepare": ["sh", "./prepare.sh"],`+
		members))
	u.write("prepare.sh", prepare)
	return u
}

const makeTool = `
printf '#!/bin/sh\necho "{\\"result\\": \\"made\\"}"\n' >"$TOMBOLO_CACHE_DIR/tool"
chmod +x "$TOMBOLO_CACHE_DIR/tool"
`

// counted appends a line to a file beside the cache folders each time it runs.
const counted = `echo "noise $PWD"; echo x >>"$XDG_CACHE_HOME/ran"` + "\n"

func (u *unprepared) write(name, text string) {
	u.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.Fatal(err)
	}
}

func (u *unprepared) ran() int {
	text, _ := os.ReadFile(filepath.Join(u.cache, "ran"))
	return len(text) / 2
}

// provider returns a provider with the callback say, which may be nil.
func (u *unprepared) provider(say func(handler.Output)) provider.Provider {
	u.Helper()
	m, diags := manifest.Load(u.dir)
	if diags.HasErrors() {
		u.Fatal(diags.Err())
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{}), handler.Options{
		Output: func(o handler.Output) {
			if say != nil {
				say(o)
			}
		}})
	u.Cleanup(func() { _ = p.Close() })
	return p
}

func (u *unprepared) call(p provider.Provider) error {
	v, err := p.CallFunction(u.Context(), "f", nil)
	if err == nil && v.AsString() != "made" {
		err = fmt.Errorf("it answered %#v", v)
	}
	return err
}

func TestProgramsArePreparedOnceAtFirstUse(t *testing.T) {
	u := newUnprepared(t, "", counted+makeTool)
	var mu sync.Mutex
	var lines []string
	say := func(o handler.Output) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, o.Label+": "+o.Line)
	}
	p := u.provider(say)
	d := drive(t, func(context.Context) (provider.Provider, error) { return p, nil })
	config := d.config("s_t", map[string]cty.Value{"name": cty.StringVal("n")})
	if diags := d.plan("s_t", d.null("s_t"), config).Diagnostics; diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if u.ran() != 0 {
		t.Fatal("a plan that needs no program has prepared it")
	}
	var all sync.WaitGroup
	for i := range 6 {
		of := p
		if i%2 == 0 {
			of = u.provider(say)
		}
		all.Go(func() {
			if err := u.call(of); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := u.call(u.provider(nil)); err != nil || u.ran() != 1 {
		t.Errorf("got %v, prepared %d times", err, u.ran())
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"s prepare: Preparing provider s, once on this machine: sh ", "s prepare: noise " +
		u.cache} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q, got\n%s", want, text)
		}
	}
}

func TestFailedPreparationsAreExplainedAndRepeated(t *testing.T) {
	u := newUnprepared(t, "", counted+`
[ -e "$TOMBOLO_CACHE_DIR/left" ] && echo "something was left" >&2
echo x >"$TOMBOLO_CACHE_DIR/left"
[ -e "$XDG_CACHE_HOME/network" ] || { echo "cannot reach the index" >&2; exit 3; }
`+makeTool)
	p := u.provider(nil)
	for range 2 {
		err := u.call(p)
		if err == nil {
			t.Fatal("it was called")
		}
		for _, want := range []string{"cannot reach the index", "exit status 3", "sh " + u.dir + "/prepare.sh",
			"tombolo provider prepare " + u.dir} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got\n%s", want, err)
			}
		}
		if strings.Contains(err.Error(), "something was left") {
			t.Errorf("got %s", err)
		}
	}
	if u.ran() != 1 {
		t.Errorf("one provider has tried %d times", u.ran())
	}
	if err := os.WriteFile(filepath.Join(u.cache, "network"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := u.call(u.provider(nil)); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptEndsThePreparation(t *testing.T) {
	u := newUnprepared(t, "", `[ -e "$XDG_CACHE_HOME/quick" ] || { echo begun; sleep 600; }`+makeTool)
	begun := make(chan struct{})
	var once sync.Once
	p := u.provider(func(o handler.Output) {
		if o.Line == "begun" {
			once.Do(func() { close(begun) })
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- u.call(p) }()
	<-begun
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "not asked") {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call has not ended")
	}
	if err := os.WriteFile(filepath.Join(u.cache, "quick"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := u.call(u.provider(nil)); err != nil {
		t.Error(err)
	}
}

func TestAPreparationBelongsToTheFilesThatItComesFrom(t *testing.T) {
	for members, want := range map[string][2]int{"": {3, 4}, `"prepare_from": ["./needs.txt"],`: {1, 2}} {
		u := newUnprepared(t, members, counted+makeTool)
		u.write("needs.txt", "a")
		call := func(what string, want int) {
			t.Helper()
			if err := u.call(u.provider(nil)); err != nil || u.ran() != want {
				t.Errorf("%q, %s: got %v, prepared %d times, want %d", members, what, err, u.ran(), want)
			}
		}
		call("new", 1)
		u.write("terraform.tfstate", "what is no part of the provider")
		u.write("terraform-provider-s_v1.0.0", "nor is the host of a package")
		call("leftovers", 1)
		u.write("p.sh", "1")
		call("a file", min(2, want[0]))
		u.write("p.sh", "2")
		call("its content", want[0])
		u.write("needs.txt", "b")
		call("what it needs", want[1])
	}
}

func TestAPreparationIsTheSameThroughALinkToTheFolder(t *testing.T) {
	for _, members := range []string{"", `"prepare_from": ["./needs"],`} {
		u := newUnprepared(t, members, counted+makeTool)
		needs := t.TempDir()
		u.write("list.txt", "a")
		if err := errors.Join(os.Rename(filepath.Join(u.dir, "list.txt"), filepath.Join(needs, "list.txt")),
			os.Symlink(needs, filepath.Join(u.dir, "needs"))); err != nil {
			t.Fatal(err)
		}
		u.write("p.sh", "1")
		call := func(what string, want int) {
			t.Helper()
			if err := u.call(u.provider(nil)); err != nil || u.ran() != want {
				t.Errorf("%q, %s: got %v, prepared %d times, want %d", members, what, err, u.ran(), want)
			}
		}
		call("new", 1)
		real, link := u.dir, filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(real, link); err != nil {
			t.Fatal(err)
		}
		u.dir = link
		call("linked", 1)
		if members == "" {
			u.write("p.sh", "2")
		} else if err := os.WriteFile(filepath.Join(needs, "list.txt"), []byte("b"), 0o600); err != nil {
			t.Fatal(err)
		}
		call("another content", 2)
		u.dir = real
		call("not linked", 2)
	}
}

func TestImpossiblePreparationsAreReported(t *testing.T) {
	u := newUnprepared(t, `"prepare_from": ["./needs.txt"],`, makeTool)
	if err := u.call(u.provider(nil)); err == nil || !strings.Contains(err.Error(), "needs.txt") ||
		!strings.Contains(err.Error(), `"prepare_from"`) {
		t.Errorf("got %v", err)
	}
	u.write("needs.txt", "")
	u.write("prepare.sh", "true")
	if err := u.call(u.provider(nil)); err == nil || !strings.Contains(err.Error(), "is not prepared: ") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(u.cache, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(u.cache, "file"))
	t.Setenv("HOME", filepath.Join(u.cache, "file"))
	u.write("prepare.sh", makeTool)
	if err := u.call(u.provider(nil)); err == nil || !strings.Contains(err.Error(),
		"Set XDG_CACHE_HOME to use another cache folder") {
		t.Errorf("got %v", err)
	}
	var failed *handler.PreparationError
	m, _ := manifest.Load(u.dir)
	u.write("prepare.sh", "exit 1")
	_, _, err := handler.Prepare(t.Context(), m, handler.Surroundings{Cache: filepath.Join(u.cache, "c")}, true,
		func(string) {})
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "It printed nothing") {
		t.Errorf("got %v", err)
	}
}
