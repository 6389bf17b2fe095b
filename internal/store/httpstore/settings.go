package httpstore

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	address, lock, unlock            *url.URL // lock and unlock may be nil
	update, lockMethod, unlockMethod string
	user, password                   string
	headers                          map[string]string
	tls                              *tls.Config
	retries                          int
	waitMin, waitMax                 time.Duration

	name    string   // of the state, for messages
	secrets []string // hidden in messages
}

// reader reads values from a block or the environment and collects their problems. The summaries are Terraform's.
type reader struct{ arguments.Reader }

// variable returns the environment variable of an argument.
func variable(name string) string { return "TF_HTTP_" + strings.ToUpper(name) }

// value returns the value from the block, or else from the environment.
func (r reader) value(name string) (v cty.Value, ok bool) {
	if v, ok = r.Value(name); ok {
		return v, true
	}
	if name == "skip_cert_verification" || name == "headers" { // these have no variables
		return cty.NilVal, false
	}
	text := r.Getenv(variable(name))
	return cty.StringVal(text), text != ""
}

func (r reader) text(name, usual string) string {
	if v, ok := r.value(name); ok && v.AsString() != "" {
		return v.AsString()
	}
	return usual
}

// whole returns an argument that must be an integer.
func (r reader) whole(name string, usual int) int {
	v, ok := r.value(name)
	if !ok {
		return usual
	}
	number, err := convert.Convert(v, cty.Number)
	if err != nil {
		r.Wrong(name, "invalid "+name+": a number is required", "It comes from the variable %s. Set a number there.",
			variable(name))
		return usual
	}
	n, accuracy := number.AsBigFloat().Int64()
	const most = 1 << 30
	if accuracy != big.Exact || n > most || n < -most {
		r.Wrong(name, "invalid "+name+": must be a whole number", "It is %s. Set a whole number up to %d.",
			number.AsBigFloat().Text('g', 12), most)
		return usual
	}
	return int(n)
}

func (r reader) seconds(name string, usual int) time.Duration {
	return time.Duration(max(0, r.whole(name, usual))) * time.Second
}

// token matches an HTTP method.
var token = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (r reader) method(name, usual string) string {
	m := r.text(name, usual)
	if !token().MatchString(m) {
		r.Wrong(name, "invalid "+name, "%q is not an HTTP method. Use a method such as %s.", m, usual)
	}
	return m
}

// url returns an address, or nil if it is not set. Messages do not contain it: it may contain a password.
func (r reader) url(name string) *url.URL {
	text := r.text(name, "")
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		r.Wrong(name, "failed to parse "+name+" URL", "The argument %s, or %s, is not an address such as "+
			"https://states.example.com/network. It is not shown here, because it may contain a password.", name,
			variable(name))
	case u.Scheme != "http" && u.Scheme != "https":
		r.Wrong(name, name+" must be HTTP or HTTPS", "The address must begin with https:// or http://.")
	case u.Host == "":
		r.Wrong(name, name+" must name a host", "An address looks like https://states.example.com/network.")
	}
	return u
}

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := reader{arguments.New(config, o)}
	s := &settings{
		address: r.url("address"), lock: r.url("lock_address"), unlock: r.url("unlock_address"),
		update: r.method("update_method", "POST"), lockMethod: r.method("lock_method", "LOCK"),
		unlockMethod: r.method("unlock_method", "UNLOCK"),
		user:         r.text("username", ""), password: r.text("password", ""),
		retries: max(0, r.whole("retry_max", 2)),
		waitMin: r.seconds("retry_wait_min", 1), waitMax: r.seconds("retry_wait_max", 30),
	}
	if s.address == nil && r.text("address", "") == "" {
		r.Wrong("address", "address argument is required", "Set the argument address of the backend \"http\", or the "+
			"variable TF_HTTP_ADDRESS, to the address of the state.")
	}
	r.certificates(s)
	r.headers(s)
	diags := r.Diags()
	if diags.HasErrors() {
		return nil, diags
	}
	if s.lock != nil && s.unlock == nil {
		diags = diags.Append(&diag.Diagnostic{Severity: diag.Warning, Summary: "Locks are never released",
			Detail: "The backend \"http\" has a lock_address and no unlock_address. As with Terraform, the state " +
				"stays locked after each run. Set unlock_address.", Path: cty.GetAttrPath("unlock_address")})
	}
	s.name = nameOf(s.address)
	s.hide()
	return s, diags
}

