//go:build unix

// Package pgtest starts a PostgreSQL server for the tests of a package.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL server for the tests of one package. It listens on a socket in its own folder.
type server struct {
	bin, dir string
	attr     *syscall.SysProcAttr
	lifeline io.WriteCloser // the server runs while it is open
	cmd      *exec.Cmd
}

var (
	serverOnce sync.Once
	theServer  *server
	noServer   string // why there is no server
	databases  int
	databaseMu sync.Mutex
)

// Database returns the address of a new, empty database.
func Database(t *testing.T) string {
	t.Helper()
	serverOnce.Do(func() { theServer, noServer = startServer() })
	if noServer != "" {
		t.Skip(noServer)
	}
	databaseMu.Lock()
	databases++
	name := fmt.Sprintf("test%d", databases)
	databaseMu.Unlock()
	if err := Execute(theServer.dsn("postgres"), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return theServer.dsn(name)
}

// Execute runs a statement.
func Execute(dsn, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

// Single returns the only value of the only row of a query, as text.
func Single(dsn, sql string) (text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	return text, conn.QueryRow(ctx, sql).Scan(&text)
}

func (s *server) dsn(database string) string {
	return fmt.Sprintf("host=%s user=tester dbname=%s", s.dir, database)
}

// Programs returns the folder with the server's programs, including psql, or "".
func Programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Sort(found)
	for _, dir := range slices.Backward(append([]string{"/usr/local/pgsql/bin", "/opt/homebrew/bin"}, found...)) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// startServer creates a database cluster and starts a server. If the current user is root, which the server refuses, it
// runs as another user.
func startServer() (*server, string) {
	s, problem := newServer()
	if problem == "" {
		problem = s.start()
	}
	return s, problem
}

func newServer() (*server, string) {
	bin := Programs()
	if bin == "" {
		return nil, "no PostgreSQL server is installed"
	}
	dir, err := os.MkdirTemp("", "pg") // short, because names of sockets are limited
	if err != nil {
		return nil, err.Error()
	}
	attr := &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is for the test only
	if os.Geteuid() == 0 {
		uid, gid, err := unprivilegedUser()
		if err == nil {
			err = os.Chown(dir, uid, gid)
		}
		if err != nil {
			return nil, "a server does not run as root, and there is no other user: " + err.Error()
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	s := &server{bin: bin, dir: dir, attr: attr}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "tester", "-A", "trust", "-N", "-E",
		"UTF8").CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("initdb: %s\n%s", err, out)
	}
	return s, ""
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

func (s *server) command(name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

func (s *server) start() string {
	// The shell stops the server and removes all files when its standard input is closed, which also happens if this
	// process is killed. Before that, the name of a signal on its input stops only the server.
	const script = `"$1" -D "$2" -k "$3" -c listen_addresses= -c fsync=off -c max_connections=200 >"$3/log" 2>&1 &
pid=$!; how=; read -r how; kill -${how:-INT} $pid; wait $pid; [ -n "$how" ] || rm -rf "$3"`
	s.cmd = s.command("/bin/sh", "-c", script, "sh", filepath.Join(s.bin, "postgres"), s.data(), s.dir)
	var err error
	if s.lifeline, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return err.Error()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = Execute(s.dsn("postgres"), "SELECT 1"); err == nil {
			return ""
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.stop()
			return fmt.Sprintf("the server does not start: %s\n%s", err, text)
		}
	}
}

// unprivilegedUser returns a user without privileges.
func unprivilegedUser() (uid, gid int, err error) {
	var u *user.User
	for _, name := range []string{"postgres", "nobody"} {
		if u, err = user.Lookup(name); err == nil {
			uid, err = strconv.Atoi(u.Uid)
			if err == nil {
				gid, err = strconv.Atoi(u.Gid)
			}
			return uid, gid, err
		}
	}
	return 0, 0, err
}

// Server is a server for one test, which may stop it.
type Server struct{ s *server }

// Private starts a server for one test. It has a database called "postgres".
func Private(t *testing.T) *Server {
	t.Helper()
	if Programs() == "" {
		t.Skip("needs a PostgreSQL server")
	}
	s, problem := startServer()
	if problem != "" {
		t.Skip(problem)
	}
	t.Cleanup(s.stop)
	return &Server{s}
}

// Address returns the address of its database.
func (s *Server) Address() string { return s.s.dsn("postgres") }

// End stops the server with a signal: "INT" closes connections and shuts down cleanly, "QUIT" stops as after a power
// loss.
func (s *Server) End(signal string) {
	fmt.Fprintln(s.s.lifeline, signal)
	s.s.lifeline.Close()
	_ = s.s.cmd.Wait() // it stops the server and has no other result
}

// Start starts the server again with its data.
func (s *Server) Start() error {
	if problem := s.s.start(); problem != "" {
		return errors.New(problem)
	}
	return nil
}

func (s *server) stop() {
	s.lifeline.Close()
	_ = s.cmd.Wait()        // it stops the server and has no other result
	_ = os.RemoveAll(s.dir) // the shell cannot remove it if its user has no permission for the parent
}

// Stop stops the server, if one was started. TestMain calls it at the end; otherwise the server stops with the process.
func Stop() {
	if theServer != nil {
		theServer.stop()
	}
}
