//go:build unix

// Package pgtest starts a PostgreSQL server for the tests of a package.
package pgtest

import (
	"context"
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

// server is a PostgreSQL server for the tests of one package. It listens on a socket in a folder of its own.
type server struct {
	dir, log string
	lifeline io.WriteCloser // while it is open, the server runs
	cmd      *exec.Cmd
}

var (
	serverOnce sync.Once
	theServer  *server
	noServer   string // why there is none
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

// Programs is the folder with the programs of a server, psql among them; empty where there are none.
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

// startServer makes a database cluster and starts a server, as another user when this one is root, whom the server
// refuses.
func startServer() (*server, string) {
	bin := Programs()
	if bin == "" {
		return nil, "no PostgreSQL server is installed"
	}
	dir, err := os.MkdirTemp("", "pg") // a short name: sockets have short ones
	if err != nil {
		return nil, err.Error()
	}
	attr := &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal is for the test
	if os.Geteuid() == 0 {
		uid, gid, err := somebody()
		if err == nil {
			err = os.Chown(dir, uid, gid)
		}
		if err != nil {
			return nil, "a server does not run as root, and there is no other user: " + err.Error()
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command(filepath.Join(bin, "initdb"), "-D", data, "-U", "tester", "-A", "trust", "-N", "-E",
		"UTF8").CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("initdb: %s\n%s", err, out)
	}
	// The shell ends the server, and removes everything, when the other end of its standard input is gone: also when
	// this process was killed.
	const script = `"$1" -D "$2" -k "$3" -c listen_addresses= -c fsync=off -c max_connections=200 >"$3/log" 2>&1 &
pid=$!; cat >/dev/null; kill -INT $pid; wait $pid; rm -rf "$3"`
	s := &server{dir: dir, log: filepath.Join(dir, "log")}
	s.cmd = command("/bin/sh", "-c", script, "sh", filepath.Join(bin, "postgres"), data, dir)
	if s.lifeline, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err.Error()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = Execute(s.dsn("postgres"), "SELECT 1"); err == nil {
			return s, ""
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(s.log)
			s.stop()
			return nil, fmt.Sprintf("the server does not start: %s\n%s", err, text)
		}
	}
}

// somebody is a user without rights.
func somebody() (uid, gid int, err error) {
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

func (s *server) stop() {
	s.lifeline.Close()
	_ = s.cmd.Wait()        // it ends the server, and says nothing else
	_ = os.RemoveAll(s.dir) // which the shell cannot if its user may not write beside it
}

// Stop ends the server, if one was started: for the end of TestMain. Without it, it ends with the process.
func Stop() {
	if theServer != nil {
		theServer.stop()
	}
}
