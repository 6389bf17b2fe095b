package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// token is a token that a server has issued for credentials.
type token struct {
	mu      sync.Mutex // held while it is requested
	text    string
	expires time.Time // zero if unknown
}

// early is how long before its expiry a token is no longer used.
const early = 10 * time.Second

// maxFile limits the files with certificates and keys, in bytes.
const maxFile = 1 << 20

func readFile(name string) ([]byte, error) { return regular.Read(name, maxFile) }

// authorize adds the credentials to a request.
func (v *visit) authorize(h http.Header, vars manifest.Variables) error {
	auth := v.c.m.HTTP.Auth
	switch {
	case auth.Username != nil:
		user, err := v.secret("auth.basic.username", auth.Username, vars)
		if err != nil {
			return err
		}
		password, err := v.secret("auth.basic.password", auth.Password, vars)
		if err != nil || user == "" && password == "" {
			return err
		}
		v.c.hide(user + ":" + password)
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	case auth.Bearer != nil:
		text, err := v.secret("auth.bearer", auth.Bearer, vars)
		if err != nil || text == "" {
			return err
		}
		h.Set("Authorization", "Bearer "+text)
	case auth.Headers != nil:
		return v.secretHeaders(h, auth.Headers, vars)
	case auth.OAuth != nil:
		text, err := v.oauth(auth.OAuth, vars)
		if err != nil {
			return err
		}
		h.Set("Authorization", "Bearer "+text)
	case auth.Login != nil:
		text, err := v.login(auth.Login, vars)
		if err != nil {
			return err
		}
		if auth.Login.Headers == nil {
			h.Set("Authorization", "Bearer "+text)
			return nil
		}
		return v.secretHeaders(h, auth.Login.Headers, withVariable(vars, "token", cty.StringVal(text)))
	}
	return nil
}

func (v *visit) secretHeaders(h http.Header, t *manifest.Template, vars manifest.Variables) error {
	err := each(t, vars, func(name, text string) {
		v.c.hide(text)
		h.Set(name, text)
	})
	if err != nil {
		return unsent("the credentials are not known: %s", err)
	}
	return nil
}

// secret evaluates a credential. An empty text means that none is sent.
func (v *visit) secret(what string, t *manifest.Template, vars manifest.Variables) (string, error) {
	text, ok, err := t.Text(vars)
	switch {
	case err != nil:
		return "", unsent("the credential %s is not known: %s", what, err)
	case !ok:
		return "", unsent("the credential %s is null. Set the provider's attribute or the environment variable that "+
			"the manifest takes it from", what)
	}
	v.c.hide(text)
	return text, nil
}

