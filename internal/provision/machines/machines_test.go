//go:build unix

package machines_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/tombolo-iac/tombolo/internal/provision/machines"
	"github.com/tombolo-iac/tombolo/internal/provision/sshtest"
)

// block returns a connection block with the arguments that are set.
func block(arguments map[string]cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for name, a := range machines.Schema.Attributes {
		all[name] = cty.NullVal(a.Type)
	}
	for name, v := range arguments {
		all[name] = v
	}
	return cty.ObjectVal(all)
}

// to returns the arguments of a connection to a server.
func to(s *sshtest.Server, more map[string]cty.Value) map[string]cty.Value {
	all := map[string]cty.Value{"host": cty.StringVal("127.0.0.1"), "port": cty.NumberIntVal(int64(s.Port)),
		"user": cty.StringVal(s.User), "private_key": cty.StringVal(s.PrivateKey), "agent": cty.False,
		"script_path": cty.StringVal(s.Dir + "/script %RAND%.sh")}
	for name, v := range more {
		all[name] = v
	}
	return all
}

// lineLog collects lines.
type lineLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *lineLog) tell(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.Split(text, "\n")...)
}

func connect(ctx context.Context, t *testing.T, arguments map[string]cty.Value) (*machines.Machine, *lineLog, error) {
	t.Helper()
	c, diags := machines.Read(block(arguments))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	log := &lineLog{}
	m, err := machines.Connect(ctx, c, log.tell)
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, log, err
}

// servers are the two ways of writing files: SFTP, and the shell if there is no SFTP.
var servers = map[string][]string{"sftp": nil, "shell": {"Subsystem none /bin/false"}}

func TestScriptsRunAndAreRemoved(t *testing.T) {
	t.Parallel()
	for name, lines := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, lines...)
			m, log, err := connect(t.Context(), t, to(s, map[string]cty.Value{"host_key": cty.StringVal(s.HostKey)}))
			if err != nil {
				t.Fatal(err, s.Log())
			}
			want := []string{"Connecting to remote host via SSH...", "  Host: 127.0.0.1", "  User: " + s.User,
				"  Password: false", "  Private key: true", "  Certificate: false", "  SSH Agent: false",
				"  Checking Host Key: true", "  Target Platform: unix", "Connected!"}
			if diff := cmp.Diff(want, log.lines); diff != "" {
				t.Error(diff)
			}
			out := &lineLog{}
			script := "#!/bin/sh\necho one; echo two; printf three; ls -l \"$0\" | cut -c 1-10 >&2\nexit 3\n"
			err = m.Script(t.Context(), strings.NewReader(script), out.tell)
			var exit *ssh.ExitError
			if !errors.As(err, &exit) || exit.ExitStatus() != 3 {
				t.Errorf("got %v", err)
			}
			slices.Sort(out.lines)
			if text := strings.Join(out.lines, "|"); text != "-rwx------|one|three|two" && text !=
				"-rwx------|one|two|three" && !strings.Contains(text, "three-rwx------") {
				t.Errorf("printed %q", out.lines)
			}
			if left, _ := filepath.Glob(s.Dir + "/script*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// The content of a directory is copied completely, whatever the names are, and nothing is written through a link.
func TestFilesAreCopied(t *testing.T) {
	t.Parallel()
	for name, lines := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, lines...)
			m, _, err := connect(t.Context(), t, to(s, nil))
			if err != nil {
				t.Fatal(err, s.Log())
			}
			source, there := t.TempDir(), filepath.Join(s.Dir, "there")
			write(t, source, map[string]string{"a b": "1", "it's": "2", "-n": "3", "sub/c": "4", "x.sh": "5"})
			if err := errors.Join(os.Mkdir(filepath.Join(source, "empty"), 0o777), os.Chmod(source+"/x.sh", 0o755),
				os.Symlink("sub", filepath.Join(source, "link")), os.Mkdir(there, 0o777)); err != nil {
				t.Fatal(err)
			}
			victim := filepath.Join(s.Dir, "victim")
			write(t, s.Dir, map[string]string{"victim": "untouched"})
			if err := os.Symlink(victim, filepath.Join(there, "it's")); err != nil {
				t.Fatal(err)
			}
			if err := m.Copy(t.Context(), source+"/", there); err != nil {
				t.Fatal(err)
			}
			if err := m.Copy(t.Context(), source, there+"/below"); err != nil {
				t.Fatal(err)
			}
			if err := m.Copy(t.Context(), filepath.Join(source, "sub"), there); err != nil { // it exists
				t.Fatal(err)
			}
			if err := m.Copy(t.Context(), filepath.Join(source, "x.sh"), there+"/empty"); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"a b": "1", "it's": "2", "-n": "3", "sub/c": "4", "x.sh": "5", "link/c": "4"}
			all := map[string]string{"empty/x.sh": "5"}
			for name, text := range want {
				all[name], all["below/"+name] = text, text
			}
			if diff := cmp.Diff(all, read(t, there)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := read(t, s.Dir)["victim"]; text != "untouched" {
				t.Errorf("a link was written through: %q", text)
			}
			if info, err := os.Stat(there + "/x.sh"); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("x.sh: %v, %v", info.Mode(), err)
			}
			if err := m.Write(t.Context(), s.Dir+"/none/x", "", 0o644, strings.NewReader("x")); err == nil ||
				!strings.Contains(err.Error(), "/none/x") {
				t.Errorf("into a directory that is not there: %v", err)
			}
			if err := os.Symlink("..", filepath.Join(source, "sub", "up")); err != nil {
				t.Fatal(err)
			}
			if err := m.Copy(t.Context(), source+"/", there); err == nil ||
				!strings.Contains(err.Error(), "never ends") {
				t.Errorf("a link that leads back: %v", err)
			}
		})
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path) // below dir
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// certificate returns a certificate for a key, issued by an authority.
func certificate(t *testing.T, authority *sshtest.Key, public string, typ uint32, names ...string) string {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(public))
	if err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: key, CertType: typ, ValidPrincipals: names, ValidBefore: ssh.CertTimeInfinity,
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-port-forwarding": ""}}}
	if err := cert.SignCert(rand.Reader, authority.Signer); err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(cert))
}

