//go:build unix

package pg

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// Many writers increment counters in the same states concurrently, while an administrator ends random connections. The
// states do not exist at first. No confirmed write is lost, none is counted twice, and no two writers ever hold the
// same lock.
func TestContention(t *testing.T) {
	dsn := pgtest.Database(t)
	const workers, rounds, states = 6, 8, 2
	var wg, killing sync.WaitGroup
	var mu sync.Mutex
	var done, open [states]int
	var inside [states]map[remote.Hold]bool
	for at := range inside {
		inside[at] = map[remote.Hold]bool{}
	}
	for w := range workers {
		d := opened(t, dsn)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for range rounds {
				at := r.IntN(states)
				p := placed(t, d, fmt.Sprint("counter", at))
				deadline := time.Now().Add(2 * time.Minute)
				h, err := p.Lock(t.Context(), drivertest.Info(fmt.Sprintf("worker-%d", w)))
				for ; err != nil; h, err = p.Lock(t.Context(), drivertest.Info(fmt.Sprintf("worker-%d", w))) {
					var locked *state.LockedError
					if time.Now().After(deadline) || !errors.As(err, &locked) && !broken(err) {
						t.Errorf("lock: %v", err)
						return
					}
					time.Sleep(time.Millisecond)
				}
				mu.Lock()
				for other := range inside[at] { // it may not know yet that its session was ended
					if other.Check(t.Context()) == nil && h.Check(t.Context()) == nil {
						t.Error("two hold the same lock")
					}
				}
				inside[at][h] = true
				mu.Unlock()
				err = increment(t, p, h)
				mu.Lock()
				delete(inside[at], h)
				switch {
				case err == nil:
					done[at]++
				case !errors.Is(err, remote.ErrLost):
					open[at]++
				}
				mu.Unlock()
				_ = h.Unlock(t.Context()) // the lock may be lost
			}
		})
	}
	stop := make(chan struct{})
	killing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(15 * time.Millisecond):
			}
			_ = pgtest.Execute(dsn,
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE "+
					"'tombolo worker-%' AND datname = current_database() ORDER BY random() LIMIT 1")
		}
	})
	wg.Wait()
	close(stop)
	killing.Wait()
	for at := range states {
		p := placed(t, opened(t, dsn), fmt.Sprint("counter", at))
		h := lock(t, p, "last")
		c, err := p.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, _ := strconv.Atoi(string(c.Data))
		if n < done[at] || n > done[at]+open[at] {
			t.Errorf("counted to %d; %d were confirmed and %d left open", n, done[at], open[at])
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if done[0]+done[1] == 0 {
		t.Error("nothing was done")
	}
}

// broken reports whether a connection was ended by the administrator.
func broken(err error) bool {
	return code(err, "57P01") || contains(err, "broke")
}

// increment adds one to a counter. It returns ErrLost only if that was certainly not done.
func increment(t *testing.T, p *place, h remote.Hold) error {
	c, err := p.Read(t.Context())
	if err != nil {
		return remote.ErrLost
	}
	n, _ := strconv.Atoi(string(c.Data))
	_, err = h.Write(t.Context(), remote.Write{Data: fmt.Append(nil, n+1), Was: c.Version, Revision: history.Revision{
		Run: state.RunInfo{ID: fmt.Sprint(n)}}})
	if errors.Is(err, remote.ErrChanged) {
		t.Error("the state changed under the lock")
	}
	return err
}

// More runs wait for a lock than the server accepts connections. Each gets the lock in the end, because waiting needs
// no connection.
func TestWaitingNeedsNoConnections(t *testing.T) {
	dsn := pgtest.Database(t)
	written(t, placed(t, opened(t, dsn), "crowded"))
	admin := another(t, dsn)
	role := fmt.Sprintf("crowd%d", time.Now().UnixNano()) // roles belong to the whole server
	for _, sql := range []string{"CREATE ROLE %s LOGIN CONNECTION LIMIT 3",
		"GRANT ALL ON SCHEMA terraform_remote_state TO %s",
		"GRANT ALL ON ALL TABLES IN SCHEMA terraform_remote_state TO %s",
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA terraform_remote_state TO %s"} {
		run(t, admin, fmt.Sprintf(sql, role))
	}
	start := placed(t, opened(t, dsn), "crowded")
	h, err := start.Lock(t.Context(), drivertest.Info("first"))
	if err == nil {
		err = errors.Join(increment(t, start, h), h.Unlock(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 12 {
		d := opened(t, strings.Replace(dsn, "user=tester", "user="+role, 1))
		wg.Go(func() {
			defer d.Close()
			p := placed(t, d, "crowded")
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
				h, err := p.Lock(t.Context(), drivertest.Info(fmt.Sprintf("worker-%d", w)))
				var locked *state.LockedError
				switch {
				case err == nil:
					if err := errors.Join(increment(t, p, h), h.Unlock(t.Context())); err != nil {
						t.Error(err)
					}
					return
				case !errors.As(err, &locked), time.Now().After(deadline):
					t.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if c, err := placed(t, opened(t, dsn), "crowded").Read(t.Context()); err != nil || string(c.Data) != "13" {
		t.Errorf("it was counted to %q (%v)", c.Data, err)
	}
}
