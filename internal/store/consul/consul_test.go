package consul_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/consul"
	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a server for a simulated Consul, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		if c, ok := h.(*consultest.Server); ok {
			c.Close()
		}
		s.CloseClientConnections()
		s.Close()
	})
	return strings.TrimPrefix(s.URL, "http://")
}

func settings(address string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{"address": cty.StringVal(address), "path": cty.StringVal("team/network")}
	for name, v := range more {
		s[name] = v
	}
	return s
}

func open(t *testing.T, s map[string]cty.Value) remote.Driver {
	t.Helper()
	d, diags := consul.Kind().Open(t.Context(), cty.ObjectVal(s), remote.Surroundings{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { d.Close() })
	consul.Hasty(d)
	return d
}

func place(t *testing.T, s map[string]cty.Value) remote.Place {
	t.Helper()
	p, err := open(t, s).Place(state.DefaultWorkspace)
	must(t, err)
	return p
}

func lock(t *testing.T, p remote.Place) remote.Hold {
	t.Helper()
	h, err := p.Lock(t.Context(), drivertest.Info("x"))
	must(t, err)
	return h
}

func TestDriver(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain":        nil,
		"gzip":         {"gzip": cty.True},
		"with a slash": {"path": cty.StringVal("team/network/")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				s := settings(serve(t, &consultest.Server{}), more)
				return open(t, s), open(t, s)
			})
		})
	}
}

func TestStore(t *testing.T) {
	drivertest.Stores(t, func(t *testing.T) func() remote.Driver {
		s := settings(serve(t, &consultest.Server{}), nil)
		return func() remote.Driver { return open(t, s) }
	})
}

// renewed reports whether a request renews a session, which happens in the background.
func renewed(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/session/renew/") }

// The service fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "twice", "cut"},
		func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
			there := &consultest.Server{}
			net := &drivertest.Net{Next: there, Fate: f, Aside: renewed}
			d := open(t, settings(serve(t, net), nil))
			return d, net.Requests, open(t, settings(serve(t, there), nil))
		})
}

