//go:build unix

package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

func TestMain(m *testing.M) {
	if program.Keeping() {
		os.Exit(program.Keep())
	}
	programtest.Main()
	os.Exit(m.Run())
}

func run(t *testing.T, c program.Command) (*program.Result, error) {
	t.Helper()
	return program.Run(t.Context(), c)
}

// mustAnswer runs a program that must succeed, and decodes its answer.
func mustAnswer(t *testing.T, c program.Command) map[string]string {
	t.Helper()
	res, err := run(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 0 || res.State != "exit status 0" {
		t.Fatalf("%s, stderr %q", res.State, res.Stderr)
	}
	answer, err := program.ReadStrings(res.Stdout)
	if err != nil {
		t.Fatalf("%v: %q", err, res.Stdout)
	}
	return answer
}

func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// within fails the test if f takes a minute, which means that it waits for something. A shorter time may be due to the
// load of the machine.
func within(t *testing.T, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > 45*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestRunPassesInputAndReturnsOutput(t *testing.T) {
	in := []byte(`{"a":"b"}`)
	got := mustAnswer(t, program.Command{Argv: programtest.Argv("wrap"), Stdin: in})
	if got["stdin"] != string(in) {
		t.Errorf("the program read %q", got["stdin"])
	}
}

func TestRunClosesEmptyInput(t *testing.T) {
	if got := mustAnswer(t, program.Command{Argv: programtest.Argv("wrap")}); got["stdin"] != "" {
		t.Errorf("the program read %q", got["stdin"])
	}
}

func TestRunMovesMegabytesBothWays(t *testing.T) {
	in := []byte(`{"a":"` + strings.Repeat("0123456789abcdef", 3<<16) + `"}`)
	res, err := run(t, program.Command{Argv: programtest.Argv("echo"), Stdin: in})
	if err != nil || !bytes.Equal(res.Stdout, in) {
		t.Errorf("%v; %d bytes came back of %d", err, len(res.Stdout), len(in))
	}
}

func TestRunReportsHowAProgramEnded(t *testing.T) {
	res, err := run(t, program.Command{Argv: programtest.Argv("fail", "3", "no such thing\n")})
	if err != nil {
		t.Fatal(err)
	}
	if res.State != "exit status 3" || res.ExitCode != 3 || string(res.Stderr) != "no such thing\n" {
		t.Errorf("got %+v", res)
	}
	res, err = run(t, program.Command{Argv: programtest.Argv("killself")})
	if err != nil {
		t.Fatal(err)
	}
	if res.State != "signal: killed" || res.ExitCode != -1 {
		t.Errorf("got %+v", res)
	}
}

func TestRunWithoutAProgramFails(t *testing.T) {
	if _, err := run(t, program.Command{}); err == nil {
		t.Error("no error")
	}
}

func TestRunStartsNothingOnceCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user said so")
	cancel(cause)
	res, err := program.Run(ctx, program.Command{Argv: programtest.Argv("deaf")})
	if res != nil || !errors.Is(err, cause) {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestRunLeavesOutPluginVariables(t *testing.T) {
	got := mustAnswer(t, program.Command{
		Argv: programtest.Argv("env"),
		Env: []string{"A=1", "TF_PLUGIN_MAGIC_COOKIE=x", "PLUGIN_MIN_PORT=1", "PLUGIN_CLIENT_CERT=y",
			"TF_PLUGIN_CACHE_DIR=/c", "MY_PLUGIN_X=2"},
	})
	delete(got, "GOCOVERDIR")
	want := map[string]string{"A": "1", "TF_PLUGIN_CACHE_DIR": "/c", "MY_PLUGIN_X": "2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunInheritsTheEnvironmentByDefault(t *testing.T) {
	t.Setenv("PROGRAM_TEST_VARIABLE", "here")
	t.Setenv("PLUGIN_PROTOCOL_VERSIONS", "5")
	got := mustAnswer(t, program.Command{Argv: programtest.Argv("env")})
	if got["PROGRAM_TEST_VARIABLE"] != "here" || got["PLUGIN_PROTOCOL_VERSIONS"] != "" {
		t.Errorf("got %v", got)
	}
}

func TestRunChangesDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := mustAnswer(t, program.Command{Argv: programtest.Argv("dir"), Dir: dir}); got["dir"] != dir {
		t.Errorf("got %s, want %s", got["dir"], dir)
	}
	if got := mustAnswer(t, program.Command{Argv: programtest.Argv("env"), Dir: dir}); got["PWD"] != dir {
		t.Errorf("PWD is %s, want %s", got["PWD"], dir)
	}
}

func TestRunUsesNoShell(t *testing.T) {
	got := mustAnswer(t, program.Command{Argv: programtest.Argv("args", "$HOME", "*", "a b", ";", "")})
	if got["args"] != "$HOME|*|a b|;|" {
		t.Errorf("got %s", got["args"])
	}
}

func TestRunStreamsStderrByLine(t *testing.T) {
	var got []string
	res, err := run(t, program.Command{
		Argv:   []string{"/bin/sh", "-c", `printf 'one\ntwo\r\n\nthr' >&2; printf 'ee \377' >&2; echo '{}'`},
		Stderr: func(line string) { got = append(got, line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two", "", "three \uFFFD"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "one\ntwo\r\n\nthree \xff"; string(res.Stderr) != want {
		t.Errorf("kept %q, want %q", res.Stderr, want)
	}
}

func TestRunStreamsStderrWhileTheProgramRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	within(t, func() {
		_, err := program.Run(ctx, program.Command{
			Argv:   programtest.Argv("hang"),
			Stderr: func(line string) { cancel() },
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRunWithAProgramThatDoesNotReadItsInput(t *testing.T) {
	in := bytes.Repeat([]byte("x"), 900_000)
	for _, mode := range []string{"deaf", "closing"} {
		t.Run(mode, func(t *testing.T) {
			mustAnswer(t, program.Command{Argv: programtest.Argv(mode), Stdin: in})
		})
	}
	t.Run("as a child does that outlives it", func(t *testing.T) {
		within(t, func() {
			mustAnswer(t, program.Command{Argv: programtest.Argv("parent", "{}", "0", "after", "60s", ""), Stdin: in})
		})
	})
}

func TestRunKillsAProgramThatPrintsTooMuch(t *testing.T) {
	begin := memory()
	within(t, func() {
		res, err := run(t, program.Command{Argv: programtest.Argv("flood", "1073741824"), MaxStdout: 8 << 20})
		var limit *program.LimitError
		if !errors.As(err, &limit) {
			t.Fatalf("got error %v", err)
		}
		if want := "the program printed more than 8 MiB on standard output, and was killed"; err.Error() != want {
			t.Errorf("got %s\nwant %s", err, want)
		}
		if len(res.Stdout) != 8<<20 {
			t.Errorf("kept %d bytes", len(res.Stdout))
		}
	})
	if grown := memory() - begin; grown > 64<<20 {
		t.Errorf("allocated %d MiB", grown>>20)
	}
}

func TestRunKillsAChildThatPrintsTooMuchAfterTheProgram(t *testing.T) {
	within(t, func() {
		res, err := run(t, program.Command{Argv: programtest.Argv("parent", "", "0", "flood", "1073741824"),
			MaxStdout: 8 << 20})
		var limit *program.LimitError
		if !errors.As(err, &limit) {
			t.Fatalf("got error %v", err)
		}
		expectEnd(t, childOf(t, res))
	})
}

func TestRunDropsOutputOnRequest(t *testing.T) {
	begin := memory()
	res, err := run(t, program.Command{Argv: programtest.Argv("flood", "300000000"), MaxStdout: -1})
	if err != nil || res.ExitCode != 0 || len(res.Stdout) != 0 {
		t.Errorf("got %v, %s, %d bytes", err, res.State, len(res.Stdout))
	}
	if grown := memory() - begin; grown > 16<<20 {
		t.Errorf("holds %d MiB more", grown>>20)
	}
}

func TestRunAcceptsLargeAnswers(t *testing.T) {
	got := mustAnswer(t, program.Command{Argv: programtest.Argv("bigvalue", strconv.Itoa(32<<20))})
	if len(got["a"]) != 32<<20 {
		t.Errorf("got %d bytes", len(got["a"]))
	}
}

func TestRunKeepsBothEndsOfAFloodOfMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it writes 1 GiB")
	}
	begin := memory()
	lines := 0
	argv := programtest.Argv("errflood", "1073741824")
	res, err := run(t, program.Command{
		Argv:   append([]string{"/bin/sh", "-c", `echo first >&2; "$@"; echo >&2; echo last >&2`, "sh"}, argv...),
		Stderr: func(string) { lines++ },
	})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(err, res)
	}
	text := string(res.Stderr)
	if !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, "last\n") ||
		!strings.Contains(text, "bytes left out here") {
		t.Errorf("lost an end or the note: %.50q ... %.50q", text, text[len(text)-50:])
	}
	if want := 1<<14 + 2; lines != want { // a line of 1 GiB is split into pieces of 64 KiB
		t.Errorf("streamed %d lines, want %d", lines, want)
	}
	if len(res.Stderr) > 2<<20+100 {
		t.Errorf("kept %d bytes", len(res.Stderr))
	}
	// The lines themselves are garbage by now, so measure live memory.
	if grown := memory() - begin; grown > 32<<20 {
		t.Errorf("holds %d MiB more", grown>>20)
	}
}

func TestRunDoesNotWaitForChildrenOnceTheAnswerIsWhole(t *testing.T) {
	for _, mode := range []string{"parent", "daemon"} {
		t.Run(mode, func(t *testing.T) {
			within(t, func() {
				res, err := run(t, program.Command{Argv: programtest.Argv(mode, `{"a":"b"}`, "0", "after", "60s", ""),
					Linger: time.Minute})
				if err != nil || string(res.Stdout) != `{"a":"b"}` || !res.Held {
					t.Fatalf("%v, %+v", err, res)
				}
				pid := childOf(t, res)
				if syscall.Kill(pid, 0) != nil {
					t.Error("the child was ended; it may be a daemon")
				}
				syscall.Kill(pid, syscall.SIGKILL)
			})
		})
	}
}

func TestRunReadsAllOutputBeforeItChecksCompleteness(t *testing.T) {
	// "{}" is complete, but output that follows must be read nevertheless.
	for range 20 {
		res, err := run(t, program.Command{
			Argv:   []string{"/bin/sh", "-c", `printf '{}'; sleep 30 & printf %s $! >&2; printf ' x'`},
			Linger: 20 * time.Millisecond})
		if err != nil || string(res.Stdout) != "{} x" {
			t.Fatalf("%v, %+v", err, res)
		}
		if pid, err := strconv.Atoi(string(res.Stderr)); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestRunWaitsAMomentForAnAnswerFromAChild(t *testing.T) {
	within(t, func() {
		res, err := run(t, program.Command{Argv: programtest.Argv("parent", `{"a":`, "0", "after", "300ms", `"b"}`),
			Linger: time.Minute})
		if err != nil || string(res.Stdout) != `{"a":"b"}` {
			t.Errorf("%v, %+v", err, res)
		}
	})
}

func TestRunStopsReadingIfChildrenDelayAnAnswer(t *testing.T) {
	for name, argv := range map[string][]string{
		"half an answer":   programtest.Argv("parent", `{"a":`, "0", "after", "60s", ""),
		"no answer":        programtest.Argv("daemon", "", "0", "after", "60s", ""),
		"a failed program": programtest.Argv("parent", "{}", "3", "after", "60s", ""),
		"a flood":          programtest.Argv("parent", "", "0", "errflood", "100000000000"),
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func() {
				res, err := run(t, program.Command{Argv: argv, Linger: 200 * time.Millisecond})
				if err != nil || !res.Held {
					t.Fatalf("%v, %+v", err, res)
				}
				syscall.Kill(childOf(t, res), syscall.SIGKILL)
			})
		})
	}
}

func TestRunUsesTheCallersTestForACompleteAnswer(t *testing.T) {
	within(t, func() {
		res, err := run(t, program.Command{
			Argv:   programtest.Argv("parent", "", "0", "after", "60s", ""),
			Whole:  func([]byte) bool { return true },
			Linger: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		syscall.Kill(childOf(t, res), syscall.SIGKILL)
	})
}

func TestRunLeaksNothing(t *testing.T) {
	round := func() {
		var wg sync.WaitGroup
		for _, c := range []program.Command{
			{Argv: programtest.Argv("deaf"), Stdin: bytes.Repeat([]byte("x"), 1<<20)},
			{Argv: programtest.Argv("fail", "1", "")},
			{Argv: []string{"no-such-program"}},
			{Argv: []string{"/dev/null/x"}},
			{Argv: []string{"/bin/sh"}, Dir: "/nonexistent", Stdin: []byte("x")},
			{Argv: []string{"/bin/sh", "a\x00b"}, Stdin: []byte("x")},
			{Argv: programtest.Argv("flood", "1000000"), MaxStdout: 1000},
			{Argv: programtest.Argv("parent", "{}", "0", "after", "300ms", ""), Stdin: bytes.Repeat([]byte("x"),
				1<<20)},
			{Argv: programtest.Argv("parent", "{", "0", "after", "300ms", ""), Linger: time.Millisecond},
			{Argv: programtest.Argv("hang"), Grace: -1},
		} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
				defer cancel()
				program.Run(ctx, c)
			})
		}
		wg.Wait()
	}
	round()
	time.Sleep(50 * time.Millisecond)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 3 {
		round()
	}
	for try := 0; ; try++ {
		g, f := runtime.NumGoroutine(), openFiles(t)
		if g <= goroutines && f <= files {
			return
		}
		if try == 1000 {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines %d, were %d; files %d, were %d\n%s", g, goroutines, f, files,
				buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestRunManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			in, _ := json.Marshal(map[string]string{"i": strconv.Itoa(i)})
			res, err := program.Run(t.Context(), program.Command{Argv: []string{"cat"}, Stdin: in})
			if err != nil || !bytes.Equal(res.Stdout, in) {
				t.Errorf("%d: %v, %+v", i, err, res)
			}
		})
	}
	wg.Wait()
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("needs a system that lists the open files of a process: ", err)
	}
	return len(entries)
}

var childLine = regexp.MustCompile(`(?m)^child (\d+)$`)

// childOf returns the ID of the process that a program left behind.
func childOf(t *testing.T, res *program.Result) int {
	t.Helper()
	m := childLine.FindSubmatch(res.Stderr)
	if m == nil {
		t.Fatalf("no child in %.200q", res.Stderr)
	}
	pid, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// expectEnd waits until a process has ended.
func expectEnd(t *testing.T, pid int) {
	t.Helper()
	if !programtest.Ends(pid) {
		syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("process %d lives on", pid)
	}
}
