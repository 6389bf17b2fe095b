package kubernetestest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// APIToken is the token that APIServer accepts.
const APIToken = "token-of-an-administrator"

// APIServer starts Kubernetes' own API server with an empty etcd, and returns its address and its certificate in PEM.
// TOMBOLO_KUBE_APISERVER and TOMBOLO_ETCD name the programs; without them, it skips the test.
func APIServer(t *testing.T) (address, ca string) {
	t.Helper()
	api, etcd := os.Getenv("TOMBOLO_KUBE_APISERVER"), os.Getenv("TOMBOLO_ETCD")
	if api == "" || etcd == "" {
		t.Skip("needs kube-apiserver and etcd, named with TOMBOLO_KUBE_APISERVER and TOMBOLO_ETCD")
	}
	dir := t.TempDir()
	client, peer, secure := free(t), free(t), free(t)
	run(t, etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer,
		"--initial-cluster", "default=http://"+peer)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	key, tokens := filepath.Join(dir, "accounts.key"), filepath.Join(dir, "tokens.csv")
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	must(t, os.WriteFile(tokens, []byte(APIToken+",admin,admin,system:masters\n"), 0o600))
	_, port, err := net.SplitHostPort(secure)
	must(t, err)
	ended := run(t, api, "--etcd-servers", "http://"+client, "--cert-dir", dir, "--bind-address", "127.0.0.1",
		"--secure-port", port, "--endpoint-reconciler-type", "none", "--token-auth-file", tokens,
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://127.0.0.1", "--service-account-key-file", key,
		"--service-account-signing-key-file", key, "--disable-admission-plugins", "ServiceAccount", "-v", "0")
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	for deadline := time.After(5 * time.Minute); !ready(insecure, secure); {
		select {
		case message := <-ended:
			t.Fatalf("kube-apiserver ended: %.4000s", message)
		case <-deadline:
			t.Fatal("kube-apiserver does not start")
		case <-time.After(200 * time.Millisecond):
		}
	}
	cert, err := os.ReadFile(filepath.Join(dir, "apiserver.crt"))
	must(t, err)
	return "https://" + secure, string(cert)
}

// ready reports whether the namespace of the states exists, as does everything that the server creates when it starts.
func ready(c *http.Client, address string) bool {
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		r, err := http.NewRequest(http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return false
		}
		r.Header.Set("Authorization", "Bearer "+APIToken)
		answer, err := c.Do(r)
		if err != nil {
			return false
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// free returns an address on which no server listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// run starts a program that runs until the test ends. If it ends earlier, its output is sent to the channel.
func run(t *testing.T, bin string, args ...string) <-chan string {
	t.Helper()
	c := exec.Command(bin, args...)
	var output strings.Builder
	c.Stdout, c.Stderr = &output, &output
	must(t, c.Start())
	ended := make(chan string, 1)
	go func() {
		_ = c.Wait()
		ended <- output.String()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		for range ended { // drain until it is closed
		}
	})
	return ended
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
