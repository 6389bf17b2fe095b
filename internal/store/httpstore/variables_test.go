package httpstore

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
	var all []drivertest.Variable
	for name, value := range map[string]string{"address": "https://other.example/s",
		"lock_address": "https://a.example/l", "unlock_address": "https://a.example/u", "update_method": "PUT",
		"lock_method": "PUT", "unlock_method": "DELETE", "username": "me", "password": "word", "retry_max": "5",
		"retry_wait_min": "3", "retry_wait_max": "40"} {
		all = append(all, drivertest.Variable{Name: variable(name), Argument: name, Value: value})
	}
	block := drivertest.Settings{Schema: schema(), Base: map[string]string{"address": "https://a.example/s"},
		Others: []string{variable("client_ca_certificate_pem"), variable("client_certificate_pem"),
			variable("client_private_key_pem")},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"update_method": "POST", "lock_method": "LOCK", "unlock_method": "UNLOCK",
		"skip_cert_verification": "false", "retry_max": "2", "retry_wait_min": "1", "retry_wait_max": "30"})
	block.Say(t, all)
}
