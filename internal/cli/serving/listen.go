package serving

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/pages"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// listener is an address on which the server listens.
type listener struct {
	net.Listener
	address string // the beginning of links
	prefix  string
	host    func(host string) bool
	tls     *tls.Config // nil without TLS
}

// onLoopback reports whether only this machine can reach an address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// listen opens the address of the options.
func listen(o *options) (*listener, diag.List) {
	const failed = "The server cannot listen"
	l := &listener{}
	var leaf *x509.Certificate
	if o.secure {
		var err error
		if l.tls, leaf, err = certificates(o); err != nil {
			return nil, diag.List{}.Errorf(nil, failed, "%s.", err)
		}
	}
	var err error
	if l.Listener, err = net.Listen("tcp", o.listen); err != nil {
		return nil, diag.List{}.Errorf(nil, failed, "The address %q of -listen cannot be used: %s. Expected an "+
			"address of this machine with a free port, such as 127.0.0.1:8080.", o.listen, err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !o.secure && !at.IP.IsLoopback() { // such as a name localhost that has another address
		_ = l.Close()
		return nil, diag.List{}.Errorf(nil, failed, "The address %q of -listen is %s, which other machines can reach. "+
			"Without TLS, the server listens only on 127.0.0.1 or ::1.", o.listen, l.Addr())
	}
	port := fmt.Sprint(at.Port)
	l.host = func(host string) bool { return allowedHost(host, port, o, leaf) }
	name := at.IP.String()
	if leaf != nil && len(leaf.DNSNames) > 0 {
		name = strings.Replace(leaf.DNSNames[0], "*", "localhost", 1)
	}
	scheme := "http://"
	if o.secure {
		scheme = "https://"
	}
	l.address = scheme + net.JoinHostPort(name, port)
	if o.token == "" && o.clients == "" {
		// Browsers send cookies to all ports of a host. A cookie for a path that nobody can guess stays here.
		l.prefix = "/" + pages.NewToken()[:16]
	}
	return l, nil
}

// allowedHost reports whether the server answers for the host of a request. A site that lets its name point to this
// machine has another name.
func allowedHost(host, port string, o *options, leaf *x509.Certificate) bool {
	name, p, err := net.SplitHostPort(host)
	if err != nil { // without a port, it is the usual one
		name, p = strings.Trim(host, "[]"), "80"
		if o.secure {
			p = "443"
		}
	}
	if p != port {
		return false
	}
	if o.loopback && (name == "localhost" || name == "127.0.0.1" || name == "::1") {
		return true
	}
	return leaf != nil && leaf.VerifyHostname(name) == nil
}

// certificates loads the certificate of the server, and the authorities of clients.
func certificates(o *options) (*tls.Config, *x509.Certificate, error) {
	read := func(name string) ([]byte, error) { return regular.Read(name, regular.Text) }
	cert, err := read(o.cert)
	if err != nil {
		return nil, nil, fmt.Errorf("the certificate of -tls-cert cannot be read: %w", err)
	}
	key, err := read(o.key)
	if err != nil {
		return nil, nil, fmt.Errorf("the key of -tls-key cannot be read: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, nil, fmt.Errorf("the files of -tls-cert and -tls-key are not a certificate with its key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clients != "" {
		authorities, err := read(o.clients)
		if err != nil {
			return nil, nil, fmt.Errorf("the authorities of -client-ca cannot be read: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(authorities) {
			return nil, nil, fmt.Errorf("the file %s of -client-ca has no certificate in PEM format", o.clients)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, pair.Leaf, nil
}

// run answers requests until the server ends.
func (l *listener) run(server *http.Server) error {
	if l.tls != nil {
		return server.ServeTLS(l.Listener, "", "")
	}
	return server.Serve(l.Listener)
}

// silent is the log of the server: clients cause all that it reports, and could fill a disk with it.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }
