//go:build unix

package regular_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

func TestTheNullDeviceIsAnEmptyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.tf")
	link(t, "/dev/null", name)
	if text, err := regular.Read(name, 100); err != nil || len(text) > 0 {
		t.Errorf("returns %q and %v", text, err)
	}
}

func init() {
	special["named pipe"] = func(t *testing.T, name string) {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skipf("needs named pipes: %s", err)
		}
	}
	special["socket"] = func(t *testing.T, name string) {
		t.Chdir(filepath.Dir(name)) // names of sockets must be short
		l, err := net.Listen("unix", filepath.Base(name))
		if err != nil {
			t.Skipf("needs sockets in the file system: %s", err)
		}
		t.Cleanup(func() { l.Close() })
	}
	special["device"] = func(t *testing.T, name string) { link(t, "/dev/zero", name) }
	special["endless file behind two links"] = func(t *testing.T, name string) {
		link(t, "/dev/zero", name+".next")
		link(t, name+".next", name)
	}
}