// oauth returns a token for the credentials of a client.
func (v *visit) oauth(o *manifest.OAuth, vars manifest.Variables) (string, error) {
	at, _, err := o.URL.Text(vars)
	if err != nil {
		return "", unsent("auth.oauth.token_url is not known: %s", err)
	}
	id, err := v.secret("auth.oauth.client_id", o.ID, vars)
	if err != nil {
		return "", err
	}
	secret, err := v.secret("auth.oauth.client_secret", o.Secret, vars)
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if err := addScopes(form, o.Scopes, vars); err != nil {
		return "", err
	}
	if err := each(o.Parameters, vars, form.Set); err != nil {
		return "", unsent("auth.oauth.parameters cannot be computed: %s", err)
	}
	server, err := serverOf(at)
	if err != nil {
		return "", unsent("auth.oauth.token_url: %s", err)
	}
	a := &ask{op: &manifest.Operation{Method: http.MethodPost}, url: server, server: server, headers: http.Header{},
		idempotent: true, bare: true}
	a.headers.Set("Content-Type", "application/x-www-form-urlencoded")
	a.headers.Set("Accept", "application/json")
	if o.InBody {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	} else {
		pair := url.QueryEscape(id) + ":" + url.QueryEscape(secret)
		v.c.hide(pair)
		a.headers.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	a.body = []byte(form.Encode())
	return v.obtain(a, vars, func(got *reply) (string, time.Duration, error) {
		var answer struct {
			Token   string      `json:"access_token"`
			Expires json.Number `json:"expires_in"`
		}
		if json.Unmarshal(got.body, &answer) != nil || answer.Token == "" {
			return "", 0, unsent("the server for tokens answered without an \"access_token\"")
		}
		seconds, err := strconv.ParseFloat(answer.Expires.String(), 64)
		if err != nil {
			seconds = 0
		}
		return answer.Token, lifetime(seconds), nil
	})
}

// addScopes adds the scopes of a token to its request.
func addScopes(form url.Values, t *manifest.Template, vars manifest.Variables) error {
	if t == nil {
		return nil
	}
	scopes, err := t.Value(vars)
	if err == nil && !scopes.IsNull() {
		scopes, err = convert.Convert(scopes, cty.List(cty.String))
	}
	if err != nil || !scopes.IsWhollyKnown() {
		return unsent("auth.oauth.scopes must be a list of strings")
	}
	var words []string
	if !scopes.IsNull() {
		for _, s := range scopes.AsValueSlice() {
			if s.IsNull() {
				return unsent("auth.oauth.scopes must be a list of strings")
			}
			words = append(words, s.AsString())
		}
	}
	form.Set("scope", strings.Join(words, " "))
	return nil
}

// login returns the token in the response to a request with credentials.
func (v *visit) login(l *manifest.Login, vars manifest.Variables) (string, error) {
	a, err := v.prepare(l.Request, vars)
	if err != nil {
		return "", err
	}
	v.hideBody(l.Request, vars)
	a.bare, a.idempotent, a.changes = true, true, false
	return v.obtain(a, vars, func(got *reply) (string, time.Duration, error) {
		vars := withVariable(vars, "answer", got.value())
		text, ok, err := l.Token.Text(vars)
		if err != nil || !ok || text == "" {
			return "", 0, unsent("the answer to the login has no token at the path of \"token\" in the manifest")
		}
		if l.Expires == nil {
			return text, 0, nil
		}
		seconds, err := l.Expires.Value(vars)
		if err == nil && !seconds.IsNull() {
			seconds, err = convert.Convert(seconds, cty.Number)
		}
		if err != nil || seconds.IsNull() || !seconds.IsKnown() {
			return text, 0, nil
		}
		n, _ := seconds.AsBigFloat().Float64()
		return text, lifetime(n), nil
	})
}

// lifetime converts a number of seconds, which may have any value.
func lifetime(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, 1e8) * float64(time.Second))
}

// hideBody records all texts of a login as secrets, because one of them is the password.
func (v *visit) hideBody(op *manifest.Operation, vars manifest.Variables) {
	for _, t := range []*manifest.Template{op.Body, op.Headers, op.Query} {
		if t == nil {
			continue
		}
		if body, err := t.Value(vars); err == nil && body.IsWhollyKnown() {
			v.c.secrets.Add(body, []cty.Path{{}})
		}
	}
}

// obtain returns the token of earlier requests with the same credentials, or requests one.
func (v *visit) obtain(a *ask, vars manifest.Variables, read func(*reply) (string, time.Duration, error)) (string,
	error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n%s", a.url, a.headers, a.body)
	v.token = hex.EncodeToString(sum.Sum(nil))
	v.c.mu.Lock()
	t := v.c.tokens[v.token]
	if t == nil {
		t = &token{}
		v.c.tokens[v.token] = t
	}
	v.c.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text != "" && (t.expires.IsZero() || time.Now().Before(t.expires)) {
		return t.text, nil
	}
	got, err := v.send(a, vars)
	if err != nil {
		return "", err
	}
	if got.status < 200 || got.status > 299 {
		return "", &Failure{State: fmt.Sprintf("the request for a token was answered with status %s",
			statusText(got.status)), Message: v.c.excerpt(got.body, nil), Unsent: true}
	}
	text, life, err := read(got)
	if err != nil {
		return "", err
	}
	v.c.hide(text)
	t.text, t.expires = text, time.Time{}
	if life > 0 {
		t.expires = time.Now().Add(max(life-early, life/2))
	}
	return text, nil
}

// forgetToken drops a token that the server refuses, and reports whether there was one.
func (c *Client) forgetToken(key string) bool {
	c.mu.Lock()
	t := c.tokens[key]
	c.mu.Unlock()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	had := t.text != ""
	t.text = ""
	return had
}

func withVariable(vars manifest.Variables, name string, v cty.Value) manifest.Variables {
	out := make(manifest.Variables, len(vars)+1)
	for k, old := range vars {
		out[k] = old
	}
	out[name] = v
	return out
}
