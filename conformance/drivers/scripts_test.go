//go:build unix

package drivers

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tombolo-iac/tombolo/internal/cli/clitest"
)

// scripts runs the scripts of testdata with a binary in the directory that is first in the path. In addition to the
// commands of testscript and clitest they have
//
//	stripped FILE         what Atlantis shows of stdout: the text after the last line about refreshing
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
		Cmds: clitest.Commands(map[string]clitest.Command{"stripped": stripped}),
	})
}

// TestTheScriptsHoldForTombolo runs the scripts with Tombolo under the name terraform.
func TestTheScriptsHoldForTombolo(t *testing.T) { scripts(t, filepath.Dir(ours(t, "terraform"))) }

// TestTheScriptsHoldForTerraform checks that the expectations of the scripts hold for terraform. It runs once for each
// version of the scripts.
func TestTheScriptsHoldForTerraform(t *testing.T) {
	real := findTerraform(t)
	if real == "" {
		t.Skip("needs terraform on PATH")
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
	keep(t, mark, nil)
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
