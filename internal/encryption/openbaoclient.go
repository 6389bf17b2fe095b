package encryption

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/switched"
)

// baoVariable returns a variable of OpenBao's programs or, if that is not set, the one of Vault's, which has the same
// name after the prefix.
func baoVariable(name string) string {
	if v := os.Getenv("BAO_" + name); v != "" {
		return v
	}
	return os.Getenv("VAULT_" + name)
}

// transitClient returns the client for a server, configured by the variables. It follows no redirections, because the
// token is for one address.
func transitClient() (*http.Client, error) {
	trust, err := transitTLS()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: serverTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects to another address")
	}}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = trust
	for _, name := range []string{"PROXY_ADDR", "HTTP_PROXY"} {
		if proxy := baoVariable(name); proxy != "" {
			u, err := url.Parse(proxy)
			if err != nil || u.Host == "" {
				return nil, fmt.Errorf("BAO_%s, or VAULT_%[1]s, is not the address of a proxy, such as "+
					"http://proxy.example:3128", name)
			}
			transport.Proxy = http.ProxyURL(u)
			break
		}
	}
	client.Transport = switched.Over(transport)
	if limit := baoVariable("CLIENT_TIMEOUT"); limit != "" {
		seconds, err := strconv.ParseFloat(limit, 64)
		d := time.Duration(seconds * float64(time.Second))
		if err != nil {
			d, err = time.ParseDuration(limit)
		}
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("BAO_CLIENT_TIMEOUT, or VAULT_CLIENT_TIMEOUT, is %.40q: expected a duration such "+
				"as 30s", limit)
		}
		client.Timeout = min(d, serverTime)
	}
	return client, nil
}

// transitTLS returns the client's trusted certificates and its own certificate.
func transitTLS() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: baoVariable("TLS_SERVER_NAME")}
	if skip := baoVariable("SKIP_VERIFY"); skip != "" {
		var err error
		if trust.InsecureSkipVerify, err = strconv.ParseBool(skip); err != nil {
			return nil, errors.New("BAO_SKIP_VERIFY, or VAULT_SKIP_VERIFY, must be true or false")
		}
	}
	if err := transitRoots(trust); err != nil {
		return nil, err
	}
	cert, key := baoVariable("CLIENT_CERT"), baoVariable("CLIENT_KEY")
	if (cert == "") != (key == "") {
		return nil, errors.New("a client certificate needs its key: set both BAO_CLIENT_CERT and BAO_CLIENT_KEY, or " +
			"neither")
	}
	if cert == "" {
		return trust, nil
	}
	public, err := regular.Read(cert, regular.Record)
	private, keyErr := regular.Read(key, regular.Record)
	if err = errors.Join(err, keyErr); err != nil {
		return nil, fmt.Errorf("BAO_CLIENT_CERT and BAO_CLIENT_KEY: %w", err)
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return nil, fmt.Errorf("BAO_CLIENT_CERT and BAO_CLIENT_KEY are not a certificate and its key in PEM: %w", err)
	}
	trust.Certificates = []tls.Certificate{pair}
	return trust, nil
}

// transitRoots loads the certificate authorities from the first of the variables that is set.
func transitRoots(trust *tls.Config) error {
	file, text, folder := baoVariable("CACERT"), baoVariable("CACERT_BYTES"), baoVariable("CAPATH")
	var names []string
	switch {
	case file != "":
		names = []string{file}
	case text != "":
	case folder != "":
		names, _ = filepath.Glob(filepath.Join(folder, "*"))
	default:
		return nil
	}
	trust.RootCAs = x509.NewCertPool()
	found := file == "" && trust.RootCAs.AppendCertsFromPEM([]byte(text))
	for _, name := range names {
		b, err := regular.Read(name, regular.Record)
		if err != nil && file != "" {
			return fmt.Errorf("BAO_CACERT: %w", err)
		}
		found = err == nil && trust.RootCAs.AppendCertsFromPEM(b) || found
	}
	if !found {
		return errors.New("BAO_CACERT, BAO_CACERT_BYTES or BAO_CAPATH has no certificate in PEM")
	}
	return nil
}
