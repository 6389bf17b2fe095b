package program_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// The program of these tests is the test binary, started with a mode and an argument. In the mode "pipe" it forwards
// its input to the test and the test's output to its caller; the test responds with a driver in memory, where faults
// are easy to inject.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && modes[os.Args[1]] != nil {
		modes[os.Args[1]](os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// life limits how long a program runs that a test does not end.
const life = 3 * time.Minute

var modes = map[string]func(arg string){
	"pipe": func(address string) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(3)
		}
		time.AfterFunc(life, func() { os.Exit(4) })
		go func() {
			_, _ = io.Copy(conn, os.Stdin)
			conn.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(os.Stdout, conn)
	},
	// gossip repeats everything that it reads in one way of writing.
	"gossip": func(way string) {
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var c call
			_ = json.Unmarshal([]byte(line), &c)
			out := map[string]any{"id": c.ID, "error": map[string]any{"code": 1, "message": line}}
			switch {
			case c.Method == "initialize":
				out = map[string]any{"id": c.ID, "result": map[string]any{"protocol": 1}}
			case c.Method == "open" && way != "open":
				fmt.Fprint(os.Stderr, line)
				out = map[string]any{"id": c.ID, "result": map[string]any{"features": allFeatures}}
			case way == "stderr":
				fmt.Fprint(os.Stderr, line)
				os.Exit(1)
			case way == "stray":
				fmt.Print("I was told " + line)
			case way == "echo":
				fmt.Print(line)
			case way == "result":
				out = map[string]any{"id": c.ID, "result": line}
			}
			answer, _ := json.Marshal(out)
			fmt.Printf("%s\n", answer)
		}
	},
}

var allFeatures = []string{"journal", "workspaces", "conditions", "renew", "history", "of the future"}

type call struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// server performs calls with a driver.
type server struct {
	driver   remote.Driver
	features []string
	address  string
	// fault returns the fault of a call, or "". It is not called concurrently.
	fault func(verb string) string

	mu    sync.Mutex // guards the fields below
	holds map[string]remote.Hold
}

