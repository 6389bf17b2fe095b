package oraclecloud

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table.
func TestVariablesMatchArguments(t *testing.T) {
	var all []drivertest.Variable
	for name, value := range map[string]string{"region": "eu-paris-1", "tenancy_ocid": "t", "user_ocid": "u",
		"fingerprint": "f", "private_key": "k", "private_key_password": "w", "auth": "InstancePrincipal",
		"config_file_profile": "other", "key": "other", "kms_key_id": "kms",
		"private_key_path": drivertest.Content + "k", "workspace_key_prefix": "prefix"} {
		all = append(all, drivertest.Variable{Name: "OCI_" + name, Argument: name, Value: value},
			drivertest.Variable{Name: name, Argument: name, Value: value})
	}
	const key, sum = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "hhAJ7E1Zn6sfQKvHbm+JiAz/WDPHnFSMmfkEXxkc2Qs="
	for name, value := range map[string][3]string{"sse_customer_key": {key, "sse_customer_key_sha256", sum},
		"sse_customer_key_sha256": {sum, "sse_customer_key", key}} {
		for _, variable := range []string{name, "OCI_" + name} {
			all = append(all, drivertest.Variable{Name: variable, Argument: name, Value: value[0],
				With: map[string]string{value[1]: value[2]}})
		}
	}
	certificate, _ := drivertest.Pair(t)
	for name, value := range map[string]string{"custom_cert_location": drivertest.Content + certificate,
		"domain_name_override": "cloud.example", "has_correct_domain_name": "oraclecloud.com"} {
		all = append(all, drivertest.Variable{Name: name, Value: value},
			drivertest.Variable{Name: "OCI_" + name, Value: value})
	}
	const host = "oci_object_storage.ObjectStorageClient=https://objects.example"
	for name, value := range map[string]string{"OCI_CONFIG_FILE": "/elsewhere/config",
		"OCI_HOME_OVERRIDE": "/elsewhere", overrides: host, "OCI_" + overrides: host} {
		all = append(all, drivertest.Variable{Name: name, Value: value})
	}
	drivertest.Settings{Schema: schema(),
		Base:   map[string]string{"bucket": "b", "namespace": "n", "region": "eu-frankfurt-1"},
		Others: []string{"sse_customer_algorithm", "OCI_sse_customer_algorithm"}, // it has only one value
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}.Say(t, all)
}
