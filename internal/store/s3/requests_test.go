package s3_test

import (
	"net/http/httptest"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
)

// The service fails permanently, or one connection breaks, at each request of a run, before or after the request takes
// effect.
func TestEveryRequestMayFail(t *testing.T) {
	kinds := map[string]fault{"": none, "lost": requestLost, "without an answer": answerLost, "503": slowDown,
		"cut": cutShort}
	drivertest.EveryRequest(t, []string{"lost", "without an answer", "503", "cut"},
		func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int, remote.Driver) {
			there := serve(t)
			n := 0
			net := &faulty{t: t, next: there, plan: func(*wire) fault {
				n++
				return kinds[f(n)]
			}}
			server, calm := httptest.NewServer(net), httptest.NewServer(there)
			t.Cleanup(server.Close)
			t.Cleanup(calm.Close)
			d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(server.URL, map[string]cty.Value{
				"max_retries": cty.NumberIntVal(1)})))
			must(t, err)
			return d, func() int {
				net.mu.Lock()
				defer net.mu.Unlock()
				return n
			}, open(t, settings(calm.URL, nil))
		})
}

// A run acquires the lock, reads state and journal in parallel, and writes the state once. Each record that must be
// durable before the next step is one request. Services other than AWS are also probed for conditions.
func TestRequestsOfARunAreCounted(t *testing.T) {
	n := 0
	net := &faulty{t: t, next: serve(t), plan: func(*wire) fault {
		n++
		return none
	}}
	server := httptest.NewServer(net)
	t.Cleanup(server.Close)
	want := drivertest.Counts{Plan: 5, Idle: 5, One: 11, More: 2}
	if got := drivertest.Requests(t, open(t, settings(server.URL, nil)), func() int {
		net.mu.Lock()
		defer net.mu.Unlock()
		return n
	}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
