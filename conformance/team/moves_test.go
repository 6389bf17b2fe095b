//go:build unix

package team

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

// things returns the ids of the objects in a state, by their keys.
func (m *member) things(t *testing.T) map[string]string {
	t.Helper()
	var doc struct {
		Resources []struct {
			Instances []struct {
				Key        any `json:"index_key"`
				Attributes struct {
					ID string `json:"id"`
				} `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if out := m.run("state", "pull"); out != "" {
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	}
	ids := map[string]string{}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			ids[fmt.Sprint(i.Key)] = i.Attributes.ID
		}
	}
	return ids
}

// TestObjectsMoveFromEachPlaceToEach tests each kind of backend once on each side, and all pairs with
// TOMBOLO_TEAM_PAIRS=all. Objects are moved there and back; after each move both states have the right objects, and
// applies replace nothing.
func TestObjectsMoveFromEachPlaceToEach(t *testing.T) {
	const kinds = "local pg s3 gcs azurerm consul program oss cos oci kubernetes remote cloud"
	usual := map[string]bool{"local pg": true, "pg s3": true, "s3 consul": true, "consul gcs": true,
		"gcs azurerm": true, "azurerm program": true, "program local": true,
		"oss cos": true, "oci kubernetes": true, "kubernetes remote": true, "cloud oss": true}
	for _, one := range strings.Fields(kinds) {
		for _, two := range strings.Fields(kinds) {
			if !usual[one+" "+two] && os.Getenv("TOMBOLO_TEAM_PAIRS") != "all" {
				continue
			}
			t.Run(one+" to "+two, func(t *testing.T) {
				t.Parallel()
				all := places(t)
				if one == "program" || two == "program" {
					generatedPlace(t) // or the test is skipped
				}
				from, to := all[one+" 1"].member(t, one, ours), all[two+" 2"].member(t, two, ours)
				from.run("apply", "-auto-approve")
				to.run("apply", "-auto-approve", `-var=names=["c"]`)
				before, there := from.things(t), to.things(t)

				from.run("state", "mv", "-to-dir="+to.dir, `terraform_data.thing["a"]`)
				if got, want := from.things(t), map[string]string{"b": before["b"]}; !maps.Equal(got, want) {
					t.Errorf("what is left is %v, want %v", got, want)
				}
				want := map[string]string{"a": before["a"], "c": there["c"]}
				if got := to.things(t); !maps.Equal(got, want) {
					t.Errorf("after the move there are %v, want %v", got, want)
				}
				to.run("apply", "-auto-approve", `-var=names=["a","c"]`) // only the input has the name of the workspace
				if got := to.things(t)["a"]; got != before["a"] {
					t.Errorf("the object that has moved was replaced: %s, want %s", got, before["a"])
				}
				from.run("apply", "-auto-approve", `-var=names=["b"]`) // only the output changes
				if got, want := from.things(t), map[string]string{"b": before["b"]}; !maps.Equal(got, want) {
					t.Errorf("after an apply there are %v, want %v", got, want)
				}

				to.run("state", "mv", "-to-dir="+from.dir, `terraform_data.thing["a"]`)
				if got := from.things(t); !maps.Equal(got, before) {
					t.Errorf("after the way back there are %v, want %v", got, before)
				}
				if got := to.things(t); !maps.Equal(got, there) {
					t.Errorf("after the way back the other state has %v, want %v", got, there)
				}
			})
		}
	}
}

// An object is not moved to a state that another run is changing, and stays where it is.
func TestObjectsDoNotMoveIntoAStateThatIsInUse(t *testing.T) {
	t.Parallel()
	all := places(t)
	from, to := all["s3 1"].member(t, "from", ours), all["pg 1"].member(t, "to", ours)
	from.run("apply", "-auto-approve")
	before := from.things(t)
	ended := make(chan error, 1)
	go func() {
		_, err := to.try("apply", "-auto-approve", "-var=wait=1", `-var=names=["c"]`)
		ended <- err
	}()
	waitFor(t, func() bool { return to.has("started") })
	if out := from.fails("state", "mv", "-to-dir="+to.dir, `terraform_data.thing["a"]`); !strings.Contains(out,
		"Error acquiring the state lock") {
		t.Errorf("a state that is in use:\n%s", out)
	}
	to.touch("go")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := from.things(t); !maps.Equal(got, before) {
		t.Errorf("after a move that was refused there are %v, want %v", got, before)
	}
	from.run("state", "mv", "-to-dir="+to.dir, `terraform_data.thing["a"]`)
	if got := to.things(t)["a"]; got != before["a"] {
		t.Errorf("the object is %q there, want %q", got, before["a"])
	}
}
