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

// theirs has the rules of Terraform's backend since 1.12, as its published source has them: that of
// hashicorp/terraform, in internal/backend/remote-state/oci.
type theirs struct{ prefix, key string }

// object is where a state is, and lock where its lock is.
func (w theirs) object(workspace string) string {
	if workspace == state.DefaultWorkspace {
		return w.key
	}
	return path.Join(w.prefix, workspace, w.key)
}

func (w theirs) lock(workspace string) string { return w.object(workspace) + ".lock" }

// lists reports which workspace an object is taken for when workspaces are listed, "" for none.
func (w theirs) lists(object string) string {
	if !strings.HasPrefix(object, w.prefix) || !strings.HasSuffix(object, w.key) {
		return ""
	}
	name := strings.TrimSuffix(strings.TrimPrefix(object, w.prefix+"/"), w.key)
	return strings.TrimSuffix(name, "/")
}

// deletes reports whether an object goes when a workspace is deleted: all do that begin with its state's name.
func (w theirs) deletes(workspace, object string) bool {
	return strings.HasPrefix(object, w.object(workspace))
}

// Where states and locks are, and what else is there, under random keys, prefixes and names of workspaces: Terraform
// finds states and locks where we have them, lists the workspaces that there are and none of our other objects, and
// removes no journal of another workspace with one. Keys have a dot: one that ends as the names of journals do would
// have its journal listed.
func TestTheLayoutIsThatOfTerraform(t *testing.T) {
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
