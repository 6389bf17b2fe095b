//go:build unix

package backend

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// TestFilesOfBackendsAreRegular passes a pipe without a writer, and an endless device, wherever a backend block can
// name a file. Each is refused immediately.
func TestFilesOfBackendsAreRegular(t *testing.T) {
	text := cty.StringVal
	list := func(name string) cty.Value { return cty.ListVal([]cty.Value{text(name)}) }
	role := func(name string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"role_arn": text("arn:aws:iam::1:role/x"),
			"web_identity_token_file": text(name)})
	}
	bucket := map[string]cty.Value{"bucket": text("b"), "key": text("k"), "region": text("eu-central-1")}
	account := map[string]cty.Value{"storage_account_name": text("account"), "container_name": text("states"),
		"key": text("k"), "tenant_id": text("t"), "client_id": text("c"), "use_azuread_auth": cty.True}
	consul := map[string]cty.Value{"address": text("127.0.0.1:1"), "scheme": text("https"), "path": text("p")}
	suffix := map[string]cty.Value{"secret_suffix": text("x")}
	conn := func(format string) func(name string) cty.Value {
		return func(name string) cty.Value { return text(strings.ReplaceAll(format, "FILE", name)) }
	}
	// These files name other files.
	within := func(content string) string {
		outer := filepath.Join(t.TempDir(), "outer")
		if err := os.WriteFile(outer, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return outer
	}
	naming := func(value func(name string) cty.Value, content string) func(name string) cty.Value {
		return func(name string) cty.Value {
			return value(within(strings.ReplaceAll(content, "FILE", name)))
		}
	}
	cluster := func(where, who string) string {
		return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\", " +
			where + "}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n" +
			"users: [{name: u, user: {" + who + "}}]\n"
	}
	external := func(source string) string {
		return `{"type": "external_account", "audience": "//iam.googleapis.com/x", "token_url": "http://127.0.0.1:1", ` +
			`"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {` + source + `}}`
	}
	service := conn("service=x servicefile=FILE")
	storage := map[string]cty.Value{"bucket": text("b")}
	for i, c := range []struct {
		kind, argument string
		rest           map[string]cty.Value
		value          func(name string) cty.Value
	}{
		{"s3", "custom_ca_bundle", bucket, text}, {"s3", "shared_config_files", bucket, list},
		{"s3", "shared_credentials_files", bucket, list}, {"s3", "shared_credentials_file", bucket, text},
		{"s3", "assume_role_with_web_identity", bucket, role},
		{"azurerm", "client_certificate_path", account, text}, {"azurerm", "client_id_file_path", account, text},
		{"azurerm", "client_secret_file_path", account, text},
		{"consul", "ca_file", consul, text},
		{"kubernetes", "config_path", suffix, text}, {"kubernetes", "config_paths", suffix, list},
		{"pg", "conn_str", nil, conn("postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=FILE")},
		{"pg", "conn_str", nil, conn("postgres://127.0.0.1:1/x?sslmode=disable&passfile=FILE")},
		{"pg", "conn_str", nil, conn("host=127.0.0.1 sslmode=verify-ca sslrootcert = 'FILE'")},
		{"pg", "conn_str", nil, conn("service=x servicefile=FILE")},
		{"pg", "conn_str", nil, conn("host=127.0.0.1 sslmode=require sslcert=FILE sslkey=FILE")},
		{"pg", "conn_str", nil, naming(service, "[x]\nhost=127.0.0.1\nsslmode=disable\npassfile=FILE\n")},
		{"pg", "conn_str", nil, naming(service, "[x]\nhost=127.0.0.1\nsslmode=verify-full\n sslrootcert = FILE\n")},
		{"s3", "shared_config_files", bucket, naming(list, "[default]\nca_bundle = FILE\n")},
		{"s3", "shared_config_files", bucket, naming(list, "[default]\n  WEB_IDENTITY_TOKEN_file=FILE\n"+
			"role_arn = arn:aws:iam::1:role/x\n")},
		{"s3", "shared_credentials_file", bucket, naming(text, "[default]\nweb_identity_token_file = FILE\n"+
			"role_arn = arn:aws:iam::1:role/x\n")},
		{"kubernetes", "config_path", suffix, naming(text, cluster("certificate-authority: FILE", ""))},
		{"kubernetes", "config_paths", suffix, naming(list, cluster("", "tokenFile: FILE"))},
		{"kubernetes", "config_path", suffix, naming(text, cluster("", "client-certificate: FILE, client-key: FILE"))},
		{"gcs", "credentials", storage, naming(text, external(`"file": "FILE"`))},
		{"gcs", "credentials", storage, conn(external(`"file": "FILE"`))},
		{"gcs", "credentials", storage, naming(text, external(
			`"certificate": {"certificate_config_location": "FILE"}`))},
	} {
		for what, plant := range map[string]func(name string) error{
			"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
			"device": func(name string) error { return os.Symlink("/dev/zero", name) },
		} {
			dir := t.TempDir()
			if err := plant(filepath.Join(dir, "file")); err != nil {
				t.Skipf("needs a system where such a file can be made: %s", err)
			}
			k := kinds[c.kind]
			values := map[string]cty.Value{}
			for name, ty := range k.Schema.ImpliedType().AttributeTypes() {
				values[name] = cty.NullVal(ty)
			}
			for name, v := range c.rest {
				values[name] = v
			}
			values[c.argument] = c.value(filepath.Join(dir, "file"))
			_, diags := k.Open(t.Context(), cty.ObjectVal(values), remote.Surroundings{Dir: dir,
				Getenv: func(string) string { return "" }})
			problem := diags.Err()
			if problem == nil || !strings.Contains(problem.Error(), "not a regular file") {
				t.Errorf("%d: %s, %s, a %s: %v", i, c.kind, c.argument, what, problem)
			}
		}
	}
}
