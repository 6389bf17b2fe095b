package gcs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	bucket, folder string // folder is "" or ends in "/"
	token          string
	credentials    []byte // JSON; nil means the application default credentials
	account        string // to impersonate
	delegates      []string
	customerKey    []byte // nil if there is none
	kmsKey         string
	api, upload    string // addresses of the service, ending in "/"
	accounts       string // address of the service that impersonates accounts
	quota          string // project to which requests are billed
	open           bool   // an emulator, which needs no credentials

	secrets []string // hidden in messages
}

// universe is the domain of Google's services.
const universe = "googleapis.com"

// reader reads values from a block and collects their problems.
type reader struct{ arguments.Reader }

// content returns a text, or the content of the file that it names.
func (r reader) content(name, text string) string {
	if text == "" || strings.ContainsAny(text, "{\n") {
		return text
	}
	file := r.Path(text)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return text
	}
	b, err := regular.Read(file, regular.Note)
	if err != nil {
		r.Wrong(name, "File cannot be read", "%v.", err)
	}
	return string(b)
}

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := reader{arguments.New(config, o)}
	s := &settings{bucket: r.Text("bucket")}
	if s.bucket == "" {
		r.Wrong("bucket", "Missing Required Value", "It must be set to the name of the bucket.")
	}
	if prefix := strings.Trim(path.Clean("/"+r.Text("prefix")), "/"); prefix != "" {
		s.folder = prefix + "/"
	}
	r.access(s, "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS")
	r.encryption(s)
	r.services(s)
	return s, r.Diags()
}

// access reads the credentials.
func (r reader) access(s *settings, variables ...string) {
	s.token = r.Text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN")
	given := r.Text("credentials", variables...)
	s.secrets = append(s.secrets, s.token)
	if given != "" && s.token == "" {
		text := r.content("credentials", given)
		s.secrets = append(s.secrets, text)
		if err := s.take([]byte(text)); err != nil {
			r.Wrong("credentials", "Invalid credentials", "It is neither the name of a file nor credentials in JSON: "+
				"%v. It can also be set with the environment variables GOOGLE_BACKEND_CREDENTIALS and "+
				"GOOGLE_CREDENTIALS.",
				err)
		}
	}
	s.account = r.Text("impersonate_service_account", "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
		"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT")
	if v, ok := r.Value("impersonate_service_account_delegates"); ok {
		for _, e := range v.AsValueSlice() {
			if !e.IsNull() {
				s.delegates = append(s.delegates, e.AsString())
			}
		}
	}
	domain := r.Text("universe_domain", "GOOGLE_BACKEND_UNIVERSE_DOMAIN", "GOOGLE_CLOUD_UNIVERSE_DOMAIN")
	if domain == "" {
		domain = universe
	}
	s.api = "https://storage." + domain + "/storage/v1/"
	s.accounts = "https://iamcredentials." + domain + "/v1/"
	if e := r.Text("", "GOOGLE_IAM_CREDENTIALS_CUSTOM_ENDPOINT"); e != "" {
		s.accounts = strings.TrimSuffix(e, "/") + "/"
	}
	if q := r.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT"); q != "" {
		s.quota = q
	}
}

// take checks credentials and collects their secrets.
func (s *settings) take(text []byte) error {
	var found struct {
		Type         string `json:"type"`
		Key          string `json:"private_key"`
		KeyID        string `json:"private_key_id"`
		ClientSecret string `json:"client_secret"`
		Refresh      string `json:"refresh_token"`
		Quota        string `json:"quota_project_id"`
	}
	if json.Unmarshal(text, &found) != nil { // the decoder's error may contain part of a secret
		return fmt.Errorf("it is not a JSON object")
	}
	if found.Type == "" {
		return fmt.Errorf("the JSON object has no type")
	}
	if err := judgeNamed(text); err != nil {
		return err
	}
	s.credentials, s.quota = text, found.Quota
	s.secrets = append(s.secrets, found.Key, found.KeyID, found.ClientSecret, found.Refresh)
	s.secrets = append(s.secrets, strings.Split(found.Key, "\n")...)
	return nil
}

// encryption reads the settings of the objects' encryption.
func (r reader) encryption(s *settings) {
	key, kms := r.Text("encryption_key"), r.Text("kms_encryption_key")
	if key != "" && kms != "" {
		r.Wrong("encryption_key", "Conflicting arguments", "Only one of encryption_key and kms_encryption_key can be "+
			"set.")
	}
	if key == "" && kms == "" {
		if key = r.Text("", "GOOGLE_ENCRYPTION_KEY"); key == "" {
			kms = r.Text("", "GOOGLE_KMS_ENCRYPTION_KEY")
		}
	}
	s.kmsKey = kms
	if key == "" {
		return
	}
	key = strings.TrimSpace(r.content("encryption_key", key))
	s.secrets = append(s.secrets, key)
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != 32 {
		r.Wrong("encryption_key", "Invalid encryption key", "The key must have 256 bits, which are 44 characters of "+
			"base64, or be the name of a file with them. It can also be set with the environment variable "+
			"GOOGLE_ENCRYPTION_KEY.")
		return
	}
	s.customerKey = raw
	s.secrets = append(s.secrets, string(raw))
}

// services reads the addresses of the services.
func (r reader) services(s *settings) {
	address := r.Text("storage_custom_endpoint", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT",
		"GOOGLE_STORAGE_CUSTOM_ENDPOINT")
	if emulator := r.Text("", "STORAGE_EMULATOR_HOST"); address == "" && emulator != "" {
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		address, s.open = emulator, s.token == "" && s.credentials == nil && s.account == ""
	}
	if address == "" {
		address = s.api
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		if err == nil && u.User != nil || strings.Contains(address, "@") {
			address = "the value"
		}
		r.Wrong("storage_custom_endpoint", "Invalid address", "%q is not an address such as "+
			"https://storage.googleapis.com/storage/v1/.", address)
		return
	}
	if p, ok := u.User.Password(); ok {
		s.secrets = append(s.secrets, p)
	}
	base := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	s.upload = base.String() + "/upload/storage/v1/"
	base.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/b") + "/" // many examples have ".../b"
	if base.Path == "/" {
		base.Path = "/storage/v1/"
	}
	s.api = base.String()
}

// Tokens, and signed requests for them.
var tokens = regex.Lazy(`\bey[\w-]{8,}\.[\w-]+\.[\w-]*|\bya29\.[\w.-]+`)

// clean removes secrets from a text.
func (s *settings) clean(text string) string {
	return tokens().ReplaceAllString(arguments.Hide(text, s.secrets), "(hidden)")
}
