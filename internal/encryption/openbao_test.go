package encryption_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// TestTransitKeysEncryptAndDecrypt makes one run encrypt and another decrypt. Errors do not contain the token.
func TestTransitKeysEncryptAndDecrypt(t *testing.T) {
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

// Connections are configured by the variables of OpenBao's programs, or those of Vault's.
func TestConnectionsToTheTransitEngineFollowTheVariables(t *testing.T) {
	s := httptest.NewUnstartedServer(encryptiontest.Transit{})
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // drop errors of clients that do not trust the server
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	file := func(name, kind string, der []byte) string {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	cert := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	ca, private := file("ca.pem", "CERTIFICATE", cert.Certificate[0]), file("key.pem", "PRIVATE KEY", key)
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		http.Error(w, r.Method, http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	settings := "key_provider \"openbao\" \"a\" {\nkey_name = \"states\"\n}\nmethod \"aes_gcm\" \"m\" {\n" +
		"keys = key_provider.openbao.a\n}\nstate {\nmethod = method.aes_gcm.m\n}"
	names := []string{"ADDR", "TOKEN", "NAMESPACE", "CACERT", "CACERT_BYTES", "CAPATH", "CLIENT_CERT", "CLIENT_KEY",
		"SKIP_VERIFY", "TLS_SERVER_NAME", "CLIENT_TIMEOUT", "PROXY_ADDR", "HTTP_PROXY"}
	for variables, want := range map[string]string{
		"":                                     "certificate",
		"VAULT_CACERT=" + ca:                   "",
		"BAO_CACERT=" + ca + " VAULT_CACERT=x": "",
		"BAO_CACERT=" + dir + "/none":          "no such file",
		"BAO_CACERT=" + private:                "no certificate",
		"VAULT_CACERT_BYTES=" + strings.NewReplacer(" ", "~", "\n", "|").Replace(string(text)): "",
		"BAO_CAPATH=" + dir:                                                          "",
		"BAO_CAPATH=" + t.TempDir():                                                  "no certificate",
		"BAO_SKIP_VERIFY=true":                                                       "",
		"BAO_SKIP_VERIFY=perhaps":                                                    "true or false",
		"BAO_CACERT=" + ca + " BAO_TLS_SERVER_NAME=b.invalid":                        "b.invalid",
		"BAO_CACERT=" + ca + " BAO_TLS_SERVER_NAME=example.com":                      "",
		"BAO_CACERT=" + ca + " BAO_CLIENT_CERT=" + ca + " BAO_CLIENT_KEY=" + private: "",
		"BAO_CACERT=" + ca + " BAO_CLIENT_CERT=" + ca:                                "needs its key",
		"BAO_CACERT=" + ca + " BAO_CLIENT_CERT=" + private + " BAO_CLIENT_KEY=" + ca: "not a certificate",
		"BAO_CACERT=" + ca + " BAO_CLIENT_TIMEOUT=30":                                "",
		"BAO_CACERT=" + ca + " BAO_CLIENT_TIMEOUT=1ns":                               "cannot be reached",
		"BAO_CLIENT_TIMEOUT=soon":                                                    "30s",
		"BAO_CACERT=" + ca + " VAULT_PROXY_ADDR=" + proxy.URL:                        "cannot be reached",
		"BAO_HTTP_PROXY=nothing":                                                     "address of a proxy",
	} {
		for _, name := range names {
			t.Setenv("BAO_"+name, "")
			t.Setenv("VAULT_"+name, "")
		}
		t.Setenv("BAO_ADDR", s.URL)
		t.Setenv("VAULT_TOKEN", encryptiontest.TransitToken)
		for _, variable := range strings.Fields(variables) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, strings.NewReplacer("~", " ", "|", "\n").Replace(value))
		}
		err := start(t, settings, "").State().Ready(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: got %v, want %q", variables, err, want)
		}
	}
	if proxied.Load() == 0 {
		t.Error("the proxy was not used")
	}
}