// certificates reads the certificates of client and server.
func (r reader) certificates(s *settings) {
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if v, ok := r.value("skip_cert_verification"); ok {
		s.tls.InsecureSkipVerify = v.True()
	}
	if ca := r.text("client_ca_certificate_pem", ""); ca != "" {
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			r.Wrong("client_ca_certificate_pem", "failed to append certs", "client_ca_certificate_pem has no "+
				"readable certificate. It must be the content of a PEM file, not its name: file(\"ca.pem\") does "+
				"not work in a backend block, so use %s.", variable("client_ca_certificate_pem"))
		}
	}
	const certificate, key = "client_certificate_pem", "client_private_key_pem"
	cert, private := r.text(certificate, ""), r.text(key, "")
	switch {
	case cert == "" && private == "":
		return
	case cert == "":
		r.Wrong(certificate, key+" is set but "+certificate+" is not", "A private key needs its certificate. Set "+
			"both, or neither.")
		return
	case private == "":
		r.Wrong(key, certificate+" is set but "+key+" is not", "A certificate needs its private key. Set both, or "+
			"neither.")
		return
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(private))
	if err != nil {
		r.Wrong(certificate, "cannot load client certificate", "%s and %s must be a certificate and its private key, "+
			"each as the content of a PEM file: %s.", certificate, key, strings.TrimPrefix(err.Error(), "tls: "))
		return
	}
	s.tls.Certificates = []tls.Certificate{pair}
	s.secrets = append(s.secrets, private)
	for line := range strings.Lines(private) {
		s.secrets = append(s.secrets, strings.TrimSpace(line))
	}
}

// Valid headers, and headers that users cannot set.
var (
	headerName  = regex.Lazy(`^[A-Za-z0-9_-]+$`)
	headerValue = regex.Lazy(`^[ -~]+$`)
	reserved    = []string{"Content-Type", "Content-Md5", "Content-Length", "Transfer-Encoding", "Host", "If-Match"}
)

// headers reads an argument that only Tombolo and OpenTofu have. Messages do not contain its values.
func (r reader) headers(s *settings) {
	const argument = "headers"
	v, ok := r.value(argument)
	if !ok || !v.CanIterateElements() {
		return
	}
	s.headers = map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		k, element := it.Element()
		name := k.AsString()
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !headerName().MatchString(name):
			r.Wrong(argument, "Invalid header", "%q is not the name of a header: expected letters, digits, hyphens "+
				"and underscores. Rename the header, or remove it.", name)
		case slices.Contains(reserved, canonical):
			r.Wrong(argument, "Invalid header", "Tombolo sets the header %q itself. Remove it.", name)
		case canonical == "Authorization" && s.user != "":
			r.Wrong(argument, "Invalid header", "The username is sent in the header %q. Set one of the two.", name)
		case element.IsNull() || !headerValue().MatchString(element.AsString()):
			r.Wrong(argument, "Invalid header", "The value of %q is empty, or has characters that are not printable "+
				"ASCII characters. It is not shown here, because it may be secret.", name)
		default:
			s.headers[canonical] = element.AsString()
			s.secrets = append(s.secrets, element.AsString())
		}
	}
}

// hide collects the secrets that messages must not show.
func (s *settings) hide() {
	s.secrets = append(s.secrets, s.password, url.QueryEscape(s.password),
		base64.StdEncoding.EncodeToString([]byte(s.user+":"+s.password)))
	for _, u := range []*url.URL{s.address, s.lock, s.unlock} {
		if u == nil {
			continue
		}
		if password, ok := u.User.Password(); ok {
			s.secrets = append(s.secrets, u.User.String(), password,
				base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
		} else if u.User != nil {
			s.secrets = append(s.secrets, u.User.Username()) // a token instead of user and password
		}
		s.secrets = append(s.secrets, u.RawQuery)
		for _, values := range u.Query() {
			for _, v := range values {
				s.secrets = append(s.secrets, v, url.QueryEscape(v))
			}
		}
	}
}

// clean removes secrets from a text.
func (s *settings) clean(text string) string { return arguments.Hide(text, s.secrets) }

// confidential matches query parameters with credentials, which do not select a state.
var confidential = regex.Lazy(`(?i)token|secret|pass|pwd|key|sig|auth|cred|^ID$`)

// nameOf returns an address without secrets. It keeps the names of query parameters, and a digest that distinguishes
// states. A new token does not change the name.
func nameOf(u *url.URL) string {
	name := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	query := u.Query()
	if len(query) == 0 {
		return name
	}
	sep := "?"
	for _, parameter := range slices.Sorted(maps.Keys(query)) {
		name += sep + url.QueryEscape(parameter) + "=..."
		if sep = "&"; confidential().MatchString(parameter) {
			query.Del(parameter)
		}
	}
	if len(query) > 0 {
		name += fmt.Sprintf(" (%.4x)", sha256.Sum256([]byte(query.Encode())))
	}
	return name
}
