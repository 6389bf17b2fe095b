package consul

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table. The defaults are those that Terraform
// documents.
func TestVariablesMatchArguments(t *testing.T) {
	cert, key := drivertest.Pair(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "ca.pem"), []byte(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	block := drivertest.Settings{Schema: schema(), Base: map[string]string{"path": "p"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"gzip": "false", "lock": "true", "scheme": "http"})
	block.Say(t, []drivertest.Variable{
		{Name: "CONSUL_HTTP_ADDR", Argument: "address", Value: "consul.example:8500"},
		{Name: "CONSUL_HTTP_TOKEN", Argument: "access_token", Value: "token"},
		{Name: "CONSUL_HTTP_AUTH", Argument: "http_auth", Value: "me:word"},
		{Name: "CONSUL_HTTP_SSL", Argument: "", Value: "true"},
		{Name: "CONSUL_HTTP_SSL_VERIFY", Argument: "", Value: "false"},
		{Name: "CONSUL_TLS_SERVER_NAME", Argument: "", Value: "other"},
		{Name: "CONSUL_NAMESPACE", Argument: "", Value: "n"},
		{Name: "CONSUL_PARTITION", Argument: "", Value: "p"},
		{Name: "CONSUL_HTTP_TOKEN_FILE", Argument: "", Value: drivertest.Content + "token"},
		{Name: "CONSUL_CACERT", Argument: "", Value: drivertest.Content + cert},
		{Name: "CONSUL_CLIENT_CERT", Argument: "cert_file", Value: drivertest.Content + cert,
			With: map[string]string{"key_file": drivertest.Content + key}},
		{Name: "CONSUL_CLIENT_KEY", Argument: "key_file", Value: drivertest.Content + key,
			With: map[string]string{"cert_file": drivertest.Content + cert}},
		{Name: "CONSUL_CAPATH", Argument: "", Value: folder},
	})
}
