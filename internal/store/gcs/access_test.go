package gcs_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// serviceAccount returns the key file of an account whose tokens come from a server.
func serviceAccount(t *testing.T, address string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	text, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "me@p.example.com",
		"private_key_id": "key-id-canary", "token_uri": address + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))})
	must(t, err)
	return string(text)
}

// without removes the environment's credentials.
func without(t *testing.T) {
	for _, name := range []string{"GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN",
		"GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_ENCRYPTION_KEY",
		"GOOGLE_KMS_ENCRYPTION_KEY", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
		"GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_QUOTA_PROJECT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
}

// Credentials come from the block, the environment, files, key files and impersonation.
func TestCredentialsAreFound(t *testing.T) {
	null := cty.NullVal(cty.String)
	for name, test := range map[string]struct {
		more  map[string]cty.Value
		env   map[string]string // FILE stands for the path of a key file, JSON for its content
		acted []string
	}{
		"token":        {more: map[string]cty.Value{"access_token": cty.StringVal("good")}},
		"token in env": {env: map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": "good"}},
		"json":         {env: map[string]string{"GOOGLE_CREDENTIALS": "JSON"}},
		"first":        {env: map[string]string{"GOOGLE_BACKEND_CREDENTIALS": "JSON", "GOOGLE_CREDENTIALS": "{}"}},
		"file":         {env: map[string]string{"GOOGLE_BACKEND_CREDENTIALS": "FILE"}},
		"surroundings": {env: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "FILE"}},
		"account": {env: map[string]string{"GOOGLE_CREDENTIALS": "FILE",
			"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": "states@p.example.com"}, acted: []string{"states@p.example.com"}},
		"accounts": {more: map[string]cty.Value{"access_token": cty.StringVal("good"),
			"impersonate_service_account":           cty.StringVal("states@p.example.com"),
			"impersonate_service_account_delegates": cty.ListVal([]cty.Value{cty.StringVal("a@example.com")})},
			acted: []string{"projects/-/serviceAccounts/a@example.com states@p.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			without(t)
			s := gcstest.New("states")
			s.Tokens, s.Accounts = []string{"good"}, []string{"states@p.example.com"}
			address := serve(t, s)
			text := serviceAccount(t, address)
			file := filepath.Join(t.TempDir(), "key.json")
			must(t, os.WriteFile(file, []byte(text), 0o600))
			for name, value := range test.env {
				t.Setenv(name, strings.NewReplacer("FILE", file, "JSON", text).Replace(value))
			}
			t.Setenv("GOOGLE_IAM_CREDENTIALS_CUSTOM_ENDPOINT", address+"/v1/")
			more := map[string]cty.Value{"access_token": null}
			for name, v := range test.more {
				more[name] = v
			}
			p, err := open(t, settings(address, more)).Place(state.DefaultWorkspace)
			must(t, err)
			life(t, p)
			if !slices.Equal(s.Acted(), test.acted) {
				t.Errorf("acted for %q, want %q", s.Acted(), test.acted)
			}
		})
	}
}

// A token that is no longer accepted is replaced with a new one.
func TestTokensThatAreRefusedAreReplaced(t *testing.T) {
	without(t)
	s := gcstest.New("states")
	s.Tokens = []string{"one"}
	var mu sync.Mutex
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		s.ServeHTTP(w, r)
	}))
	t.Setenv("GOOGLE_CREDENTIALS", serviceAccount(t, address))
	p, err := open(t, settings(address, map[string]cty.Value{"access_token": cty.NullVal(cty.String)})).
		Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Read(t.Context())
	must(t, err)
	mu.Lock()
	s.Tokens = []string{"two"}
	mu.Unlock()
	life(t, p)
}

