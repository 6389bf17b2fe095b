package kubernetes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/kubernetes"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// program returns an argument exec: a program that prints a token.
func program(token string) cty.Value {
	script := `echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",` +
		`\"status\":{\"token\":\"$TOKEN\"}}"`
	return cty.ObjectVal(map[string]cty.Value{
		"api_version": cty.StringVal("client.authentication.k8s.io/v1"), "command": cty.StringVal("sh"),
		"args": cty.ListVal([]cty.Value{cty.StringVal("-c"), cty.StringVal(script)}),
		"env":  cty.MapVal(map[string]cty.Value{"TOKEN": cty.StringVal(token)})})
}

// kubectl writes a kubectl configuration, and returns its name.
func kubectl(t *testing.T, address, user string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(name, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: none
clusters: [{name: here, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: me, user: %s}]
contexts: [{name: one, context: {cluster: here, user: me}}]
`, address, user), 0o600))
	return name
}

// Credentials come from arguments, from a program, or from kubectl configurations.
func TestCredentials(t *testing.T) {
	address := serve(t, &kubernetestest.Server{Token: "token-canary"})
	secure := httptest.NewTLSServer(&kubernetestest.Server{Token: "token-canary"}) // it gets credentials from files
	t.Cleanup(secure.Close)
	file := kubectl(t, secure.URL, "{token: token-canary}")
	none := map[string]cty.Value{"host": cty.NullVal(cty.String), "token": cty.NullVal(cty.String),
		"config_context": cty.StringVal("one")}
	with := func(name string, v cty.Value) map[string]cty.Value {
		all := map[string]cty.Value{name: v}
		for n, v := range none {
			all[n] = v
		}
		return all
	}
	for name, c := range map[string]struct {
		more map[string]cty.Value
		env  map[string]string
		want string
	}{
		"token":   {},
		"another": {more: map[string]cty.Value{"token": cty.StringVal("x")}, want: "rejected these credentials"},
		"program": {more: map[string]cty.Value{"token": cty.NullVal(cty.String), "exec": program("token-canary")}},
		"wrong one": {more: map[string]cty.Value{"token": cty.NullVal(cty.String), "exec": program("x")},
			want: "401"},
		"file":         {more: with("config_path", cty.StringVal(file))},
		"files":        {more: with("config_paths", cty.ListVal([]cty.Value{cty.StringVal(file)}))},
		"variable":     {more: none, env: map[string]string{"KUBE_CONFIG_PATH": file}},
		"no such file": {more: with("config_path", cty.StringVal(file+"x")), want: "no such file"},
		"proxy": {more: map[string]cty.Value{"proxy_url": cty.StringVal("http://127.0.0.1:1"),
			"host": cty.StringVal("http://kubernetes.invalid")}, want: "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			d, diags := kubernetes.Kind().Open(t.Context(), cty.ObjectVal(settings(address, c.more)),
				remote.Surroundings{Getenv: func(name string) string { return c.env[name] }})
			err := diags.Err()
			if !diags.HasErrors() {
				kubernetes.Hasty(d)
				defer d.Close()
				var p remote.Place
				p, err = d.Place(state.DefaultWorkspace)
				must(t, err)
				_, err = p.Read(t.Context())
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// No secret of a block, a file or the environment appears in an error, a diagnostic or the log.
func TestSecretsAreNeverShown(t *testing.T) {
	gossip := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"message":%q}`, fmt.Sprintf("gossip %s %v %s", r.URL, r.Header, body))
	}))
	str, none := cty.StringVal, cty.NullVal(cty.String)
	var mu sync.Mutex
	var output strings.Builder
	for _, more := range []map[string]cty.Value{
		{},
		{"token": none, "username": str("me"), "password": str("password-canary")},
		{"token": none, "exec": program("program-canary")},
		{"token": none, "host": none, "config_path": str(kubectl(t, gossip, "{token: file-canary}")),
			"config_context": str("one")},
		{"client_key": str("key-canary"), "client_certificate": str("x"), "host": str("https://127.0.0.1:1")},
		{"host": str("http://me:password-canary@127.0.0.1:1")},
	} {
		o := remote.Surroundings{Log: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&output, format+"\n", args...)
		}}
		d, diags := kubernetes.Kind().Open(t.Context(), cty.ObjectVal(settings(gossip, more)), o)
		for _, one := range diags {
			fmt.Fprintln(&output, one.Summary, one.Detail)
		}
		if diags.HasErrors() {
			continue
		}
		kubernetes.Hasty(d)
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, readErr := p.Read(t.Context())
		_, lockErr := p.Lock(t.Context(), drivertest.Info("x"))
		h, err := p.Unlocked(t.Context())
		must(t, err)
		_, startErr := h.StartJournal(t.Context(), "", []byte("x"))
		fmt.Fprintln(&output, p, readErr, lockErr, startErr, h.Delete(t.Context()))
		must(t, d.Close())
	}
	text := output.String()
	for _, canary := range []string{"token-canary", "password-canary", "program-canary", "file-canary", "key-canary",
		"bWU6cGFzc3dvcmQtY2FuYXJ5"} {
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(text, "gossip") < 10 {
		t.Errorf("the message of the server is missing:\n%s", text)
	}
}

// An error in an argument names the argument.
func TestArguments(t *testing.T) {
	for name, c := range map[string][2]string{"nothing": {"secret_suffix", ""}, "a number": {"secret_suffix", "a-1"},
		"a sign": {"secret_suffix", "A_"}, "a namespace": {"namespace", "A/b"}} {
		_, diags := kubernetes.Kind().Open(t.Context(), cty.ObjectVal(settings("http://127.0.0.1:1",
			map[string]cty.Value{c[0]: cty.StringVal(c[1])})), remote.Surroundings{})
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), c[0]) {
			t.Errorf("%s: %v", name, diags.Err())
		}
	}
}
