package host

import (
	"crypto/tls"
	"encoding/pem"

	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
)

// secured returns the TLS settings for a connection to a plugin, and the environment that passes our certificate to the
// plugin. The plugin's certificate is added when it is known.
func secured() (*tls.Config, []string, error) {
	own, err := handshake.Identity()
	if err != nil {
		return nil, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	return &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12,
		ServerName: handshake.ServerName}, []string{handshake.CertificateVariable + "=" + string(text)}, nil
}
