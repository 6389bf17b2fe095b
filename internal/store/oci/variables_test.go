package oci

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// A variable that the driver reads and the table lacks fails the test.
func TestVariablesSayWhatArgumentsSay(t *testing.T) {
	var all []drivertest.Variable
	for name, value := range map[string]string{"region": "eu-paris-1", "tenancy_ocid": "t", "user_ocid": "u",
		"fingerprint": "f", "private_key": "k", "private_key_password": "w", "auth": "InstancePrincipal",
		"config_file_profile": "other", "kms_key_id": "kms",
		"private_key_path": drivertest.Content + "k", "workspace_key_prefix": "prefix"} {
		all = append(all, drivertest.Variable{Name: "OCI_" + name, Argument: name, Value: value},
			drivertest.Variable{Name: name, Argument: name, Value: value})
	}
	drivertest.Settings{Schema: schema(),
		Base: map[string]string{"bucket": "b", "namespace": "n", "region": "eu-frankfurt-1"},
		Others: []string{"OCI_CONFIG_FILE", overrides, "sse_customer_key", "OCI_sse_customer_key",
			"sse_customer_key_sha256", "OCI_sse_customer_key_sha256"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}.Say(t, all)
}
