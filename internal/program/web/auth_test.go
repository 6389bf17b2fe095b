package web_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// oneFunction is a provider with a function that returns the server's response.
const oneFunction = `{
  "protocol": 1, "name": "one",
  "http": {"url": "${env.URL}/api", "retry": {"delay": "1ms"}, AUTH},
  "schema": {"functions": {"say": {"return_type": "string", "http": {"path": "/say"}}}}
}`

// say calls the function of a provider with this part of its manifest.
func say(t *testing.T, part string, env ...string) (string, error) {
	t.Helper()
	p, err := factory(parsed(t, strings.Replace(oneFunction, "AUTH", part, 1)), env...)(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	output := ""
	for range 2 { // the second call already has a token
		v, err := p.CallFunction(context.Background(), "say", nil)
		if err != nil {
			return "", err
		}
		output += v.AsString() + ";"
	}
	return output, nil
}

// guard is a server with several methods of authentication.
type guard struct {
	mu      sync.Mutex
	asked   int // number of requested tokens
	refused bool
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	user, password, _ := r.BasicAuth()
	if r.URL.Path == "/token" { // RFC 6749, section 2.3.1
		password, _ = url.QueryUnescape(password)
	}
	_ = r.ParseForm()
	switch {
	case r.URL.Path == "/token" && r.PostForm.Get("grant_type") == "client_credentials" &&
		(user == "id" && password == "canary secret" || r.PostForm.Get("client_id") == "id" &&
			r.PostForm.Get("client_secret") == "canary secret") && r.PostForm.Get("scope") == "a b":
		g.asked++
		fmt.Fprintf(w, `{"access_token": "canary-token-%d", "expires_in": 3600}`, g.asked)
	case r.URL.Path == "/api/login":
		g.asked++
		w.Header().Set("X-Token", fmt.Sprint("canary-token-", g.asked))
	case r.URL.Path == "/api/say" && (user == "u" && password == "canary-password" ||
		r.Header.Get("X-Api-Key") == "canary-key" ||
		r.Header.Get("X-Session") == fmt.Sprint("S canary-token-", g.asked) ||
		r.Header.Get("Authorization") == fmt.Sprint("Bearer canary-token-", g.asked)):
		if g.asked == 1 && !g.refused { // the first token is revoked immediately
			g.refused = true
			http.Error(w, "canary-token-1 is withdrawn", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `"hello"`)
	default:
		http.Error(w, fmt.Sprintf("%s %v %v", r.URL.Path, r.Header, r.PostForm), http.StatusUnauthorized)
	}
}

func TestAuthenticationMethods(t *testing.T) {
	for _, c := range []struct{ part, want string }{
		{`"auth": {"basic": {"username": "u", "password": "${env.SECRET}"}}`, "hello;hello;"},
		{`"auth": {"header": {"X-Api-Key": "${env.KEY}"}}`, "hello;hello;"},
		{`"headers": {"X-Api-Key": "${env.KEY}"}`, "hello;hello;"},
		{`"auth": {"oauth": {"token_url": "${env.URL}/token", "client_id": "id", "client_secret": "${env.CLIENT}", "scopes": ["a", "b"]}}`,
			"hello;hello;"},
		{`"auth": {"oauth": {"token_url": "${env.URL}/token", "client_id": "id", "client_secret": "${env.CLIENT}", "scopes": ["a", "b"], "credentials": "body"}}`,
			"hello;hello;"},
		{`"auth": {"login": {"path": "/login", "body": {"user": "u", "password": "${env.SECRET}"}, "token": "${answer.headers[\"x-token\"]}", "expires_in": "3600", "header": {"X-Session": "S ${token}"}}}`,
			"hello;hello;"},
		{`"auth": {"basic": {"username": "u", "password": "${env.KEY}"}}`, "status 401"},
		{`"auth": {"bearer": "${env.NONE}"}`, "the credential auth.bearer is null"},
		{`"auth": {"bearer": ""}`, "status 401"},
		{`"auth": {"oauth": {"token_url": "${env.URL}/token", "client_id": "id", "client_secret": "${env.KEY}"}}`,
			"the request for a token was answered with status 401"},
		{`"auth": {"login": {"path": "/login", "token": "${answer.body.token}"}}`, "the answer to the login has no token"},
	} {
		s := httptest.NewServer(&guard{})
		got, err := say(t, c.part, "URL="+s.URL, "SECRET=canary-password", "KEY=canary-key", "CLIENT=canary secret")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, "canary") {
			t.Errorf("%s\ngot  %s\nwant %s", c.part, got, c.want)
		}
		s.Close()
	}
}

// keyPair writes a self-signed certificate and its key in PEM.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", encoded)
}

