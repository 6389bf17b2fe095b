package program_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

func TestDriver(t *testing.T) {
	for name, features := range map[string][]string{
		"all":                 allFeatures,
		"bare":                {},
		"without renewal":     {"journal", "workspaces", "conditions"},
		"without a condition": {"journal", "workspaces"},
	} {
		if testing.Short() && name != "bare" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := serve(t, memory.New(), features...).open(t).Limits(t.Context())
			must(t, err)
			drivertest.Run(t, o, func(t *testing.T) (a, b remote.Driver) {
				s := serve(t, memory.New(), features...)
				return s.open(t), s.open(t)
			})
		})
	}
}

// over returns a store that retries calls without pauses.
func over(t *testing.T, d remote.Driver) *remote.Store {
	return remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}, Pause: time.Millisecond,
		Beat: 50 * time.Millisecond, Who: "me@here"})
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		s := serve(t, memory.New(), allFeatures...)
		return over(t, s.open(t)), over(t, s.open(t))
	})
}

// The journal and the results of a state on this machine belong to this state only, and not to another state of the
// same program with other values in config or another end of a long command.
func TestPlacesHaveUniqueNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	names := map[string]bool{}
	name := func(o program.Options) string {
		ws, err := remote.New(remote.Options{Driver: program.New(o), Answers: "."}).Workspace("w")
		must(t, err)
		dir, _ := ws.(interface {
			Answers() (string, *encryption.Cipher)
		}).Answers()
		return dir
	}
	for _, o := range []program.Options{
		{Command: []string{"a"}}, {Command: []string{"a"}, Config: map[string]string{"where": "here"}},
		{Command: []string{"a"}, Config: map[string]string{"where": "there"}}, {Command: []string{"a", long, "b"}},
		{Command: []string{"a", long, "c"}},
	} {
		names[name(o)] = true
		o.Secrets = map[string]string{"token": "rotated"}
		names[name(o)] = true
	}
	if len(names) != 5 {
		t.Errorf("%d names of 5 places", len(names))
	}
}

// An invalid response fails its call and no other, and the store is never taken for empty.
func TestEveryFaultOfEveryVerbIsAnErrorAndTheNextCallWorks(t *testing.T) {
	type verb struct {
		name string
		do   func(ctx context.Context, d *program.Driver, h remote.Hold) error
	}
	place := func(d *program.Driver) remote.Place { p, _ := d.Place(state.DefaultWorkspace); return p }
	verbs := []verb{
		{"workspaces", func(ctx context.Context, d *program.Driver, _ remote.Hold) error {
			_, err := d.Workspaces(ctx)
			return err
		}},
		{"read", func(ctx context.Context, d *program.Driver, _ remote.Hold) error {
			c, err := place(d).Read(ctx)
			if err == nil && string(c.Data) != "stored" {
				err = fmt.Errorf("read %q", c.Data)
				t.Error(err)
			}
			return err
		}},
		{"holder", func(ctx context.Context, d *program.Driver, _ remote.Hold) error {
			_, err := place(d).Holder(ctx)
			return err
		}},
		{"renew", func(ctx context.Context, _ *program.Driver, h remote.Hold) error { return h.Check(ctx) }},
		{"write", func(ctx context.Context, _ *program.Driver, h remote.Hold) error {
			_, err := h.Write(ctx, remote.Write{Data: []byte("x"), Was: "no such version"})
			if errors.Is(err, remote.ErrChanged) {
				return nil
			}
			return err
		}},
		{"read_journal", func(ctx context.Context, d *program.Driver, _ remote.Hold) error {
			_, err := place(d).ReadJournal(ctx)
			return err
		}},
	}
	if testing.Short() {
		verbs = verbs[1:3]
	}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := serve(t, memory.New(), allFeatures...)
			d := s.open(t)
			h, err := place(d).Lock(t.Context(), drivertest.Info("id"))
			must(t, err)
			_, err = h.Write(t.Context(), remote.Write{Data: []byte("stored")})
			must(t, err)
			for _, v := range verbs {
				ctx, cancel := context.WithCancel(t.Context())
				armed := true
				s.fault = func(verb string) string {
					if verb != v.name || !armed {
						return ""
					}
					armed = false
					if fault == "hangs" {
						cancel()
					}
					return fault
				}
				err := v.do(ctx, d, h)
				cancel()
				if err == nil && fault != "asks to come later" && fault != "answers twice" {
					t.Errorf("%s: no error", v.name)
				}
				if fault == "hangs" && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", v.name, err)
				}
				s.mu.Lock()
				armed = false
				s.mu.Unlock()
				if err := again(t, func() error { return v.do(t.Context(), d, h) }); err != nil {
					t.Errorf("%s, the next time: %v", v.name, err)
				}
			}
		})
	}
}

// again performs a call up to twice: output after a response is only detected by the next call.
func again(t *testing.T, do func() error) error {
	t.Helper()
	if do() == nil {
		return nil
	}
	return do()
}

