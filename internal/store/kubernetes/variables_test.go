package kubernetes

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table. The defaults are those that Terraform
// documents.
func TestVariablesMatchArguments(t *testing.T) {
	block := drivertest.Settings{Schema: schema(),
		Base:   map[string]string{"secret_suffix": "s", "host": "https://k.example"},
		Others: []string{"KUBE_IN_CLUSTER_CONFIG"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"namespace": "default", "insecure": "false", "in_cluster_config": "false"})
	block.Say(t, []drivertest.Variable{
		{Name: "KUBE_NAMESPACE", Argument: "namespace", Value: "other"},
		{Name: "KUBE_HOST", Argument: "host", Value: "https://other.example"},
		{Name: "KUBE_USER", Argument: "username", Value: "me"},
		{Name: "KUBE_PASSWORD", Argument: "password", Value: "word"},
		{Name: "KUBE_TOKEN", Argument: "token", Value: "token"},
		{Name: "KUBE_INSECURE", Argument: "insecure", Value: "true"},
		{Name: "KUBE_CLUSTER_CA_CERT_DATA", Argument: "cluster_ca_certificate", Value: "ca"},
		{Name: "KUBE_CLIENT_CERT_DATA", Argument: "client_certificate", Value: "cert"},
		{Name: "KUBE_CLIENT_KEY_DATA", Argument: "client_key", Value: "key"},
		{Name: "KUBE_CONFIG_PATH", Argument: "config_path", Value: kubectl},
		{Name: "KUBE_CONFIG_PATHS", Argument: "config_paths", Value: kubectl},
		{Name: "KUBE_CTX", Argument: "config_context", Value: "two", With: map[string]string{"config_path": kubectl}},
		{Name: "KUBE_CTX_AUTH_INFO", Argument: "config_context_auth_info", Value: "two",
			With: map[string]string{"config_path": kubectl}},
		{Name: "KUBE_CTX_CLUSTER", Argument: "config_context_cluster", Value: "two",
			With: map[string]string{"config_path": kubectl}},
		{Name: "KUBE_PROXY_URL", Argument: "", Value: "http://proxy.example"},
	})
}

const kubectl = drivertest.Content + `apiVersion: v1
kind: Config
current-context: one
clusters: [{name: one, cluster: {server: "https://one.example"}},
  {name: two, cluster: {server: "https://two.example", insecure-skip-tls-verify: true}}]
users: [{name: one, user: {token: one}}, {name: two, user: {token: two}}]
contexts: [{name: one, context: {cluster: one, user: one}}, {name: two, context: {cluster: two, user: two}}]
`
