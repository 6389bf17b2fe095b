package azuretest

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Cloud serves Azure on this machine. Programs that use its proxy reach its services at their usual addresses.
type Cloud struct {
	Blobs http.Handler // of the account
	// Secret is that of the application that the service of tokens knows; "" for the usual one.
	Secret string

	mu   sync.Mutex
	keys map[string]string // what the vault has sealed, by what it was sealed as
	// Assertion is accepted from an application in place of its secret.
	Assertion string

	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
	leaves chan net.Conn
}

// Secret is the usual secret of the application that the service of tokens knows.
const Secret = "secret-canary"

// Start starts the proxy, and returns the variables under which programs use it.
func (c *Cloud) Start(t *testing.T) []string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	c.ca = &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c.ca, c.ca, &c.key.PublicKey, c.key)
	must(err)
	c.ca, err = x509.ParseCertificate(der)
	must(err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	c.keys, c.leaves = map[string]string{}, make(chan net.Conn)
	inner := &http.Server{Handler: c}
	outer := &http.Server{Handler: http.HandlerFunc(c.connect)}
	ended := make(chan struct{})
	go func() { outer.Serve(l); ended <- struct{}{} }()
	go func() { inner.Serve(&tunnels{c.leaves, l.Addr()}); ended <- struct{}{} }()
	t.Cleanup(func() {
		outer.Close()
		inner.Close()
		for range 2 {
			<-ended
		}
	})
	return []string{"HTTPS_PROXY=http://" + l.Addr().String(), "NO_PROXY=", "no_proxy=", "https_proxy=",
		"SSL_CERT_FILE=" + file}
}

// tunnels are the connections through the proxy, as a listener.
type tunnels struct {
	conns chan net.Conn
	addr  net.Addr
}

// Accept implements net.Listener.
func (l *tunnels) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *tunnels) Close() error { close(l.conns); return nil }

// Addr implements net.Listener.
func (l *tunnels) Addr() net.Addr { return l.addr }

// serial returns a random number for a certificate.
func (c *Cloud) serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		panic(err) // there is no randomness
	}
	return n
}

// connect terminates a tunnel here, with a certificate for its destination.
func (c *Cloud) connect(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(w, "this is a proxy", http.StatusBadRequest)
		return
	}
	leaf := &x509.Certificate{SerialNumber: c.serial(), DNSNames: []string{host},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 1, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, c.ca, &c.key.PublicKey, c.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	defer func() {
		if recover() != nil { // the listener was closed
			conn.Close()
		}
	}()
	c.leaves <- tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der},
		PrivateKey: c.key}}})
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

// answer sends a document.
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

// vault has the key "tofu".
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
		c.mu.Lock()
		defer c.mu.Unlock()
		id := fmt.Sprintf("https://%s/keys/tofu/%032d", r.Host, 1)
		value, ok := c.keys[in.Alg+in.Value]
		if path[len(path)-1] == "encrypt" {
			value, ok = base64.RawURLEncoding.EncodeToString([]byte("sealed "+rand.Text())), true
			c.keys[in.Alg+value] = in.Value
		}
		if !ok {
			answer(w, http.StatusBadRequest, object{"error": object{"code": "BadParameter",
				"message": "not sealed here"}})
			return
		}
		answer(w, http.StatusOK, object{"kid": id, "value": value})
	}
}