// serve starts a server, which stops when the test ends.
func serve(t *testing.T, d remote.Driver, features ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{driver: d, features: features, address: l.Addr().String(), holds: map[string]remote.Hold{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				s.converse(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return s
}

// open returns a driver whose program forwards to this server.
func (s *server) open(t *testing.T) *program.Driver {
	t.Helper()
	return s.openAs(t, nil)
}

// calm returns a driver for the same states whose calls have no faults.
func (s *server) calm(t *testing.T) *program.Driver {
	t.Helper()
	return s.openAs(t, map[string]string{"calm": ""})
}

func (s *server) openAs(t *testing.T, secrets map[string]string) *program.Driver {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := program.New(program.Options{Command: []string{self, "pipe", s.address}, Pause: time.Millisecond,
		Grace: time.Millisecond, Config: map[string]string{"where": "here"}, Secrets: secrets})
	t.Cleanup(func() { d.Close() })
	return d
}

// converse performs the calls of one process.
func (s *server) converse(conn net.Conn) {
	lines, calm := bufio.NewReaderSize(conn, 1<<20), false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var c call
		if json.Unmarshal(line, &c) != nil || c.ID == nil {
			continue // a notification
		}
		s.mu.Lock()
		fault := ""
		calm = calm || c.Method == "open" && bytes.Contains(c.Params, []byte(`"calm"`))
		if s.fault != nil && c.Method != "initialize" && !calm {
			fault = s.fault(c.Method)
		}
		s.mu.Unlock()
		if !s.faulty(conn, lines, &c, fault) {
			return
		}
	}
}

// faulty responds to a call, subject to a fault. It reports whether the process continues.
func (s *server) faulty(conn net.Conn, lines *bufio.Reader, c *call, fault string) bool {
	refuse := func(code int, message string) string {
		return fmt.Sprintf(`{"id":%d,"error":{"code":%d,"message":%q}}`+"\n", *c.ID, code, message)
	}
	text := ""
	switch fault {
	case "dies before":
		return false
	case "hangs":
		_, _ = io.Copy(io.Discard, lines)
		return false
	case "fails":
		text = refuse(5, "the disk is full")
	case "asks to come later":
		text = refuse(75, "try again")
	}
	if text != "" {
		_, err := io.WriteString(conn, text)
		return err == nil
	}
	answer := s.answer(c) + "\n"
	switch fault {
	case "dies behind":
		return false
	case "fails behind":
		answer = refuse(5, "I do not know what became of it")
	case "prints garbage":
		answer = "{\x00\xff]\n"
	case "is cut":
		answer = answer[:len(answer)/2] + "\n"
	case "answers twice":
		answer += answer
	case "answers another call":
		answer = strings.Replace(answer, fmt.Sprintf(`"id":%d`, *c.ID), fmt.Sprintf(`"id":%d`, *c.ID+100), 1)
	case "answers with another type":
		answer = fmt.Sprintf(`{"id":%d,"result":["x",1]}`+"\n", *c.ID)
	case "says more":
		answer = "Opening the vault...\n" + answer
	}
	_, err := io.WriteString(conn, answer)
	return err == nil
}

var faults = []string{"dies before", "dies behind", "hangs", "fails", "fails behind", "asks to come later",
	"prints garbage", "is cut", "answers twice", "answers another call", "answers with another type", "says more"}

// answer performs a call with the driver, and returns the response.
func (s *server) answer(c *call) string {
	result, err := s.do(c)
	out := map[string]any{"jsonrpc": "2.0", "id": c.ID}
	var locked *state.LockedError
	data := map[string]any{}
	switch {
	case err == nil:
		out["result"] = result
	case errors.As(err, &locked):
		data["kind"], data["holder"] = "locked", locked.Info
	case errors.Is(err, remote.ErrChanged):
		data["kind"] = "changed"
	case errors.Is(err, remote.ErrLost):
		data["kind"] = "lost"
	}
	if err != nil {
		out["error"] = map[string]any{"code": 1, "message": err.Error(), "data": data}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *server) do(c *call) (any, error) {
	var p struct {
		Workspace, Lock, Was, Version string
		Number                        int
		Data, Chunk                   []byte
		Info                          state.LockInfo
		Config                        map[string]string
	}
	if err := json.Unmarshal(c.Params, &p); err != nil {
		return nil, err
	}
	ctx := context.Background()
	switch c.Method {
	case "initialize":
		return map[string]int{"protocol": 1}, nil
	case "open":
		if p.Config["where"] != "here" {
			return nil, fmt.Errorf("config %v", p.Config)
		}
		return map[string]any{"features": s.features}, nil
	case "workspaces":
		names, err := s.driver.Workspaces(ctx)
		return map[string]any{"workspaces": append([]string{}, names...)}, err
	}
	place, err := s.driver.Place(p.Workspace)
	if err != nil {
		return nil, err
	}
	key := p.Workspace + "\x00" + p.Lock
	s.mu.Lock()
	hold := s.holds[key]
	s.mu.Unlock()
	if hold == nil {
		if hold, err = place.Unlocked(ctx); err != nil {
			return nil, err
		}
	}
	done := map[string]any{}
	switch c.Method {
	case "read":
		content, err := place.Read(ctx)
		return map[string]any{"data": content.Data, "version": content.Version}, err
	case "read_journal":
		j, err := place.ReadJournal(ctx)
		return map[string]any{"chunks": j.Chunks, "version": j.Version}, err
	case "lock":
		if hold, err = place.Lock(ctx, p.Info); err == nil {
			s.mu.Lock()
			s.holds[key] = hold
			s.mu.Unlock()
		}
		return done, err
	case "holder":
		info, err := place.Holder(ctx)
		return map[string]any{"holder": info}, err
	case "renew":
		return done, hold.Check(ctx)
	case "unlock":
		return done, hold.Unlock(ctx)
	case "write":
		version, err := hold.Write(ctx, remote.Write{Data: p.Data, Was: p.Was})
		return map[string]any{"version": version}, err
	case "start_journal":
		version, err := hold.StartJournal(ctx, p.Was, p.Chunk)
		return map[string]any{"version": version}, err
	case "append_journal":
		return done, hold.Append(ctx, p.Version, p.Number, p.Chunk)
	case "delete":
		return done, hold.Delete(ctx)
	}
	return nil, fmt.Errorf("no verb %s", c.Method)
}
