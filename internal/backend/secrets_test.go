package backend

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// What may hold a secret in some backend is covered where code is shown, and nothing else is.
func TestSecretArgumentsAreCovered(t *testing.T) {
	secrets := map[string]bool{}
	for kind := range kinds {
		for name, a := range (&Backend{Type: kind}).attributes() {
			secrets[name] = secrets[name] || secret(a)
		}
	}
	for name, want := range secrets {
		if got := tfjson.SecretSetting(name); got != want {
			t.Errorf("the argument %s is covered: %t, want %t", name, got, want)
		}
	}
}
