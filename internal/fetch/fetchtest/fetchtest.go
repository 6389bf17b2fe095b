// Package fetchtest is a small internet on loopback for tests of downloads: hosts of any name with TLS under a test
// certificate authority, a provider registry that signs, a network mirror, a module registry, a git server, and
// everything that a hostile server may do.
//
//	net := fetchtest.New(t)
//	registry := fetchtest.NewRegistry(t)
//	registry.Add(fetchtest.Release{Source: "corp/thing", Version: "1.0.0"})
//	net.Serve("registry.terraform.io", registry)
//
//	web.New(web.Options{Transport: net.Transport()})                  // in this process
//	command.Env = append(command.Env, net.Env()...)                    // in another process, such as terraform
//
// Another process reaches the hosts through a proxy, which accepts any name, and trusts the authority through
// SSL_CERT_FILE. Every request is recorded. A test replaces single responses with Net.Answer. All servers stop when the
// test ends.
package fetchtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Net is the internet of a test.
type Net struct {
	t     testing.TB
	Addr  string // actual address of all hosts
	proxy string
	ca    *x509.Certificate
	caKey *ecdsa.PrivateKey
	caPEM string // file with the authority's certificate

	mu       sync.Mutex // guards the fields below
	hosts    map[string]http.Handler
	answers  map[string]http.Handler
	requests []Request
	leaves   map[string]*tls.Certificate
	plain    map[string]http.Handler
}

// Request is a request to a server.
type Request struct {
	Host, Path, Authorization string
	Header                    http.Header
}

// New starts a net without hosts.
func New(t testing.TB) *Net {
	t.Helper()
	n := &Net{t: t, hosts: map[string]http.Handler{}, answers: map[string]http.Handler{},
		leaves: map[string]*tls.Certificate{}, plain: map[string]http.Handler{}}
	n.authority()
	secure := n.listen()
	n.Addr = secure.Addr().String()
	n.start(tls.NewListener(secure, &tls.Config{GetCertificate: n.certificate, NextProtos: []string{"http/1.1"}}),
		http.HandlerFunc(n.serve))
	door := n.listen()
	n.proxy = "http://" + door.Addr().String()
	n.start(door, http.HandlerFunc(n.forward))
	return n
}

func (n *Net) listen() net.Listener {
	n.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	return l
}

func (n *Net) start(l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	var wait sync.WaitGroup
	wait.Go(func() { _ = server.Serve(l) })
	n.t.Cleanup(func() {
		_ = server.Close()
		wait.Wait()
	})
}

// authority creates the certificate authority.
func (n *Net) authority() {
	n.t.Helper()
	var err error
	if n.caKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		n.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fetchtest"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &n.caKey.PublicKey, n.caKey)
	if err != nil {
		n.t.Fatal(err)
	}
	if n.ca, err = x509.ParseCertificate(raw); err != nil {
		n.t.Fatal(err)
	}
	n.caPEM = filepath.Join(n.t.TempDir(), "ca.pem")
	if err := os.WriteFile(n.caPEM, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		0o600); err != nil {
		n.t.Fatal(err)
	}
}

// certificate returns the certificate of a host, which it creates when it is first requested.
func (n *Net) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.leaves[hello.ServerName]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "host"},
		NotBefore: n.ca.NotBefore, NotAfter: n.ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	if hello.ServerName != "" {
		template.DNSNames = []string{hello.ServerName}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, n.ca, &key.PublicKey, n.caKey)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
	n.leaves[hello.ServerName] = c
	return c, nil
}

// Serve adds a host; name contains a port if it is not 443.
func (n *Net) Serve(name string, h http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[name] = h
}

// ServePlain adds a host without TLS. It is only reachable through the proxy.
func (n *Net) ServePlain(name string, h http.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.plain[name] = h
}

// Answer replaces the response of a host at a path; nil restores the original one.
func (n *Net) Answer(host, path string, h http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h == nil {
		delete(n.answers, host+path)
		return
	}
	n.answers[host+path] = h
}

// Requests returns the requests since the last call.
func (n *Net) Requests() []Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.requests
	n.requests = nil
	return list
}

func (n *Net) serve(w http.ResponseWriter, r *http.Request) { n.answer(w, r, n.hosts) }

func (n *Net) answer(w http.ResponseWriter, r *http.Request, hosts map[string]http.Handler) {
	n.mu.Lock()
	n.requests = append(n.requests, Request{r.Host, r.URL.Path, r.Header.Get("Authorization"), r.Header.Clone()})
	h := hosts[r.Host]
	if own := n.answers[r.Host+r.URL.Path]; own != nil {
		h = own
	}
	n.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

// forward is the proxy: it connects all hosts to this net.
func (n *Net) forward(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		n.answer(w, r, n.plain)
		return
	}
	there, err := net.Dial("tcp", n.Addr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		_, _ = io.Copy(there, buffered)
		there.Close()
	})
	_, _ = io.Copy(here, there)
	here.Close()
	wait.Wait()
}

// Transport returns a transport that reaches the net from this process.
func (n *Net) Transport() *http.Transport {
	pool := x509.NewCertPool()
	pool.AddCert(n.ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, n.Addr)
		},
	}
	n.t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Env returns variables with which another process reaches only this net.
func (n *Net) Env() []string {
	return []string{
		"SSL_CERT_FILE=" + n.caPEM, "SSL_CERT_DIR=" + filepath.Dir(n.caPEM),
		"GIT_SSL_CAINFO=" + n.caPEM, "GIT_CONFIG_NOSYSTEM=1",
		"HTTPS_PROXY=" + n.proxy, "HTTP_PROXY=" + n.proxy, "https_proxy=" + n.proxy, "http_proxy=" + n.proxy,
		"NO_PROXY=", "no_proxy=",
	}
}
