//go:build unix

package crash

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/state"
)

// Provisioners kill the engine that runs them, each once: between and during provisioners the object is tainted, and
// the journal has a record of their start.
func TestKilledByItsProvisioners(t *testing.T) {
	t.Parallel()
	const once = `"[ -e MARK ] || { touch MARK; kill -9 $PPID; sleep 5; }"`
	config := header + `
resource "world_object" "a" {
  name = "a"
  provisioner "local-exec" { command = ` + strings.ReplaceAll(once, "MARK", "${self.name}-1") + ` }
  provisioner "local-exec" { command = ` + strings.ReplaceAll(once, "MARK", "${self.name}-2") + ` }
  provisioner "local-exec" {
    when    = destroy
    command = ` + strings.ReplaceAll(once, "MARK", "${self.name}-3") + `
  }
}
resource "terraform_data" "b" {
  input = world_object.a.id
  provisioner "local-exec" { command = ` + strings.ReplaceAll(once, "MARK", "b-1") + ` }
}
`
	r := newTestProject(t, config)
	open := func(at string, status state.Status) {
		t.Helper()
		s := r.over()
		if len(s.InFlight) != 1 || s.InFlight[0].Action != state.ActionProvision ||
			s.InFlight[0].Object.String() != at {
			t.Fatalf("in flight: %+v, want the provisioners of %s", s.InFlight, at)
		}
		if o := s.State.Object(s.InFlight[0].Object); o == nil || o.Status != status {
			t.Fatalf("the state has %s as %+v, want status %v", at, o, status)
		}
	}
	for _, at := range []string{"world_object.a", "world_object.a", "terraform_data.b"} {
		if !killed(t, r.job.command()) {
			t.Fatalf("the provisioners of %s did not kill the engine", at)
		}
		open(at, state.Tainted)
	}
	r.noErrors(r.job.do(t.Context(), nil))
	if s := r.read(); len(s.InFlight) > 0 {
		t.Errorf("still in flight: %+v", s.InFlight)
	}
	if n, err := r.world.Creations("a"); n != 3 || err != nil {
		t.Errorf("a was created %d times, want 3: once, and again after each kill (%v)", n, err)
	}
	j := r.job
	j.Destroy = true
	if !killed(t, j.command()) {
		t.Fatal("the provisioner of the destroy did not kill the engine")
	}
	open("world_object.a", state.Ready)
	r.destroy()
}
