//go:build unix

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/runs"
)

// TestPlanIsAppliedAfterApproval submits a run, approves its plan with the wrong and the right hash, and looks at it.
func TestPlanIsAppliedAfterApproval(t *testing.T) {
	s := newSite(t, map[string]string{"live/a/main.tf": things("a", 2), "live/a/make.sh": program})
	s.worker()
	if out := s.must("live/a", "runs", "apply", "-detach"); !strings.Contains(out, "Submitted the run 1") {
		t.Errorf("submitted: %s", out)
	}
	r := s.await(1, runs.Planned)
	if len(s.lines("begun")) > 0 {
		t.Error("the plan was applied before its approval")
	}
	if out := s.must(".", "runs", "show", "1"); !strings.Contains(out, "external_resource.it[0] will be created") ||
		!strings.Contains(out, r.PlanDigest) {
		t.Errorf("show: %s", out)
	}
	if out, err := s.tombolo(".", "runs", "approve", "-expect-plan=00", "1"); err == nil ||
		!strings.Contains(out, "another plan") {
		t.Errorf("approved with another hash: %s", out)
	}
	if out := s.must(".", "runs", "approve", "1"); !strings.Contains(out, "2 added") {
		t.Errorf("approve: %s", out)
	}
	s.await(1, runs.Done)
	s.checkOnce(2)
	out := s.must("live/a", "runs", "apply", "-auto-approve")
	if !strings.Contains(out, "0 to add") {
		t.Errorf("the second run: %s", out)
	}
	s.must("live/a", "runs", "apply", "-auto-approve", "-destroy")
	s.checkOnce(0)
	if out := s.must(".", "runs", "list"); strings.Count(out, " done ") != 3 {
		t.Errorf("list: %s", out)
	}
	if out := s.must(".", "runs", "list", "-json"); !strings.Contains(out, `"status":"done"`) {
		t.Errorf("list: %s", out)
	}
}

