// Package scripts runs the scripts of the command line: the files of ../testdata. It is a separate package because a
// test binary has a time limit.
package scripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/clitest"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// commands are the commands of scripts that the test binary implements.
var commands = map[string]func(){"tombolo": func() { os.Exit(cli.Main()) },
	"terraform": func() { os.Exit(cli.Main()) }, "halfmove": halfMove}

// oracle is the path of the real terraform, or "".
var oracle string

func TestMain(m *testing.M) {
	programtest.UnderWildClock()
	if strings.HasSuffix(filepath.Base(os.Args[0]), ".test") {
		programtest.UsualHangup()
	}
	oracle, _ = exec.LookPath("terraform") // before this program has that name; "" if it is missing
	testscript.Main(m, commands)
}

// TestScripts runs the scripts in ../testdata, one topic each. In addition to the commands of testscript and clitest,
// they have
//
//	unforked ARG...       run tombolo as a user who cannot start another process (Linux)
//	unprivileged ARG...   run tombolo as an unprivileged user (Linux)
//	shut PERM FILE...     give files these permissions, whoever owns them
//	canary TEXT FILE...   the files, or stdout and stderr, must not hold the text
//	mode PERM FILE        the file must have these permissions
//	terraforms ...        a server of the API of HCP Terraform: see the function of that name
//	signal NAME FILE      send a signal to the process whose number the file holds
//
// the program halfmove (halfmove_test.go), and the condition oracle, that there is a real terraform, at $ORACLE.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "../testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("ORACLE", oracle)
			e.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no test needs a network, and none gets one
			if runtime.GOOS == "linux" {
				// Nobody can create a folder there. /no-home, the default of testscript, can be created by root, and
				// then one script affects the next.
				e.Setenv("HOME", "/proc/no-home")
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "oracle" {
				return false, fmt.Errorf("no condition %s", name)
			}
			return oracle != "", nil
		},
		Cmds: clitest.Commands(map[string]clitest.Command{"canary": canary, "mode": mode, "shut": shut,
			"signal": sendSignal, "terraforms": terraforms}),
	})
}

func canary(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args[1:] {
		if strings.Contains(ts.ReadFile(name), args[0]) {
			ts.Fatalf("%s holds the secret", name)
		}
	}
}

func shut(ts *testscript.TestScript, _ bool, args []string) {
	perm, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chmod(ts.MkAbs(name), os.FileMode(perm)))
	}
}

func mode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().Perm(); got != os.FileMode(want) {
		ts.Fatalf("%s has mode %o, want %o", args[1], got, want)
	}
}
