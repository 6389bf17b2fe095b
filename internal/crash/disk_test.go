//go:build unix

package crash

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
)

// Errors of the disk do not end the process: the run starts no further operation, and saves its results wherever it
// can.
func TestDiskErrorAtEveryStoreCall(t *testing.T) {
	t.Parallel()
	modes := []faults.Mode{faults.EIO, faults.ENOSPC, faults.Full}
	tmpl, expected := template(t)
	failures := 0
	for n := 1; !t.Failed(); n++ {
		if !full && n%15 != int(seed)%15 && n > 3 {
			continue
		}
		reached := false
		for i, mode := range modes {
			if !full && i != (n/15+int(seed))%len(modes) {
				continue
			}
			t.Run(fmt.Sprintf("%s:%d", mode, n), func(t *testing.T) {
				r := tmpl.copyTo(t)
				files := faults.Wrap(store.OS{}, faults.Plan{Call: n, Mode: mode})
				diags := r.job.do(t.Context(), files)
				reached = reached || files.Calls() >= n
				if diags.HasErrors() {
					failures++
				}
				r.aftermath(expected)
			})
		}
		if !reached {
			break
		}
	}
	t.Logf("%d runs failed", failures)
}

// smallDisk mounts a small file system on the project's folder.
func (r *testProject) smallDisk(size string) {
	r.t.Helper()
	config, err := exec.Command("cat", r.job.Dir+"/main.tf").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tombolo-crash-test",
		r.job.Dir).CombinedOutput(); err != nil {
		r.t.Skipf("needs the right to mount a small file system: %v: %s", err, out)
	}
	r.t.Cleanup(func() {
		if out, err := exec.Command("umount", r.job.Dir).CombinedOutput(); err != nil {
			r.t.Errorf("umount: %v: %s", err, out)
		}
	})
	r.configure(string(config))
}

func TestFullDiskStopsTheRunAndLosesNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4000)
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprintf("other folder %t", elsewhere), func(t *testing.T) {
			config, expected := objects(300, fmt.Sprintf("value = %q", long))
			r := newTestProject(t, config)
			r.smallDisk("1600k")
			if elsewhere {
				r.job.Rescue = t.TempDir()
			}
			cmd := r.job.command()
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("the run ended with %v\n%s", err, out)
			}
			if !strings.Contains(string(out), "no space left on device") {
				t.Errorf("the run does not say what is wrong:\n%.3000s", out)
			}
			begun := r.begun()
			s := r.read()
			r.check(s)
			t.Logf("%d of 300 begun, %d in the state, %d in flight", begun, len(r.stateObjects(s.State)),
				len(s.InFlight))
			if begun == 300 {
				t.Error("the disk was not full")
			}
			// A person frees space.
			if out, err := exec.Command("mount", "-o", "remount,size=40m", r.job.Dir).CombinedOutput(); err != nil {
				t.Fatalf("remount: %v: %s", err, out)
			}
			r.aftermath(expected)
		})
	}
}
