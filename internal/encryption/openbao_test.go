package encryption

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// transitEngine is a small transit engine. It answers as OpenBao 2 and Vault 1 do.
func transitEngine(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	keys := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var in struct {
			Bits       int
			Ciphertext string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		refuse := func(status int, why string) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{why}})
		}
		data := map[string]any{}
		switch {
		case r.Header.Get("X-Vault-Token") != "the token of the server":
			refuse(http.StatusForbidden, "permission denied for "+r.Header.Get("X-Vault-Token"))
			return
		case r.URL.Path == "/v1/transit/datakey/plaintext/states":
			key := make([]byte, in.Bits/8)
			rand.Read(key)
			wrapped := "vault:v1:" + rand.Text()
			keys[wrapped] = key
			data["plaintext"], data["ciphertext"] = key, wrapped
		case r.URL.Path == "/v1/transit/decrypt/states" && keys[in.Ciphertext] != nil:
			data["plaintext"] = keys[in.Ciphertext]
		default:
			refuse(http.StatusBadRequest, "encryption key not found")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(s.Close)
	return s
}

// TestKeysOfTheTransitEngineOpenAndSeal has one run seal and another open; mistakes are told without the token.
func TestKeysOfTheTransitEngineOpenAndSeal(t *testing.T) {
	s := transitEngine(t)
	t.Setenv("BAO_TOKEN", "")
	t.Setenv("VAULT_TOKEN", "the token of the server")
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
