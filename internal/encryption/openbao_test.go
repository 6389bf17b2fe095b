package encryption_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// TestKeysOfTheTransitEngineOpenAndSeal has one run seal and another open; mistakes are told without the token.
func TestKeysOfTheTransitEngineOpenAndSeal(t *testing.T) {
	s := httptest.NewServer(encryptiontest.Transit{})
	t.Cleanup(s.Close)
	t.Setenv("BAO_TOKEN", "")
	t.Setenv("VAULT_TOKEN", encryptiontest.TransitToken)
	settings := func(more string) string {
		return "key_provider \"openbao\" \"a\" {\naddress = \"" + s.URL + "\"\n" + more + "\n}\n" +
			"method \"aes_gcm\" \"m\" {\nkeys = key_provider.openbao.a\n}\nstate {\nmethod = method.aes_gcm.m\n}"
	}
	document, lineage := []byte(`{"version":4,"serial":1,"lineage":"l"}`), "l"
	sealed, err := start(t, settings("key_name = \"states\""), "").State().Seal(t.Context(), document, &lineage, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := start(t, settings("key_name = \"states\"\nkey_length = 16"), "").State().Open(t.Context(), sealed)
	if err != nil || !bytes.Equal(got, document) {
		t.Errorf("%s: %v", got, err)
	}
	encryptiontest.Damage(t, start(t, settings("key_name = \"states\""), "").State(), sealed, document, 1000)
	for more, want := range map[string]string{
		"key_name = \"other\"":                                        "encryption key not found",
		"key_name = \"states\"\nkey_length = 24":                      "16, 32 or 64",
		"key_name = \"states\"\ntoken = \"wrong one\"":                "permission denied for (token)",
		"key_name = \"states\"\ntransit_engine_path = \"/elsewhere\"": "encryption key not found",
	} {
		err := start(t, settings(more), "").State().Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "wrong one") {
			t.Errorf("%s: got %v, want %q", more, err, want)
		}
	}
}
