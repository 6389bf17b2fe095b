//go:build unix

package team

import (
	"bytes"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
)

// way forwards connections to a server until it is frozen: then connections are accepted, and their data is held back.
type way struct {
	network, target string
	listener        net.Listener

	mu     sync.Mutex
	cond   sync.Cond
	frozen bool
	gone   bool // connections are refused
	stuck  int  // the number of held-back writes
	conns  map[net.Conn]bool
}

func newWay(t *testing.T, network, target string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{network: network, target: target, listener: l, conns: map[net.Conn]bool{}}
	w.cond.L = &w.mu
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, target)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			if w.gone {
				w.mu.Unlock()
				near.Close()
				far.Close()
				continue
			}
			w.conns[near], w.conns[far] = true, true
			w.mu.Unlock()
			wg.Go(func() { w.carry(far, near) })
			wg.Go(func() { w.carry(near, far) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.cut()
		wg.Wait()
	})
	return w
}

func (w *way) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		if w.frozen && n > 0 {
			w.stuck++
		}
		for w.frozen && w.conns[from] {
			w.cond.Wait()
		}
		there := w.conns[from]
		w.mu.Unlock()
		if err != nil || !there {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (w *way) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen, w.stuck = true, 0
}

// isFelt reports whether a client is waiting for a response.
func (w *way) isFelt() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stuck > 0
}

// cut ends all connections, and lets new ones through.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
	w.conns, w.frozen, w.gone = map[net.Conn]bool{}, false, false
	w.cond.Broadcast()
}

// thaw forwards everything that was held back.
func (w *way) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = false
	w.cond.Broadcast()
}

// kill ends all connections, and accepts no new ones.
func (w *way) kill() {
	w.cut()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
}

func (w *way) address() string { return "http://" + w.listener.Addr().String() }

// hanging is a place whose server can be made to hang.
type hanging struct {
	place
	freeze func(m *member)
	felt   func() bool
	thaw   func() // data sent meanwhile is lost
	// resume delivers data sent meanwhile; nil if it is lost. kill stops the server until thaw; nil if it restarts by
	// itself.
	resume, kill func()
}

func (w *way) hangs(p place) hanging {
	return hanging{place: p, freeze: func(*member) { w.freeze() }, felt: w.isFelt, thaw: w.cut,
		resume: w.thaw, kill: w.kill}
}

// subject is a kind of backend whose server can be made to hang.
type subject struct {
	of func(t *testing.T) hanging
	// long: slow tests only run in full checks, since the store differs from others only in its requests.
	long bool
	// full: all tests only run in full checks, since the store differs from others only in names and signatures.
	full bool
}

var loopback = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// behind returns a kind of backend whose servers are all reached through one proxy.
func behind(kind string) subject {
	return subject{long: true, full: true, of: func(t *testing.T) hanging {
		p := ofKind(t, kind)
		target := loopback.FindString(p.block + strings.Join(p.env, " "))
		w := newWay(t, "tcp", target)
		here := strings.NewReplacer(target, strings.TrimPrefix(w.address(), "http://"))
		p.block = here.Replace(p.block)
		env := slices.Clone(p.env)
		for i, variable := range env {
			env[i] = here.Replace(variable)
		}
		p.env = env
		return w.hangs(p)
	}}
}

