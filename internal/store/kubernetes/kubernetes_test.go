package kubernetes_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/kubernetes"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
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

// serve starts a server, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func settings(address string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{"host": cty.StringVal(address), "secret_suffix": cty.StringVal("net"),
		"token": cty.StringVal("token-canary")}
	for name, v := range more {
		s[name] = v
	}
	return s
}

func open(t *testing.T, s map[string]cty.Value) remote.Driver {
	t.Helper()
	d, diags := kubernetes.Kind().Open(t.Context(), cty.ObjectVal(s), remote.Surroundings{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { d.Close() })
	kubernetes.Hasty(d)
	return d
}

func place(t *testing.T, s map[string]cty.Value) remote.Place {
	t.Helper()
	p, err := open(t, s).Place(state.DefaultWorkspace)
	must(t, err)
	return p
}

func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{PlainNames: true}, func(t *testing.T) (a, b remote.Driver) {
		s := settings(serve(t, &kubernetestest.Server{Token: "token-canary"}), nil)
		return open(t, s), open(t, s)
	})
}

func TestStore(t *testing.T) {
	drivertest.Stores(t, func(t *testing.T) func() remote.Driver {
		s := settings(serve(t, &kubernetestest.Server{}), nil)
		return func() remote.Driver { return open(t, s) }
	})
}

// The service fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "twice", "cut"},
		func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
			there := &kubernetestest.Server{}
			net := &drivertest.Net{Next: there, Fate: f}
			d := open(t, settings(serve(t, net), nil))
			return d, net.Requests, open(t, settings(serve(t, there), nil))
		})
}

// A run sends only the requests that state, lock and journal need.
func TestRequestsOfARunAreCounted(t *testing.T) {
	net := &drivertest.Net{Next: &kubernetestest.Server{}, Fate: drivertest.Calm}
	want := drivertest.Counts{Plan: 6, Idle: 6, One: 13, More: 2}
	if got := drivertest.Requests(t, open(t, settings(serve(t, net), nil)), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A large state is stored in several secrets, and no parts of a larger previous state remain.
func TestLargeStatesAreInParts(t *testing.T) {
	there := &kubernetestest.Server{}
	s := settings(serve(t, there), nil)
	p := place(t, s)
	h, err := p.Lock(t.Context(), drivertest.Info("x"))
	must(t, err)
	version := ""
	for n, c := range []struct{ size, secrets int }{{100, 1}, {4_000_000, 3}, {2_000_000, 2}, {5_000_000, 4}, {10, 1}} {
		data := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, drivertest.Random(uint64(n), c.size))
		version, err = h.Write(t.Context(), remote.Write{Data: data, Was: version})
		must(t, err)
		got, err := place(t, s).Read(t.Context())
		must(t, err)
		if got.Version != version || !bytes.Equal(got.Data, data) {
			t.Fatalf("%d bytes: another state is read", c.size)
		}
		names := there.Names("secrets")
		names = slices.DeleteFunc(names, func(name string) bool { return name[0:8] == "tombolo." })
		if len(names) != c.secrets {
			t.Errorf("%d bytes are in %q", c.size, names)
		}
	}
	must(t, h.Delete(t.Context()))
	must(t, h.Unlock(t.Context()))
	if left := append(there.Names("secrets"), there.Names("leases")...); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A run that ends at any request while it writes several secrets leaves the old or the new state. The next run that
// releases a lock makes the state readable for other programs again.
func TestPartlyWrittenStatesAreReadable(t *testing.T) {
	for n := 1; n < 40; n++ {
		there := &kubernetestest.Server{}
		calm := settings(serve(t, there), nil)
		old, fresh := drivertest.Random(1, 1_500_000), drivertest.Random(2, 3_000_000)
		h, err := place(t, calm).Unlocked(t.Context())
		must(t, err)
		version, err := h.Write(t.Context(), remote.Write{Data: old})
		must(t, err)
		net := &drivertest.Net{Next: there, Fate: func(at int) string {
			if at >= n {
				return "lost"
			}
			return ""
		}}
		h, err = place(t, settings(serve(t, net), nil)).Unlocked(t.Context())
		must(t, err)
		_, failed := h.Write(t.Context(), remote.Write{Data: fresh, Was: version})
		p := place(t, calm)
		next, err := p.Lock(t.Context(), drivertest.Info("x"))
		must(t, err)
		got, err := p.Read(t.Context())
		if err != nil || !bytes.Equal(got.Data, old) && !bytes.Equal(got.Data, fresh) {
			t.Fatalf("request %d: %v", n, err)
		}
		must(t, next.Unlock(t.Context()))
		again, err := p.Read(t.Context())
		if err != nil || !bytes.Equal(again.Data, got.Data) || kubernetes.Torn(p) {
			t.Fatalf("request %d, after the next run: %v", n, err)
		}
		if failed == nil {
			return
		}
	}
	t.Error("the write never ends")
}

// A run that has lost its lock writes nothing after another run has written, although it does not check the lock.
func TestLateWritesAreRefused(t *testing.T) {
	s := settings(serve(t, &kubernetestest.Server{}), nil)
	one, err := place(t, s).Unlocked(t.Context())
	must(t, err)
	two, err := place(t, s).Unlocked(t.Context())
	must(t, err)
	version, err := one.Write(t.Context(), remote.Write{Data: []byte("one")})
	must(t, err)
	_, err = two.Write(t.Context(), remote.Write{Data: drivertest.Random(1, 3_000_000), Was: version})
	must(t, err)
	_, err = one.Write(t.Context(), remote.Write{Data: drivertest.Random(2, 3_000_000), Was: version})
	if !errors.Is(err, remote.ErrChanged) {
		t.Errorf("write: %v", err)
	}
}