// Mistakes in a block are reported before any request is sent.
func TestMistakesInBlocks(t *testing.T) {
	without(t)
	for want, more := range map[string]map[string]cty.Value{
		"name of the bucket":  {"bucket": cty.StringVal("")},
		"Only one of":         {"encryption_key": cty.StringVal(customerKey), "kms_encryption_key": cty.StringVal("k")},
		"256 bits":            {"encryption_key": cty.StringVal("secret-canary")},
		"credentials in JSON": {"access_token": cty.NullVal(cty.String), "credentials": cty.StringVal("secret-canary")},
		"is not an address":   {"storage_custom_endpoint": cty.StringVal("user:secret-canary@127.0.0.1")},
		"the JSON object has no type": {"access_token": cty.NullVal(cty.String),
			"credentials": cty.StringVal(`{"private_key":"secret-canary"}`)},
	} {
		_, err := gcs.Hasty(t.Context(), settings("http://127.0.0.1:1", more))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// No secret of a block or its environment appears in an error, a diagnostic or the log.
func TestSecretsAreNeverShown(t *testing.T) {
	without(t)
	gossip := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := fmt.Sprint("gossip ", r.Header, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": text},
			"error_description": text})
	}))
	s := gcstest.New("states")
	s.Tokens = []string{"ya29.given-canary"}
	account := serviceAccount(t, gossip)
	key := []byte("canary-of-256-bits-0123456789abc")
	var mu sync.Mutex
	var output strings.Builder
	for _, more := range []map[string]cty.Value{
		{},
		{"encryption_key": cty.StringVal(customerKey)},
		{"access_token": cty.NullVal(cty.String), "credentials": cty.StringVal(account)},
		{"impersonate_service_account": cty.StringVal("a@example.com")},
		{"storage_custom_endpoint": cty.StringVal(strings.Replace(gossip, "http://", "http://u:pass-canary@", 1))},
		{"storage_custom_endpoint": cty.StringVal("http://u:pass-canary@127.0.0.1:1/")},
	} {
		t.Setenv("GOOGLE_IAM_CREDENTIALS_CUSTOM_ENDPOINT", gossip)
		d, diags := gcs.Kind().Open(t.Context(), settings(gossip, more), remote.Surroundings{Getenv: os.Getenv,
			Log: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&output, format+"\n", args...)
			}})
		fmt.Fprintln(&output, diags)
		gcs.Impatient(d)
		fmt.Fprintln(&output, everything(t, d)...)
	}
	for _, canary := range []string{"token-canary", "pass-canary", "key-id-canary", "PRIVATE KEY", customerKey,
		string(key), "assertion=ey"} {
		if at := strings.Index(output.String(), canary); at >= 0 {
			text := output.String()
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(output.String(), "gossip") < 20 {
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

// A bucket with versions keeps former states with their writers.
func TestBucketsKeepFormerStates(t *testing.T) {
	d := open(t, settings(serve(t, gcstest.New("states")), map[string]cty.Value{
		"encryption_key": cty.StringVal(customerKey)}))
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Unlocked(t.Context())
	must(t, err)
	was := ""
	for n := uint64(1); n <= 3; n++ {
		was, err = h.Write(t.Context(), remote.Write{Data: fmt.Append(nil, "state ", n), Was: was, Serial: n,
			Lineage: "l", Revision: history.Revision{Who: "Zoë@here", Created: int(n),
				Addresses: slices.Repeat([]string{strings.Repeat("a", 1000)}, 20)}})
		must(t, err)
	}
	past := p.(history.Historian)
	all, err := past.List(t.Context())
	must(t, err)
	if len(all) != 3 || all[0].Serial != 3 || all[2].Serial != 1 || all[0].Foreign || all[0].Lineage != "l" ||
		all[0].Revision.Who != "Zoë@here" || all[0].Size != 7 || len(all[0].Revision.Addresses) == 0 {
		t.Errorf("history %+v", all)
	}
	text, err := past.Snapshot(t.Context(), all[2].ID)
	must(t, err)
	if string(text) != "state 1" {
		t.Errorf("the first was %q", text)
	}
	for _, id := range []string{"1", "x", "-1"} {
		if _, err := past.Snapshot(t.Context(), id); err != history.ErrNoRevision {
			t.Errorf("%s: %v", id, err)
		}
	}
}