// A store over a program with occasional faults keeps everything that was acknowledged, whatever happens to single
// calls.
func TestNothingIsLostOverAProgramWithFaults(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 7))
			s := serve(t, memory.New(), allFeatures...)
			st := over(t, s.open(t))
			steady := over(t, s.open(t))
			ws, err := st.Workspace(state.DefaultWorkspace)
			must(t, err)
			reader, err := steady.Workspace(state.DefaultWorkspace)
			must(t, err)
			var want []string
			for n := range 6 {
				s.mu.Lock()
				s.fault = func(verb string) string {
					if verb == "open" || random.IntN(6) > 0 {
						return ""
					}
					fault := faults[random.IntN(len(faults))]
					if fault == "hangs" { // takes as long as the time limit of a call
						fault = "dies behind"
					}
					return fault
				}
				s.mu.Unlock()
				name := fmt.Sprintf("t.n%d", n)
				recorded, sure := put(t, ws, name)
				s.mu.Lock()
				s.fault = nil
				s.mu.Unlock()
				unlock(t, steady, reader)
				snapshot, err := reader.Read(t.Context())
				must(t, err)
				got := strings.Join(storetest.IDs(snapshot.State), " ")
				if recorded && !strings.Contains(got, name+"=") && sure {
					t.Fatalf("%s was recorded and is not there: %s", name, got)
				}
				for _, w := range want {
					if !strings.Contains(got, w+"=") {
						t.Fatalf("%s was there and is gone: %s", w, got)
					}
				}
				if strings.Contains(got, name+"=") {
					want = append(want, name)
				}
			}
			if len(want) == 0 {
				t.Log("nothing was stored with this seed")
			}
		})
	}
}

// put records an object in a run. It reports whether that succeeded and whether the run ended without an error.
func put(t *testing.T, ws state.Workspace, name string) (recorded, ended bool) {
	session, err := ws.Lock(t.Context(), state.LockRequest{})
	if err != nil {
		return false, false
	}
	j, err := session.Begin(t.Context(), state.RunInfo{Command: "apply"})
	if err != nil {
		return false, errors.Join(session.Unlock()) == nil
	}
	recorded = j.Record(storetest.Put(name, name, "")) == nil
	closed := j.Close(t.Context())
	return recorded, errors.Join(closed, session.Unlock()) == nil
}

// unlock releases the lock that a failed run left, and recovers the run.
func unlock(t *testing.T, st *remote.Store, ws state.Workspace) {
	t.Helper()
	for range 3 {
		session, err := ws.Lock(t.Context(), state.LockRequest{})
		var locked *state.LockedError
		if errors.As(err, &locked) && locked.Info != nil {
			must(t, ws.ForceUnlock(t.Context(), locked.Info.ID))
			continue
		}
		must(t, err)
		must(t, session.Unlock())
		return
	}
	t.Fatal("the lock is not free")
}

func TestAnAnswerThatTakesTooLongIsAnError(t *testing.T) {
	s := serve(t, memory.New(), allFeatures...)
	s.fault = func(verb string) string {
		if verb == "read" {
			return "hangs"
		}
		return ""
	}
	d := s.open(t)
	_, err := d.Workspaces(t.Context())
	must(t, err)
	d.SetTimeout(time.Millisecond)
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "did not answer read within 1ms") {
		t.Errorf("got %v", err)
	}
}

// A lock whose response was lost is recognized as ours, and one whose caller has left is released.
func TestLocksWithLostResponsesAreFound(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := serve(t, memory.New(), allFeatures...)
		ctx, cancel := context.WithCancel(t.Context())
		s.fault = func(verb string) string {
			if verb != "lock" {
				return ""
			}
			s.fault = nil
			if !wanted {
				cancel()
			}
			return "dies behind"
		}
		p, err := s.open(t).Place(state.DefaultWorkspace)
		must(t, err)
		h, err := p.Lock(ctx, drivertest.Info("id"))
		cancel()
		holder, holderErr := p.Holder(t.Context())
		must(t, holderErr)
		if held := err == nil && h != nil; held != (holder != nil) || wanted && !held {
			t.Errorf("wanted %t: lock %v, %v; holder %+v", wanted, h, err, holder)
		}
	}
}

