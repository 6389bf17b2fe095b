package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

const guestManifest = `{
  "protocol": 1, "name": "guest", "wasm": "guest.wasm", "memory": 64, "mode": %q,
  "permissions": {"env": ["GIVEN"], "files": [{"path": "objects", "write": true}], "http": ["http://127.0.0.1:%d"]},
  "schema": {
    "resource_schemas": {"guest_text": {"attributes": {
      "id":    {"type": "string", "computed": true, "stable": true},
      "text":  {"type": "string", "required": true},
      "upper": {"type": "string", "computed": true}
    }}},
    "data_source_schemas": {"guest_reach": {"attributes": {
      "files": {"type": ["list", "string"], "computed": true},
      "env":   {"type": ["list", "string"], "computed": true}
    }}},
    "functions": {"upper": {"parameters": [{"name": "s", "type": "string"}], "return_type": "string"}}
  }
}`

// guestDir is the folder of the module and of its machine code, which all tests share; TestMain removes it.
var guestDir string

// guestModule compiles the module once for all tests.
var guestModule = sync.OnceValues(func() (_ []byte, err error) {
	if guestDir, err = os.MkdirTemp("", "guest"); err != nil {
		return nil, err
	}
	file := filepath.Join(guestDir, "guest.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(file)
})

// newGuest returns the manifest of the module and its surroundings.
func newGuest(t *testing.T, mode string) (*manifest.Manifest, handler.Surroundings) {
	t.Helper()
	return newGuestFor(t, mode, 1)
}

// newGuestFor is newGuest with the port of a server.
func newGuestFor(t *testing.T, mode string, port int) (*manifest.Manifest, handler.Surroundings) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs go, which compiles the module")
	}
	module, err := guestModule()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "guest.wasm"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	m, diags := manifest.Parse(fmt.Appendf(nil, guestManifest, mode, port), "m.json", dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	work := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(work, "objects"), 0o700), os.Symlink("../secret",
		filepath.Join(work, "objects", "link")), os.WriteFile(filepath.Join(work, "secret"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return m, handler.Surroundings{Cache: guestDir, Grace: 10 * time.Millisecond, Dir: work,
		Env: append(os.Environ(), "SECRET=hunter2", "GIVEN=yes"), Granted: m.Permissions.Lines()}
}

var modes = []string{"one-shot", "session"}

func TestConformanceOfModules(t *testing.T) {
	str := cty.StringVal
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			m, s := newGuest(t, mode)
			providertest.Run(t, providertest.Options{
				New: func(context.Context) (provider.Provider, error) {
					return handler.New(m, handler.NewCaller(m, s), handler.Options{}), nil
				},
				Resources: []providertest.Resource{{
					Type: "guest_text",
					Config: func(n int) providertest.Attrs {
						return providertest.Attrs{"text": str(fmt.Sprint("text ", n))}
					},
					Updates: []providertest.Update{{Name: "text", Change: providertest.Attrs{"text": str("new")}}},
				}},
				Data: []providertest.Data{{Type: "guest_reach", Want: providertest.Attrs{
					"files": cty.ListValEmpty(cty.String), "env": cty.ListVal([]cty.Value{
						str("TOMBOLO_PROTOCOL=1"), str("GIVEN=yes")})}}},
				Functions: []providertest.Function{
					{Name: "upper", Args: []cty.Value{str("a b")}, Want: str("A B")},
					{Name: "upper", Args: []cty.Value{str("refuse")}},
				},
			})
		})
	}
}

// TestHostileModulesAreStoppedAndExplained lets a module misbehave in one call. The calls that would not end are
// cancelled as soon as the module has begun.
func TestHostileModulesAreStoppedAndExplained(t *testing.T) {
	type outcome struct{ oneShot, session string }
	for text, want := range map[string]outcome{
		"loop":   {"the program was stopped: enough", "the program was stopped: enough"},
		"sleep":  {"the program was stopped: enough", "the program was stopped: enough"},
		"flood":  {"the program printed more than 64 MiB", "it printed"},
		"grow":   {"exit status 2", "exit status 2"},
		"exit":   {"it ended with exit status 3", "exit status 3"},
		"panic":  {"out of order", "out of order"},
		"refuse": {"the text is refused", "the text is refused"},
	} {
		for _, mode := range modes {
			t.Run(text+" "+mode, func(t *testing.T) {
				m, s := newGuest(t, mode)
				c := handler.NewCaller(m, s)
				defer c.Close()
				got := called(t, c, text)
				expected := want.oneShot
				if mode == "session" {
					expected = want.session
				}
				if !strings.Contains(got, expected) {
					t.Errorf("got %s, want %q", got, expected)
				}
				if got := called(t, c, "good"); !strings.Contains(got, `"upper":"GOOD"`) {
					t.Errorf("the next call: %s", got)
				}
			})
		}
	}
}

// called calls the module to create an object, and returns the result, the error or the failure as a text.
func called(t *testing.T, c handler.Caller, text string) string {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	planned, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Call(ctx, handler.Call{Action: "create", Type: "guest_text",
		Params: fmt.Appendf(nil, `{"type":"guest_text","planned":{"text":%s}}`, planned),
		Line: func(line string) {
			if strings.Contains(line, "wrote") && (text == "loop" || text == "sleep") {
				cancel(errors.New("enough"))
			}
		}, Progress: func(string, float64) {}})
	switch {
	case err != nil:
		return err.Error()
	case a.Failure != nil:
		return a.Failure.State + ": " + a.Failure.Message
	}
	return strings.TrimSpace(string(a.Result))
}

func TestAMissingOrInvalidModuleIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"missing": {nil, "names the module guest.wasm, which is not in"},
		"text":    {[]byte("print('hello')\n"), "guest.wasm is not a valid WebAssembly module"},
		"cut":     {[]byte("\x00asm\x01\x00\x00\x00\x01"), "guest.wasm is not a valid WebAssembly module"},
	} {
		for _, mode := range modes {
			t.Run(name+" "+mode, func(t *testing.T) {
				dir := t.TempDir()
				if c.text != nil {
					if err := os.WriteFile(filepath.Join(dir, "guest.wasm"), c.text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				m, diags := manifest.Parse(fmt.Appendf(nil, guestManifest, mode, 1), "m.json", dir)
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				caller := handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir(), Granted: m.Permissions.Lines()})
				defer caller.Close()
				_, err := caller.Call(t.Context(), handler.Call{Action: "create", Params: []byte("{}")})
				var not *handler.NotReadyError
				if !errors.As(err, &not) || !strings.Contains(not.Detail, c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		}
	}
}

func TestModulesWithoutTheirPermissionsAreNotRun(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			m, s := newGuest(t, mode)
			s.Granted = []string{"env GIVEN", "read objects"}
			c := handler.NewCaller(m, s)
			defer c.Close()
			_, err := c.Call(t.Context(), handler.Call{Action: "create", Params: []byte("{}")})
			var not *handler.NotReadyError
			if !errors.As(err, &not) || !strings.Contains(not.Detail, "write objects") || strings.Contains(not.Detail,
				"GIVEN") {
				t.Errorf("got %v", err)
			}
			if advice := fmt.Sprint(not.Advice); !strings.Contains(advice, "TOMBOLO_GRANTS_GUEST") {
				t.Errorf("the advice is %s", advice)
			}
			s.Env = append(s.Env, m.GrantsVariable()+"=provider "+m.Dir+", http http://127.0.0.1:1, write objects")
			c = handler.NewCaller(m, s)
			defer c.Close()
			if got := called(t, c, "good"); !strings.Contains(got, "GOOD") {
				t.Errorf("got %s", got)
			}
			if err := os.RemoveAll(filepath.Join(s.Dir, "objects")); err != nil {
				t.Fatal(err)
			}
			c = handler.NewCaller(m, s)
			defer c.Close()
			if got := called(t, c, "good"); !strings.Contains(got, "which does not exist, or is not a folder") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestModulesSendRequestsThroughTheHost also follows redirects, which lead to another server here.
func TestModulesSendRequestsThroughTheHost(t *testing.T) {
	keys := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { keys <- "leaked" }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("X-Api-Key")
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/end", http.StatusFound)
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer server.Close()
	for _, mode := range modes {
		m, s := newGuestFor(t, mode, server.Listener.Addr().(*net.TCPAddr).Port)
		c := handler.NewCaller(m, s)
		defer c.Close()
		for path, want := range map[string]string{"/": "hello", "/near": "hello",
			"/away": "the server redirected: requests to " + other.URL + " are not allowed"} {
			a, err := c.Call(t.Context(), handler.Call{Action: "call", Type: "upper", Line: func(string) {},
				Progress: func(string, float64) {}, Params: fmt.Appendf(nil, `{"args":[%q]}`, server.URL+path)})
			if err != nil || a.Failure != nil || !strings.Contains(string(a.Result), want) {
				t.Errorf("%s, %s: got %s, %v, want %q", mode, path, a.Result, err, want)
			}
		}
	}
	for close(keys); len(keys) > 0; {
		if key := <-keys; key != "hunter2" {
			t.Errorf("a server got the key %q", key)
		}
	}
}

// A module that writes to the configuration or to its own program could grant itself permissions.
func TestModulesDoNotWriteToTheProject(t *testing.T) {
	m, s := newGuest(t, "one-shot")
	for _, name := range []string{".terraform/cache", ".git/hooks", "zones"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..", filepath.Join(s.Dir, "zones", "up")); err != nil {
		t.Skip("needs links:", err)
	}
	for path, want := range map[string]string{".": "so to the configuration", s.Dir: "so to the configuration",
		filepath.Dir(s.Dir): "so to the configuration", "zones/up": "so to the configuration",
		".terraform": "the files in .terraform", ".terraform/cache": "the files in .terraform",
		".git/hooks": "the files in .git", m.Dir: "so to its own program", s.Cache: "the compiled code", "zones": "",
		"objects": ""} {
		text := strings.Replace(fmt.Sprintf(guestManifest, "one-shot", 1), `"path": "objects"`,
			fmt.Sprintf(`"path": %q, "as": "/objects"`, path), 1)
		written, diags := manifest.Parse([]byte(text), "m.json", m.Dir)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		s.Granted = written.Permissions.Lines()
		c := handler.NewCaller(written, s)
		got := called(t, c, "good")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if want == "" && !strings.Contains(got, "GOOD") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %q", path, got, want)
		}
	}
}
