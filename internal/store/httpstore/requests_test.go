package httpstore_test

import (
	"net/http"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The server fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	kinds := map[string]fault{"": none, "lost": requestLost, "without an answer": answerLost, "503": unavailable,
		"cut": cutShort}
	names := []string{"strict", "GitLab"}
	if !testing.Short() {
		names = append(names, "lenient", "tags")
	}
	for _, name := range names {
		of := servers[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "cut"},
				func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
					there := of()
					n := 0
					// The journal is on this machine, under the server's address: both drivers use the same one.
					net := &faulty{next: there, kind: func(r *http.Request) fault {
						if r.Header.Get("X-Calm") != "" {
							return none
						}
						n++
						return kinds[f(n)]
					}}
					address := serve(t, net)
					at := func(headers cty.Value) remote.Driver {
						more := map[string]cty.Value{}
						if there.GitLab {
							more = likeGitLab(address)
						}
						more["retry_wait_max"], more["headers"] = cty.Zero, headers
						return open(t, settings(address, more))
					}
					return at(cty.NullVal(cty.Map(cty.String))), func() int {
						net.mu.Lock()
						defer net.mu.Unlock()
						return n
					}, at(cty.MapVal(map[string]cty.Value{"X-Calm": cty.StringVal("yes")}))
				})
		})
	}
}

// A run acquires the lock, reads the state, and writes it once, after checks of state and lock. The journal is on this
// machine.
func TestRequestsOfARunAreCounted(t *testing.T) {
	for name, want := range map[string]drivertest.Counts{"strict": {Plan: 4, Idle: 4, One: 7}, "tags": {
		Plan: 4, Idle: 4, One: 7}} {
		t.Run(name, func(t *testing.T) {
			n := 0
			net := &faulty{next: servers[name](), kind: func(*http.Request) fault {
				n++
				return none
			}}
			d := open(t, settings(serve(t, net), nil))
			if got := drivertest.Requests(t, d, func() int {
				net.mu.Lock()
				defer net.mu.Unlock()
				return n
			}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
