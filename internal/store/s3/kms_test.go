package s3

import (
	"bytes"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// TestKeyManagementServiceKeysEncryptAndDecrypt makes one run encrypt and another decrypt; each write uses a new key.
func TestKeyManagementServiceKeysEncryptAndDecrypt(t *testing.T) {
	server := httptest.NewServer(encryptiontest.AmazonKeys{})
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_KMS": server.URL, "AWS_REGION": "eu-central-1",
		"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "the secret", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"} {
		t.Setenv(name, value)
	}
	open := func(key, more string) *encryption.Cipher {
		t.Helper()
		c, diags := encryption.Parse("key_provider \"aws_kms\" \"a\" {\nkms_key_id = \""+key+"\"\n"+more+"\n}\n"+
			"method \"aes_gcm\" \"m\" {\nkeys = key_provider.aws_kms.a\n}\nstate {\nmethod = method.aes_gcm.m\n}", "it")
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		e, diags := encryption.New(c, encryption.Options{
			Kinds: map[string]*encryption.Kind{"aws_kms": KeyProvider(remote.Surroundings{Getenv: os.Getenv})},
			Scope: func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
				return e.Value(&hcl.EvalContext{Variables: more})
			}})
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return e.State()
	}
	document, lineage := []byte(`{"version":4,"serial":1,"lineage":"l"}`), "l"
	for _, spec := range []string{"AES_256", "AES_128"} {
		sealed, err := open("alias/states", "key_spec = \""+spec+"\"").Seal(t.Context(), document, &lineage, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(sealed, []byte("key_provider.aws_kms.a")) {
			t.Errorf("it does not say which key opens it: %s", sealed)
		}
		got, _, err := open("alias/states", "key_spec = \"AES_256\"\nregion = \"eu-west-1\"\nendpoints {\n"+
			"sts = \"https://sts.example\"\n}").Open(t.Context(), sealed)
		if err != nil || !bytes.Equal(got, document) {
			t.Errorf("%s: %v", got, err)
		}
		encryptiontest.Damage(t, open("alias/states", "key_spec = \"AES_256\""), sealed, document, 300)
	}
	for want, c := range map[string]*encryption.Cipher{
		"there is no such key":    open("alias/other", "key_spec = \"AES_256\""),
		"AES_256 or AES_128":      open("alias/states", "key_spec = \"AES_512\""),
		"must be set together":    open("alias/states", "key_spec = \"AES_256\"\naccess_key = \"A\""),
		"look like an AWS region": open("alias/states", "key_spec = \"AES_256\"\nregion = \"here\""),
	} {
		if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "the secret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
