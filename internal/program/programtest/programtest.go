// Package programtest is a program for tests that misbehaves on request. A test binary becomes that program if it is
// started with the arguments that Argv returns: call Main in TestMain.
//
//	func TestMain(m *testing.M) { programtest.Main(); os.Exit(m.Run()) }
//
//	res, err := program.Run(ctx, program.Command{Argv: programtest.Argv("flood", "104857600")})
package programtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const mark = "programtest:"

// life limits every program that a test does not end.
const life = 60 * time.Second

// modes maps the modes of behaviour to functions, which get the arguments after the name of the mode.
var modes = map[string]func(args []string){
	// print ARG... prints its arguments, which are Go string literals without the quotes.
	"print": func(args []string) {
		for _, a := range args {
			s, err := strconv.Unquote(`"` + strings.ReplaceAll(a, `"`, `\"`) + `"`)
			check(err)
			os.Stdout.WriteString(s)
		}
	},
	// echo copies standard input to standard output.
	"echo": func([]string) { io.Copy(os.Stdout, os.Stdin) },
	// wrap answers with its input as the value of "stdin".
	"wrap": func([]string) {
		in, _ := io.ReadAll(os.Stdin)
		answer(map[string]string{"stdin": string(in)})
	},
	// env answers with its environment, dir with its working directory, args with its arguments.
	"env": func([]string) {
		vars := map[string]string{}
		for _, kv := range os.Environ() {
			name, value, _ := strings.Cut(kv, "=")
			vars[name] = value
		}
		answer(vars)
	},
	"dir": func([]string) {
		dir, err := os.Getwd()
		check(err)
		answer(map[string]string{"dir": dir})
	},
	"args": func(args []string) { answer(map[string]string{"args": strings.Join(args, "|")}) },
	// fail CODE TEXT writes to both outputs and exits with a status.
	"fail": func(args []string) {
		io.Copy(io.Discard, os.Stdin)
		fmt.Print(`{"printed":"in vain"}`)
		fmt.Fprint(os.Stderr, args[1])
		code, err := strconv.Atoi(args[0])
		check(err)
		os.Exit(code)
	},
	// grow BYTES allocates memory after its input has ended.
	"grow": func(args []string) {
		io.Copy(io.Discard, os.Stdin)
		n, err := strconv.Atoi(args[0])
		check(err)
		b := make([]byte, n)
		b[len(b)-1] = 1
		answer(map[string]string{"last": strconv.Itoa(int(b[len(b)-1]))})
	},
	// killself kills itself with SIGKILL.
	"killself": func([]string) {
		self, err := os.FindProcess(os.Getpid())
		check(err)
		self.Kill()
		time.Sleep(life)
	},
	// hang prints to standard error that it is ready, and then waits.
	"hang": func([]string) { ready(); time.Sleep(life) },
	// stubborn ignores SIGTERM.
	"stubborn": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		ready()
		time.Sleep(life)
	},
	// graceful TEXT CODE prints a text and exits when it gets SIGTERM.
	"graceful": func(args []string) {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		ready()
		<-c
		fmt.Print(args[0])
		code, err := strconv.Atoi(args[1])
		check(err)
		os.Exit(code)
	},
	// flood BYTES and errflood BYTES print one long line to an output; errlines BYTES prints short lines.
	"flood":    func(args []string) { flood(os.Stdout, args[0], bytes.Repeat([]byte("x"), 1<<16)) },
	"errflood": func(args []string) { flood(os.Stderr, args[0], bytes.Repeat([]byte("e"), 1<<16)); answer(nil) },
	"errlines": func(args []string) {
		flood(os.Stderr, args[0], bytes.Repeat([]byte("eeeeeee\n"), 1<<13))
		answer(
			nil)
	},
	// bigvalue BYTES answers with one long string.
	"bigvalue": func(args []string) {
		fmt.Print(`{"a":"`)
		flood(os.Stdout, args[0], bytes.Repeat([]byte("x"), 1<<16))
		fmt.Print(`"}`)
	},
	// deaf never reads; closing closes its input first.
	"deaf":    func([]string) { answer(map[string]string{"deaf": "yes"}) },
	"closing": func([]string) { os.Stdin.Close(); time.Sleep(50 * time.Millisecond); answer(nil) },
	// deep DEPTH prints nested arrays.
	"deep": func(args []string) {
		n, err := strconv.Atoi(args[0])
		check(err)
		fmt.Print(strings.Repeat("[", n), strings.Repeat("]", n))
	},
	// parent TEXT CODE MODE ARG... starts itself in another mode with all its pipes, then prints a text and exits. The
	// child's process ID is printed to standard error. daemon does the same with a child that leaves the process group.
	"parent": func(args []string) { parent(args, false) },
	"daemon": func(args []string) { parent(args, true) },
	// after DURATION TEXT prints a text later.
	"after": func(args []string) {
		d, err := time.ParseDuration(args[0])
		check(err)
		time.Sleep(d)
		fmt.Print(args[1])
	},
}

// Main runs the mode that the process was started with, and exits. For other processes it returns.
func Main() {
	var mode string
	asked := false
	if len(os.Args) > 1 {
		mode, asked = strings.CutPrefix(os.Args[1], mark)
	}
	if !asked {
		// With the race detector, a process sleeps for a second at its end by default.
		os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
		return
	}
	run, ok := modes[mode]
	if !ok {
		fmt.Fprintf(os.Stderr, "programtest: no mode %q\n", mode)
		os.Exit(99)
	}
	run(os.Args[2:])
	os.Exit(0)
}

// Argv returns the command line with which the running test binary runs in a mode.
func Argv(mode string, args ...string) []string {
	self, err := os.Executable()
	check(err)
	return append([]string{self, mark + mode}, args...)
}

func parent(args []string, detach bool) {
	argv := Argv(args[2], args[3:]...)
	child := exec.Command(argv[0], argv[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if detach {
		leaveGroup(child)
	}
	check(child.Start())
	fmt.Fprintf(os.Stderr, "child %d\n", child.Process.Pid)
	fmt.Print(args[0])
	code, err := strconv.Atoi(args[1])
	check(err)
	os.Exit(code)
}

func ready() { fmt.Fprintln(os.Stderr, "ready") }

func answer(values map[string]string) {
	if values == nil {
		values = map[string]string{}
	}
	check(json.NewEncoder(os.Stdout).Encode(values))
}

func flood(to io.Writer, size string, block []byte) {
	left, err := strconv.Atoi(size)
	check(err)
	for left > 0 {
		n, err := to.Write(block[:min(left, len(block))])
		if err != nil {
			os.Exit(98)
		}
		left -= n
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "programtest:", err)
		os.Exit(97)
	}
}
