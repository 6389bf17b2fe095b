//go:build unix

package machines_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/provision/winrmtest"
)

// toWindows returns the arguments of a connection to a server.
func toWindows(s *winrmtest.Server, more map[string]cty.Value) map[string]cty.Value {
	all := map[string]cty.Value{"type": cty.StringVal("winrm"), "host": cty.StringVal("127.0.0.1"),
		"port": cty.NumberIntVal(int64(s.Port)), "password": cty.StringVal(s.Password), "timeout": cty.StringVal("30s")}
	for name, v := range more {
		all[name] = v
	}
	return all
}

// windows are the methods of authentication.
var windows = map[string]func(*winrmtest.Server) map[string]cty.Value{
	"http": func(*winrmtest.Server) map[string]cty.Value { return nil },
	"ntlm": func(s *winrmtest.Server) map[string]cty.Value {
		s.NTLM = true
		return map[string]cty.Value{"use_ntlm": cty.True}
	},
	"https": func(s *winrmtest.Server) map[string]cty.Value {
		return map[string]cty.Value{"https": cty.True, "cacert": cty.StringVal(s.CACert)}
	},
	"https insecure": func(*winrmtest.Server) map[string]cty.Value {
		return map[string]cty.Value{"https": cty.True, "insecure": cty.True}
	},
}

func TestScriptsRunOnWindowsAndAreRemoved(t *testing.T) {
	t.Parallel()
	for name, way := range windows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := winrmtest.Start(t, strings.HasPrefix(name, "https"))
			m, log, err := connect(t.Context(), t, toWindows(s, way(s)))
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(log.lines, "\n"); !strings.Contains(text, "via WinRM") ||
				!strings.Contains(text, "User: Administrator") || strings.Contains(text, "hush") {
				t.Errorf("told %q", log.lines)
			}
			out := &lineLog{}
			err = m.Script(t.Context(), strings.NewReader("echo one\necho two >&2\nprintf three\nexit 3\n"), out.tell)
			if err == nil || !strings.Contains(err.Error(), "status 3") {
				t.Errorf("got %v", err)
			}
			text := strings.Join(out.lines, "|")
			for _, want := range []string{"one", "two", "three"} {
				if !strings.Contains(text, want) {
					t.Errorf("printed %q", out.lines)
				}
			}
			if left, _ := filepath.Glob(s.Path("C:/windows/temp/*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if _, commands := s.Open(); commands > 0 {
				t.Errorf("%d commands are not given back", commands)
			}
			m.Close()
			if shells, _ := s.Open(); shells > 0 {
				t.Error("the shell is not closed")
			}
		})
	}
}

func TestFilesAreCopiedToWindows(t *testing.T) {
	t.Parallel()
	s := winrmtest.Start(t, false)
	m, _, err := connect(t.Context(), t, toWindows(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 300<<10)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	source := t.TempDir()
	write(t, source, map[string]string{"a b": "1", "it's": "2", "sub/c": "4", "empty": "", "large": string(large)})
	if err := os.MkdirAll(s.Path(`C:\there`), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, destination := range []string{`C:/there`, `C:\there\`} {
		if err := m.Copy(t.Context(), filepath.Join(source, "a b"), destination); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Copy(t.Context(), source+"/", `C:/new`); err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(t.Context(), source, `C:/there/below`); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"there/a b": "1"}
	for name, text := range read(t, source) {
		want["new/"+name], want["there/below/"+name] = text, text
	}
	if diff := cmp.Diff(want, read(t, s.Path("C:"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := m.Write(t.Context(), `C:/none/x`, "", 0o644, strings.NewReader("x")); err == nil ||
		!strings.Contains(err.Error(), "/none/x") {
		t.Errorf("into a directory that is not there: %v", err)
	}
}

// A run waits for a command that prints nothing for a long time.
func TestSilentCommandsAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := winrmtest.Start(t, false)
	s.Quiet = 20 * time.Millisecond
	m, _, err := connect(t.Context(), t, toWindows(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if n := strings.Count(strings.Join(s.Asked(), " "), "Receive"); n > 20 {
				break
			}
		}
		write(t, s.Path("C:"), map[string]string{"go": ""})
	}()
	out := &lineLog{}
	script := "while [ ! -e '" + s.Path("C:/go") + "' ]; do sleep 0.05; done\necho done\n"
	err = m.Script(t.Context(), strings.NewReader(script), out.tell)
	if err != nil || strings.Join(out.lines, "") != "done" {
		t.Errorf("%v, %q", err, out.lines)
	}
}

func TestAnInterruptReachesTheCommandOnWindows(t *testing.T) {
	t.Parallel()
	s := winrmtest.Start(t, false)
	m, _, err := connect(t.Context(), t, toWindows(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := s.Path("C:/ended")
	script := "trap 'echo x >\"" + ended + "\"; exit 1' TERM\necho ready\nsleep 600 & wait\n"
	err = m.Script(ctx, strings.NewReader(script), func(line string) {
		if line == "ready" {
			cancel()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("the command was not asked to end: %v", err)
	}
	if left, _ := filepath.Glob(s.Path("C:/windows/temp/*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A user without access gets an error without the password; an invalid certificate is reported immediately.
func TestWindowsRefusesInvalidCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		https bool
		with  map[string]cty.Value
		want  string
	}{
		"password": {false, map[string]cty.Value{"password": cty.StringVal("wrong")}, "check user and password"},
		"ntlm": {false, map[string]cty.Value{"password": cty.StringVal("wrong"), "use_ntlm": cty.True},
			"check user and password"},
		"unknown certificate": {true, map[string]cty.Value{"https": cty.True}, "certificate"},
		"no certificate":      {true, map[string]cty.Value{"https": cty.True, "cacert": cty.StringVal("x")}, "PEM"},
		"plain to https":      {true, nil, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := winrmtest.Start(t, tt.https)
			s.NTLM = name == "ntlm"
			tt.with = toWindows(s, tt.with)
			tt.with["timeout"] = cty.StringVal("2s")
			_, log, err := connect(t.Context(), t, tt.with)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
			for _, secret := range []string{"wrong", s.Password} {
				if err != nil && strings.Contains(err.Error(), secret) ||
					strings.Contains(strings.Join(log.lines, "\n"), secret) {
					t.Errorf("the password is shown: %v %q", err, log.lines)
				}
			}
			if n := len(s.Asked()); n > 0 {
				t.Errorf("%d requests were let in", n)
			}
		})
	}
}

// A response that is too long or not XML, or a redirection, ends the attempt.
func TestInvalidWinRMServersAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the password went to another server: %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"bytes": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 5<<20)) },
		"XML":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
		"id": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<Envelope><Body></Body></Envelope>"))
		},
		"307": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			port := server.Listener.Addr().(*net.TCPAddr).Port
			_, _, err := connect(t.Context(), t, map[string]cty.Value{"type": cty.StringVal("winrm"),
				"host": cty.StringVal("127.0.0.1"), "port": cty.NumberIntVal(int64(port)),
				"password": cty.StringVal("x"), "timeout": cty.StringVal("1s")})
			want := name
			if name == "XML" {
				want = "EOF"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
