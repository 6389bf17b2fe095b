package backend

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// Arguments that may be secret in some backend are hidden in source excerpts, and no others are.
func TestSecretArgumentsAreHidden(t *testing.T) {
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
