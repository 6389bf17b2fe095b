package handler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// newSession returns the toy as the program of a session. members are additional members of the manifest.
func newSession(t *testing.T, members string, opts handler.Options, change func(*handler.Surroundings), env ...string) (
	provider.Factory, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(sprintManifest(fmt.Sprintf("[%q]", filepath.ToSlash(exe))), `"protocol": 1,`,
		`"protocol": 1, "mode": "session",`+members, 1)
	m, diags := manifest.Parse([]byte(text), "m.json", t.TempDir())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	dir := t.TempDir()
	s := handler.Surroundings{Env: append(append(os.Environ(), "TOY_SESSION=1", "TOY_DIR="+dir), env...),
		Grace: time.Second}
	if change != nil {
		change(&s)
	}
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, handler.NewCaller(m, s), opts), nil
	}, dir
}

func TestConformanceInASession(t *testing.T) {
	for _, members := range []string{"", `"concurrency": 8,`} {
		wire := filepath.Join(t.TempDir(), "wire")
		f, dir := newSession(t, members, handler.Options{}, nil, "TOY_WIRE="+wire)
		suite(t, f, dir)
		// with concurrent calls, an answer may be recorded before its request
		if text, err := os.ReadFile(wire); err == nil && members == "" {
			checkLines(t, string(text))
		}
	}
}

// TestInvalidSessionsHaveAdvice makes the program of a session misbehave during a create. State is as in
// TestInvalidAnswersHaveAdvice. In all cases, the next call succeeds.
func TestInvalidSessionsHaveAdvice(t *testing.T) {
	for do, want := range map[string]struct {
		state string
		texts []string
	}{
		"die":       {"", []string{"in the middle of the session: signal: killed", "Traceback: this is the end"}},
		"exit":      {"", []string{"in the middle of the session: exit status 7"}},
		"noise":     {"made", []string{"a line on standard output that is not a message", "Output: Connecting..."}},
		"prompt":    {"made", []string{"not a message", "Output: >"}},
		"log":       {"made", []string{"not a message", `Output: {"level":"info"`}},
		"cut":       {"", []string{"not JSON, or not on one line"}},
		"pretty":    {"", []string{"not JSON, or not on one line"}},
		"nan":       {"", []string{"not JSON", "invalid character 'N'"}},
		"bare":      {"bare", []string{"without the envelope"}},
		"array":     {"", []string{"messages are sent one by one"}},
		"text id":   {"odd", []string{"an answer whose id is", "the same integer"}},
		"null id":   {"", []string{"an answer whose id is null", "cannot parse"}},
		"wrong id":  {"", []string{"which was not made"}},
		"old id":    {"", []string{"answered call 0 a second time"}},
		"no result": {"", []string{`neither "result" nor "error"`}},
		"both":      {"", []string{`both "result" and "error"`}},
		"odd error": {"", []string{`is not like {"code": 1`}},
		"missing":   {"null", []string{"does not support the action create", "no such method"}},
		"error":     {"null", []string{"it answered with error 1", "quota exceeded"}},
		"half":      {"half", []string{"No DNS"}},
		"close out": {"", []string{"in the middle of the session"}},
		"flood":     {"", []string{"a line of more than 64 MiB"}},
	} {
		t.Run(do, func(t *testing.T) {
			f, _ := newSession(t, "", handler.Options{}, nil)
			d := drive(t, f)
			resp := d.thing("create: "+do, nil)
			got := texts(resp.Diagnostics)
			if !resp.Diagnostics.HasErrors() {
				t.Fatal("no error")
			}
			for _, text := range want.texts {
				if !strings.Contains(got, text) {
					t.Errorf("want %q, got\n%s", text, got)
				}
			}
			state := ""
			switch {
			case resp.State == cty.NilVal:
			case resp.State.IsNull():
				state = "null"
			default:
				if state = resp.State.GetAttr("id").AsString(); want.state == "made" {
					state = "made"
				}
			}
			if state != want.state {
				t.Errorf("got state %q, want %q", state, want.state)
			}
			if next := d.thing("", nil); next.Diagnostics.HasErrors() {
				t.Errorf("the next call: %s", texts(next.Diagnostics))
			}
		})
	}
}

func TestUnknownMessagesOfASessionAreIgnored(t *testing.T) {
	f, _ := newSession(t, "", handler.Options{}, nil)
	d := drive(t, f)
	for _, do := range []string{"request", "odd notice"} {
		if resp := d.thing("create: "+do, nil); resp.Diagnostics.HasErrors() {
			t.Errorf("%s: %s", do, texts(resp.Diagnostics))
		}
	}
}

