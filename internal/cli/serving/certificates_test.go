package serving_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// certificates writes ca.pem, and cert.pem with key.pem of a server, and returns the authority and the certificate of a
// client.
func certificates(t *testing.T) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	serial := int64(0)
	issue := func(c *x509.Certificate, by *x509.Certificate, byKey *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		serial++
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(serial), time.Now().Add(-time.Hour),
			time.Now().Add(time.Hour)
		if by == nil {
			by, byKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	authority := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	authorityDER, authorityKey := issue(authority, nil, nil)
	authority, err := x509.ParseCertificate(authorityDER)
	if err != nil {
		t.Fatal(err)
	}
	server, serverKey := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "server"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost", "tombolo.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, authority, authorityKey)
	client, clientKey := issue(&x509.Certificate{Subject: pkix.Name{CommonName: "ops"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, authority, authorityKey)
	encoded := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	key, err := x509.MarshalECPrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "ca.pem", encoded("CERTIFICATE", authorityDER))
	write(t, "cert.pem", encoded("CERTIFICATE", server))
	write(t, "key.pem", encoded("EC PRIVATE KEY", key))
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	return roots, tls.Certificate{Certificate: [][]byte{client}, PrivateKey: clientKey}
}
