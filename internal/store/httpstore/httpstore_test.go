package httpstore_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

const lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a server.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// settings returns the settings of a block for the state "s" of a server, with locks.
func settings(address string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{
		"address": cty.StringVal(address + "/s"), "lock_address": cty.StringVal(address + "/s"),
		"unlock_address": cty.StringVal(address + "/s"), "retry_wait_min": cty.Zero,
	}
	for name, v := range more {
		s[name] = v
	}
	return s
}

// likeGitLab returns the arguments of a block for GitLab.
func likeGitLab(address string) map[string]cty.Value {
	return map[string]cty.Value{"lock_address": cty.StringVal(address + "/s/lock"),
		"unlock_address": cty.StringVal(address + "/s/lock"), "lock_method": cty.StringVal("POST"),
		"unlock_method": cty.StringVal("DELETE")}
}

func open(t *testing.T, s map[string]cty.Value) remote.Driver {
	t.Helper()
	d, diags := httpstore.Kind().Open(t.Context(), cty.ObjectVal(s), remote.Surroundings{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return d
}

func place(t *testing.T, s map[string]cty.Value) remote.Place {
	t.Helper()
	p, err := open(t, s).Place(state.DefaultWorkspace)
	must(t, err)
	return p
}

// servers has the kinds of servers in use.
var servers = map[string]func() *httpstoretest.Server{
	"strict":      func() *httpstoretest.Server { return &httpstoretest.Server{} },
	"lenient":     func() *httpstoretest.Server { return &httpstoretest.Server{Lenient: true} },
	"loose":       func() *httpstoretest.Server { return &httpstoretest.Server{Loose: true} },
	"tags":        func() *httpstoretest.Server { return &httpstoretest.Server{Tags: true} },
	"broken tags": func() *httpstoretest.Server { return &httpstoretest.Server{BrokenTags: true} },
	"GitLab":      func() *httpstoretest.Server { return &httpstoretest.Server{GitLab: true} },
}

func TestDriver(t *testing.T) {
	// The suite forces an unlock, after which a lenient server grants the lock to its former holder, and it writes a
	// serial twice, which GitLab refuses. TestStore runs on both.
	for _, name := range []string{"strict", "loose", "tags", "broken tags"} {
		t.Run(name, func(t *testing.T) {
			o := drivertest.Options{NoJournal: true, NoWorkspaces: true}
			drivertest.Run(t, o, func(t *testing.T) (a, b remote.Driver) {
				s := settings(serve(t, servers[name]()), nil)
				return open(t, s), open(t, s)
			})
		})
	}
}

func TestStore(t *testing.T) {
	for _, name := range []string{"strict", "lenient", "GitLab"} {
		of := servers[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) (a, b state.Store) {
				address := serve(t, of())
				more := map[string]cty.Value{}
				if name == "GitLab" {
					more = likeGitLab(address)
				}
				folder := t.TempDir()
				store := func() state.Store {
					return remote.New(remote.Options{Driver: open(t, settings(address, more)), Rescue: []string{folder},
						Pause: time.Millisecond, Beat: 5 * time.Millisecond, Who: "me@here"})
				}
				return store(), store()
			})
		})
	}
}

func write(t *testing.T, h remote.Hold, was, note string) string {
	t.Helper()
	v, err := h.Write(t.Context(), remote.Write{Data: []byte(note), Was: was})
	must(t, err)
	return v
}
