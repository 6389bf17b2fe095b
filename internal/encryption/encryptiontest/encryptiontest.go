// Package encryptiontest has ciphers for tests of stores of states.
package encryptiontest

import (
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Settings are encryption settings with a fixed key, which is cheap to use, as TF_ENCRYPTION holds them.
var Settings = `{"method":{"aes_gcm":{"m":{"keys":{"encryption_key":[` + key + `],"decryption_key":[` + key + `]}}}},` +
	`"state":{"method":"method.aes_gcm.m"},"plan":{"method":"method.aes_gcm.m"}}`

var key = strings.Repeat("7,", 31) + "7"

// Variable is the environment variable with which tests of states use sealed ones.
const Variable = "TOMBOLO_TEST_SEALED"

// Cipher returns the cipher of Settings for states.
func Cipher() *encryption.Cipher {
	c, diags := encryption.Parse(Settings, "Settings")
	var e *encryption.Encryption
	if !diags.HasErrors() {
		e, diags = encryption.New(c, encryption.Options{Scope: func(e hcl.Expression, more map[string]cty.Value) (
			cty.Value,
			hcl.Diagnostics) {
			return e.Value(&hcl.EvalContext{Variables: more})
		}})
	}
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return e.State()
}

// Asked returns the cipher if the variable is set, and nil otherwise: states are not sealed.
func Asked() *encryption.Cipher {
	if os.Getenv(Variable) == "" {
		return nil
	}
	return Cipher()
}