// A run acquires the lock, reads state and journal in parallel, and writes the state once. Each record that must be
// durable before the next step is one request.
func TestRequestsOfARunAreCounted(t *testing.T) {
	net := &drivertest.Net{Next: &consultest.Server{}, Fate: drivertest.Calm, Aside: renewed}
	want := drivertest.Counts{Plan: 6, Idle: 6, One: 12, More: 2}
	if got := drivertest.Requests(t, open(t, settings(serve(t, net), nil)), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A state that is too large for one key is stored in parts, under names that the other programs read. The parts of the
// previous state are removed.
func TestLargeStatesAreInParts(t *testing.T) {
	for _, zipped := range []bool{false, true} {
		there := &consultest.Server{}
		s := settings(serve(t, there), map[string]cty.Value{"gzip": cty.BoolVal(zipped)})
		p := place(t, s)
		h := lock(t, p)
		version := ""
		for n, size := range []int{2_000_000, 1_500_000, 600_000, 100, 900_000, 1_000} {
			data := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, drivertest.Random(1, size))
			var err error
			version, err = h.Write(t.Context(), remote.Write{Data: data, Was: version})
			must(t, err)
			c, err := place(t, s).Read(t.Context())
			must(t, err)
			if c.Version != version || !bytes.Equal(c.Data, data) {
				t.Fatalf("zipped %t, %d bytes: another state is read", zipped, size)
			}
			var link struct {
				Hash   string `json:"current-hash"`
				Chunks []string
			}
			_ = json.Unmarshal(there.Value("team/network"), &link)
			parts := slices.DeleteFunc(there.Keys(), func(key string) bool {
				return !strings.Contains(key, "/tfstate.")
			})
			if !slices.Equal(parts, link.Chunks) || (len(parts) > 0) != (size > 500_000) {
				t.Errorf("zipped %t, %d bytes: there are %q, and the state names %q", zipped, size, parts, link.Chunks)
			}
		}
		must(t, h.Delete(t.Context()))
		must(t, h.Unlock(t.Context()))
		if keys := there.Keys(); len(keys) > 0 {
			t.Errorf("%q are left", keys)
		}
	}
}

// When a session ends, its lock is lost: the former holder writes nothing, whether or not another run has the lock and
// whether or not it checks. Consul grants the lock to no session for a while, and a run waits for that as for any lock.
func TestSessionsThatEndWriteNothing(t *testing.T) {
	there := &consultest.Server{}
	p := place(t, settings(serve(t, there), nil))
	h := lock(t, p)
	version, err := h.Write(t.Context(), remote.Write{Data: []byte("one")})
	must(t, err)
	journal, err := h.StartJournal(t.Context(), "", []byte("first"))
	must(t, err)
	there.Expire("")
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("two"), Was: version})
	_, startErr := h.StartJournal(t.Context(), journal, nil)
	for what, err := range map[string]error{"write": err, "start": startErr, "check": h.Check(t.Context()),
		"append": h.Append(t.Context(), journal, 1, []byte("more")), "delete": h.Delete(t.Context()),
		"unlock": h.Unlock(t.Context())} {
		if !errors.Is(err, remote.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := there.Value("team/network"); string(got) != "one" {
		t.Errorf("%q stands there", got)
	}
	var locked *state.LockedError
	if _, err := p.Lock(t.Context(), drivertest.Info("y")); !errors.As(err, &locked) ||
		!strings.Contains(err.Error(), "does not grant it") {
		t.Errorf("lock: %v", err)
	}
}

// Keys for which Consul redirects reads to another key are refused.
func TestPathsThatAreReadElsewhere(t *testing.T) {
	for _, path := range []string{"a//b", "a/../b", "./a", "a/.", "..", "a//", "/a"} {
		if _, diags := consul.Kind().Open(t.Context(), cty.ObjectVal(settings("127.0.0.1:1",
			map[string]cty.Value{"path": cty.StringVal(path)})), remote.Surroundings{}); !diags.HasErrors() {
			t.Errorf("%q is no error", path)
		}
	}
	there := &consultest.Server{}
	for _, path := range []string{"a", "a/", "a/.b/..c", "...", "a b/ü%2e/?#"} {
		p := place(t, settings(serve(t, there), map[string]cty.Value{"path": cty.StringVal(path)}))
		h := lock(t, p)
		_, err := h.Write(t.Context(), remote.Write{Data: []byte(path)})
		must(t, err)
		must(t, h.Unlock(t.Context()))
		if c, err := p.Read(t.Context()); err != nil || string(c.Data) != path {
			t.Errorf("%q: %q, %v", path, c.Data, err)
		}
	}
}

// A block can turn locking off, as with the other programs.
func TestNoLock(t *testing.T) {
	there := &consultest.Server{}
	p := place(t, settings(serve(t, there), map[string]cty.Value{"lock": cty.False}))
	h := lock(t, p)
	_, err := h.Write(t.Context(), remote.Write{Data: []byte("one")})
	must(t, err)
	must(t, h.Check(t.Context()))
	must(t, h.Unlock(t.Context()))
	if keys := there.Keys(); !slices.Equal(keys, []string{"team/network"}) {
		t.Errorf("%q", keys)
	}
}

// A state that cannot be read is an error, not an empty state.
func TestDamagedStates(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"a part that is gone": {`{"current-hash":"abc","chunks":["team/network/tfstate.abc/0"]}`, "is missing"},
		"another digest":      {`{"current-hash":"abc","chunks":["part"]}`, "whose digest is"},
		"no gzip":             {"\x1fabc", "cannot be uncompressed"},
	} {
		there := &consultest.Server{}
		address := serve(t, there)
		for key, value := range map[string]string{"team/network": c.value, "part": "text"} {
			r, err := http.NewRequest(http.MethodPut, "http://"+address+"/v1/kv/"+key, strings.NewReader(value))
			must(t, err)
			a, err := http.DefaultClient.Do(r)
			must(t, err)
			a.Body.Close()
		}
		got, err := place(t, settings(address, nil)).Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, got.Data, err)
		}
	}
}
