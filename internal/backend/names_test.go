package backend_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// letters are the characters that names of workspaces may contain.
const letters = "abcXYZ0189-_.~$&+=:@"

// oddNames returns names of workspaces: some that are known to cause problems in services, and random ones.
func oddNames() []string {
	names := []string{"a+b", "a&b=c", "a:b@c", "$a", "a..b", ".a", "a.", "~", "a.lock", "journal", "a-", "default2",
		"A", "env:", "tombolo", "a.tfstate", "%"}
	names = slices.DeleteFunc(names, func(name string) bool { return state.CheckWorkspaceName(name) != nil })
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		name := ""
		for range 1 + r.IntN(12) {
			name += string(letters[r.IntN(len(letters))])
		}
		if state.CheckWorkspaceName(name) == nil && name != state.DefaultWorkspace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A workspace with an unusual name is locked, written, listed, read and deleted independently of others, in every
// backend that accepts the name. Services check signatures, which cover names in their escaped form.
func TestWorkspacesHaveOddNames(t *testing.T) {
	for _, kind := range backendtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			s := backendtest.Start(t, kind)
			d := s.Open(t, "place")
			there := map[string][]byte{}
			refused := 0
			for i, name := range append([]string{state.DefaultWorkspace}, oddNames()...) {
				p, err := d.Place(name)
				if err != nil { // the service cannot store such a name, or any
					refused++
					continue
				}
				data := fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"l","note":%q}`, i, name)
				h, err := p.Lock(t.Context(), drivertest.Info(fmt.Sprintf("0b5c8e7e-6c1f-4d9e-9d6d-%012d", i)))
				if err != nil {
					t.Fatalf("lock %q: %v", name, err)
				}
				_, err = h.StartJournal(t.Context(), "", []byte("first"))
				if err != nil && err != remote.ErrNoJournal {
					t.Errorf("begin the journal of %q: %v", name, err)
				}
				_, err = h.Write(t.Context(), remote.Write{Data: data, Lineage: "l", Serial: uint64(i)})
				if err != nil {
					t.Fatalf("write %q: %v", name, err)
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Errorf("unlock %q: %v", name, err)
				}
				there[name] = data
			}
			check := func() {
				t.Helper()
				listed, err := d.Workspaces(t.Context())
				if err != nil && err != remote.ErrNoWorkspaces {
					t.Fatal(err)
				}
				for name, data := range there {
					p, err := d.Place(name)
					if err != nil {
						t.Fatal(err)
					}
					got, err := p.Read(t.Context())
					if err != nil || !bytes.Equal(got.Data, data) {
						t.Errorf("%q has %s, %v", name, got.Data, err)
					}
					if name != state.DefaultWorkspace && !slices.Contains(listed, name) {
						t.Errorf("%q is not in %q", name, listed)
					}
				}
				for _, name := range listed {
					if there[name] == nil && name != state.DefaultWorkspace {
						t.Errorf("%q is listed", name)
					}
				}
			}
			check()
			for name := range there {
				if name == state.DefaultWorkspace || strings.Contains(name, "a") {
					continue
				}
				p, err := d.Place(name)
				if err != nil {
					t.Fatal(err)
				}
				h, err := p.Lock(t.Context(), drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-00000000ffff"))
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Delete(t.Context()); err != nil {
					t.Errorf("delete %q: %v", name, err)
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Errorf("unlock %q: %v", name, err)
				}
				delete(there, name)
			}
			check()
			t.Logf("%d names, %d refused", len(there), refused)
		})
	}
}
