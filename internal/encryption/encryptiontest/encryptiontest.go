// Package encryptiontest provides ciphers for tests of stores.
package encryptiontest

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Settings are encryption settings in the form of TF_ENCRYPTION, with a fixed key that needs no derivation.
var Settings = `{"method":{"aes_gcm":{"m":{"keys":{"encryption_key":[` + key + `],"decryption_key":[` + key + `]}}}},` +
	`"state":{"method":"method.aes_gcm.m"},"plan":{"method":"method.aes_gcm.m"}}`

var key = strings.Repeat("7,", 31) + "7"

// Variable is the environment variable with which tests of stores encrypt states.
const Variable = "TOMBOLO_TEST_SEALED"

// Cipher returns the cipher of Settings for states.
func Cipher() *encryption.Cipher { return of(Settings) }

// Turn returns a cipher for states that encrypts with key number now, and decrypts with the other keys as well. 0
// stands for unencrypted states.
func Turn(now int, others ...int) *encryption.Cipher { return of(TurnSettings(now, others...)) }

// TurnSettings returns the settings of Turn.
func TurnSettings(now int, others ...int) string {
	blocks, target, end := "method \"unencrypted\" \"k0\" {}\n", "", ""
	for i, n := range append([]int{now}, others...) {
		kind := "unencrypted"
		if n > 0 {
			kind = "aes_gcm"
			bytes := strings.TrimSuffix(strings.Repeat(fmt.Sprint(n, ","), 32), ",")
			blocks += fmt.Sprintf("method \"aes_gcm\" \"k%d\" {\nkeys = {\nencryption_key = [%s]\ndecryption_key = "+
				"[%[2]s]\n}\n}\n", n, bytes)
		}
		if i > 0 {
			target += "fallback {\n"
			end += "}\n"
		}
		target += fmt.Sprintf("method = method.%s.k%d\n", kind, n)
	}
	return blocks + "state {\n" + target + end + "}\n"
}

// of returns the cipher for states that settings configure.
func of(settings string) *encryption.Cipher {
	c, diags := encryption.Parse(settings, "settings")
	var e *encryption.Encryption
	if !diags.HasErrors() {
		e, diags = encryption.New(c, encryption.Options{Scope: func(e hcl.Expression, more map[string]cty.Value) (
			cty.Value, hcl.Diagnostics) {
			return e.Value(&hcl.EvalContext{Variables: more})
		}})
	}
	if diags.HasErrors() {
		panic(diags.Err())
	}
	return e.State()
}

// Asked returns the cipher if the variable is set, and nil otherwise.
func Asked() *encryption.Cipher {
	if os.Getenv(Variable) == "" {
		return nil
	}
	return Cipher()
}