func TestProgramsWithoutSessionHaveAdvice(t *testing.T) {
	for hello, want := range map[string][]string{
		"exit":                             {"exit status 3", "no module named nothing"},
		"hang":                             {"has not answered for 300ms", "flush"},
		"Welcome!":                         {"not a message", "Output: Welcome!"},
		`{"jsonrpc":"2.0","id":0}`:         {`neither "result" nor "error"`},
		`{"state":{}}`:                     {"without the envelope"},
		`{"id":0,"result":{"protocol":2}}`: {"answered with version 2", "This version of the engine uses 1"},
		`{"id":0,"result":{}}`:             {`something other than {"protocol": 1}`},
		`{"id":0,"error":{"code":-32601,"message":"what?"}}`: {"does not support that method"},
		`{"id":0,"error":{"code":5,"message":"no licence"}}`: {"error 5: no licence"},
	} {
		t.Run(hello, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			f, _ := newSession(t, "", handler.Options{}, func(s *handler.Surroundings) {
				if s.Patience = time.Minute; hello == "hang" || hello == "Welcome!" {
					s.Patience = 300 * time.Millisecond
				}
			}, "TOY_HELLO="+hello, "TOY_LOG="+log)
			d := drive(t, f)
			for range 2 {
				_, err := d.p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal("A")})
				if err == nil {
					t.Fatal("no error")
				}
				for _, text := range want {
					if hello != "Welcome!" && !strings.Contains(err.Error(), text) {
						t.Errorf("want %q, got\n%s", text, err)
					}
				}
			}
			if starts := startsIn(log); starts > 1 {
				t.Errorf("it was started %d times", starts)
			}
		})
	}
}

// awaitLine waits until the program of a session has read a line.
func awaitLine(t *testing.T, wire, text string) {
	t.Helper()
	for range 6000 {
		if lines, _ := os.ReadFile(wire); strings.Contains(string(lines), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the program was not sent %q", text)
}

func startsIn(log string) int {
	text, _ := os.ReadFile(log)
	return strings.Count(string(text), "start ")
}

func TestASessionIsStartedOnceAndOnlyWhenACallNeedsIt(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	f, _ := newSession(t, `"concurrency": 4,`, handler.Options{}, nil, "TOY_LOG="+log)
	d := drive(t, f)
	config := d.config("toy_thing", map[string]cty.Value{"name": cty.StringVal("a")})
	d.plan("toy_thing", d.null("toy_thing"), config)
	d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: "toy_thing", Config: config})
	if n := startsIn(log); n != 0 {
		t.Fatalf("schema, plan and validation started it %d times", n)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			got, err := d.p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal(fmt.Sprint("A ", i))})
			if err != nil || got.AsString() != fmt.Sprint("a-", i) {
				t.Errorf("got %#v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if n := startsIn(log); n != 1 {
		t.Errorf("it was started %d times, want once", n)
	}
}

func TestASessionIsRestartedOnceAfterACrash(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	f, _ := newSession(t, "", handler.Options{}, nil, "TOY_LOG="+log)
	d := drive(t, f)
	for _, do := range []string{"create: die", "", "create: exit"} {
		if resp := d.thing(do, nil); resp.Diagnostics.HasErrors() != (do != "") {
			t.Errorf("%q: %s", do, texts(resp.Diagnostics))
		}
	}
	resp := d.thing("", nil)
	if got := texts(resp.Diagnostics); !strings.Contains(got, "ended twice") || resp.State == cty.NilVal {
		t.Errorf("the third: %s", got)
	}
	if n := startsIn(log); n != 2 {
		t.Errorf("it was started %d times, want twice", n)
	}
}

func TestSessionsThatCloseTheirInputAreRestarted(t *testing.T) {
	f, _ := newSession(t, "", handler.Options{}, nil)
	d := drive(t, f)
	if resp := d.thing("create: shut", nil); resp.Diagnostics.HasErrors() {
		t.Fatalf("the call that was read before: %s", texts(resp.Diagnostics))
	}
	if resp := d.thing("", nil); !strings.Contains(texts(resp.Diagnostics),
		"in the middle of the session: it closed its standard input") {
		t.Errorf("the call that nobody read: %s", texts(resp.Diagnostics))
	}
	if resp := d.thing("", nil); resp.Diagnostics.HasErrors() {
		t.Errorf("the next call: %s", texts(resp.Diagnostics))
	}
}

