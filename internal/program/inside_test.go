package program_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// inside is a program inside of this process.
type inside func(ctx context.Context, s program.Streams) program.Exit

func (f inside) Run(ctx context.Context, s program.Streams) program.Exit { return f(ctx, s) }

var fine = program.Exit{State: "exit status 0"}

func TestAProgramInsideGetsOnlyWhatItIsGiven(t *testing.T) {
	t.Setenv("SECRET", "hunter2")
	var said []string
	res, err := program.Run(t.Context(), program.Command{Argv: []string{"guest", "read"}, Stdin: []byte("input"),
		Env: []string{"A=b"}, Stderr: func(line string) { said = append(said, line) },
		Inside: inside(func(_ context.Context, s program.Streams) program.Exit {
			in, err := io.ReadAll(s.Stdin)
			fmt.Fprintf(s.Stdout, "%q %q %q %v", s.Args, s.Env, in, err)
			fmt.Fprint(s.Stderr, "one\ntwo")
			return program.Exit{Code: 3, State: "exit status 3"}
		})})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(res.Stdout), `["guest" "read"] ["A=b"] "input" <nil>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := fmt.Sprintf("%q %q %d %s", said, res.Stderr, res.ExitCode, res.State)
	if want := `["one" "two"] "one\ntwo" 3 exit status 3`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := program.Run(t.Context(), program.Command{Argv: []string{"guest"},
		Inside: inside(func(_ context.Context, s program.Streams) program.Exit {
			if len(s.Env) > 0 {
				t.Errorf("it got the environment %q", s.Env)
			}
			return fine
		})}); err != nil {
		t.Error(err)
	}
}

func TestAProgramInsideHasTheLimitsOfOthers(t *testing.T) {
	flood := inside(func(ctx context.Context, s program.Streams) program.Exit {
		for ctx.Err() == nil {
			_, _ = s.Stdout.Write(bytes.Repeat([]byte("x"), 100)) // it ignores that it cannot write any more
		}
		return program.Exit{Code: -1, State: "stopped"}
	})
	res, err := program.Run(t.Context(), program.Command{Argv: []string{"guest"}, Inside: flood, MaxStdout: 1000})
	var limit *program.LimitError
	if !errors.As(err, &limit) || len(res.Stdout) != 1000 {
		t.Errorf("got %v with %d bytes", err, len(res.Stdout))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer needed")
	waiting := inside(func(ctx context.Context, s program.Streams) program.Exit {
		cancel(why)
		<-ctx.Done()
		fmt.Fprint(s.Stdout, "{}")
		return program.Exit{Code: -1, State: "stopped"}
	})
	res, err = program.Run(ctx, program.Command{Argv: []string{"guest"}, Inside: waiting})
	var stopped *program.StoppedError
	if !errors.As(err, &stopped) || !errors.Is(err, why) || string(res.Stdout) != "{}" {
		t.Errorf("got %v with %q", err, res.Stdout)
	}
}

// TestConversationsWithProgramsInsideEnd ends programs that wait for input, for a reader, or for nothing at all.
func TestConversationsWithProgramsInsideEnd(t *testing.T) {
	for name, c := range map[string]inside{
		"echo": func(_ context.Context, s program.Streams) program.Exit {
			_, _ = io.Copy(s.Stdout, s.Stdin)
			return fine
		},
		"flood": func(_ context.Context, s program.Streams) program.Exit {
			for {
				if _, err := s.Stdout.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return program.Exit{Code: -1, State: "nobody listens"}
				}
			}
		},
		"deaf": func(ctx context.Context, _ program.Streams) program.Exit {
			<-ctx.Done()
			return program.Exit{Code: -1, State: "stopped"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			conv, err := program.Converse(program.Command{Argv: []string{"guest"}, Inside: c, Grace: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer conv.Stdout.Close()
			if name == "echo" {
				if _, err := conv.Stdin.WriteString("hello\n"); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 6)
				if _, err := io.ReadFull(conv.Stdout, got); err != nil || string(got) != "hello\n" {
					t.Errorf("got %q, %v", got, err)
				}
				conv.Terminate()
			}
			conv.End(0)
			if state := conv.ExitState(); state == "" {
				t.Error("it has ended without a state")
			}
			if text := conv.Message(); strings.TrimSpace(string(text)) != "" {
				t.Errorf("it said %q", text)
			}
		})
	}
}
