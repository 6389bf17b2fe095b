package backend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// The hashes are those that Terraform 1.11.4 and OpenTofu 1.12.6 recorded for the same blocks: each program accepts the
// records of the others.
func TestHashes(t *testing.T) {
	for text, want := range map[string]uint64{
		`backend "pg" {}`: 1949691007,
		"backend \"pg\" {\n schema_name = \"cli\"\n }":                         114055556,
		"backend \"pg\" {\n schema_name = \"tt\"\n table_name = \"mytab\"\n }": 2717447397,
		"backend \"local\" {\n path = \"a/terraform.tfstate\"\n }":             2202299524,
	} {
		b := blockOf(t, text)
		if b.Hash != want {
			t.Errorf("%s: hash %d, want %d", text, b.Hash, want)
		}
	}
}

// The records are from Terraform 1.11.4 and OpenTofu 1.12.6, whose backend "http" has one more argument.
func TestRecordsOfOtherProgramsMatchTheBlock(t *testing.T) {
	const (
		block = "backend \"http\" {\n address = \"http://127.0.0.1:1/x\"\n retry_max = \"0\"\n }"
		names = `"client_ca_certificate_pem": null, "client_certificate_pem": null, "client_private_key_pem": null,
"lock_address": null, "lock_method": null, "password": null, "retry_wait_max": null, "retry_wait_min": null,
"skip_cert_verification": null, "unlock_address": null, "unlock_method": null, "update_method": null, "username": null`
		terraform = `{"version": 3, "terraform_version": "1.15.9", "backend": {"type": "http", "config": {
"address": "http://127.0.0.1:1/x", "retry_max": 0, ` + names + `}, "hash": 3567530797}}`
		tofu = `{"version": 3, "backend": {"type": "http", "config": {
"address": "http://127.0.0.1:1/x", "retry_max": 0, "headers": null, ` + names + `}, "hash": 2237197447}}`
		other = `{"version": 3, "backend": {"type": "http", "config": {
"address": "http://127.0.0.1:1/x", "retry_max": 0, "headers": null, "news": 1, ` + names + `}, "hash": 2237197447}}`
	)
	for name, record := range map[string]string{"terraform": terraform, "tofu": tofu, "other": other} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		recorded, err := backend.Recorded(dir)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			block:                               name != "other",
			strings.Replace(block, "0", "1", 1): false,
			strings.Replace(block, " }", " headers = { a = \"b\" }\n }", 1): false,
			`backend "pg" {}`: false,
		} {
			if got := recorded.IsRecordOf(blockOf(t, text)); got != want {
				t.Errorf("the record of %s is that of %s: %t", name, text, got)
			}
		}
	}
}

// A record that this version cannot read still names the location of objects, so it is an error, not a missing record.
func TestRecordsOfOtherVersionsAreRefused(t *testing.T) {
	const remote = `"remote": {"type": "http", "config": {"address": "http://127.0.0.1:1/"}}`
	for record, want := range map[string]string{
		`{"version": 3, ` + remote + `, "modules": []}`: "legacy remote state",
		`{"version": 3, "remote": {}}`:                  "legacy remote state",
		`{` + remote + `}`:                              "legacy remote state",
		`{"version": 2, ` + remote + `}`:                "version 2",
		`{"version": 4, "backend": {"type": "local"}}`:  "version 4",
		`{"version": 3, "remote": null}`:                "",
		`{"version": 3}`:                                "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
		switch recorded, err := backend.Recorded(dir); {
		case want == "" && (recorded != nil || err != nil):
			t.Errorf("%s: %v, %v", record, recorded, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", record, err)
		}
	}
}

// blockOf decodes a backend block.
func blockOf(t *testing.T, text string) *backend.Backend {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("terraform {\n"+text+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, diags := config.LoadModule(t.Context(), config.Options{}, dir, addr.RootModule)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	b, diags := backend.Of(m)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return b
}
