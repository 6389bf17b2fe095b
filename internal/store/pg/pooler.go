package pg

import (
	"context"
	"math/rand/v2"
	"time"
)

// pooler decides about a connection whose server process is not the one that the connection was opened with: there is
// something in between. One that gives a client a server process for its whole connection is fine. One that gives it
// another for each transaction is not: a lock would stay behind in a process that anybody uses next.
//
// To distinguish them, a second connection goes through it beside the first. For a client with its own process,
// that one never changes. A pool that is shared gives out each other's processes, whether it prefers those that were
// used last or those that were not used for long. Which process is free also depends on other clients and on how soon
// the pool takes one back, so that a few questions in a fixed order can get the right answers by chance: the order of
// most of them is random, there are enough of them, and every other one comes a moment later.
func (o *options) pooler(ctx context.Context, s *session) error {
	other, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer other.close()
	const who = "SELECT pg_backend_pid()::text"
	both := [2]*session{s, other}
	pids := map[*session]string{}
	for i := range 24 {
		each := both[rand.IntN(2)]
		if first := []int{0, 1, 0, 0, 1}; i < len(first) { // not in turns exactly: a pool may have just two
			each = both[first[i]]
		}
		if i%2 == 1 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(backAfter):
			}
		}
		r, err := each.ask(ctx, who)
		if err != nil {
			return err
		}
		pid := r.text(0, 0)
		if before := pids[each]; before != "" && before != pid {
			return o.pooled()
		}
		if pids[each] = pid; pids[s] == pids[other] {
			return o.pooled()
		}
	}
	return nil
}

// backAfter is how long a pool may take to have a connection back whose answer it has passed on.
const backAfter = 5 * time.Millisecond

func (o *options) pooled() error {
	return &problem{text: "there is a pooler in front of the PostgreSQL server, at " + o.address() +
		", that uses a different server connection for each transaction, such as PgBouncer with " +
		"pool_mode=transaction. Locks would be lost. Connect directly to the server, or to a pool with " +
		"pool_mode=session"}
}
