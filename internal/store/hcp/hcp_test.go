package hcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/hcp"
	"github.com/tombolo-iac/tombolo/internal/store/hcp/hcptest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

const (
	token  = "token-canary-of-ann"
	others = "token-canary-of-bob"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// service returns an empty service with two users.
func service() *hcptest.Server {
	return &hcptest.Server{Organization: "acme", Users: map[string]string{token: "ann", others: "bob"},
		Projects: []string{"net"}}
}

// here is the host of a test server, with the token of a user.
type here struct {
	s     *httptest.Server
	token string
	err   error // of the discovery
}

// Service implements remote.Hosts.
func (h here) Service(context.Context, string, ...string) (*url.URL, error) {
	if h.err != nil {
		return nil, h.err
	}
	return url.Parse(h.s.URL + "/api/v2/")
}

// Token implements remote.Hosts.
func (h here) Token(context.Context, string) (string, error) { return h.token, nil }

// serve starts a server with TLS.
func serve(t *testing.T, h http.Handler) here {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // connections are closed on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return here{s: s, token: token}
}

// plain starts a server without TLS, which is only allowed on this machine, for tests with very many connections.
func plain(t *testing.T, h http.Handler) here {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return here{s: s, token: token}
}

// arguments returns the arguments of a block, with the block workspaces.
func arguments(workspaces map[string]cty.Value) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"hostname": cty.StringVal("tfe.example.com"),
		"organization": cty.StringVal("acme"), "token": cty.NullVal(cty.String),
		"workspaces": cty.ObjectVal(workspaces)})
}

func named(name, value string) map[string]cty.Value {
	return map[string]cty.Value{name: cty.StringVal(value)}
}

func (h here) openAs(t *testing.T, kind remote.Kind, config cty.Value) remote.Driver {
	t.Helper()
	d, diags := kind.Open(t.Context(), config, remote.Surroundings{Hosts: h})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { d.Close() })
	hcp.Hasty(d, h.s.Certificate())
	return d
}

// prefixed returns a driver whose default workspace has the remote name net-w-default.
func (h here) prefixed(t *testing.T) remote.Driver {
	t.Helper()
	return contract.NewScratch("w-").Within(h.openAs(t, hcp.Kind(), arguments(named("prefix", "net-"))))
}

// one returns a driver with a single workspace.
func (h here) one(t *testing.T) remote.Driver {
	t.Helper()
	return h.openAs(t, hcp.Kind(), arguments(named("name", "one")))
}

func place(t *testing.T, d remote.Driver, workspace string) remote.Place {
	t.Helper()
	p, err := d.Place(workspace)
	must(t, err)
	return p
}

func TestDriver(t *testing.T) {
	for name, there := range map[string]*hcptest.Server{"uploads": service(), "inline": service()} {
		there.Inline = name == "inline"
		there.Page = 2
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{NoJournal: true, PlainNames: true},
				func(t *testing.T) (a, b remote.Driver) {
					s := service()
					s.Inline, s.Page = there.Inline, there.Page
					h := serve(t, s)
					return h.prefixed(t), h.prefixed(t)
				})
		})
	}
}

func TestDriverOfOneWorkspace(t *testing.T) {
	drivertest.Run(t, drivertest.Options{NoJournal: true, NoWorkspaces: true}, func(t *testing.T) (a, b remote.Driver) {
		h := serve(t, service())
		return h.one(t), h.one(t)
	})
}

func TestStore(t *testing.T) {
	drivertest.Stores(t, func(t *testing.T) func() remote.Driver {
		h := plain(t, service())
		return func() remote.Driver { return h.prefixed(t) }
	})
}

// The service fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "twice", "cut"},
		func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
			there := service()
			net := &drivertest.Net{Next: there, Fate: f}
			return plain(t, net).one(t), net.Requests, plain(t, there).one(t)
		})
}

// A run sends only the requests that state and lock need.
func TestRequestsOfARunAreCounted(t *testing.T) {
	net := &drivertest.Net{Next: service(), Fate: drivertest.Calm}
	want := drivertest.Counts{Plan: 7, Idle: 7, One: 10, More: 0}
	if got := drivertest.Requests(t, serve(t, net).one(t), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// lock acquires the lock of the only workspace.
func lock(t *testing.T, d remote.Driver, id string) (remote.Place, remote.Hold) {
	t.Helper()
	p := place(t, d, state.DefaultWorkspace)
	h, err := p.Lock(t.Context(), drivertest.Info(id))
	must(t, err)
	return p, h
}

// says checks that an error contains some texts.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	text := fmt.Sprint(err, "\n", diag.FromError("", err).For(diag.Program).Err()) // and with its advice
	for _, w := range want {
		if err == nil || !strings.Contains(text, w) {
			t.Errorf("%v, want %q", err, w)
		}
	}
	if strings.Contains(text, "canary") {
		t.Errorf("a secret is shown: %v", err)
	}
}

func isLost(err error) bool { return errors.Is(err, remote.ErrLost) }
