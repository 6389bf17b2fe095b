package handshake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// CertificateVariable is the variable with the certificate of the host, by which a plugin recognizes it.
const CertificateVariable = "PLUGIN_CLIENT_CERT"

// ServerName is the name of both sides in their certificates.
const ServerName = "localhost"

// Identity returns the identity of this process for the other side: a self-signed certificate, generated once for all
// connections because its key never leaves the process. Other hosts generate one with P-521 for each start, which takes
// as long as starting a small plugin.
var Identity = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a key for plugins: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a certificate for plugins: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: ServerName, Organization: []string{"Tombolo"}},
		DNSNames:  []string{ServerName},
		NotBefore: time.Unix(0, 0), NotAfter: forever,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a certificate for plugins: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
})

// forever is the expiry time of certificates that do not expire. A certificate only proves that a process has its key,
// so setting the clock while both processes are running must not invalidate it.
var forever = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Timeless returns the clock for verifying the certificate of the other side, which was passed directly to this
// process: it is valid whatever the clocks of both sides show.
func Timeless(of *x509.Certificate) func() time.Time {
	return func() time.Time { return of.NotBefore }
}

// serverTLS returns a configuration that only accepts the host with the key of a certificate, which is in PEM.
func serverTLS(host string) (*tls.Config, error) {
	own, err := Identity()
	if err != nil {
		return nil, err
	}
	var its *x509.Certificate
	if block, _ := pem.Decode([]byte(host)); block != nil {
		its, err = x509.ParseCertificate(block.Bytes)
	}
	if its == nil || err != nil {
		return nil, fmt.Errorf("the environment variable %s has no certificate in PEM form; the host should set it to "+
			"its own", CertificateVariable)
	}
	known := x509.NewCertPool()
	known.AddCert(its)
	return &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: known, MinVersion: tls.VersionTLS12, Time: Timeless(its)}, nil
}
