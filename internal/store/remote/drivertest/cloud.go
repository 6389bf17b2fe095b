package drivertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Cloud serves a cloud on this machine. Programs that use its proxy reach its services at their usual addresses: each
// host is a service.
type Cloud struct {
	Services http.Handler
	// HTTP2 enables HTTP/2, which gRPC needs.
	HTTP2 bool

	leaves chan net.Conn
}

// authority issues certificates. There is one for all clouds, because a process reads its trusted certificates only
// once.
type authority struct {
	certificate *x509.Certificate
	der         []byte
	key         *ecdsa.PrivateKey
}

var issuer = sync.OnceValue(func() *authority {
	a := &authority{certificate: &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0)}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err == nil {
		a.der, err = x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &a.key.PublicKey, a.key)
	}
	if err == nil {
		a.certificate, err = x509.ParseCertificate(a.der)
	}
	if err != nil {
		panic(err) // no random numbers
	}
	return a
})

// Start starts the proxy, and returns the environment variables of programs that use it.
func (c *Cloud) Start(t *testing.T) []string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer().der}), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	c.leaves = make(chan net.Conn)
	inner := &http.Server{Handler: c.Services}
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
	address := "http://" + l.Addr().String()
	return []string{"HTTPS_PROXY=" + address, "HTTP_PROXY=" + address, "NO_PROXY=", "no_proxy=", "https_proxy=",
		"http_proxy=", "SSL_CERT_FILE=" + file}
}

// tunnels is a listener for the connections through the proxy.
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
func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		panic(err) // no random numbers
	}
	return n
}

// connect terminates a tunnel here, with a certificate for its destination. It serves a request without a tunnel
// directly.
func (c *Cloud) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		c.Services.ServeHTTP(w, r)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, "this is a proxy", http.StatusBadRequest)
		return
	}
	ca := issuer()
	leaf := &x509.Certificate{SerialNumber: serial(), DNSNames: []string{host},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 1, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca.certificate, &ca.key.PublicKey, ca.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	defer func() {
		if recover() != nil { // the listener was closed
			conn.Close()
		}
	}()
	settings := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: ca.key}}}
	if c.HTTP2 {
		settings.NextProtos = []string{"h2", "http/1.1"}
	}
	c.leaves <- tls.Server(conn, settings)
}
