// Package sshtest starts OpenSSH servers for tests, on loopback, for the user who runs them. A server stops when its
// test ends.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Server is a running sshd.
type Server struct {
	Port       int
	User       string // user who may log in
	PrivateKey string // PEM: the user's key
	HostKey    string // the server's public key, as in an authorized_keys file
	Dir        string // writable for users of the server
	config     string
	sshd       string
}

// A Key is a key pair.
type Key struct {
	Private string // PEM
	Public  string // a line of an authorized_keys file
	Signer  ssh.Signer
}

// NewKey returns a key pair.
func NewKey(t testing.TB) *Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(signer.PublicKey())), signer}
}

// Start starts a server with additional lines of configuration, in which %D is its directory. It skips the test if
// there is no OpenSSH server.
func Start(t testing.TB, lines ...string) *Server {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if sshd = "/usr/sbin/sshd"; !isFile(sshd) {
			t.Skip("needs an OpenSSH server: install the package openssh-server")
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{User: me.Username, Dir: t.TempDir(), sshd: sshd}
	if me.Uid == "0" { // directory of the unprivileged process, which root's sshd requires
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip("needs /run/sshd for the OpenSSH server: ", err)
		}
	}
	own, host := NewKey(t), NewKey(t)
	s.PrivateKey, s.HostKey = own.Private, host.Public
	s.write(t, "host", host.Private, 0o600)
	s.write(t, "authorized", own.Public, 0o600)
	text := fmt.Sprintf(
		"HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/authorized\nStrictModes no\nUsePAM no\nPidFile none\n"+
			"PasswordAuthentication no\nPermitRootLogin yes\n%[2]s\n", s.Dir,
		strings.ReplaceAll(strings.Join(lines, "\n"), "%D", s.Dir))
	if !strings.Contains(text, "Subsystem") {
		text += "Subsystem sftp internal-sftp\n"
	}
	s.config = s.write(t, "config", text, 0o600)
	s.listen(t)
	return s
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (s *Server) write(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// listen accepts connections and passes each to its own sshd, as inetd does: no port has to be chosen, and no sshd runs
// without a connection.
func (s *Server) listen(t testing.TB) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			all.Go(func() {
				s.serve(conn)
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
}

// serve runs an sshd for a connection.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // the end of a connection
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // a copy
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer log.Close() //nolint:errcheck // for people
	cmd := exec.Command(s.sshd, "-i", "-e", "-f", s.config)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, log
	cmd.WaitDelay = time.Minute
	_ = cmd.Run() // errors are in the log
}

// Log returns the server's output, for failed tests.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.Dir, "log")) // a missing log is empty
	return string(text)
}
