package handshake

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Environment returns the variables that a host sets for a plugin: the cookie, the supported versions, and where to
// listen.
func Environment(sockets string, versions []int) []string {
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = strconv.Itoa(v)
	}
	return []string{CookieKey + "=" + CookieValue, "PLUGIN_PROTOCOL_VERSIONS=" + strings.Join(names, ","),
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", "PLUGIN_UNIX_SOCKET_DIR=" + sockets}
}

// Hello is the line with which a plugin introduces itself.
type Hello struct {
	Version          int    // version of the protocol
	Network, Address string // address on which it listens
	Certificate      *x509.Certificate
}

// Parse parses such a line, for a host that supports some versions.
func Parse(line string, versions []int) (Hello, error) {
	var h Hello
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[4] != "grpc" {
		return h, fmt.Errorf("the plugin printed the handshake line %q: expected at least five fields, the fifth of "+
			"which is grpc", line)
	}
	if parts[0] != strconv.Itoa(format) {
		return h, fmt.Errorf("the plugin uses version %s of the handshake, expected %d: build it with a newer library",
			parts[0], format)
	}
	var err error
	if h.Version, err = strconv.Atoi(parts[1]); err != nil {
		return h, fmt.Errorf("the plugin uses version %q of the protocol, expected a number", parts[1])
	}
	if !slices.Contains(versions, h.Version) {
		return h, fmt.Errorf("the plugin uses version %d of the protocol, expected one of %v", h.Version, versions)
	}
	h.Network, h.Address = parts[2], parts[3]
	if len(parts) > 5 && len(parts[5]) > 50 { // some old plugins have other data there
		der, err := base64.RawStdEncoding.DecodeString(parts[5])
		if err == nil {
			h.Certificate, err = x509.ParseCertificate(der)
		}
		if err != nil {
			return h, fmt.Errorf("the certificate of the plugin cannot be read: %w", err)
		}
	}
	return h, nil
}
