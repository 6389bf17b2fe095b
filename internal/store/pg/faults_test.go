//go:build unix

package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// model holds the possible contents of a database. There is more than one only after a call with an unknown result.
type model struct {
	t     *testing.T
	place remote.Place
	hold  remote.Hold

	may     []content
	version string // of the state, as the holder last read it
	journal string // version of the journal
	lost    bool   // the connection broke: all further calls must fail
}

type content struct{ data, journal string }

func (c content) String() string {
	return fmt.Sprintf("%.60q with the journal %.60q", c.data, c.journal)
}

// call performs a call whose change is applied to the possible contents. It reports whether the call succeeded.
func (m *model) call(what string, change func(*content), do func() error) bool {
	m.t.Helper()
	err := do()
	changed := slices.Clone(m.may)
	for i := range changed {
		change(&changed[i])
	}
	switch {
	case err == nil && m.lost:
		m.t.Errorf("%s was done after the connection broke", what)
		fallthrough
	case err == nil:
		m.may = changed
		return true
	case errors.Is(err, remote.ErrLost), errors.Is(err, remote.ErrChanged) && m.lost:
		m.lost = true
	case errors.Is(err, remote.ErrChanged):
		m.t.Errorf("%s: %v", what, err)
	case m.lost:
		m.t.Errorf("%s after the connection broke: %v, want ErrLost", what, err)
	default:
		m.lost = true
		m.may = append(m.may, changed...)
	}
	return false
}

func (m *model) write(data string) {
	m.call("write", func(c *content) { c.data = data }, func() error {
		v, err := m.hold.Write(m.t.Context(), remote.Write{Data: []byte(data), Was: m.version, Serial: 1, Lineage: "l"})
		if err == nil {
			m.version = v
		}
		return err
	})
}

func (m *model) start(first string) {
	var bytes []byte
	if first != "" {
		bytes = []byte(first)
	}
	m.call("start of a journal", func(c *content) { c.journal = first }, func() error {
		v, err := m.hold.StartJournal(m.t.Context(), m.journal, bytes)
		if err == nil {
			m.journal = v
		}
		return err
	})
}

func (m *model) add(n int, chunk string) {
	m.call("append", func(c *content) { c.journal += chunk }, func() error {
		return m.hold.Append(m.t.Context(), m.journal, n, []byte(chunk))
	})
}

func (m *model) check() {
	err := m.hold.Check(m.t.Context())
	if m.lost && !errors.Is(err, remote.ErrLost) {
		m.t.Errorf("check after the connection broke: %v, want ErrLost", err)
	}
	if err != nil {
		m.lost = true
	}
}

func (m *model) unlock() {
	err := m.hold.Unlock(context.WithoutCancel(m.t.Context()))
	if m.lost && !errors.Is(err, remote.ErrLost) {
		m.t.Errorf("unlock after the connection broke: %v, want ErrLost", err)
	}
}

// lock locks a state as soon as the server has noticed that its holder is gone.
func lock(t *testing.T, p remote.Place, id string) remote.Hold {
	t.Helper()
	var hold remote.Hold
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		h, err := p.Lock(t.Context(), drivertest.Info(id))
		if err == nil {
			hold = h
			break
		}
		var locked *state.LockedError
		if !errors.As(err, &locked) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	return hold
}

