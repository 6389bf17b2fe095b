package httpstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// pair returns a self-signed certificate and its private key in PEM.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "me"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// Client and server present certificates, and each verifies the other's.
func TestCertificates(t *testing.T) {
	cert, key := pair(t)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM([]byte(cert))
	s := httptest.NewUnstartedServer(&httpstoretest.Server{})
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	mine := map[string]cty.Value{"client_certificate_pem": cty.StringVal(cert),
		"client_private_key_pem": cty.StringVal(key), "retry_max": cty.Zero}
	for name, c := range map[string]struct {
		more map[string]cty.Value
		want string
	}{
		"all":            {map[string]cty.Value{"client_ca_certificate_pem": cty.StringVal(ca)}, ""},
		"any server":     {map[string]cty.Value{"skip_cert_verification": cty.True}, ""},
		"an unknown one": {nil, "client_ca_certificate_pem"},
		"no certificate": {map[string]cty.Value{"client_ca_certificate_pem": cty.StringVal(ca),
			"client_certificate_pem": cty.NullVal(cty.String), "client_private_key_pem": cty.NullVal(cty.String)},
			"certificate"},
		"another's server": {map[string]cty.Value{"client_ca_certificate_pem": cty.StringVal(cert)}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			more := settings(s.URL, mine)
			for n, v := range c.more {
				more[n] = v
			}
			_, err := place(t, more).Read(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

// No secret of a block appears in an error, a diagnostic, a name or the log.
func TestSecretsAreNeverShown(t *testing.T) {
	gossip := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "gossip %s %s %s", r.URL, r.Header.Get("Authorization"), body)
	}))
	cert, key := pair(t)
	keyLine := strings.Split(key, "\n")[1]
	canaries := []string{"password-canary", "info-canary", "query-canary", "env-canary", key, keyLine,
		"cGFzc3dvcmQtY2FuYXJ5", "dXNlcjpwYXNzd29yZC1jYW5hcnk="}
	in := func(address, info string) cty.Value {
		return cty.StringVal(strings.Replace(address, "http://", "http://"+info+"@", 1) + "?token=query-canary&n=1")
	}
	var output strings.Builder
	for _, more := range []map[string]cty.Value{
		{"username": cty.StringVal("user"), "password": cty.StringVal("password-canary")},
		{"username": cty.StringVal("user")}, // with the password from the environment
		{"address": in(gossip+"/s", "user:info-canary"), "lock_address": in(gossip+"/s", "info-canary")},
		{"address": in("http://127.0.0.1:1/s", "user:info-canary"), "retry_max": cty.Zero},
		{"address": cty.StringVal("http://user:info-canary@127.0.0.1:x/")},
		{"address": cty.StringVal("ftp://user:info-canary@127.0.0.1/")},
		{"client_certificate_pem": cty.StringVal(cert), "client_private_key_pem": cty.StringVal(key)},
		{"client_certificate_pem": cty.StringVal(key), "client_private_key_pem": cty.StringVal(key)},
	} {
		o := remote.Surroundings{
			Getenv: func(name string) string { return map[string]string{"TF_HTTP_PASSWORD": "env-canary"}[name] },
			Log:    func(format string, args ...any) { fmt.Fprintf(&output, format+"\n", args...) },
		}
		d, diags := httpstore.Kind().Open(t.Context(), cty.ObjectVal(settings(gossip, more)), o)
		for _, one := range diags {
			fmt.Fprintln(&output, one.Summary, one.Detail)
		}
		if diags.HasErrors() {
			continue
		}
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, err = p.Read(t.Context())
		fmt.Fprintln(&output, p, err)
		_, err = p.Holder(t.Context())
		fmt.Fprintln(&output, err, p.ForceUnlock(t.Context(), "x"))
		_, err = p.Lock(t.Context(), drivertest.Info(lockID))
		h, unlocked := p.Unlocked(t.Context())
		must(t, unlocked)
		fmt.Fprintln(&output, err, h.Delete(t.Context()))
	}
	for _, canary := range canaries {
		if at := strings.Index(output.String(), canary); at >= 0 {
			text := output.String()
			t.Errorf("%q is said: ...%s", canary, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if strings.Count(output.String(), "gossip") < 10 {
		t.Errorf("the message of the server is missing:\n%s", output.String())
	}
}

// States that differ in the query have different names, but a new token does not change the name: journals are found by
// name.
func TestNamesDistinguishStates(t *testing.T) {
	name := func(query string) string {
		return place(t, map[string]cty.Value{
			"address": cty.StringVal("https://user:x@example.com/s?" + query)}).String()
	}
	if a, b := name("state=a&token=1"), name("state=a&token=2"); a != b || a == name("state=b&token=1") {
		t.Errorf("names %s, %s, %s", a, b, name("state=b&token=1"))
	}
}

// The summaries are Terraform's.
func TestArguments(t *testing.T) {
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	for _, c := range []struct {
		name, value string
		want        string
	}{
		{"", "", "address argument is required"},
		{"address", "foo", "address must be HTTP or HTTPS"},
		{"address", "http://x/%zz", "failed to parse address URL"},
		{"lock_address", "ftp://x", "lock_address must be HTTP or HTTPS"},
		{"unlock_address", "foo", "unlock_address must be HTTP or HTTPS"},
		{"client_certificate_pem", "x", "client_certificate_pem is set but client_private_key_pem is not"},
		{"client_private_key_pem", "x", "client_private_key_pem is set but client_certificate_pem is not"},
		{"client_ca_certificate_pem", "x", "failed to append certs"},
		{"retry_max", "x", "invalid retry_max: a number is required"},
		{"retry_wait_max", "1.5", "invalid retry_wait_max: must be a whole number"},
		{"update_method", "A B", "invalid update_method"},
		{"retry_max", "-1", ""},
	} {
		clear(env)
		if c.name != "" && c.name != "address" {
			env["TF_HTTP_ADDRESS"] = "http://127.0.0.1:1/"
		}
		if c.name != "" {
			env["TF_HTTP_"+strings.ToUpper(c.name)] = c.value
		}
		_, diags := httpstore.Kind().Open(t.Context(), cty.EmptyObjectVal, remote.Surroundings{Getenv: get})
		switch {
		case c.want == "" && diags.HasErrors(), c.want != "" && !diags.HasErrors():
			t.Errorf("%s = %q: %v", c.name, c.value, diags)
		case c.want != "" && diags[0].Summary != c.want:
			t.Errorf("%s = %q: %s, want %s", c.name, c.value, diags[0].Summary, c.want)
		case c.want != "" && len(diags) > 1:
			t.Errorf("%s = %q: one mistake is reported more than once: %v", c.name, c.value, diags)
		}
	}
}
