package azure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/azure"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

const lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settings returns the settings of a valid block, with additional or replaced ones.
func settings(more map[string]cty.Value) cty.Value {
	s := map[string]cty.Value{"storage_account_name": cty.StringVal(azuretest.Account),
		"container_name": cty.StringVal(azuretest.Container), "key": cty.StringVal("some/state"),
		"access_key": cty.StringVal(azuretest.Key)}
	for name, v := range more {
		s[name] = v
	}
	return cty.ObjectVal(s)
}

func open(t *testing.T, address string, more map[string]cty.Value) remote.Driver {
	t.Helper()
	d, err := azure.At(address, settings(more), nil)
	must(t, err)
	return d
}

func serve(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestDriver(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{"access key": nil,
		"signature": {"access_key": cty.NullVal(cty.String), "sas_token": cty.StringVal("?sv=1&sig=sas-canary")},
		"snapshots": {"snapshot": cty.True}} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				address := serve(t, &azuretest.Blobs{})
				return open(t, address, more), open(t, address, more)
			})
		})
	}
}

// The emulator Azurite passes the same suite.
func TestAzurite(t *testing.T) {
	address, n := azuretest.Azurite(t), 0
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		n++
		more := map[string]cty.Value{"key": cty.StringVal(fmt.Sprintf("some/state%d", n))}
		return open(t, address, more), open(t, address, more)
	})
}

// faulty is a service behind a network with faults.
type faulty struct {
	next http.Handler
	plan func(n int) string
	mu   sync.Mutex
	n    int
}

// ServeHTTP implements http.Handler.
func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	hangUp := func() {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.Close()
		}
	}
	out := httptest.NewRecorder()
	switch f.plan(f.n) {
	case "":
		f.next.ServeHTTP(w, r)
	case "lost":
		hangUp()
	case "without an answer":
		f.next.ServeHTTP(out, r)
		hangUp()
	case "503":
		io.Copy(io.Discard, r.Body)
		azuretest.Refuse(w, http.StatusServiceUnavailable, "ServerBusy")
	case "500 and done":
		f.next.ServeHTTP(out, r)
		azuretest.Refuse(w, http.StatusInternalServerError, "InternalError")
	}
}

// The service fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "500 and done"},
		func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
			there := &azuretest.Blobs{}
			net := &faulty{next: there, plan: f}
			return open(t, serve(t, net), nil), func() int {
				net.mu.Lock()
				defer net.mu.Unlock()
				return net.n
			}, open(t, serve(t, there), nil)
		})
}

func TestRequestsOfARunAreCounted(t *testing.T) {
	net := &faulty{next: &azuretest.Blobs{}, plan: func(int) string { return "" }}
	want := drivertest.Counts{Plan: 7, Idle: 7, One: 13, More: 2}
	if got := drivertest.Requests(t, open(t, serve(t, net), nil), func() int {
		net.mu.Lock()
		defer net.mu.Unlock()
		return net.n
	}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Metadata of other programs is kept, and none of Tombolo's blobs is where those programs list workspaces.
func TestOtherProgramsSeeTheirData(t *testing.T) {
	there := &azuretest.Blobs{}
	d := open(t, serve(t, there), nil)
	p, err := d.Place("blue")
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	_, err = h.StartJournal(t.Context(), "", []byte("x"))
	must(t, err)
	if names, err := d.Workspaces(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("a lock alone makes a workspace: %q, %v", names, err)
	}
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("{}")})
	must(t, err)
	must(t, h.Unlock(t.Context()))
	if got, want := there.Names(), []string{"some/state.tombolo/blue/journal", "some/stateenv:blue"}; !slices.Equal(got,
		want) {
		t.Errorf("blobs %q, want %q", got, want)
	}
	p, err = d.Place(state.DefaultWorkspace)
	must(t, err)
	h, err = p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	must(t, h.Unlock(t.Context()))
	if slices.Contains(there.Names(), "some/state") {
		t.Error("the blob of a lock stays where there is no state")
	}
}

