// Package clitest has commands for testscripts that several packages need.
//
//	testscript.Run(t, testscript.Params{Dir: "testdata", Cmds: clitest.Commands(map[string]clitest.Command{"mode": mode})})
package clitest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Command is a command of scripts; neg is true after an exclamation mark.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// patience is a long timeout, because tests also run on loaded machines.
const patience = 2 * time.Minute

// Commands returns the commands for all scripts, with further ones added.
//
//	exits N COMMAND...    the command must exit with N
//	waitfor FILE...       wait until the files exist
//	waittext TEXT FILE    wait until the file holds the text
func Commands(more map[string]Command) map[string]Command {
	all := map[string]Command{"exits": exits, "waitfor": waitfor, "waittext": waittext}
	maps.Copy(all, more)
	return all
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: waitfor FILE...")
	}
	for _, name := range args {
		until(ts, "there is still no "+name, func() bool {
			_, err := os.Stat(ts.MkAbs(name))
			return err == nil
		})
	}
}

func waittext(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waittext TEXT FILE")
	}
	until(ts, args[1]+" still does not hold "+args[0], func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[1]))
		return err == nil && strings.Contains(string(text), args[0])
	})
}

func until(ts *testscript.TestScript, otherwise string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s", otherwise)
		}
	}
}