func TestStartErrorsAreReported(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"no such program":  {[]string{"./no-such-program"}, "cannot be started"},
		"ends at once":     {[]string{self, "gone", "now"}, "was asked to initialize a session"},
		"refuses its args": {[]string{self, "gossip", "open"}, "answered open with error 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := program.New(program.Options{Command: c.command, Grace: time.Millisecond})
			defer d.Close()
			if _, err := d.Workspaces(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func init() { modes["gone"] = func(string) { os.Exit(1) } }

// Neither secrets of the block nor contents of states appear in an error or in the log, whatever the program prints.
func TestSecretsAreNeverShown(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	secret, content := "canary-öf \"secrets\"/\nsecond-line-canary", strings.Repeat("state-canary", 20)
	for _, way := range []string{"open", "error", "stderr", "stray", "echo", "result"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var output strings.Builder
			d := program.New(program.Options{Command: []string{self, "gossip", way}, Grace: time.Millisecond,
				Secrets: map[string]string{"token": secret}, Log: func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(&output, format+"\n", args...)
				}})
			defer d.Close()
			p, err := d.Place(state.DefaultWorkspace)
			must(t, err)
			h, err := p.Unlocked(t.Context())
			must(t, err)
			_, first := d.Workspaces(t.Context())
			_, second := p.Read(t.Context())
			_, third := h.Write(t.Context(), remote.Write{Data: []byte(content)})
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&output, p, first, second, third)
			text := output.String()
			for _, canary := range []string{"canary-", "second-line", "state-canary",
				base64.StdEncoding.EncodeToString([]byte(content))[:40]} {
				if at := strings.Index(text, canary); at >= 0 {
					t.Errorf("%q is said: ...%s", canary, text[max(0, at-100):min(len(text), at+100)])
				}
			}
			if first == nil && second == nil && third == nil {
				t.Error("the message of the program is missing")
			}
		})
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	kind := program.Kind()
	values := func(command cty.Value, timeout string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"command": command, "config": cty.NullVal(cty.Map(cty.String)),
			"secrets": cty.NullVal(cty.Map(cty.String)), "timeout": cty.StringVal(timeout)})
	}
	words := cty.ListVal([]cty.Value{cty.StringVal("true")})
	for _, c := range []struct {
		config cty.Value
		ok     bool
	}{
		{values(words, "30s"), true}, {values(words, "1h"), false}, {values(words, "x"), false},
		{values(cty.ListValEmpty(cty.String), "30s"), false}, {values(cty.NullVal(cty.List(cty.String)), "30s"), false},
		{values(cty.ListVal([]cty.Value{cty.StringVal("")}), "30s"), false},
		{values(cty.ListVal([]cty.Value{cty.NullVal(cty.String)}), "30s"), false},
	} {
		d, diags := kind.Open(t.Context(), c.config, remote.Surroundings{})
		if diags.HasErrors() == c.ok {
			t.Errorf("%#v: %v", c.config, diags.Err())
		}
		if d != nil {
			d.Close()
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each request of the engine is one call of the program: to lock, to read state and journal, to write once.
func TestRequestsOfARunAreCounted(t *testing.T) {
	s := serve(t, memory.New(), allFeatures...)
	n := 0
	s.fault = func(string) string {
		n++
		return ""
	}
	want := drivertest.Counts{Plan: 4, Idle: 4, One: 10, More: 2}
	if got := drivertest.Requests(t, s.open(t), func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return n
	}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The program exits, or responds with garbage, at each call of a run, before or after the call takes effect.
func TestEveryRequestMayFail(t *testing.T) {
	kinds := []string{"dies before", "dies behind", "is cut"}
	if testing.Short() {
		kinds = kinds[1:2]
	}
	for name, features := range map[string][]string{"all": allFeatures, "bare": {}} {
		if testing.Short() && name == "bare" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.EveryRequest(t, kinds, func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int,
				remote.Driver) {
				s, n := serve(t, memory.New(), features...), 0
				s.fault = func(string) string {
					n++
					return f(n)
				}
				return s.open(t), func() int {
					s.mu.Lock()
					defer s.mu.Unlock()
					return n
				}, s.calm(t)
			})
		})
	}
}

// A lock that expires because it was not renewed in time ends the run: no operation begins, no later result of another
// run is overwritten, and the results of this run are kept.
func TestLocksThatEndAreNoticed(t *testing.T) {
	service := memory.New()
	s := serve(t, service, allFeatures...)
	ws, err := over(t, s.open(t)).Workspace(state.DefaultWorkspace)
	must(t, err)
	session, err := ws.Lock(t.Context(), state.LockRequest{})
	must(t, err)
	j, err := session.Begin(t.Context(), state.RunInfo{ID: "one", Command: "apply"})
	must(t, err)
	must(t, j.Intent(storetest.Create("1", "t.one")))
	p, err := service.Place(state.DefaultWorkspace)
	must(t, err)
	holder, err := p.Holder(t.Context())
	must(t, err)
	must(t, p.ForceUnlock(t.Context(), holder.ID)) // its lock expires
	select {
	case <-session.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("it was not noticed")
	}
	if err := context.Cause(session.Context()); !errors.Is(err, remote.ErrLost) {
		t.Errorf("it ends with %v", err)
	}
	if err := j.Intent(storetest.Create("2", "t.late")); err == nil {
		t.Error("something new is begun")
	}
	other, err := over(t, s.open(t)).Workspace(state.DefaultWorkspace)
	must(t, err)
	if recorded, ended := put(t, other, "t.two"); !recorded || !ended {
		t.Error("another run cannot work")
	}
	_ = j.Result("1", storetest.Put("t.one", "one", ""))
	if err := j.Close(t.Context()); err == nil {
		t.Error("the run ends well")
	}
	if err := session.Unlock(); err == nil {
		t.Error("a lock that has ended is given back")
	}
	next, err := ws.Lock(t.Context(), state.LockRequest{}) // on the machine of the first run
	must(t, err)
	if got := strings.Join(storetest.IDs(next.Snapshot().State), " "); got != "t.one=one t.two=t.two" {
		t.Errorf("there is %s", got)
	}
	must(t, next.Unlock())
}
