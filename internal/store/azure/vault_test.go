package azure_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/azure"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// again runs the test in a new process with the variables of a cloud, because a process reads its root certificates
// only once.
func again(t *testing.T, c *azuretest.Cloud) bool {
	t.Helper()
	if os.Getenv("TOMBOLO_TEST_CLOUD") == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), c.Start(t)...), "TOMBOLO_TEST_CLOUD="+t.Name(), "ARM_USE_CLI=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

const principal = "tenant_id = \"tenant\"\nclient_id = \"client\"\n"

// One run encrypts and another decrypts; each write uses a new key.
func TestVaultKeysEncryptAndDecrypt(t *testing.T) {
	if again(t, &azuretest.Cloud{Blobs: http.NotFoundHandler(), Assertion: "assertion-canary"}) {
		return
	}
	open := func(vault, key, more string) *encryption.Cipher {
		t.Helper()
		c, diags := encryption.Parse("key_provider \"azure_vault\" \"a\" {\nvault_uri = \""+vault+"\"\n"+
			"vault_key_name = \""+key+"\"\n"+more+"\n}\nmethod \"aes_gcm\" \"m\" {\n"+
			"keys = key_provider.azure_vault.a\n}\nstate {\nmethod = method.aes_gcm.m\n}", "it")
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		e, diags := encryption.New(c, encryption.Options{
			Kinds: map[string]*encryption.Kind{
				"azure_vault": azure.KeyProvider(remote.Surroundings{Getenv: os.Getenv})},
			Scope: func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
				return e.Value(&hcl.EvalContext{Variables: more})
			}})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return e.State()
	}
	const uri = "https://team.vault.azure.net/"
	secret := principal + "client_secret = \"" + azuretest.Secret + "\"\nkey_length = 32"
	token := principal + "use_oidc = true\noidc_token = \"assertion-canary\"\nkey_length = 16"
	document, lineage := []byte(`{"version":4,"serial":1,"lineage":"l"}`), "l"
	for _, more := range []string{secret, token, secret + "\nsymmetric = true\nsymmetric_key_size = 192"} {
		sealed, err := open(uri, "tofu", more).Seal(t.Context(), document, &lineage, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := open(uri, "tofu", secret).Open(t.Context(), sealed)
		if err != nil || !bytes.Equal(got, document) {
			t.Errorf("%s: %v", got, err)
		}
	}
	for want, c := range map[string]*encryption.Cipher{
		"there is no such key":     open(uri, "other", secret),
		"vault_key_name":           open(uri, "a/b", secret),
		"the address of a vault":   open("http://team.vault.azure.net", "tofu", secret),
		"a number of bytes from 1": open(uri, "tofu", strings.Replace(secret, "32", "0", 1)),
		"128, 192 or 256":          open(uri, "tofu", secret+"\nsymmetric = true"),
		"no token":                 open(uri, "tofu", principal+"client_secret = \"wrong-canary\"\nkey_length = 32"),
		"there are no credentials": open(uri, "tofu", "use_cli = false\nkey_length = 32"),
		"there is no cloud":        open(uri, "tofu", secret+"\nenvironment = \"mars\""),
	} {
		if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Each kind of credentials reaches the account at its usual address, and errors contain no secrets.
func TestCredentials(t *testing.T) {
	blobs := &azuretest.Blobs{}
	if again(t, &azuretest.Cloud{Blobs: blobs, Assertion: "assertion-canary"}) {
		return
	}
	text := cty.StringVal
	tokens := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Header.Get("Metadata") == "true" && query.Get("resource") == "https://storage.azure.com":
			fmt.Fprintf(w, `{"access_token": %q}`, azuretest.Token)
		case r.Header.Get("Authorization") == "Bearer request-canary" && r.Method == http.MethodPost &&
			query.Get("serviceConnectionId") == "connection":
			io.WriteString(w, `{"oidcToken": "assertion-canary"}`)
		case r.Header.Get("Authorization") == "Bearer request-canary" && query.Get("audience") != "":
			io.WriteString(w, `{"value": "assertion-canary"}`)
		default:
			http.Error(w, r.Header.Get("Authorization"), http.StatusForbidden)
		}
	}))
	issued := func(more map[string]cty.Value) map[string]cty.Value {
		s := map[string]cty.Value{"access_key": cty.NullVal(cty.String), "tenant_id": text("tenant"),
			"client_id": text("client"), "use_oidc": cty.True, "use_azuread_auth": cty.True,
			"oidc_request_url": text(tokens), "oidc_request_token": text("request-canary")}
		for name, v := range more {
			s[name] = v
		}
		return s
	}
	app := func(more map[string]cty.Value) map[string]cty.Value {
		s := map[string]cty.Value{"access_key": cty.NullVal(cty.String), "tenant_id": text("tenant"),
			"client_id": text("client"), "client_secret": text(azuretest.Secret)}
		for name, v := range more {
			s[name] = v
		}
		return s
	}
	for want, more := range map[string]map[string]cty.Value{
		"": app(map[string]cty.Value{"use_azuread_auth": cty.True}),
		" ": app(map[string]cty.Value{"subscription_id": text("sub"), "resource_group_name": text("group"),
			"lookup_blob_endpoint": cty.True}),
		"  ":  issued(nil),
		"   ": issued(map[string]cty.Value{"ado_pipeline_service_connection_id": text("connection")}),
		"    ": {"access_key": cty.NullVal(cty.String), "use_azuread_auth": cty.True, "use_msi": cty.True,
			"msi_endpoint": text(tokens)},
		"403 Forbidden":                   issued(map[string]cty.Value{"oidc_request_token": text("wrong-canary")}),
		"resource_group_name must be set": app(nil),
		"ResourceNotFound": app(map[string]cty.Value{"subscription_id": text("sub"),
			"resource_group_name": text("other")}),
		"no token": app(map[string]cty.Value{"use_azuread_auth": cty.True,
			"client_secret": text("wrong-canary")}),
		"there are no credentials": {"access_key": cty.NullVal(cty.String)},
	} {
		d, diags := azure.Kind().Open(t.Context(), settings(more), remote.Surroundings{Getenv: os.Getenv})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, err = p.Read(t.Context())
		if strings.TrimSpace(want) == "" && err != nil || err != nil && strings.Contains(err.Error(), "canary") ||
			strings.TrimSpace(want) != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
