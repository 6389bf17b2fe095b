// Package plugged has the tests that run the command line with plugins and program providers as processes: how they are
// started and ended, what is said when they misbehave, and that nothing tells the secrets that they repeat.
package plugged

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// planted is the secret of these tests.
const planted = "c4naryplanted"

// roles holds the programs that the test binary implements, by name.
var roles = map[string]func(){"tombolo": func() { os.Exit(cli.Main()) }}

func TestMain(m *testing.M) {
	programtest.UnderWildClock()
	if role := roles[filepath.Base(os.Args[0])]; role != nil {
		role()
		return
	}
	if strings.HasSuffix(filepath.Base(os.Args[0]), ".test") {
		programtest.UsualHangup()
	}
	os.Exit(m.Run())
}