func TestCertificatesOfClients(t *testing.T) {
	certificate, key := keyPair(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certificate))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `"hello"`)
	}))
	s.TLS = &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(ca), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"URL=" + s.URL, "CA=" + file, "CERT=" + certificate, "KEY=" + key}
	got, err := say(t, `"tls": {"ca": "${env.CA}", "certificate": "${env.CERT}", "key": "${env.KEY}"}`, env...)
	if err != nil || got != "hello;hello;" {
		t.Errorf("got %q, %v", got, err)
	}
	for part, want := range map[string]string{
		`"tls": {"ca": "${env.CA}"}`: "did not answer", `"headers": {}`: "certificate",
		`"tls": {"ca": "/nowhere/ca.pem"}`:                                                 "cannot be read",
		`"tls": {"ca": "${env.CERT}", "certificate": "${env.CERT}", "key": "${env.KEY}"}`:  "certificate",
		`"tls": {"certificate": "${env.KEY}", "key": "${env.CERT}"}`:                       "a certificate and its key",
		`"tls": {"ca": "-----BEGIN X", "certificate": "${env.CERT}", "key": "${env.KEY}"}`: "tls.ca has no certificate",
	} {
		if got, err := say(t, part, env...); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: got %q, %v", part, got, err)
		}
	}
}

// Waiting, reading back, locks and private data of an object.
func TestSlowObjects(t *testing.T) {
	for _, c := range []struct {
		change, status string
		says           string
		stored         bool
	}{
		{`"wait": {"until": "${answer.body.status == \"ready\"}", "interval": "1ms"}`, "ready", "", true},
		{`"read_back": true, "lock": "all"`, "ready", "", true},
		{`"wait": {"path": "/jobs/${self.id}", "until": "${answer.body.done}", "interval": "1ms"}`, "ready", "", true},
		{`"wait": {"until": "${answer.body.status == \"ready\"}", "fail": "${answer.body.status == \"failed\"}", "interval": "1ms"}`,
			"failed", "did not become ready", true},
		{`"wait": {"until": "${answer.body.status == \"ready\"}", "interval": "1ms", "for": "20ms"}`, "slow", "was not ready after 20ms", true},
		{`"wait": {"until": "${answer.body.nothing.at.all}", "interval": "1ms"}`, "ready", "not known whether the object is ready", true},
		{`"state": {"size": "${answer.body.nothing}"}`, "ready", "there is no value for size", true},
		{`"state": {"id": "${answer.headers.location}"}`, "ready", "", true},
	} {
		s := newThings(t)
		polls := 0
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			polls++
			switch {
			case r.Method == http.MethodPost:
				w.Header().Set("Location", "7")
				fmt.Fprint(w, `{"id": "7"}`)
			case strings.HasPrefix(r.URL.Path, "/v1/jobs/7"):
				fmt.Fprintf(w, `{"done": %t}`, polls > 3)
			case polls < 3 && c.status != "failed" || c.status == "slow":
				fmt.Fprint(w, `{"id": "7", "status": "starting"}`)
			default:
				fmt.Fprintf(w, `{"id": "7", "status": %q, "href": "there"}`, c.status)
			}
			return true
		}
		l := beginThings(t, s, `"create": {`, `"create": {`+c.change+`, `)
		got := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, named)
		output := text(got.Diagnostics)
		if !strings.Contains(output, c.says) || (c.says == "") != (output == "") {
			t.Errorf("%s: got %s", c.change, output)
		}
		if (got.State != cty.NilVal && !got.State.IsNull()) != c.stored ||
			c.stored && got.State.GetAttr("id").AsString() != "7" {
			t.Errorf("%s: the stored object is %#v", c.change, got.State)
		}
	}
}

// Changes of values that are not configured are ignored; changes of configured values count.
func TestOnlyConfiguredValuesAreCompared(t *testing.T) {
	s := newThings(t)
	l := beginThings(t, s)
	str := cty.StringVal
	config := map[string]cty.Value{"name": str("one"), "tags": cty.MapVal(map[string]cty.Value{"a": str("1")}),
		"any": cty.ObjectVal(map[string]cty.Value{"x": cty.True, "n": cty.NumberIntVal(1)})}
	at := l.apply(context.Background(), "inv_thing", provider.ApplyResponse{}, config)
	if at.Diagnostics.HasErrors() {
		t.Fatal(text(at.Diagnostics))
	}
	o := s.objects[at.State.GetAttr("id").AsString()]
	o["note"], o["region"], o["labels"] = "added", "north", []any{"x"}
	o["tags"].(map[string]any)["added"] = "x"
	o["any"].(map[string]any)["added"] = []any{1}
	o["rule"] = []any{map[string]any{"cidr": "::/0"}}
	if read := l.read(context.Background(), "inv_thing", at); !read.State.RawEquals(at.State) {
		t.Errorf("what nobody configured is a change:\n%#v\n%#v", at.State, read.State)
	}
	o["tags"].(map[string]any)["a"] = "2"
	o["any"].(map[string]any)["x"] = false
	o["size"] = 99
	read := l.read(context.Background(), "inv_thing", at)
	if v := read.State; v.GetAttr("tags").Index(str("a")).AsString() != "2" || v.GetAttr("any").GetAttr("x").True() ||
		!v.GetAttr("size").RawEquals(cty.NumberIntVal(99)) {
		t.Errorf("what is configured does not count: %#v", v)
	}
}
