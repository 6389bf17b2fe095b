//go:build unix

package pg

import (
	"fmt"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// A run takes two round trips for the lock, one each for state and journal, one for each record that must be durable
// before the next step, and one to write.
func TestRequestsOfARunAreCounted(t *testing.T) {
	between := newProxy(t, pgtest.Database(t))
	want := drivertest.Counts{Plan: 5, Idle: 5, One: 11, More: 2}
	if got := drivertest.Requests(t, opened(t, between.conn), between.asked); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The connection is cut at messages of a run, from either side: once, or permanently from then on.
func TestEveryRequestMayFail(t *testing.T) {
	dsn, number := pgtest.Database(t), 0
	between := newProxy(t, dsn)
	drivertest.EveryRequest(t, []string{"cut"}, func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int,
		remote.Driver) {
		number++
		calm, d := opened(t, dsn, "PG_SCHEMA_NAME", fmt.Sprint("run", number)),
			opened(t, between.conn, "PG_SCHEMA_NAME", fmt.Sprint("run", number))
		step := 5 // messages that count as one request here
		if testing.Short() {
			step = 20
		}
		between.setFault(func(n, size int) int {
			if n%step == 0 && f(n/step) != "" {
				return size / 2 * (n / step % 2)
			}
			return -1
		})
		return d, func() int { return between.messages() / step }, calm
	})
}