// gossip is a service that repeats the whole request in its response.
func gossip(w http.ResponseWriter, r *http.Request) {
	output, _ := json.Marshal(map[string]any{"h": r.Header, "u": r.URL.String()})
	w.WriteHeader(http.StatusBadRequest)
	text := strings.NewReplacer("&", "", "<", "", ">", "").Replace(string(output))
	fmt.Fprintf(w, "<Error><Code>Gossip</Code><Message>%s</Message></Error>", text)
}

// No secret of a block appears in an error or in the log.
func TestSecretsAreNeverShown(t *testing.T) {
	var mu sync.Mutex
	var output strings.Builder
	for _, address := range []string{serve(t, http.HandlerFunc(gossip)), "http://127.0.0.1:1"} {
		for _, more := range []map[string]cty.Value{nil,
			{"access_key": cty.NullVal(cty.String), "sas_token": cty.StringVal("sv=1&sig=sas%2Bcanary%3D")},
			{"customer_provided_key": cty.StringVal("Y3VzdG9tZXItY2FuYXJ5LTAxMjM0NTY3ODkwMTIzNDU=")},
			{"access_key": cty.StringVal("not base64 canary")},
			{"access_key": cty.NullVal(cty.String), "sas_token": cty.StringVal("canary")},
			{"client_certificate": cty.StringVal("not base64 canary")},
		} {
			d, err := azure.At(address, settings(more), func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&output, format+"\n", args...)
			})
			fmt.Fprintln(&output, err)
			if err != nil {
				continue
			}
			p, err := d.Place(state.DefaultWorkspace)
			must(t, err)
			_, err = p.Lock(t.Context(), drivertest.Info(lockID))
			_, other := d.Workspaces(t.Context())
			fmt.Fprintln(&output, err, other)
		}
	}
	for _, canary := range []string{azuretest.Key, "sas+canary", "sas%2Bcanary", "canary"} {
		if at := strings.Index(output.String(), canary); at >= 0 {
			text := output.String()
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(output.String(), "Gossip") < 4 {
		t.Errorf("the message of the service is missing:\n%s", output.String())
	}
}

// A lease without information about its holder is reported as a lock and can be freed.
func TestALeaseWithoutInformationIsFreed(t *testing.T) {
	there := &azuretest.Blobs{}
	net := &faulty{next: there, plan: func(n int) string {
		if n > 3 { // the lease is acquired, and all later requests fail
			return "lost"
		}
		return ""
	}}
	p, err := open(t, serve(t, net), nil).Place(state.DefaultWorkspace)
	must(t, err)
	if _, err := p.Lock(t.Context(), drivertest.Info(lockID)); err == nil {
		t.Fatal("locked")
	}
	if p, err = open(t, serve(t, there), nil).Place(state.DefaultWorkspace); err != nil {
		t.Fatal(err)
	}
	_, err = p.Lock(t.Context(), drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000002"))
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil || locked.Info.ID != azure.Unnamed {
		t.Fatalf("%v", err)
	}
	must(t, p.ForceUnlock(t.Context(), azure.Unnamed))
	_, err = p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
}

// A time limit comes from an argument or a variable; 0 means no limit.
func TestTimeLimits(t *testing.T) {
	slow := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	number := cty.NumberIntVal
	for value, more := range map[string]map[string]cty.Value{
		"1": nil, "86401": {"timeout_seconds": number(1)}, "-1": {"timeout_seconds": number(1)},
	} {
		t.Setenv("ARM_TIMEOUT_SECONDS", value)
		p, err := open(t, slow, more).Place(state.DefaultWorkspace)
		must(t, err)
		if _, err = p.Read(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", value, err)
		}
	}
	for value, more := range map[string]map[string]cty.Value{"86401": nil, "-1": nil, "soon": nil,
		"1": {"timeout_seconds": cty.NumberFloatVal(1.5)}} {
		t.Setenv("ARM_TIMEOUT_SECONDS", value)
		if _, err := azure.At(slow, settings(more), nil); err == nil || !strings.Contains(err.Error(), "0 to 86400") {
			t.Errorf("%s: %v", value, err)
		}
	}
	t.Setenv("ARM_TIMEOUT_SECONDS", "0")
	_, err := azure.At(slow, settings(nil), nil)
	must(t, err)
}
