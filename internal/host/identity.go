package host

import (
	"crypto/tls"
	"encoding/pem"

	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
)

// secured returns the setting for a connection to a plugin, whose own certificate is added once it is known, and the
// environment that tells the plugin ours.
func secured() (*tls.Config, []string, error) {
	own, err := handshake.Identity()
	if err != nil {
		return nil, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	return &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12,
		ServerName: handshake.ServerName}, []string{handshake.CertificateVariable + "=" + string(text)}, nil
}