func TestProgramsAreNotifiedOfCancelledCalls(t *testing.T) {
	for do, grace := range map[string]time.Duration{"create: cancellable": time.Minute,
		"create: sleep": 100 * time.Millisecond} {
		log, wire := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "wire")
		f, _ := newSession(t, "", handler.Options{}, func(s *handler.Surroundings) { s.Grace = grace }, "TOY_LOG="+log,
			"TOY_WIRE="+wire)
		d := drive(t, f)
		if resp := d.thing("", nil); resp.Diagnostics.HasErrors() {
			t.Fatal(texts(resp.Diagnostics))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			awaitLine(t, wire, do)
			cancel(errors.New("enough"))
		}()
		resp := d.apply(ctx, "toy_thing", d.null("toy_thing"), d.config("toy_thing", map[string]cty.Value{
			"name": cty.StringVal("a"), "do": cty.StringVal(do)}))
		if got := texts(resp.Diagnostics); !strings.Contains(got, "the program was stopped: enough") ||
			resp.State != cty.NilVal {
			t.Errorf("%s: got %#v %s", do, resp.State, got)
		}
		if resp := d.thing("", nil); resp.Diagnostics.HasErrors() {
			t.Errorf("afterwards: %s", texts(resp.Diagnostics))
		}
		if n := startsIn(log); (n == 2) != (do == "create: sleep") {
			t.Errorf("%s: it was started %d times", do, n)
		}
	}
}

// TestAbandonedCallsDoNotFailOthers cancels a call that ignores it while another call changes something.
func TestAbandonedCallsDoNotFailOthers(t *testing.T) {
	wire := filepath.Join(t.TempDir(), "wire")
	f, _ := newSession(t, `"concurrency": 4,`, handler.Options{}, func(s *handler.Surroundings) {
		s.Grace = 200 * time.Millisecond
	}, "TOY_WIRE="+wire)
	d := drive(t, f)
	start := func(ctx context.Context, do string) chan provider.ApplyResponse {
		out := make(chan provider.ApplyResponse, 1)
		go func() {
			out <- d.apply(ctx, "toy_thing", d.null("toy_thing"), d.config("toy_thing", map[string]cty.Value{
				"name": cty.StringVal("a"), "do": cty.StringVal(do)}))
		}()
		return out
	}
	other, stop := context.WithCancel(t.Context())
	slow := start(other, "create: cancellable")
	ctx, cancel := context.WithCancel(t.Context())
	deaf := start(ctx, "create: sleep")
	awaitLine(t, wire, "create: cancellable")
	awaitLine(t, wire, "create: sleep")
	cancel()
	if resp := <-deaf; !resp.Diagnostics.HasErrors() {
		t.Error("no error")
	}
	select {
	case resp := <-slow:
		t.Errorf("the other call ended: %s", texts(resp.Diagnostics))
	default:
	}
	if resp := <-start(t.Context(), ""); resp.Diagnostics.HasErrors() {
		t.Errorf("a new call: %s", texts(resp.Diagnostics))
	}
	stop()
	if got := texts((<-slow).Diagnostics); !strings.Contains(got, "the program was stopped") {
		t.Errorf("the other call: %s", got)
	}
}

func TestProgressOfASessionBelongsToItsCall(t *testing.T) {
	var c collector
	received := filepath.Join(t.TempDir(), "heard")
	f, _ := newSession(t, "", handler.Options{Output: func(o handler.Output) {
		c.take(o)
		if o.Line == "slowly" {
			_ = os.WriteFile(received, nil, 0o600)
		}
	}}, nil, "TOY_HEARD="+received)
	if resp := drive(t, f).thing("create: progress", nil); resp.Diagnostics.HasErrors() {
		t.Fatal(texts(resp.Diagnostics))
	}
	got := map[string]bool{}
	for _, o := range c.outputs {
		got[fmt.Sprintf("%s|%s|%s|%t|%v", o.Label, o.Level, o.Line, o.IsProgress, o.Fraction)] = true
	}
	for _, want := range []string{"toy_thing create|WARN|slowly|false|0",
		"toy_thing create|INFO|waiting for DNS|true|0.4", "toy_thing create|INFO||true|-1"} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestSessionsThatStayAfterTheEndOfInputAreKilled(t *testing.T) {
	f, _ := newSession(t, "", handler.Options{}, nil, "TOY_STAYS=1")
	p, err := f(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal("A")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if d := time.Since(start); d > 45*time.Second { // it would stay for a minute
		t.Errorf("closing took %s", d)
	}
	if _, err := p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal("A")}); err == nil ||
		!strings.Contains(err.Error(), "has been closed") {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestMissingOptionalActionsHaveDefaults(t *testing.T) {
	f, _ := newToyWith(t, func(handler.Caller) handler.Caller { return knowsNothing{} })
	d := drive(t, f)
	if resp := d.p.Configure(t.Context(), provider.ConfigureRequest{
		Config: d.s.Provider.EmptyValue()}); resp.Diagnostics.HasErrors() {
		t.Errorf("configure: %s", texts(resp.Diagnostics))
	}
	config := d.config("toy_fixed", map[string]cty.Value{"text": cty.StringVal("a")})
	if diags := d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: "toy_fixed", Config: config}); diags.HasErrors() {
		t.Errorf("validate: %s", texts(diags))
	}
	planned := d.plan("toy_fixed", d.null("toy_fixed"), config)
	if planned.Diagnostics.HasErrors() || planned.Planned.GetAttr("twice").IsKnown() {
		t.Errorf("plan: got %#v %s", planned.Planned, texts(planned.Diagnostics))
	}
	if _, err := d.p.CallFunction(t.Context(), "slug", []cty.Value{cty.StringVal("a")}); err == nil {
		t.Error("a function that nobody knows has a result")
	}
}

