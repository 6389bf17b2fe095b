package stacks_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/clitest"
)

// oracle is the path of the real terraform, or "".
var oracle string

func TestMain(m *testing.M) {
	oracle, _ = exec.LookPath("terraform")
	testscript.Main(m, map[string]func(){"tombolo": func() { os.Exit(cli.Main()) }})
}

// TestScripts runs the scripts in testdata, one topic each.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no test needs a network, and none gets one
			e.Setenv("ORACLE", oracle)
			e.Setenv("CHECKPOINT_DISABLE", "1")
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "oracle":
				return oracle != "", nil
			case "git":
				_, err := exec.LookPath("git")
				return err == nil, nil
			}
			return false, nil
		},
		Cmds: clitest.Commands(nil),
	})
}
