package regular_test

import (
	"os"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// The kernel refuses to change the permissions of its own files, as file systems without permissions do.
func TestPermissionsThatCannotBeChangedStay(t *testing.T) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("needs /proc: ", err)
	}
	defer f.Close()
	if err := f.Chmod(0o600); err == nil {
		t.Skip("needs a kernel that refuses the change of permissions")
	}
	if err := regular.Permit(f, 0o600); err != nil {
		t.Error(err)
	}
}
