package hcp

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Hasty makes a driver retry almost without a pause, and trust a certificate.
func Hasty(d remote.Driver, trusted *x509.Certificate) {
	c := d.(*driver).client
	c.wait = time.Microsecond
	roots := x509.NewCertPool()
	if trusted != nil {
		roots.AddCert(trusted)
	}
	c.http = web.Over(web.Transport(&tls.Config{RootCAs: roots}))
}

// MostInline is the maximum size of a state that is sent in the request itself.
const MostInline = mostInline

// Impatient sets how long a driver waits for each step of a response, and the maximum size of a state. The driver also
// shortens pauses that a server requests.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	c := d.(*driver).client
	c.silence, c.longest, c.most, c.message = silence, time.Millisecond, most, most
}
