//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// canary is in all input and output of programs in these tests.
const canary = "canary-4711"

// scrambled simulates the encryption of a state: the result is not readable, and documents of another kind are refused.
func scrambled() *program.Sealing {
	turn := func(text []byte) []byte {
		turned := bytes.Clone(text)
		for i := range turned {
			turned[i] ^= 0x55
		}
		return turned
	}
	return &program.Sealing{Keeps: true,
		Seal: func(plain []byte) ([]byte, error) { return turn(append([]byte("sealed "), plain...)), nil },
		Open: func(text []byte) ([]byte, error) {
			plain, ok := bytes.CutPrefix(turn(text), []byte("sealed "))
			if !ok {
				return nil, errors.New("not sealed")
			}
			return plain, nil
		}}
}

func sealedScript(dir, script string) program.Command {
	c := spoolScript(dir, script)
	c.Stdin, c.Spool.Record = []byte(`"`+canary+`"`), []byte(canary)
	c.Spool.Sealing = scrambled()
	return c
}

// plainIn lists the files below a folder that contain the canary.
func plainIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(canary)) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Input and output of a program are the same as without encryption, in this run and in a later one, and no file
// contains any of it.
func TestEncryptedAnswersAreRead(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	for name, c := range map[string]struct {
		script, answer, text string
		exit                 int
	}{
		"an answer":          {`read line; echo $line; echo said >&2`, `"` + canary + `"`, "said\n", 0},
		"none":               {`:`, "", "", 0},
		"a failure":          {`cat; echo ` + canary + ` >&2; exit 3`, `"` + canary + `"`, canary + "\n", 3},
		"much":               {`printf '"'; head -c 300000 /dev/zero | tr '\0' x; echo '"'`, `"` + big + `"`, "", 0},
		"little by little":   {`for n in 1 2 3; do echo $n; echo $n >&2; done`, "1\n2\n3", "1\n2\n3\n", 0},
		"an early end of it": {`exec <&-; echo '{}'; exec >&-; echo late >&2`, `{}`, "late\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "answers")
			var mu sync.Mutex
			var lines strings.Builder
			command := sealedScript(dir, c.script)
			command.Stdin = append(command.Stdin, bytes.Repeat([]byte(" "), 500_000)...) // more than fits into a pipe
			command.Stderr = func(line string) {
				mu.Lock()
				defer mu.Unlock()
				lines.WriteString(line + "\n")
			}
			res, err := program.Run(t.Context(), command)
			if err != nil || strings.TrimSpace(string(res.Stdout)) != c.answer || res.ExitCode != c.exit ||
				string(res.Stderr) != c.text || lines.String() != c.text {
				t.Fatalf("got %.200s, %q, %q, %d, %v", res.Stdout, res.Stderr, lines.String(), res.ExitCode, err)
			}
			if plain := plainIn(t, dir); len(plain) > 0 {
				t.Errorf("plain: %q", plain)
			}
			found, err := program.AwaitSpooled(t.Context(), command.Spool, func([]int) {})
			if err != nil || found == nil || strings.TrimSpace(string(found.Stdout)) != c.answer || !found.Known ||
				found.ExitCode != c.exit || string(found.Record) != canary {
				t.Errorf("later: %+v, %v", found, err)
			}
			if err := program.RemoveSpooled(dir, command.Spool.Token); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is left: %v", err)
			}
		})
	}
}

// An answer beyond the limit ends its program, even one that ignores whether its output is read.
func TestEncryptedAnswersHaveTheSameLimit(t *testing.T) {
	for _, rest := range []string{"", "trap '' PIPE; while :; do sleep 1; done"} {
		dir := filepath.Join(t.TempDir(), "answers")
		command := sealedScript(dir, `head -c 5000 /dev/zero; `+rest)
		command.MaxStdout = 1000
		res, err := program.Run(t.Context(), command)
		var limit *program.LimitError
		if !errors.As(err, &limit) || len(res.Stdout) != 1000 {
			t.Errorf("%q: got %d bytes, %v", rest, len(res.Stdout), err)
		}
		found, err := program.AwaitSpooled(t.Context(), command.Spool, func([]int) {})
		if err != nil || found == nil || !errors.As(found.Refused, &limit) {
			t.Errorf("%q: later %+v, %v", rest, found, err)
		}
	}
}