// is checks that the stored content is one of the possible ones, and that the next holder can continue with it.
func (m *model) is(p remote.Place) {
	m.t.Helper()
	h := lock(m.t, p, "next")
	c, err := p.Read(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	j, err := p.ReadJournal(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	found := content{string(c.Data), ""}
	for _, chunk := range j.Chunks {
		found.journal += string(chunk)
	}
	if !slices.Contains(m.may, found) {
		m.t.Errorf("found %s, want one of %s", found, m.may)
	}
	if _, err := h.StartJournal(m.t.Context(), j.Version, nil); err != nil {
		m.t.Error(err)
	}
	if _, err := h.Write(m.t.Context(), remote.Write{Data: []byte(`{"next":1}`), Was: c.Version}); err != nil {
		m.t.Error(err)
	}
	if err := h.Unlock(m.t.Context()); err != nil {
		m.t.Error(err)
	}
}

// life performs the steps of a run. It calls between before each step.
func (m *model) life(between func(int)) {
	var err error
	if m.hold, err = m.place.Lock(m.t.Context(), drivertest.Info("mine")); err != nil {
		return // nothing was written: no other result is possible
	}
	for i, step := range []func(){
		func() { m.start("a") }, func() { m.add(1, "b") }, m.check, func() { m.add(2, "c\x00") },
		func() { m.write(`{"serial":1}`) }, func() { m.add(3, "d") }, func() { m.write(`{"serial":2}`) },
		func() { m.start("") }, m.check, func() { m.start("e") }, func() { m.write(`{"serial":3}`) }, m.unlock,
	} {
		between(i)
		step()
	}
}

func newModel(t *testing.T, d remote.Driver, name string) *model {
	p, err := d.Place(name)
	if err != nil {
		t.Fatal(err)
	}
	return &model{t: t, place: p, may: []content{{}}}
}

// A connection is cut before or in the middle of every third message, in both directions.
func TestCutConnections(t *testing.T) {
	dsn := pgtest.Database(t)
	between := newProxy(t, dsn)
	direct := opened(t, dsn)
	run := func(name string, fault func(n, size int) int) {
		t.Run(name, func(t *testing.T) {
			between.setFault(fault)
			d := opened(t, between.conn)
			m := newModel(t, d, name)
			m.life(func(int) {})
			between.setFault(nil)
			p, err := direct.Place(name)
			if err != nil {
				t.Fatal(err)
			}
			m.is(p)
			d.Close()
		})
	}
	var all int
	run("whole", nil)
	between.setFault(nil)
	d := opened(t, between.conn)
	m := newModel(t, d, "counted")
	m.life(func(int) {})
	d.Close()
	if all = between.messages(); all < 100 || m.lost {
		t.Fatalf("%d messages, lost: %v", all, m.lost)
	}
	for n := 1; n <= all; n += 3 {
		run(fmt.Sprintf("%d", n), func(at, size int) int {
			if at != n {
				return -1
			}
			return size / 2 * (n / 2 % 2)
		})
	}
}

// An administrator ends the session before each call: nothing may be written afterwards.
func TestTerminatedSessions(t *testing.T) {
	dsn := pgtest.Database(t)
	direct := opened(t, dsn)
	for n := range 12 {
		name := fmt.Sprintf("before-%d", n)
		t.Run(name, func(t *testing.T) {
			d := opened(t, dsn)
			m := newModel(t, d, name)
			p, err := direct.Place(name)
			if err != nil {
				t.Fatal(err)
			}
			m.life(func(i int) {
				if i == n {
					if err := p.ForceUnlock(t.Context(), "mine"); err != nil {
						t.Fatal(err)
					}
				}
			})
			if !m.lost && n < 11 {
				t.Error("nobody noticed")
			}
			m.is(p)
		})
	}
}

// Two holders alternate in random order; one of them has lost its connection without noticing.
func TestStaleHolders(t *testing.T) {
	dsn := pgtest.Database(t)
	between := newProxy(t, dsn)
	direct := opened(t, dsn)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			name := fmt.Sprintf("seed-%d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			between.setFault(nil)
			d := opened(t, between.conn)
			old := newModel(t, d, name)
			old.hold = lock(t, old.place, "old")
			var n int
			some := func(m *model) {
				switch r.IntN(4) {
				case 0:
					m.write(fmt.Sprintf(`{"serial":%d}`, r.IntN(1000)))
				case 1:
					m.start(fmt.Sprint("j", r.IntN(1000)))
					n = 1
				case 2:
					if m.journal != "" {
						m.add(n, fmt.Sprint("+", r.IntN(1000)))
						n++
					}
				case 3:
					m.check()
				}
			}
			for range r.IntN(8) {
				some(old)
			}
			if !old.lost {
				between.cutAll()
			}
			p, err := direct.Place(name)
			if err != nil {
				t.Fatal(err)
			}
			next := &model{t: t, place: p, may: slices.Clone(old.may), hold: lock(t, p, "new")}
			c, err := p.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			j, err := p.ReadJournal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			next.version, next.journal = c.Version, j.Version
			n = len(j.Chunks)
			for range 12 {
				if r.IntN(2) == 0 {
					some(next)
					continue
				}
				// The first call may find its connection broken; it is certain that it was not performed.
				before := slices.Clone(old.may)
				was := n
				some(old)
				n, old.may = was, before
			}
			if next.lost {
				t.Error("the new holder lost its lock")
			}
			if err := next.hold.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			old.unlock()
			next.is(p)
		})
	}
}

