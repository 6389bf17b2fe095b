package backend

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// What may hold a secret is covered where code is shown, and nothing else is.
func TestSecretArgumentsAreCovered(t *testing.T) {
	for kind := range kinds {
		for name, a := range (&Backend{Type: kind}).attributes() {
			if got, want := tfjson.SecretSetting(name), secret(a); got != want {
				t.Errorf("%s of the backend %s is covered: %t, want %t", name, kind, got, want)
			}
		}
	}
}