// Credentials: keys, certificates of users and hosts, and agents, for the machine and for the bastion.
func TestMachinesAcceptCredentials(t *testing.T) {
	t.Parallel()
	users, hosts, other := sshtest.NewKey(t), sshtest.NewKey(t), sshtest.NewKey(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"users": users.Public})
	s := sshtest.Start(t, "TrustedUserCAKeys "+dir+"/users", "HostCertificate %D/host-cert")
	if err := os.WriteFile(filepath.Join(s.Dir, "host-cert"), []byte(certificate(t, hosts, s.HostKey, ssh.HostCert,
		"127.0.0.1")), 0o600); err != nil {
		t.Fatal(err)
	}
	own := sshtest.NewKey(t)
	cert := certificate(t, users, own.Public, ssh.UserCert, s.User)
	str := cty.StringVal
	bastion := map[string]cty.Value{"bastion_host": str("127.0.0.1")}
	with := func(more map[string]cty.Value) map[string]cty.Value {
		all := map[string]cty.Value{}
		for _, m := range []map[string]cty.Value{bastion, more} {
			for name, v := range m {
				all[name] = v
			}
		}
		return all
	}
	for name, tt := range map[string]struct {
		more map[string]cty.Value
		want string // part of the expected error
	}{
		"the key": {},
		"a certified key": {more: map[string]cty.Value{"private_key": str(own.Private),
			"certificate": str(cert)}},
		"a key that is not certified": {more: map[string]cty.Value{"private_key": str(own.Private),
			"timeout": str("4s")}, want: "unable to authenticate"},
		"a key of somebody else": {more: map[string]cty.Value{"certificate": str(cert)},
			want: "certificate does not belong"},
		"no key": {more: map[string]cty.Value{"private_key": str("~/.ssh/id")},
			want: "not the name of its file"},
		"the host's own key":     {more: map[string]cty.Value{"host_key": str(s.HostKey)}},
		"who certifies the host": {more: map[string]cty.Value{"host_key": str(hosts.Public)}},
		"another host key": {more: map[string]cty.Value{"host_key": str(other.Public)}, want: "found " +
			ssh.FingerprintSHA256(hosts.Signer.PublicKey()) + ", expected " + ssh.FingerprintSHA256(
			other.Signer.PublicKey())},
		"no host key":    {more: map[string]cty.Value{"host_key": str("x")}, want: "ssh-keyscan"},
		"over a bastion": {more: with(nil)},
		"over a bastion with a key of its own": {
			more: with(map[string]cty.Value{"bastion_private_key": str(own.Private),
				"bastion_certificate": str(cert), "bastion_host_key": str(hosts.Public)})},
		"over a bastion with another host key": {
			more: with(map[string]cty.Value{"bastion_host_key": str(other.Public)}),
			want: "a different host key"},
		"over a bastion to nothing": {more: with(map[string]cty.Value{"port": cty.NumberIntVal(1),
			"bastion_port": cty.NumberIntVal(int64(s.Port)), "timeout": str("4s")}), want: "from the bastion host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, log, err := connect(t.Context(), t, to(s, tt.more))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err, s.Log())
			}
			if _, has := tt.more["bastion_host"]; has != slices.Contains(log.lines,
				"Using configured bastion host...") {
				t.Errorf("told %q", log.lines)
			}
			if err := m.Script(t.Context(), strings.NewReader("#!/bin/sh\ntrue\n"), log.tell); err != nil {
				t.Error(err)
			}
		})
	}
}

