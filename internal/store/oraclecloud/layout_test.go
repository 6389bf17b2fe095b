package oraclecloud

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/state"
)

// theirs has the rules of Terraform's backend since 1.12, according to its published source in the repository
// hashicorp/terraform, folder internal/backend/remote-state/oci.
type theirs struct{ prefix, key string }

// object returns the name of a state, and lock the name of its lock.
func (w theirs) object(workspace string) string {
	if workspace == state.DefaultWorkspace {
		return w.key
	}
	return path.Join(w.prefix, workspace, w.key)
}

func (w theirs) lock(workspace string) string { return w.object(workspace) + ".lock" }

// lists returns the workspace for which a listing takes an object, or "".
func (w theirs) lists(object string) string {
	if !strings.HasPrefix(object, w.prefix) || !strings.HasSuffix(object, w.key) {
		return ""
	}
	name := strings.TrimSuffix(strings.TrimPrefix(object, w.prefix+"/"), w.key)
	return strings.TrimSuffix(name, "/")
}

// deletes reports whether deleting a workspace deletes an object: it deletes all whose names begin with its state's
// name.
func (w theirs) deletes(workspace, object string) bool {
	return strings.HasPrefix(object, w.object(workspace))
}

// The names of objects for random keys, prefixes and workspaces: Terraform finds states and locks where Tombolo stores
// them, lists the existing workspaces and none of Tombolo's other objects, and does not delete the journal of another
// workspace together with a workspace. Keys contain a dot, because a key with the suffix of journals would have its
// journal listed.
func TestTheLayoutEqualsTerraforms(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 15))
	word := func() string {
		const letters = "ab-_e9"
		b := make([]byte, 1+r.IntN(4))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	words := func() string {
		all := word()
		for range r.IntN(3) {
			all += "/" + word()
		}
		return all
	}
	for n := range 2000 {
		w := theirs{prefix: "tf-state-env", key: words() + "." + word()}
		if n%2 == 0 {
			w.prefix = words()
		}
		d := &driver{s: &settings{prefix: w.prefix, key: w.key}, client: &client{}}
		names := []string{state.DefaultWorkspace, word(), word()}
		folders := map[string]string{}
		for _, name := range names {
			p, err := d.Place(name)
			if err != nil {
				t.Fatal(err)
			}
			locked := p.(*bucket.Locked)
			if got := locked.Slot.(slot).name; got != w.lock(name) {
				t.Fatalf("%+v: the lock of %s is %s, in Terraform %s", w, name, got, w.lock(name))
			}
			object, folder := layout(d.s, name)
			if object != w.object(name) {
				t.Fatalf("%+v: the state of %s is %s, in Terraform %s", w, name, object, w.object(name))
			}
			if name != state.DefaultWorkspace && w.lists(object) != name {
				t.Fatalf("%+v: Terraform takes %s for the workspace %q, not %s", w, object, w.lists(object), name)
			}
			folders[name] = folder
		}
		for name, folder := range folders {
			for _, object := range []string{folder + "journal", folder + fmt.Sprintf("%d-%x/%d-%x", n, n, n, n)} {
				if listed := w.lists(object); listed != "" {
					t.Fatalf("%+v: Terraform takes %s for the workspace %q", w, object, listed)
				}
				for _, other := range names {
					if other != name && other != state.DefaultWorkspace && w.deletes(other, object) {
						t.Fatalf("%+v: Terraform deletes %s with the workspace %s", w, object, other)
					}
				}
			}
		}
	}
}
