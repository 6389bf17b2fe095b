package store

import (
	"os"
	"os/exec"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
)

// On file systems without locks, the process that a journal names only counts as its run if the start time matches,
// too: process IDs are used again, for example right after a reboot.
func TestReusedProcessIDsAreNotTheRun(t *testing.T) {
	if processStart(os.Getpid()) == "" {
		t.Skip("needs a system that tells when a process began")
	}
	other := exec.Command(os.Args[0], "-test.run=^TestHelperThatWaits$")
	other.Env = append(os.Environ(), "TOMBOLO_TEST_WAITS=1")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	pid := other.Process.Pid
	its := processStart(pid)
	for what, c := range map[string]struct {
		h    journal.Header
		want bool
	}{
		"the run":                       {journal.Header{Host: hostName(), PID: pid, Began: its}, true},
		"a run of an earlier version":   {journal.Header{Host: hostName(), PID: pid}, true},
		"a run that had the number":     {journal.Header{Host: hostName(), PID: pid, Began: its + "0"}, false},
		"a run of before a restart":     {journal.Header{Host: hostName(), PID: pid, Began: "x " + its}, false},
		"a run of another machine":      {journal.Header{Host: hostName() + "x", PID: pid, Began: its}, false},
		"a run that had our own number": {journal.Header{Host: hostName(), PID: os.Getpid(), Began: "x"}, false},
	} {
		if got := atWork(&c.h); got != c.want {
			t.Errorf("%s: running %t, want %t", what, got, c.want)
		}
	}
	if h := (&session{w: &workspace{o: &New(Options{}).o}}).header(nil); h.Began != processStart(os.Getpid()) {
		t.Errorf("a journal says that its run began at %q, expected %q", h.Began, processStart(os.Getpid()))
	}
	in.Close()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	ended := journal.Header{Host: hostName(), PID: pid, Began: its}
	if atWork(&ended) {
		t.Error("a run that has ended counts as running")
	}
}

// TestHelperThatWaits is a process that lives until its input ends.
func TestHelperThatWaits(t *testing.T) {
	if os.Getenv("TOMBOLO_TEST_WAITS") == "" {
		t.Skip("runs as a process that TestReusedProcessIDsAreNotTheRun starts")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}