// subjects returns all kinds of backends.
func subjects() map[string]subject {
	return map[string]subject{
		"pg": {of: func(t *testing.T) hanging {
			dsn := pgtest.Database(t)
			socket, rest, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
			found, err := filepath.Glob(filepath.Join(socket, ".s.PGSQL.*[0-9]"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%v: %v", found, err)
			}
			w := newWay(t, "unix", found[0])
			_, port, _ := net.SplitHostPort(w.listener.Addr().String())
			return w.hangs(place{block: `backend "pg" {}`, lockEnds: true,
				env: []string{"PG_CONN_STR=host=127.0.0.1 sslmode=disable port=" + port + " " + rest}})
		}},
		"s3": {of: func(t *testing.T) hanging {
			w := newWay(t, "tcp", strings.TrimPrefix(amazon(t), "http://"))
			return w.hangs(place{block: bucketBlock(w.address(), "use_lockfile = true"), env: bucketEnv})
		}},
		"gcs": {long: true, of: func(t *testing.T) hanging {
			w := newWay(t, "tcp", strings.TrimPrefix(google(t), "http://"))
			return w.hangs(place{block: googleBlock(w.address(), ""), env: googleEnv})
		}},
		"http": {of: func(t *testing.T) hanging {
			s := httptest.NewServer(&httpstoretest.Server{})
			t.Cleanup(s.Close)
			w := newWay(t, "tcp", strings.TrimPrefix(s.URL, "http://"))
			return w.hangs(place{block: httpBlock(w.address()+"/s", w.address()+"/s", ""), noWorkspaces: true})
		}},
		"consul": {long: true, of: func(t *testing.T) hanging {
			w := newWay(t, "tcp", consulServer(t))
			return w.hangs(place{block: consulBlock(strings.TrimPrefix(w.address(), "http://"), "")})
		}},
		"kubernetes": {long: true, of: func(t *testing.T) hanging {
			w := newWay(t, "tcp", strings.TrimPrefix(cluster(t), "http://"))
			return w.hangs(place{block: clusterBlock(w.address(), "")})
		}},
		"remote": {long: true, of: func(t *testing.T) hanging {
			s := startTerraforms(t, annsToken)
			w := newWay(t, "tcp", s.host)
			s = s.at(t, strings.TrimPrefix(w.address(), "http://"), annsToken)
			p := s.place(`backend "remote"`, `name = "one"`)
			p.noWorkspaces = true
			return w.hangs(p)
		}},
		"program": {of: stopped},
		"azurerm": behind("azurerm"),
		"cos":     behind("cos"),
		"oci":     behind("oci"),
		"oss":     behind("oss"),
	}
}

// begin skips tests that only run in full checks.
func (s subject) begin(t *testing.T) {
	t.Helper()
	if s.full {
		inFull(t)
	}
}

// stopped returns a place whose program stops during an operation.
func stopped(t *testing.T) hanging {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3: the store is written in it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(ours, "store", "new", "attic", "-out",
		filepath.Join(dir, "attic")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	note, halt := filepath.Join(dir, "pid"), filepath.Join(dir, "halt")
	// The shell forwards input to the program. To halt, it writes down its process id and stops itself.
	script := filepath.Join(dir, "store.sh")
	text := "#!/bin/sh\nwhile IFS= read -r line; do\n  if [ -e '" + halt + "' ]; then me=$(exec sh -c 'echo $PPID'); " +
		"echo $me > '" + note + "'; kill -STOP $me; fi\n  printf '%s\\n' \"$line\"\ndone | '" + python + "' '" +
		filepath.Join(dir, "attic", "store.py") + "'\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return hanging{
		place: place{block: "backend \"program\" {\n  command = [\"/bin/sh\", " + strconv.Quote(script) +
			"]\n  config = { file = " + strconv.Quote(filepath.Join(dir, "states.db")) + " }\n}",
			initArgs: []string{"-backend-config=command=[\"/bin/sh\", " + strconv.Quote(script) + "]"}},
		freeze: func(m *member) { m.write(halt) },
		felt:   func() bool { _, err := os.Stat(note); return err == nil },
		thaw:   func() { os.Remove(halt); os.Remove(note) },
	}
}

// command is a command that runs in the background of a test.
type command struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan error
}

func (m *member) start(args ...string) *command {
	m.t.Helper()
	c := &command{Cmd: exec.Command(m.bin, args...), ended: make(chan error, 1)}
	c.Dir, c.Env, c.Stdout, c.Stderr = m.dir, m.env, &c.out, &c.out
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Process.Kill() })
	go func() { c.ended <- c.Wait() }()
	return c
}

// endsSoon waits for less than the timeout of a call to a service.
func (c *command) endsSoon(t *testing.T) string {
	t.Helper()
	select {
	case err := <-c.ended:
		if err == nil {
			t.Errorf("it ended well:\n%s", c.out.String())
		}
	case <-time.After(90 * time.Second):
		_ = c.Process.Kill()
		<-c.ended
		t.Errorf("it does not end:\n%s", c.out.String())
	}
	return c.out.String()
}

