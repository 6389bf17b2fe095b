package httpstore

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
	for name, value := range map[string]string{"address": "https://other.example/s",
		"lock_address": "https://a.example/l", "unlock_address": "https://a.example/u", "update_method": "PUT",
		"lock_method": "PUT", "unlock_method": "DELETE", "username": "me", "password": "word", "retry_max": "5",
		"retry_wait_min": "3", "retry_wait_max": "40"} {
		all = append(all, drivertest.Variable{Name: variable(name), Argument: name, Value: value})
	}
	drivertest.Settings{Schema: schema(), Base: map[string]string{"address": "https://a.example/s"},
		Others: []string{variable("client_ca_certificate_pem"), variable("client_certificate_pem"),
			variable("client_private_key_pem")},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}.Say(t, all)
}
