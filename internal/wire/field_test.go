package wire

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The comparison needs a library on which this module does not depend, so it is a separate module.
func TestMessagesEqualThePublishedProtocol(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it builds another module")
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "../../conformance/providers/descriptors"
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("list", "-deps", "-test", "./..."); err != nil {
		if !strings.Contains(out, "disabled by GOPROXY=off") {
			t.Fatal(out)
		}
		t.Skipf("needs the modules of conformance/providers/descriptors (go mod download there gets them): "+
			"%s", out)
	}
	if out, err := run("test", "./..."); err != nil {
		t.Error(out)
	}
}