// The server stops as after a power loss and starts again: confirmed writes are there, and the former lock holder
// cannot write.
func TestServersThatStop(t *testing.T) {
	server := pgtest.Private(t)
	for n, signal := range map[int]string{1: "QUIT", 5: "QUIT", 7: "INT", 10: "QUIT"} {
		name := fmt.Sprintf("%s-%d", strings.ToLower(signal), n)
		t.Run(name, func(t *testing.T) {
			d := opened(t, server.Address())
			m := newModel(t, d, name)
			m.life(func(i int) {
				if i == n {
					server.End(signal)
					if err := server.Start(); err != nil {
						t.Fatal(err)
					}
				}
			})
			if !m.lost {
				t.Error("nobody noticed")
			}
			m.is(m.place) // the driver reconnects to read
		})
	}
}

// While a server does not respond, it is unknown whether the lock is held. When it responds again, the lock is still
// held.
func TestFrozenServers(t *testing.T) {
	dsn := pgtest.Database(t)
	between := newProxy(t, dsn)
	d := opened(t, between.conn)
	d.o.times.check = 50 * time.Millisecond
	m := newModel(t, d, "frozen")
	m.hold = lock(t, m.place, "mine")
	m.start("a")
	between.gate.Lock()
	for range 3 {
		if err := m.hold.Check(t.Context()); err == nil || errors.Is(err, remote.ErrLost) {
			t.Errorf("check: %v", err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.hold.Append(short, m.journal, 1, []byte("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append: %v", err)
	}
	between.gate.Unlock()
	d.o.times.check = time.Minute
	if err := m.hold.Check(t.Context()); err != nil {
		t.Error(err)
	}
	m.add(1, "c")
	m.write(`{"serial":1}`)

	// A server that is silent for too long is abandoned, and so is one that does not respond to a write.
	between.gate.Lock()
	d.o.times.check, d.o.times.patience, d.o.times.grace = 50*time.Millisecond, 0, 50*time.Millisecond
	if err := m.hold.Check(t.Context()); !errors.Is(err, remote.ErrLost) {
		t.Errorf("check: %v", err)
	}
	between.gate.Unlock()
	m.lost = true
	m.add(2, "d")
	p, err := opened(t, dsn).Place("frozen")
	if err != nil {
		t.Fatal(err)
	}
	m.is(p)
}

// If the caller abandons a write, its result is unknown, and nothing can be written afterwards.
func TestWritesWithoutAnswer(t *testing.T) {
	dsn := pgtest.Database(t)
	between := newProxy(t, dsn)
	d := opened(t, between.conn)
	d.o.times.grace = 50 * time.Millisecond
	m := newModel(t, d, "silent")
	m.hold = lock(t, m.place, "mine")
	m.start("a")
	between.gate.Lock()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	m.call("append", func(c *content) { c.journal += "b" }, func() error {
		return m.hold.Append(short, m.journal, 1, []byte("b"))
	})
	between.gate.Unlock()
	m.add(2, "c")
	m.write("{}")
	m.unlock()
	p, err := opened(t, dsn).Place("silent")
	if err != nil {
		t.Fatal(err)
	}
	m.is(p)
}
