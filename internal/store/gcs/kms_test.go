package gcs_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	"github.com/tombolo-iac/tombolo/internal/store/gcs/gcstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// cipher returns a cipher with the settings of a block gcp_kms.
func cipher(t *testing.T, block string) *encryption.Cipher {
	t.Helper()
	c, diags := encryption.Parse("key_provider \"gcp_kms\" \"a\" {\n"+block+"\n}\nmethod \"aes_gcm\" \"m\" {\n"+
		"keys = key_provider.gcp_kms.a\n}\nstate {\nmethod = method.aes_gcm.m\n}", "it")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	e, diags := encryption.New(c, encryption.Options{
		Kinds: map[string]*encryption.Kind{"gcp_kms": gcs.KeyProvider(remote.Surroundings{Getenv: os.Getenv})},
		Scope: func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
			return e.Value(&hcl.EvalContext{Variables: more})
		}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return e.State()
}

// One run encrypts and another decrypts; each write uses a new key.
func TestCloudKMSKeysEncryptAndDecrypt(t *testing.T) {
	without(t)
	s := gcstest.New()
	s.Tokens, s.Accounts = []string{"good"}, []string{"keys@p.example.com"}
	address := serve(t, s)
	t.Setenv("GOOGLE_KMS_CUSTOM_ENDPOINT", address+"/v1/")
	t.Setenv("GOOGLE_IAM_CREDENTIALS_CUSTOM_ENDPOINT", address+"/v1/")
	const key = "kms_encryption_key = \"projects/p/locations/l/keyRings/r/cryptoKeys/states\"\n"
	document, lineage := []byte(`{"version":4,"serial":1,"lineage":"l"}`), "l"
	account := strings.ReplaceAll(serviceAccount(t, address), `\`, `\\`)
	for _, more := range []string{"key_length = 32\naccess_token = \"good\"",
		"key_length = 16\ncredentials = \"" + strings.ReplaceAll(account, `"`, `\"`) + "\"",
		"key_length = 24\naccess_token = \"good\"\nimpersonate_service_account = \"keys@p.example.com\""} {
		sealed, err := cipher(t, key+more).Seal(t.Context(), document, &lineage, 1)
		must(t, err)
		again, err := cipher(t, key+more).Seal(t.Context(), document, &lineage, 1)
		must(t, err)
		if bytes.Equal(sealed, again) || !bytes.Contains(sealed, []byte("key_provider.gcp_kms.a")) {
			t.Errorf("it was sealed twice alike, or does not say which key opens it: %s", sealed)
		}
		got, _, err := cipher(t, key+"key_length = 32\naccess_token = \"good\"").Open(t.Context(), sealed)
		if err != nil || !bytes.Equal(got, document) {
			t.Errorf("%s: %v", got, err)
		}
	}
	for want, block := range map[string]string{
		"is not a Cloud KMS key": "key_length = 32\naccess_token = \"good\"\nkms_encryption_key = \"states\"",
		"a whole number":         key + "key_length = 0\naccess_token = \"good\"",
		"Get new ones":           key + "key_length = 32\naccess_token = \"secret-canary\"",
		"not found": strings.Replace(key, "/states", "/none", 1) +
			"key_length = 32\naccess_token = \"good\"",
		"credentials in JSON": key + "key_length = 32\ncredentials = \"secret-canary\"",
	} {
		if err := cipher(t, block).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
