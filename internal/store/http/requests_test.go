package httpstore_test

import (
	"net/http"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The server goes away, or one connection breaks, at each request of a run, before and behind what is done.
func TestEveryRequestOfARunMayFail(t *testing.T) {
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
					// The journal is on this machine under the server's address: both drivers have the same one.
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