// Keys of an agent are accepted. The one that the block names is tried first, because servers limit attempts.
func TestAgentsOpenMachines(t *testing.T) {
	s := sshtest.Start(t, "MaxAuthTries 2")
	ring := agent.NewKeyring()
	for i := range 4 {
		other, err := ssh.ParseRawPrivateKey([]byte(sshtest.NewKey(t).Private))
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: other, Comment: "other" + strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	right, err := ssh.ParseRawPrivateKey([]byte(s.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Add(agent.AddedKey{PrivateKey: right, Comment: "/home/me/.ssh/right"}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // short, because names of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(ring, conn) //nolint:errcheck // ends with its connection
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", dir+"/s")
	own := to(s, map[string]cty.Value{"agent": cty.NullVal(cty.Bool), "private_key": cty.NullVal(cty.String),
		"agent_identity": cty.StringVal("right")})
	if _, log, err := connect(t.Context(), t, own); err != nil || !slices.Contains(log.lines, "  SSH Agent: true") {
		t.Errorf("got %v, told %q", err, log.lines)
	}
	own["agent_identity"], own["timeout"] = cty.NullVal(cty.String), cty.StringVal("4s")
	if _, _, err := connect(t.Context(), t, own); err == nil {
		t.Error("the right key came fifth, and the server allows two attempts")
	}
}

// A machine that is not ready is tried again; one that never is, until the timeout.
func TestConnectRetriesUntilTheTimeout(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := int64(l.Addr().(*net.TCPAddr).Port)
	var accepted sync.WaitGroup
	accepted.Go(func() {
		for { // close each connection immediately
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	})
	arguments := map[string]cty.Value{"host": cty.StringVal("127.0.0.1"), "port": cty.NumberIntVal(port),
		"password": cty.StringVal("x"), "timeout": cty.StringVal("5s"), "agent": cty.False}
	_, log, err := connect(t.Context(), t, arguments)
	if err == nil || !strings.HasPrefix(err.Error(), "timeout - last error: ") {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(strings.Join(log.lines, "\n"), "Connecting to"); n < 2 {
		t.Errorf("%d attempts", n)
	}
	arguments["timeout"] = cty.StringVal("10m")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, err := connect(ctx, t, arguments); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("an interrupt: %v", err)
	}
	_ = l.Close()
	accepted.Wait()
}

// A server that accepts the connection and sends nothing ends the attempt, not the run.
func TestSilentServersAreAbandoned(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	_, _, err = connect(t.Context(), t, map[string]cty.Value{"host": cty.StringVal("127.0.0.1"),
		"port": cty.NumberIntVal(int64(l.Addr().(*net.TCPAddr).Port)), "timeout": cty.StringVal("300ms"),
		"password": cty.StringVal("x"), "agent": cty.False})
	if err == nil || !strings.Contains(err.Error(), "timeout - last error") {
		t.Errorf("got %v", err)
	}
}

// An interrupt asks the command on the machine to end.
func TestAnInterruptReachesTheCommand(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t)
	m, _, err := connect(t.Context(), t, to(s, nil))
	if err != nil {
		t.Fatal(err, s.Log())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := filepath.Join(s.Dir, "ended")
	script := "#!/bin/sh\ntrap 'echo x >" + ended + "; exit 1' TERM\necho ready\nsleep 600 & wait\n"
	begun := time.Now()
	err = m.Script(ctx, strings.NewReader(script), func(line string) {
		if line == "ready" {
			cancel()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("the command got no signal: %v\n%s", err, s.Log())
	}
	if left, _ := filepath.Glob(s.Dir + "/script*"); len(left) > 0 || time.Since(begun) > time.Minute {
		t.Errorf("left behind: %q, after %v", left, time.Since(begun))
	}
}

// A proxy gets the first connection; its password is sent to no other server.
func TestProxiesAreUsed(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t)
	for name, answer := range map[string]string{"open": "200 OK", "closed": "407 Proxy Authentication Required"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, answer)
			_, log, err := connect(t.Context(), t, to(s, map[string]cty.Value{"proxy_host": cty.StringVal("127.0.0.1"),
				"proxy_port": cty.NumberIntVal(int64(p.port)), "proxy_user_name": cty.StringVal("me"),
				"proxy_user_password": cty.StringVal("hush"), "timeout": cty.StringVal("4s")}))
			if name == "closed" {
				if err == nil || !strings.Contains(err.Error(), "407") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err, s.Log())
			}
			if !strings.Contains(p.asked(), "CONNECT 127.0.0.1:"+strconv.Itoa(s.Port)) ||
				!strings.Contains(p.asked(), "Proxy-Authorization: Basic bWU6aHVzaA==") {
				t.Errorf("asked %q", p.asked())
			}
			if strings.Contains(strings.Join(log.lines, "\n"), "hush") {
				t.Error("the password is shown")
			}
		})
	}
}

func TestInvalidConnectionBlocks(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"type", "ftp", "Expected: ssh or winrm"},
		{"target_platform", "beos", "unix or windows"}, {"proxy_scheme", "ftp", "http or https or socks5"},
		{"host", "", "address of the machine"},
	} {
		_, diags := machines.Read(
			block(map[string]cty.Value{"host": cty.StringVal("x"), tt.name: cty.StringVal(tt.value)}))
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), tt.want) {
			t.Errorf("%s = %q: %v", tt.name, tt.value, diags.Err())
		}
	}
}