func (c *command) interrupt() { _ = c.Process.Signal(syscall.SIGINT) }

// A command that waits for a server that hangs ends when it is interrupted, and nothing is lost.
func TestInterruptsEndWaitingForServersThatHang(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name+" at the beginning", func(t *testing.T) {
			s.begin(t)
			t.Parallel()
			h := s.of(t)
			m := h.member(t, "tombolo", ours)
			h.freeze(m)
			c := m.start("plan", "-no-color")
			waitFor(t, h.felt)
			c.interrupt()
			c.endsSoon(t)
			h.thaw()
			h.removeLock(m)
			m.run("apply", "-auto-approve", "-no-color")
		})
		t.Run(name+" in the middle", func(t *testing.T) {
			if testing.Short() && name != "http" {
				t.Skip("runs without -short: it takes twenty seconds")
			}
			if name != "http" && name != "pg" {
				inFull(t)
			}
			s.begin(t)
			t.Parallel()
			h := s.of(t)
			m := h.member(t, "tombolo", ours)
			c := m.start("apply", "-auto-approve", "-no-color", "-var=wait=1")
			waitFor(t, func() bool { return m.has("started") })
			h.freeze(m)
			m.touch("go")
			waitFor(t, h.felt)
			c.interrupt()
			time.Sleep(time.Second) // two simultaneous interrupts may be merged
			c.interrupt()
			out := c.endsSoon(t)
			h.thaw()
			h.removeLock(m)
			m.run("apply", "-auto-approve", "-no-color", "-var=wait=1")
			m.idle("-var=wait=1")
			if list := m.run("state", "list"); strings.Count(list, "\n") != 3 {
				t.Errorf("after\n%s\nthere is\n%s", out, list)
			}
		})
	}
}

// An apply waits for a server that hangs for a while.
func TestServersThatHangForAWhileAreWaitedFor(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			if s.long {
				inFull(t)
			}
			t.Parallel()
			h := s.of(t)
			if h.resume == nil {
				t.Skip("runs for what can go on")
			}
			m := h.member(t, "tombolo", ours)
			c := m.start("apply", "-auto-approve", "-no-color", "-var=wait=1")
			waitFor(t, func() bool { return m.has("started") })
			h.freeze(m)
			m.touch("go")
			waitFor(t, h.felt)
			time.Sleep(time.Second)
			h.resume()
			if err := <-c.ended; err != nil {
				t.Errorf("%v\n%s", err, c.out.String())
			}
			m.idle("-var=wait=1")
		})
	}
}

// A server that is stopped during an apply ends it with an error, and after the server is back, the next run on the
// machine has all of its results.
func TestServersThatGoAwayEndARun(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			if s.long {
				inFull(t)
			}
			if name != "pg" && os.Getenv("TOMBOLO_TEAM_SLOW") == "" {
				t.Skip("runs with TOMBOLO_TEAM_SLOW=1: all is tried again for a while")
			}
			t.Parallel()
			h := s.of(t)
			if h.kill == nil {
				t.Skip("runs for servers that stay away")
			}
			m := h.member(t, "tombolo", ours)
			c := m.start("apply", "-auto-approve", "-no-color", "-var=wait=1")
			waitFor(t, func() bool { return m.has("started") })
			h.kill()
			m.touch("go")
			if err := <-c.ended; err == nil || !strings.Contains(c.out.String(), "Failed to save the state") {
				t.Errorf("%v\n%s", err, c.out.String())
			}
			h.thaw()
			h.removeLock(m)
			m.idle("-var=wait=1")
			m.run("apply", "-auto-approve", "-no-color", "-var=wait=1")
			if list := m.run("state", "list"); strings.Count(list, "\n") != 3 {
				t.Errorf("there is\n%s", list)
			}
		})
	}
}

// removeLock removes a lock that was left behind.
func (p place) removeLock(m *member) {
	m.t.Helper()
	out, err := m.try("plan", "-no-color")
	if id := lockID.FindStringSubmatch(out); err != nil && id != nil {
		m.run("force-unlock", "-force", id[1])
	}
}
