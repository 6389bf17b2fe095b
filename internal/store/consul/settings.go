package consul

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	path           string
	address        *url.URL // scheme, host and path prefix
	socket         string   // Unix socket of a server on this machine, or ""
	token          string
	user, password string
	basic          bool // send user and password
	query          url.Values
	gzip, lock     bool
	tls            *tls.Config

	secrets []string // hidden in messages
}

// reader reads values from a block or the environment and collects their problems.
type reader struct{ arguments.Reader }

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := reader{arguments.New(config, o)}
	s := &settings{path: r.Text("path"), query: url.Values{}, gzip: r.Is("gzip"), lock: r.Flag("lock", true)}
	switch {
	case s.path == "":
		r.Wrong("path", "path argument is required", "Set the argument path of the backend \"consul\" to the key of "+
			"the state.")
	case strings.HasPrefix(s.path, "/"):
		r.Wrong("path", "Invalid path", "A key in Consul does not begin with a slash. Remove the slash.")
	case !clean(s.path):
		r.Wrong("path", "Invalid path", "Consul writes the key %q, and reads another one: a state would not be found "+
			"again. Remove \"//\", \".\" and \"..\" from the path.", s.path)
	}
	r.address(s)
	r.authentication(s)
	for name, value := range map[string]string{"dc": r.Text("datacenter"), "ns": o.Getenv("CONSUL_NAMESPACE"),
		"partition": o.Getenv("CONSUL_PARTITION")} {
		if value != "" {
			s.query.Set(name, value)
		}
	}
	r.certificates(s)
	s.hide()
	return s, r.Diags()
}

// clean reports whether the server finds a key by its name. It redirects requests for other keys.
func clean(key string) bool {
	for part := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// address reads the address of the server.
func (r reader) address(s *settings) {
	text := r.Text("address", "CONSUL_HTTP_ADDR")
	if text == "" {
		text = "127.0.0.1:8500"
	}
	scheme := r.Text("scheme")
	if scheme == "" {
		scheme = "http"
		if r.Flag("", false, "CONSUL_HTTP_SSL") {
			scheme = "https"
		}
	}
	named, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		rest = text
	case named == "unix":
		s.socket, rest = rest, "localhost"
	case named == "https":
		scheme = named
	case named != "http":
		r.Wrong("address", "Invalid address", "The scheme of the address must be http, https or unix. "+
			"An address looks like consul.example.com:8500.")
		return
	}
	if scheme != "http" && scheme != "https" {
		r.Wrong("scheme", "Invalid scheme", "It is %q. Set http or https.", scheme)
		return
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		r.Wrong("address", "Invalid address", "An address looks like consul.example.com:8500. This one is not shown, "+
			"because it may have a password in it.")
		return
	}
	if password, set := u.User.Password(); u.User != nil {
		s.secrets = append(s.secrets, u.User.String(), u.User.Username())
		if set {
			s.secrets = append(s.secrets, password)
		}
		s.user, s.password, s.basic = u.User.Username(), password, true
		u.User = nil
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	s.address = u
}

// authentication reads the credentials.
func (r reader) authentication(s *settings) {
	s.token = r.Text("access_token")
	if s.token == "" {
		if name := r.Getenv("CONSUL_HTTP_TOKEN_FILE"); name != "" {
			if text, err := r.file(name); err != nil {
				r.Wrong("", "The token cannot be read", "The variable CONSUL_HTTP_TOKEN_FILE names a file: %v.", err)
			} else {
				s.token = strings.TrimSpace(string(text))
			}
		}
	}
	if s.token == "" {
		s.token = r.Getenv("CONSUL_HTTP_TOKEN")
	}
	if strings.ContainsAny(s.token, "\r\n\x00") {
		r.Wrong("access_token", "Invalid access_token", "The token contains a line break. Set a token without one.")
	}
	if auth := r.Text("http_auth", "CONSUL_HTTP_AUTH"); auth != "" {
		s.user, s.password, _ = strings.Cut(auth, ":")
		s.basic = true
	}
}

func (r reader) file(name string) ([]byte, error) { return regular.Read(r.Path(name), regular.Note) }

// certificates reads the certificates of client and server.
func (r reader) certificates(s *settings) {
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: r.Getenv("CONSUL_TLS_SERVER_NAME"),
		InsecureSkipVerify: !r.Flag("", true, "CONSUL_HTTP_SSL_VERIFY")}
	ca, folder := r.Text("ca_file", "CONSUL_CACERT"), r.Getenv("CONSUL_CAPATH")
	var files []string
	if ca != "" {
		files = []string{ca}
	} else if folder != "" {
		files, _ = filepath.Glob(filepath.Join(folder, "*"))
	}
	if ca != "" || folder != "" {
		s.tls.RootCAs = x509.NewCertPool()
	}
	found := len(files) == 0 && folder == ""
	for _, name := range files {
		text, err := r.file(name)
		if err != nil && ca != "" {
			r.Wrong("ca_file", "The certificates cannot be read", "%v. Set ca_file to a file with certificates in PEM.",
				err)
			return
		}
		found = err == nil && s.tls.RootCAs.AppendCertsFromPEM(text) || found
	}
	if !found {
		r.Wrong("ca_file", "There are no certificates", "ca_file, or the folder in CONSUL_CAPATH, has no readable "+
			"PEM certificate.")
	}
	cert, key := r.Text("cert_file", "CONSUL_CLIENT_CERT"), r.Text("key_file", "CONSUL_CLIENT_KEY")
	switch {
	case cert == "" && key == "":
		return
	case cert == "" || key == "":
		r.Wrong("cert_file", "Only one of cert_file and key_file is set", "A certificate needs its private key. Set "+
			"both, or neither.")
		return
	}
	public, err := r.file(cert)
	private, keyErr := r.file(key)
	if err = errors.Join(err, keyErr); err == nil {
		var pair tls.Certificate
		if pair, err = tls.X509KeyPair(public, private); err == nil {
			s.tls.Certificates = []tls.Certificate{pair}
			return
		}
	}
	r.Wrong("cert_file", "The certificate cannot be used", "cert_file and key_file must name PEM files with a "+
		"certificate and its private key: %v.", err)
}

// hide collects the secrets that messages must not show.
func (s *settings) hide() {
	s.secrets = append(s.secrets, s.token, url.QueryEscape(s.token), s.password, url.QueryEscape(s.password),
		base64.StdEncoding.EncodeToString([]byte(s.user+":"+s.password)))
}

// clean removes secrets from a text.
func (s *settings) clean(text string) string { return arguments.Hide(text, s.secrets) }
