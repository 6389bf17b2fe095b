package consul_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/consul"
	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// No secret of a block or of the environment appears in an error, a diagnostic, a name or the log.
func TestSecretsAreNeverShown(t *testing.T) {
	gossip := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "gossip %s %v %s", r.URL, r.Header, body)
	}))
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("file-canary\n"), 0o600))
	str := cty.StringVal
	var mu sync.Mutex
	var output strings.Builder
	for _, c := range []struct {
		more map[string]cty.Value
		env  map[string]string
	}{
		{more: map[string]cty.Value{"access_token": str("token-canary"), "http_auth": str("me:password-canary")}},
		{more: map[string]cty.Value{"address": str("http://me:password-canary@" + gossip)}},
		{more: map[string]cty.Value{"address": str("http://me:password-canary@127.0.0.1:x")}},
		{more: map[string]cty.Value{"address": str("ftp://me:password-canary@127.0.0.1")}},
		{more: map[string]cty.Value{"address": str("http://me:password-canary@127.0.0.1:1")}},
		{more: map[string]cty.Value{"access_token": str("token-canary\n")}},
		{env: map[string]string{"CONSUL_HTTP_TOKEN": "env-canary", "CONSUL_HTTP_AUTH": "me:password-canary"}},
		{env: map[string]string{"CONSUL_HTTP_TOKEN_FILE": file}},
	} {
		o := remote.Surroundings{Getenv: func(name string) string { return c.env[name] },
			Log: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&output, format+"\n", args...)
			}}
		d, diags := consul.Kind().Open(t.Context(), cty.ObjectVal(settings(gossip, c.more)), o)
		for _, one := range diags {
			fmt.Fprintln(&output, one.Summary, one.Detail)
		}
		if diags.HasErrors() {
			continue
		}
		consul.Hasty(d)
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, readErr := p.Read(t.Context())
		_, holderErr := p.Holder(t.Context())
		_, lockErr := p.Lock(t.Context(), drivertest.Info("x"))
		h, err := p.Unlocked(t.Context())
		must(t, err)
		_, writeErr := h.Write(t.Context(), remote.Write{Data: []byte("x")})
		fmt.Fprintln(&output, p, readErr, holderErr, lockErr, writeErr, h.Delete(t.Context()),
			p.ForceUnlock(t.Context(), "x"))
		must(t, d.Close())
	}
	for _, canary := range []string{"token-canary", "password-canary", "env-canary", "file-canary",
		"bWU6cGFzc3dvcmQtY2FuYXJ5"} {
		if text := output.String(); strings.Contains(text, canary) {
			at := strings.Index(text, canary)
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(output.String(), "gossip") < 10 {
		t.Errorf("the message of the server is missing:\n%s", output.String())
	}
}

// Variables replace arguments that the block omits.
func TestEnvironment(t *testing.T) {
	there := &consultest.Server{Token: "secret"}
	address := serve(t, there)
	env := map[string]string{"CONSUL_HTTP_ADDR": "http://" + address, "CONSUL_HTTP_TOKEN": "secret"}
	s := map[string]cty.Value{"path": cty.StringVal("a"), "address": cty.NullVal(cty.String)}
	o := remote.Surroundings{Getenv: func(name string) string { return env[name] }}
	read := func() error {
		d, diags := consul.Kind().Open(t.Context(), cty.ObjectVal(s), o)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		defer d.Close()
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, err = p.Read(t.Context())
		return err
	}
	must(t, read())
	env["CONSUL_HTTP_TOKEN"] = "wrong"
	if err := read(); err == nil || !strings.Contains(err.Error(), "access_token") {
		t.Errorf("with another token: %v", err)
	}
}

// An error in an argument names the argument.
func TestArguments(t *testing.T) {
	str := cty.StringVal
	for _, c := range []struct {
		more map[string]cty.Value
		want string
	}{
		{map[string]cty.Value{"path": str("")}, "path argument is required"},
		{map[string]cty.Value{"path": str("/a")}, "Invalid path"},
		{map[string]cty.Value{"scheme": str("ftp")}, "Invalid scheme"},
		{map[string]cty.Value{"address": str("ftp://a")}, "Invalid address"},
		{map[string]cty.Value{"ca_file": str("/nowhere/ca.pem")}, "cannot be read"},
		{map[string]cty.Value{"cert_file": str("/nowhere/cert.pem")}, "Only one of cert_file and key_file"},
		{map[string]cty.Value{"cert_file": str("/nowhere/c.pem"), "key_file": str("/nowhere/k.pem")}, "cannot be used"},
	} {
		_, diags := consul.Kind().Open(t.Context(), cty.ObjectVal(settings("127.0.0.1:1", c.more)),
			remote.Surroundings{})
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), c.want) {
			t.Errorf("%s: %v", c.want, diags.Err())
		}
	}
}
