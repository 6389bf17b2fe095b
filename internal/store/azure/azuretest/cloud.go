package azuretest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Cloud serves Azure on this machine. Programs that use its proxy reach the services at their usual addresses.
type Cloud struct {
	Blobs http.Handler // of the storage account
	// Secret is the client secret that the token service accepts; "" means the constant Secret.
	Secret string
	// Assertion is accepted instead of the client secret.
	Assertion string
}

// Secret is the client secret that the token service accepts by default.
const Secret = "secret-canary"

// Start starts the proxy, and returns the environment variables of programs that use it.
func (c *Cloud) Start(t *testing.T) []string {
	t.Helper()
	return (&drivertest.Cloud{Services: c}).Start(t)
}

// ServeHTTP implements http.Handler: each host is a service.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	switch {
	case host == Account+".blob.core.windows.net":
		c.Blobs.ServeHTTP(w, r)
	case host == "login.microsoftonline.com":
		c.tokens(w, r)
	case host == "management.azure.com":
		c.manager(w, r)
	case strings.HasSuffix(host, ".vault.azure.net"):
		c.vault(w, r)
	default:
		http.NotFound(w, r)
	}
}

// answer responds with a JSON document.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

type object = map[string]any

// tokens is the token service.
func (c *Cloud) tokens(w http.ResponseWriter, r *http.Request) {
	const base = "https://login.microsoftonline.com/"
	tenant, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		answer(w, http.StatusOK, object{
			"tenant_discovery_endpoint": base + "tenant/v2.0/.well-known/openid-configuration",
			"metadata": []object{{"preferred_network": "login.microsoftonline.com",
				"preferred_cache": "login.microsoftonline.com", "aliases": []string{"login.microsoftonline.com"}}}})
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		answer(w, http.StatusOK, object{"issuer": base + tenant + "/v2.0",
			"authorization_endpoint": base + tenant + "/oauth2/v2.0/authorize",
			"token_endpoint":         base + tenant + "/oauth2/v2.0/token"})
	case r.PostFormValue("client_secret") == cmp.Or(c.Secret, Secret),
		c.Assertion != "" && r.PostFormValue("client_assertion") == c.Assertion:
		answer(w, http.StatusOK, object{"token_type": "Bearer", "expires_in": 3600, "access_token": Token})
	default:
		answer(w, http.StatusUnauthorized, object{"error": "invalid_client",
			"error_description": "wrong: " + r.PostFormValue("client_secret") + r.PostFormValue("client_assertion")})
	}
}

// manager is the resource manager.
func (c *Cloud) manager(w http.ResponseWriter, r *http.Request) {
	const account = "/subscriptions/sub/resourceGroups/group/providers/Microsoft.Storage/storageAccounts/" + Account
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		answer(w, http.StatusUnauthorized, object{"error": object{"code": "AuthenticationFailed", "message": "no"}})
	case r.URL.Path == account+"/listKeys":
		answer(w, http.StatusOK, object{"keys": []object{{"keyName": "key1", "value": Key, "permissions": "FULL"}}})
	case r.URL.Path == account:
		answer(w, http.StatusOK, object{"properties": object{"primaryEndpoints": object{
			"blob": "https://" + Account + ".blob.core.windows.net/"}}})
	default:
		answer(w, http.StatusNotFound, object{"error": object{"code": "ResourceNotFound", "message": "no"}})
	}
}

// vault serves a Key Vault with the key "tofu".
func (c *Cloud) vault(w http.ResponseWriter, r *http.Request) {
	var in struct{ Alg, Value string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	switch path := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		w.Header().Set("WWW-Authenticate",
			`Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.azure.net"`)
		answer(w, http.StatusUnauthorized, object{"error": object{"code": "Unauthorized", "message": "no token"}})
	case len(path) < 3 || path[0] != "keys" || path[1] != "tofu":
		answer(w, http.StatusNotFound, object{"error": object{"code": "KeyNotFound",
			"message": "there is no such key"}})
	default:
		id := fmt.Sprintf("https://%s/keys/tofu/%032d", r.Host, 1)
		text, err := base64.RawURLEncoding.DecodeString(in.Value)
		ok := err == nil
		if path[len(path)-1] == "encrypt" {
			text = encryptiontest.Wrap("vault "+in.Alg, text)
		} else {
			text, ok = encryptiontest.Unwrap("vault "+in.Alg, text)
		}
		if !ok {
			answer(w, http.StatusBadRequest, object{"error": object{"code": "BadParameter",
				"message": "not sealed here"}})
			return
		}
		answer(w, http.StatusOK, object{"kid": id, "value": base64.RawURLEncoding.EncodeToString(text)})
	}
}
