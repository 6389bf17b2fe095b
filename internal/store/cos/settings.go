package cos

import (
	"cmp"
	"encoding/json"
	"net"
	"net/url"
	"path"
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
	bucket, prefix, key, region string
	endpoint                    *url.URL
	api                         func(service string) string // returns the address of a service of the API
	encrypt                     bool
	acl                         string
	credentials                 credentials

	arguments.Secrets
}

// credentials holds the settings of authentication.
type credentials struct {
	id, key, token string
	machine        string // name of the machine's role
	role           role
}

// role is a role to assume.
type role struct {
	arn, session, policy, external string
	seconds                        int64
}

// machines is the metadata service, which reports the roles of the machine that calls it.
const machines = "http://metadata.tencentyun.com"

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := arguments.New(config, o)
	s := &settings{bucket: r.Text("bucket"), prefix: strings.Trim(r.Text("prefix"), "/"),
		key: cmp.Or(r.Text("key"), "terraform.tfstate"), region: r.Text("region", "TENCENTCLOUD_REGION"),
		acl: cmp.Or(r.Text("acl"), "private"), encrypt: true}
	if _, ok := r.Value("encrypt"); ok {
		s.encrypt = r.Is("encrypt")
	}
	for name, value := range map[string]string{"prefix": r.Text("prefix"), "key": s.key} {
		if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") ||
			name == "key" && strings.HasSuffix(value, "/") {
			r.Wrong(name, "Invalid Value", "%q must not begin with / or ./, and a key must not end with /.", value)
		}
	}
	r.Needed("bucket", s.bucket)
	s.readCredentials(r, o)
	r.Needed("region", s.region, "TENCENTCLOUD_REGION")
	if s.acl != "private" && s.acl != "public-read" {
		r.Wrong("acl", "Invalid Value", "%q is not an access control list. Expected private or public-read.", s.acl)
	}
	host := "cos." + s.region
	if r.Is("accelerate") {
		host = "cos.accelerate"
	}
	address := cmp.Or(r.Text("endpoint", "TENCENTCLOUD_ENDPOINT"), "https://"+host+".myqcloud.com")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		r.Wrong("endpoint", "Invalid Value", "The value must be an address with a scheme and a host, such as "+
			"https://cos-internal.ap-guangzhou.tencentcos.cn.")
	} else if s.endpoint = (&url.URL{Scheme: u.Scheme, Host: u.Host}); net.ParseIP(u.Hostname()) == nil {
		s.endpoint.Host = s.bucket + "." + u.Host // an IP address has no subdomains
	}
	domain := cmp.Or(r.Text("domain", "TENCENTCLOUD_DOMAIN"), "tencentcloudapi.com")
	s.api = func(service string) string { return "https://" + service + "." + domain }
	return s, r.Diags()
}

// object returns the name of a workspace's object; "" is the default workspace.
func (s *settings) object(workspace string) string { return path.Join(s.prefix, workspace, s.key) }

// readCredentials reads the credentials, and completes them from a profile.
func (s *settings) readCredentials(r arguments.Reader, o remote.Surroundings) {
	w := &s.credentials
	w.id, w.key = r.Text("secret_id", "TENCENTCLOUD_SECRET_ID"), r.Text("secret_key", "TENCENTCLOUD_SECRET_KEY")
	w.token = r.Text("security_token", "TENCENTCLOUD_SECURITY_TOKEN")
	w.machine = r.Text("cam_role_name", "TENCENTCLOUD_CAM_ROLE_NAME")
	b, _ := r.Block("assume_role")
	const prefix = "TENCENTCLOUD_ASSUME_ROLE_"
	w.role = role{arn: b.Text("role_arn", prefix+"ARN"), session: b.Text("session_name", prefix+"SESSION_NAME"),
		policy: b.Text("policy"), external: b.Text("external_id", prefix+"EXTERNAL_ID"),
		seconds: b.Number("session_duration", 7200, 0, 43200, prefix+"SESSION_DURATION")}
	if name := r.Text("profile", "TENCENTCLOUD_PROFILE"); name != "" || w.id == "" && w.machine == "" {
		s.profile(r, o, name)
	}
	if (w.id == "") != (w.key == "") {
		r.Wrong("secret_id", "Missing Required Value", "secret_id and secret_key must be set together, but one of "+
			"them is missing.")
	}
	if w.role.arn != "" && w.role.session == "" {
		w.role.session = "terraform"
	}
	s.Add(w.key, w.token)
}

// profile completes the credentials from a profile of the Tencent Cloud CLI: the named one, or the default one if it
// exists.
func (s *settings) profile(r arguments.Reader, o remote.Surroundings, name string) {
	base := filepath.Join(o.Path(cmp.Or(r.Text("shared_credentials_dir", "TENCENTCLOUD_SHARED_CREDENTIALS_DIR"),
		"~/.tccli")), cmp.Or(name, "default"))
	text, err := regular.Read(base+".credential", regular.Note)
	if err != nil {
		if name != "" {
			r.Wrong("profile", "Unreadable file", "%v. Name a profile that tccli has written.", err)
		}
		return
	}
	var found struct {
		ID      string `json:"secretId"`
		Key     string `json:"secretKey"`
		Token   string `json:"token"`
		Role    string `json:"role-arn"`
		Session string `json:"role-session-name"`
	}
	if json.Unmarshal(text, &found) != nil { // the decoder's error may contain part of a secret
		r.Wrong("profile", "Invalid Value", "%s is not a profile of the Tencent Cloud CLI.", base+".credential")
		return
	}
	w := &s.credentials
	if w.id == "" && w.key == "" {
		w.id, w.key, w.token = found.ID, found.Key, cmp.Or(w.token, found.Token)
	}
	if w.role.arn == "" {
		w.role.arn, w.role.session = found.Role, cmp.Or(w.role.session, found.Session)
	}
	var more struct {
		Param struct{ Region string } `json:"_sys_param"`
	}
	if text, err := regular.Read(base+".configure", regular.Note); err == nil && json.Unmarshal(text, &more) == nil {
		s.region = cmp.Or(s.region, more.Param.Region)
	}
}