// TestWorkersRefuseWhatTheyDoNotAccept submits runs that a worker must not perform.
func TestWorkersRefuseWhatTheyDoNotAccept(t *testing.T) {
	s := newSite(t, map[string]string{"live/a/main.tf": things("a", 1), "live/a/make.sh": program,
		"other/main.tf": "", "live/broken/main.tf": "resource {",
		"live/file/main.tf": `resource "terraform_data" "it" {}`})
	if err := os.Symlink("../other", filepath.Join(s.clone, "live/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(s.clone, "live/root")); err != nil {
		t.Fatal(err)
	}
	s.commit(nil)
	s.worker("-branch", "main", "-directory", "live/**")
	head := s.git("rev-parse", "HEAD")
	s.git("checkout", "-q", "-b", "feature")
	s.git("commit", "-q", "--allow-empty", "-m", "unmerged")
	s.git("push", "-q", "origin", "feature")
	base := runs.Request{Repository: s.origin, Commit: head, Directory: "live/a", Queue: "default", Auto: true}
	for _, c := range []struct {
		want   string
		change func(*runs.Request)
	}{
		{"does not accept the repository", func(r *runs.Request) { r.Repository = "/etc" }},
		{"does not accept the directory", func(r *runs.Request) { r.Directory = "other" }},
		{"in none of the branches", func(r *runs.Request) { r.Commit = s.git("rev-parse", "feature") }},
		{"in none of the branches", func(r *runs.Request) { r.Commit = strings.Repeat("0", 40) }},
		{"reached through a link", func(r *runs.Request) { r.Directory = "live/link" }},
		{"reached through a link", func(r *runs.Request) { r.Directory = "live/root/etc" }},
		{"has no directory", func(r *runs.Request) { r.Directory = "live/none" }},
		{"is not the one with which", func(r *runs.Request) { r.LockDigest = strings.Repeat("0", 64) }},
		{"The plan failed", func(r *runs.Request) { r.Directory = "live/file" }}, // the state would be in the checkout
		{"Init failed", func(r *runs.Request) { r.Directory = "live/broken" }},
	} {
		r := base
		c.change(&r)
		ids, err := s.queue.Submit(t.Context(), []runs.Request{r})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.await(ids[0], runs.Failed); !strings.Contains(got.Problem, c.want) {
			t.Errorf("run %+v failed with %q, want %q", r, got.Problem, c.want)
		}
	}
	s.checkOnce(0)
}

// TestCommandsRefuseChangedFiles submits from a directory whose files differ from the commit.
func TestCommandsRefuseChangedFiles(t *testing.T) {
	s := newSite(t, map[string]string{"main.tf": things("a", 1), "make.sh": program})
	if err := os.WriteFile(filepath.Join(s.clone, "more.tf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := s.tombolo(".", "runs", "plan"); err == nil || !strings.Contains(out, "more.tf") {
		t.Errorf("submitted with a changed file: %s", out)
	}
	if out, err := s.tombolo(".", "runs", "plan", "-commit=HEAD"); err == nil || !strings.Contains(out, "no tables") {
		t.Errorf("submitted to a database without tables: %s", out)
	}
}

// TestCancellationHasTwoSteps cancels runs that apply: the first step lets the operations in flight end, the second
// aborts them.
func TestCancellationHasTwoSteps(t *testing.T) {
	s := newSite(t, map[string]string{"a/main.tf": things("a", 15), "a/make.sh": program})
	s.worker()
	release := s.block()
	s.must("a", "runs", "apply", "-auto-approve", "-detach")
	s.until("ten operations are in flight", func() bool { return len(s.lines("begun")) == 10 })
	s.must(".", "runs", "cancel", "1")
	s.until("the run is stopping", func() bool {
		return strings.Contains(s.log(1), "in flight") ||
			strings.Contains(s.log(1), "nterrupt") || strings.Contains(s.log(1), "topping")
	})
	release()
	s.await(1, runs.Cancelled)
	s.checkOnce(10)
	s.block()
	s.must("a", "runs", "apply", "-auto-approve", "-detach")
	s.until("the others are in flight", func() bool { return len(s.lines("begun")) == 15 })
	s.must(".", "runs", "cancel", "-force", "2")
	s.await(2, runs.Cancelled)
	s.checkOnce(10)
	s.must("a", "runs", "apply", "-queue=nobody", "-detach")
	if out := s.must(".", "runs", "cancel", "3"); !strings.Contains(out, "is cancelled") {
		t.Errorf("cancel: %s", out)
	}
}

// TestWorkersThatAreStoppedGiveTheirRunsBack stops a worker with signals: the first lets its run end, the second gives
// it back.
func TestWorkersThatAreStoppedGiveTheirRunsBack(t *testing.T) {
	s := newSite(t, map[string]string{"a/main.tf": things("a", 15), "a/make.sh": program})
	w := s.worker()
	release := s.block()
	s.must("a", "runs", "apply", "-auto-approve", "-detach")
	s.until("operations are in flight", func() bool { return len(s.lines("begun")) == 10 })
	for _, what := range []string{"msg=ending", "msg=stopping"} {
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.until(what, func() bool {
			text, _ := os.ReadFile(w.log)
			return strings.Contains(string(text), what)
		})
	}
	release()
	<-w.done
	if r := s.get(1); r.Status != runs.Waiting || !r.Recovering {
		t.Errorf("the run is %s, recovering %t", r.Status, r.Recovering)
	}
	s.checkOnce(10)
	s.worker()
	s.await(1, runs.Done)
	s.checkOnce(15)
}

// TestKilledWorkersLoseAndRepeatNothing kills the worker of a run ten times. Its command finishes what is in flight and
// records it, and another worker continues with the rest.
func TestKilledWorkersLoseAndRepeatNothing(t *testing.T) {
	const objects, kills = 120, 10
	s := newSite(t, map[string]string{"a/main.tf": things("a", objects), "a/make.sh": program})
	workers := map[string]*workerProcess{}
	for range 2 {
		w := s.worker()
		workers[w.name] = w
	}
	s.must("a", "runs", "apply", "-auto-approve", "-detach")
	for kill := range kills {
		before := len(s.lines("begun"))
		var r *runs.Run
		s.until("the run applies", func() bool {
			r = s.get(1)
			return r.Status.Ended() || r.Status == runs.Applying && r.Attempt == kill+1 && len(s.lines("begun")) >
				before
		})
		if r.Status.Ended() {
			t.Fatalf("the run is %s after %d kills: %s\n%s", r.Status, kill, r.Problem, s.log(1))
		}
		workers[r.WorkerName].kill()
		w := s.worker()
		workers[w.name] = w
	}
	r := s.await(1, runs.Done)
	s.checkOnce(objects)
	t.Logf("attempts: %d, epoch: %d", r.Attempt, r.Epoch)
}

// TestUnitsAreAppliedAfterThoseThatTheyNeed leaves a stack to two workers, with a limit, and destroys it.
func TestUnitsAreAppliedAfterThoseThatTheyNeed(t *testing.T) {
	files := map[string]string{}
	var stack strings.Builder
	const units = 6
	for i := range units {
		name := fmt.Sprintf("u%d", i)
		files["st/"+name+"/main.tf"], files["st/"+name+"/make.sh"] = things(name, 2), program
		fmt.Fprintf(&stack, "unit %q {\n  source = %q\n", name, name)
		if i > 1 {
			fmt.Fprintf(&stack, "  variables = { after = unit.u%d.outputs.last }\n", i-2)
		}
		stack.WriteString("}\n")
	}
	files["st/tombolo.hcl"] = stack.String()
	s := newSite(t, files)
	s.worker()
	s.worker("-queue", "default=2")
	s.must(".", "runs", "limit", "acc", "2")
	out := s.must("st", "stack", "apply", "-remote", "-auto-approve", "-account=acc")
	if !strings.Contains(out, "All 6 units are applied") {
		t.Errorf("apply: %s", out)
	}
	s.checkOnce(2 * units)
	created := s.lines("created")
	for i := 2; i < units; i++ {
		for _, later := range []string{fmt.Sprintf("u%d-0", i), fmt.Sprintf("u%d-1", i)} {
			for _, earlier := range []string{fmt.Sprintf("u%d-0", i-2), fmt.Sprintf("u%d-1", i-2)} {
				text := " " + strings.Join(created, " ") + " "
				if strings.Index(text, " "+earlier+" ") > strings.Index(text, " "+later+" ") {
					t.Errorf("%s was made before %s: %v", later, earlier, created)
				}
			}
		}
	}
	out = s.must("st", "stack", "destroy", "-remote", "-auto-approve")
	s.checkOnce(0)
	if strings.Index(out, "[u4] done") > strings.Index(out, "[u2] done") {
		t.Errorf("u2 was destroyed before u4, which needs it: %s", out)
	}
}

// TestResultsReachOtherWorkers lets a run leave a file with results, which a run at another worker must get.
func TestResultsReachOtherWorkers(t *testing.T) {
	const name = "terraform.tfstate.0123456789abcdef.journal"
	leaving := func(n int) string {
		return fmt.Sprintf(`terraform {
  backend "pg" { schema_name = "a" }
}
resource "terraform_data" "it" {
  triggers_replace = %d
  provisioner "local-exec" {
    command = "if [ -e %s ]; then echo brought; else echo results > %[2]s; fi"
  }
}
`, n, name)
	}
	s := newSite(t, map[string]string{"a/main.tf": leaving(1)})
	const older = "terraform.tfstate.fedcba9876543210.journal"
	left := filepath.Join(s.dir, "w1/checkouts", fmt.Sprintf("%x", sha256.Sum256([]byte(s.origin))), "9-1")
	for _, dir := range []string{"a", "b"} { // of a worker that was killed, which had brought the second one
		if err := os.MkdirAll(filepath.Join(left, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, dir, older), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(left+".brought", []byte("b/"+older), 0o600); err != nil {
		t.Fatal(err)
	}
	first := s.worker("-queue", "first")
	s.must("a", "runs", "apply", "-auto-approve", "-detach", "-queue=first")
	s.await(1, runs.Done)
	if _, err := os.Stat(left); err == nil {
		t.Error("the checkout of the killed worker is still there")
	}
	if log := s.log(1); !strings.Contains(log, "is kept as a/"+name) {
		t.Errorf("the log does not name the results:\n%s", log)
	}
	first.kill()
	s.commit(map[string]string{"a/main.tf": leaving(2)})
	s.worker("-queue", "second")
	s.must("a", "runs", "apply", "-auto-approve", "-detach", "-queue=second")
	s.await(2, runs.Done)
	if log := s.log(2); !strings.Contains(log, "brought") {
		t.Errorf("the second run did not get the results:\n%s", log)
	}
	r := s.get(2)
	if list, err := s.queue.Results(t.Context(), r.Repository); err != nil || string(list["a/"+name]) != "results\n" ||
		string(list["a/"+older]) != "left" || len(list) != 2 {
		t.Errorf("kept %q, %v", list, err)
	}
}
