//go:build unix

package drivers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

// patience is how long a test waits for an event. It is long enough for loaded machines, and not a measurement.
const patience = time.Minute

// gently is the result of a binary that was interrupted and exited by itself.
const gently = "exit status 1"

// slow has an object whose creation ends when the file go is written, and a dependent of it.
var slow = map[string]string{"main.tf": `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; n=0; while [ ! -e go ] && [ $n -lt 1200 ]; do sleep 0.1; n=$((n+1)); done"
  }
}
resource "terraform_data" "after" {
  input = terraform_data.slow.id
}
`}

// output is a stream that a test reads while it grows.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *output) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *output) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// another returns a second program that runs the same binary in the same directory.
func (s *session) another() (*tfexec.Terraform, *output) {
	s.t.Helper()
	tf, err := tfexec.NewTerraform(s.dir, s.bin)
	s.must(err)
	s.must(tf.SetEnv(s.environ()))
	out := &output{}
	tf.SetStdout(out)
	tf.SetStderr(out)
	return tf, out
}

// until waits for a condition.
func (s *session) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("it never came to pass: %s", what)
		}
	}
}

// ended waits for a call to return because its context was cancelled, and checks how the binary ended.
func (s *session) ended(what string, result <-chan error, how string, out *output) {
	s.t.Helper()
	select {
	case err := <-result:
		if !errors.Is(err, context.Canceled) || err.Error() != how {
			s.t.Errorf("%s ends with %v, want %s\n%s", what, err, how, out)
		}
	case <-time.After(patience):
		s.t.Fatalf("%s does not end\n%s", what, out)
	}
}

func (s *session) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

func TestCancelledContextOnlyWaitsForRunningOperations(t *testing.T) {
	s := newSession(t, ours(t, "terraform"), slow)
	s.ok("Init")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	applying := make(chan error, 1)
	applier, out := s.another()
	go func() { applying <- applier.Apply(ctx) }()
	s.until("the creation begins", func() bool { return s.exists("started") })

	// A plan that waits for the lock has no operations in progress.
	for _, name := range []string{"plan", "destroy"} {
		waiting, cancelWaiting := context.WithCancel(t.Context())
		result := make(chan error, 1)
		tf, out := s.another()
		s.must(tf.SetWaitDelay(10 * patience)) // it must exit by itself
		go func() {
			if name == "destroy" {
				result <- tf.Destroy(waiting, tfexec.LockTimeout("1h"))
				return
			}
			_, err := tf.Plan(waiting, tfexec.LockTimeout("1h"))
			result <- err
		}()
		s.until(name+" waits for the lock", func() bool {
			return strings.Contains(out.String(), "Acquiring state lock")
		})
		cancelWaiting()
		s.ended(name, result, gently, out)
	}

	// The lock of a live process is not removed.
	var lock struct{ ID, Operation string }
	s.must(json.Unmarshal([]byte(s.read(".terraform.tfstate.lock.info")), &lock))
	s.is("the operation", lock.Operation, "OperationTypeApply")
	s.fails("Failed to unlock state: ", "ForceUnlock", lock.ID)
	s.fails("Error acquiring the state lock(?s:.*)Lock Info:\n\\s*ID:\\s*"+lock.ID, "Plan")

	cancel()
	s.until("the interrupt is taken", func() bool { return strings.Contains(out.String(), "Interrupt received") })
	select {
	case err := <-applying:
		t.Fatalf("apply ends while an object is being created: %v\n%s", err, out)
	case <-time.After(300 * time.Millisecond):
	}
	s.write("go", "")
	s.ended("apply", applying, gently, out)
	if !strings.Contains(out.String(), "terraform_data.slow: Creation complete") {
		t.Errorf("apply says\n%s", out)
	}
	s.is("what is stored", s.addresses(), []string{"terraform_data.slow"})
	s.ok("Apply")
	s.is("what is stored", s.addresses(), []string{"terraform_data.after", "terraform_data.slow"})
}

// addresses returns the addresses of the managed objects in the state.
func (s *session) addresses() (list []string) {
	s.t.Helper()
	state := s.ok("Show")[0].(*tfjson.State)
	for _, r := range state.Values.RootModule.Resources {
		if r.Mode == tfjson.ManagedResourceMode {
			list = append(list, r.Address)
		}
	}
	return list
}

func TestKilledBinaryLosesNoStoredResults(t *testing.T) {
	s := newSession(t, ours(t, "terraform"), slow)
	s.write("worldly.tf", worldly["main.tf"])
	s.ok("Init")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	applier, out := s.another()
	s.must(applier.SetWaitDelay(100 * time.Millisecond))
	applying := make(chan error, 1)
	go func() { applying <- applier.Apply(ctx) }()
	s.until("the creation begins and the others end", func() bool {
		return s.exists("started") && strings.Contains(out.String(), "world_object.b: Creation complete")
	})
	cancel()
	s.ended("apply", applying, "signal: killed", out)
	s.write("go", "") // operations left behind may end
	s.is("what is stored", s.addresses(), []string{"terraform_data.slow", "world_object.a", "world_object.b"})
	s.ok("Apply")
	s.is("what is stored", s.addresses(), []string{"terraform_data.after", "terraform_data.slow", "world_object.a",
		"world_object.b"})
}

func TestACancelledContextEndsAProgramThatOnlyReads(t *testing.T) {
	s := newSession(t, ours(t, "terraform"), map[string]string{"main.tf": `
terraform {
  required_providers {
    external = {
      source = "tombolo/external"
    }
  }
}
data "external" "slow" {
  program = ["sh", "-c", "touch started; sleep 1000"]
}
`})
	s.ok("Init")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tf, out := s.another()
	s.must(tf.SetWaitDelay(10 * patience)) // it must exit by itself
	result := make(chan error, 1)
	go func() {
		_, err := tf.Plan(ctx)
		result <- err
	}()
	s.until("the program starts", func() bool { return s.exists("started") })
	cancel()
	s.ended("plan", result, gently, out)
}