// A program is asked to stop first; output that it writes then is used.
func TestProgramsWithEncryptedAnswersAreStopped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	ctx, cancel := context.WithCancel(t.Context())
	command := sealedScript(dir, `trap 'echo "{}"; exit 0' TERM; echo begun >&2; while :; do sleep 0.02; done`)
	command.Grace = time.Minute
	command.Stderr = func(string) { cancel() }
	if res, err := program.Run(ctx, command); err != nil || strings.TrimSpace(string(res.Stdout)) != "{}" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A process that a program leaves running keeps its outputs open for as long as it likes, without delaying the answer.
func TestEncryptedAnswersAreAvailableWhileHeldOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	command := sealedScript(dir, `sleep 600 & echo $! >&2; echo '{"a": 1}'`)
	var child string
	command.Stderr = func(line string) { child = line }
	res, err := program.Run(t.Context(), command)
	pid := 0
	if _, scan := fmt.Sscan(child, &pid); scan == nil {
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil || strings.TrimSpace(string(res.Stdout)) != `{"a": 1}` || pid == 0 {
		t.Errorf("got %+v, %v, child %q", res, err, child)
	}
}

// Without the key, with the wrong one, or with an answer that was changed, moved or exchanged, reading is an error and
// returns no forged answer. An unencrypted answer is only accepted if the state may be unencrypted.
func TestChangedAnswersAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	command := sealedScript(dir, `printf 1; sleep 0.05; echo 2`)
	if _, err := program.Run(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	name := func(kind string) string { return filepath.Join(dir, "run.op-1."+kind) }
	out, err := os.ReadFile(name("out"))
	if err != nil {
		t.Fatal(err)
	}
	await := func(s *program.Sealing) (*program.Spooled, error) {
		return program.AwaitSpooled(t.Context(), program.Spool{Dir: dir, Token: "run/op-1", Sealing: s}, func([]int) {})
	}
	for i := range out {
		changed := bytes.Clone(out)
		changed[i] ^= 1 << (i % 8)
		if err := os.WriteFile(name("out"), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := await(scrambled()); err == nil && !strings.HasPrefix("12\n", string(found.Stdout)) {
			t.Errorf("byte %d: read %q", i, found.Stdout)
		}
	}
	for size := range out {
		if err := os.WriteFile(name("out"), out[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := await(scrambled()); err != nil || !strings.HasPrefix("12\n", string(found.Stdout)) {
			t.Errorf("cut to %d bytes: %+v, %v", size, found, err)
		}
	}
	if err := os.WriteFile(name("out"), out, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := await(nil); err == nil || !strings.Contains(err.Error(), "no encryption settings") {
		t.Errorf("without settings: %+v, %v", found, err)
	}
	for kind := range map[string]bool{"out": true, "key": true, "record": true, "status": true} {
		if err := os.Rename(name(kind), filepath.Join(dir, "run.op-2."+kind)); err != nil {
			t.Fatal(err)
		}
	}
	moved := program.Spool{Dir: dir, Token: "run/op-2", Sealing: scrambled()}
	if found, err := program.AwaitSpooled(t.Context(), moved, func([]int) {}); err == nil ||
		!strings.Contains(err.Error(), "was changed") {
		t.Errorf("as that of another call: %+v, %v", found, err)
	}
	if err := os.WriteFile(name("out"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := await(scrambled()); err == nil {
		t.Errorf("a plain answer: %+v", found)
	}
	either := scrambled()
	either.Open = func(document []byte) ([]byte, error) { return document, nil }
	if found, err := await(either); err != nil || string(found.Stdout) != `{}` {
		t.Errorf("a plain answer where that is allowed: %+v, %v", found, err)
	}
}

// Without a keeper, answers are not stored.
func TestNothingIsSpooledWithoutAKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	command := sealedScript(dir, `cat; ls `+dir+` >&2`)
	command.Spool.Sealing.Keeps = false
	res, err := program.Run(t.Context(), command)
	if err != nil || !json.Valid(res.Stdout) || !slices.Equal(plainIn(t, filepath.Dir(dir)), nil) {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a folder: %v", err)
	}
}
