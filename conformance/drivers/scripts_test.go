//go:build unix

package drivers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scripts runs the scripts of testdata with a binary in the folder first in the path. Beside the commands of testscript they have
//
//	exits N COMMAND...    the command must exit with N
//	waitfor FILE...       wait until the files exist
//	stripped FILE         what Atlantis shows of the standard output: what follows the last line about refreshing
func scripts(t *testing.T, folder string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			for _, v := range []string{
				"HOME=" + home, "TF_CLI_CONFIG_FILE=" + filepath.Join(home, "rc"), "CHECKPOINT_DISABLE=1",
				"PLATFORM=" + runtime.GOOS + "_" + runtime.GOARCH,
				"PATH=" + folder + string(filepath.ListSeparator) + e.Getenv("PATH"),
			} {
				name, value, _ := strings.Cut(v, "=")
				e.Setenv(name, value)
			}
			return installWorld(home)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "waitfor": waitfor, "stripped": stripped},
	})
}

// TestTheScriptsHoldForTombolo runs the scripts with Tombolo under the name terraform.
func TestTheScriptsHoldForTombolo(t *testing.T) { scripts(t, filepath.Dir(ours(t, "terraform"))) }

// TestTheScriptsHoldForTerraform makes sure that what the scripts expect is what terraform does. It is asked once for each version of the scripts.
func TestTheScriptsHoldForTerraform(t *testing.T) {
	real := findTerraform(t)
	if real == "" {
		t.Skip("there is no terraform")
	}
	mark := ""
	if base, err := os.UserCacheDir(); err == nil {
		if hash := sourcesHash(t, "scripts "+real); hash != "" {
			mark = filepath.Join(base, "tombolo-drivers", "scripts-"+hash)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		return
	}
	if !t.Run("real", func(t *testing.T) { scripts(t, filepath.Dir(real)) }) || mark == "" {
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(mark), 0o777), os.WriteFile(mark, nil, 0o666)); err != nil {
		t.Logf("it will be asked again: %v", err)
	}
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
	for _, name := range args {
		deadline := time.Now().Add(60 * time.Second)
		for {
			if _, err := os.Stat(ts.MkAbs(name)); err == nil {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("there is still no %s", name)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func stripped(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(ts.ReadFile("stdout"), "\n")
	from := 0
	for i, line := range lines {
		if strings.Contains(line, "Refreshing state...") {
			from = i + 1
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines[from:], "\n")), 0o666))
}
