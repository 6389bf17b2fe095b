package hcp

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Hasty makes a driver hardly pause before it asks again, and trust a certificate.
func Hasty(d remote.Driver, trusted *x509.Certificate) {
	c := d.(*driver).client
	c.wait = time.Microsecond
	roots := x509.NewCertPool()
	if trusted != nil {
		roots.AddCert(trusted)
	}
	c.http = web.Over(web.Transport(&tls.Config{RootCAs: roots}))
}

// MostInline is how large a state may be that goes with the request.
const MostInline = mostInline

// Impatient sets how long a driver waits for each step of an answer, and the largest state that it reads. If a server
// asks for a pause, the driver hardly pauses.
func Impatient(d remote.Driver, silence time.Duration, most int64) {
	c := d.(*driver).client
	c.silence, c.longest, c.most, c.message = silence, time.Millisecond, most, most
}