// knowsNothing answers every call like a session that does not implement the method.
type knowsNothing struct{}

func (knowsNothing) Call(context.Context, handler.Call) (*handler.Answer, error) {
	return &handler.Answer{Program: "x", Failure: &handler.Failure{State: "it answered with error -32601",
		Missing: true}}, nil
}
func (knowsNothing) Prepare(context.Context, func(string)) error { return nil }

func (knowsNothing) Close() error { return nil }

func TestLinesOfASessionAreShownWithTheCallThatIsOpen(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	take := func(o handler.Output) {
		name := o.Object.Instance.Resource.Name
		text, _, _ := strings.Cut(o.Line, " ")
		mu.Lock()
		defer mu.Unlock()
		if name == text {
			got[name]++
		} else {
			t.Errorf("a line of %s was shown with %q", text, name)
		}
	}
	f, _ := newSession(t, "", handler.Options{Output: take}, nil)
	d := drive(t, f)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			name := fmt.Sprint("thing", i)
			config := d.config("toy_thing", map[string]cty.Value{"name": cty.StringVal(name),
				"do": cty.StringVal("create: say the name")})
			if resp := d.applyTo(named(name), "toy_thing", d.null("toy_thing"), config); resp.Diagnostics.HasErrors() {
				t.Error(texts(resp.Diagnostics))
			}
		})
	}
	calls.Wait()
	for i := range 100 {
		if name := fmt.Sprint("thing", i); got[name] != 50 {
			t.Errorf("%d of 50 lines were shown with %s", got[name], name)
		}
	}
}

// A program that ignores all signals that can be ignored, with a child that keeps its pipes open, ends with its
// session: while it is idle, and during an abandoned call.
func TestASessionThatIgnoresSignalsIsEndedWithItsChildren(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell and signals")
	}
	dir := t.TempDir()
	const program = `trap '' TERM INT HUP QUIT
(trap '' TERM INT HUP QUIT; echo $$ >>pids; while :; do sleep 1; done) &
echo $! >>pids
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case $line in
  *'"method":"initialize"'*) result='{"protocol":1}' ;;
  *deaf*) echo here >>heard; while :; do sleep 1; done ;;
  *) result='{"result":"x"}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
while :; do sleep 1; done
`
	if err := os.WriteFile(filepath.Join(dir, "p.sh"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	m, diags := manifest.Parse([]byte(`{"protocol": 1, "name": "toy", "command": ["sh", "./p.sh"], "mode": "session",
		"schema": {"functions": {"f": {"parameters": [{"name": "a", "type": "string"}], "return_type": "string"}}}}`),
		filepath.Join(dir, "m.json"), dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for _, argument := range []string{"idle", "deaf"} {
		t.Run(argument, func(t *testing.T) {
			for _, name := range []string{"pids", "heard"} {
				_ = os.Remove(filepath.Join(dir, name))
			}
			s := handler.Surroundings{Env: os.Environ(), Dir: dir, Grace: 200 * time.Millisecond}
			p := handler.New(m, handler.NewCaller(m, s), handler.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if argument == "deaf" {
				go func() {
					awaitLine(t, filepath.Join(dir, "heard"), "here")
					cancel()
				}()
			}
			_, err := p.CallFunction(ctx, "f", []cty.Value{cty.StringVal(argument)})
			if (err != nil) != (argument == "deaf") {
				t.Errorf("the call: %v", err)
			}
			if err := p.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "pids"))
			if err != nil || len(strings.Fields(string(text))) < 2 {
				t.Fatalf("%q, %v", text, err)
			}
			for _, word := range strings.Fields(string(text)) {
				pid, _ := strconv.Atoi(word)
				for until := time.Now().Add(time.Minute); alive(pid); time.Sleep(20 * time.Millisecond) {
					if time.Now().After(until) {
						t.Fatalf("process %d is still there", pid)
					}
				}
			}
		})
	}
}

// alive reports whether a process exists that has not ended.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil || process.Signal(syscall.Signal(0)) != nil {
		return false
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(state), ") Z ") // a zombie has ended
}
