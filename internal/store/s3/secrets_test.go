package s3_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// gossip is a service that responds to each request with an error that contains the entire request.
func gossip(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var output strings.Builder
	for name, values := range r.Header {
		fmt.Fprintf(&output, "%s: %s ", name, strings.Join(values, " "))
	}
	output.Write(body)
	w.WriteHeader(http.StatusBadRequest)
	if r.Header.Get("X-Amz-Target") != "" {
		fmt.Fprintf(w, `{"__type":"Gossip","message":%q}`, output.String())
		return
	}
	text := strings.NewReplacer("&", "", "<", "", ">", "").Replace(output.String())
	fmt.Fprintf(w, "<Error><Code>Gossip</Code><Message>%s</Message></Error>", text)
}

// No secret of a block appears in an error, a diagnostic or the log.
func TestSecretsAreNeverShown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(gossip))
	t.Cleanup(server.Close)
	key := []byte("canary-of-256-bits-0123456789abc")
	keyText := base64.StdEncoding.EncodeToString(key)
	canaries := []string{"AKIDCANARY", "secret-canary", "token-canary", "password-canary", "identity-canary",
		"env-canary", string(key), keyText}
	var mu sync.Mutex // calls are concurrent
	var output strings.Builder
	role := func(token string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"role_arn": cty.StringVal("arn:aws:iam::1:role/r"),
			"web_identity_token": cty.StringVal(token)})
	}
	withPassword := strings.Replace(server.URL, "http://", "http://user:password-canary@", 1)
	for _, more := range []map[string]cty.Value{
		{},
		{"token": cty.StringVal("token-canary"), "sse_customer_key": cty.StringVal(keyText)},
		{"endpoint": cty.StringVal(withPassword), "endpoints": cty.NullVal(cty.DynamicPseudoType)},
		{"endpoint": cty.StringVal("http://user:password-canary@127.0.0.1:1"), "max_retries": cty.Zero,
			"endpoints": cty.NullVal(cty.DynamicPseudoType)},
		{"endpoint": cty.StringVal("//user:password-canary@127.0.0.1:x\x00"),
			"endpoints": cty.NullVal(cty.DynamicPseudoType)},
		{"http_proxy": cty.StringVal("http://user:password-canary@127.0.0.1:1"), "max_retries": cty.Zero,
			"endpoint":  cty.StringVal("http://s3.example.com"),
			"endpoints": cty.NullVal(cty.DynamicPseudoType)},
		{"https_proxy": cty.StringVal("user:password-canary@127.0.0.1")},
		{"sse_customer_key": cty.StringVal(keyText + "x")},
		{"assume_role_with_web_identity": role("identity-canary"), "sts_endpoint": cty.StringVal(server.URL)},
		{"assume_role_with_web_identity": role("identity-canary"), "sts_endpoint": cty.StringVal(server.URL),
			"allowed_account_ids": cty.SetVal([]cty.Value{cty.StringVal("1")})},
		{"dynamodb_table": cty.StringVal("locks"), "use_lockfile": cty.False,
			"dynamodb_endpoint": cty.StringVal(server.URL)},
	} {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "env-canary")
		o := remote.Surroundings{
			Getenv: func(name string) string {
				return map[string]string{"AWS_SECRET_ACCESS_KEY": "env-canary"}[name]
			},
			Log: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&output, format+"\n", args...)
			},
		}
		d, diags := s3.Kind().Open(t.Context(), cty.ObjectVal(settings(server.URL, more)), o)
		for _, one := range diags {
			fmt.Fprintln(&output, one.Summary, one.Detail)
		}
		if diags.HasErrors() {
			continue
		}
		fmt.Fprintln(&output, everything(t, d)...)
	}
	for _, canary := range canaries {
		if at := strings.Index(output.String(), canary); at >= 0 {
			text := output.String()
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(output.String(), "Gossip") < 20 {
		t.Errorf("the message of the service is missing:\n%s", output.String())
	}
}

// everything calls all methods of a driver and returns their results.
func everything(t *testing.T, d remote.Driver) []any {
	ctx := t.Context()
	_, err := d.Workspaces(ctx)
	shown := []any{err}
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Read(ctx)
	shown = append(shown, p.String(), err)
	_, err = p.ReadJournal(ctx)
	shown = append(shown, err)
	_, err = p.Holder(ctx)
	shown = append(shown, err, p.ForceUnlock(ctx, "x"))
	_, err = p.Lock(ctx, drivertest.Info(lockID))
	shown = append(shown, err)
	h, err := p.Unlocked(ctx)
	must(t, err)
	_, err = h.Write(ctx, remote.Write{Data: []byte("x")})
	shown = append(shown, err, h.Append(ctx, "v", 1, []byte("x")), h.Check(ctx), h.Delete(ctx))
	_, err = h.StartJournal(ctx, "", []byte("x"))
	return append(shown, err)
}
