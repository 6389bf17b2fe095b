package pg

import (
	"context"
	"math/rand/v2"
	"time"
)

// pooler checks a connection whose server process is not the one with which it was opened, because a pooler is in
// between. A pooler that assigns a server process for the entire connection is accepted. One that assigns a process for
// each transaction is not: the lock would remain in a process that other clients use next.
//
// To distinguish them, a second connection is opened through the pooler beside the first. A client with its own process
// always sees that one. In a shared pool, the two connections get each other's processes, whether the pool prefers the
// most or the least recently used one. Which process is free also depends on other clients and on how soon the pool
// takes one back, so a few queries in a fixed order can get the expected results by chance. Therefore there are enough
// queries, most of them in random order, and every other one is sent with a delay.
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
		if first := []int{0, 1, 0, 0, 1}; i < len(first) { // not alternating: a pool may have two processes
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

// backAfter is how long a pool may take to reuse a connection whose response it has forwarded.
const backAfter = 5 * time.Millisecond

func (o *options) pooled() error {
	return &problem{text: "there is a pooler in front of the PostgreSQL server, at " + o.address() +
		", that uses a different server connection for each transaction, such as PgBouncer with " +
		"pool_mode=transaction. Locks would be lost. Connect directly to the server, or to a pool with " +
		"pool_mode=session"}
}
