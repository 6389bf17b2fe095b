package oss

import (
	"cmp"
	"encoding/json"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	bucket, prefix, key, region string
	endpoint                    *url.URL
	table                       string
	tables                      *url.URL // address of the instance with the table
	instance                    string   // name of the instance
	encrypt                     bool
	acl                         string
	credentials                 credentials

	arguments.Secrets
}

// credentials holds the settings of authentication.
type credentials struct {
	access, secret, token string
	ecsRole               string
	sts                   string
	role                  role
}

// role is a role to assume.
type role struct {
	arn, session, policy string
	seconds              int64
}

const (
	defaultPrefix = "env:"
	defaultKey    = "terraform.tfstate"
)

// Variables with addresses of services.
var (
	endpointVariables = []string{"ALICLOUD_OSS_ENDPOINT", "ALIBABA_CLOUD_OSS_ENDPOINT", "OSS_ENDPOINT"}
	tableVariables    = []string{"ALICLOUD_TABLESTORE_ENDPOINT", "ALIBABA_CLOUD_TABLESTORE_ENDPOINT"}
	stsVariables      = []string{"ALICLOUD_STS_ENDPOINT", "ALIBABA_CLOUD_STS_ENDPOINT"}
)

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := arguments.New(config, o)
	s := &settings{bucket: r.Text("bucket"), prefix: strings.Trim(r.Text("prefix"), "/"), key: r.Text("key"),
		region: r.Text("region", "ALICLOUD_REGION", "ALIBABA_CLOUD_REGION", "ALICLOUD_DEFAULT_REGION"),
		table:  r.Text("tablestore_table"), encrypt: r.Is("encrypt"), acl: r.Text("acl")}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if s.key == "" {
		s.key = defaultKey
	}
	for name, value := range map[string]string{"prefix": r.Text("prefix"), "key": s.key} {
		if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") ||
			name == "key" && strings.HasSuffix(value, "/") {
			r.Wrong(name, "Invalid Value", "%q must not begin with / or ./, and a key must not end with /.", value)
		}
	}
	r.Needed("bucket", s.bucket)
	r.Needed("region", s.region, "ALICLOUD_REGION")
	switch s.acl {
	case "", "private", "public-read", "public-read-write", "default":
	default:
		r.Wrong("acl", "Invalid Value", "%q is not an access control list. Expected private, public-read, "+
			"public-read-write or default.", s.acl)
	}
	address := r.Text("endpoint", endpointVariables...)
	if address == "" {
		address = "oss-" + s.region + ".aliyuncs.com"
	}
	s.endpoint = s.address(r, "endpoint", address)
	tables := r.Text("tablestore_endpoint", tableVariables...)
	if s.table != "" && tables == "" {
		r.Wrong("tablestore_endpoint", "Missing Required Value", "It must be set with tablestore_table, here or with "+
			"the environment variable ALICLOUD_TABLESTORE_ENDPOINT.")
	} else if s.table != "" {
		s.tables, s.instance = s.address(r, "tablestore_endpoint", tables), r.Text("tablestore_instance_name")
	}
	if s.instance == "" && s.tables != nil {
		s.instance, _, _ = strings.Cut(s.tables.Hostname(), ".")
	}
	s.readCredentials(r)
	return s, r.Diags()
}

// address reads the address of a service; the scheme may be missing.
func (s *settings) address(r arguments.Reader, name, text string) *url.URL {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		r.Wrong(name, "Invalid Value", "The value must be an address with a host, such as "+
			"https://oss-cn-beijing.aliyuncs.com.")
		return nil
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
}

// inPath reports whether addresses contain the bucket in the path and not in the host name: an IP address has no
// subdomains.
func (s *settings) inPath() bool {
	host := s.endpoint.Hostname()
	return net.ParseIP(host) != nil || host == "localhost"
}

// object returns the name of a workspace's object; "" is the default workspace.
func (s *settings) object(workspace string) string { return path.Join(s.prefix, workspace, s.key) }

// readCredentials reads the credentials, and completes them from a profile.
func (s *settings) readCredentials(r arguments.Reader) {
	w := &s.credentials
	w.access = r.Text("access_key", "ALICLOUD_ACCESS_KEY", "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_ID")
	w.secret = r.Text("secret_key", "ALICLOUD_SECRET_KEY", "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
		"ALICLOUD_ACCESS_KEY_SECRET")
	w.token = r.Text("security_token", "ALICLOUD_SECURITY_TOKEN", "ALIBABA_CLOUD_SECURITY_TOKEN")
	w.ecsRole = r.Text("ecs_role_name", "ALICLOUD_ECS_ROLE_NAME", "ALIBABA_CLOUD_ECS_METADATA")
	w.sts = r.Text("sts_endpoint", stsVariables...)
	w.sts = strings.TrimPrefix(w.sts, "https://")
	if w.sts == "" {
		w.sts = "sts.aliyuncs.com"
	}
	w.role = role{
		arn: r.Text("assume_role_role_arn", "ALICLOUD_ASSUME_ROLE_ARN", "ALIBABA_CLOUD_ROLE_ARN"),
		session: r.Text("assume_role_session_name", "ALICLOUD_ASSUME_ROLE_SESSION_NAME",
			"ALIBABA_CLOUD_ROLE_SESSION_NAME"),
		policy: r.Text("assume_role_policy"),
		seconds: r.Number("assume_role_session_expiration", 0, 900, 43200,
			"ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION"),
	}
	if b, ok := r.Block("assume_role"); ok && w.role.arn == "" {
		w.role = role{arn: b.Text("role_arn"), session: b.Text("session_name"), policy: b.Text("policy"),
			seconds: b.Number("session_expiration", 0, 900, 43200)}
	}
	s.profile(r)
	if w.role.session == "" {
		w.role.session = "terraform"
	}
	if w.role.seconds == 0 {
		w.role.seconds = 3600
	}
	if (w.access == "") != (w.secret == "") {
		r.Wrong("access_key", "Missing Required Value", "access_key and secret_key must be set together, but one of "+
			"them is missing.")
	}
	s.Add(w.secret, w.token)
}

// profile completes the credentials from a profile of the Alibaba Cloud CLI, when one is named.
func (s *settings) profile(r arguments.Reader) {
	name := r.Text("profile", "ALICLOUD_PROFILE", "ALIBABA_CLOUD_PROFILE")
	if name == "" {
		return
	}
	file := r.Text("shared_credentials_file", "ALICLOUD_SHARED_CREDENTIALS_FILE", "ALIBABA_CLOUD_CREDENTIALS_FILE")
	if file == "" {
		file = "~/.aliyun/config.json"
	}
	var found struct {
		Profiles []struct {
			Name            string `json:"name"`
			Mode            string `json:"mode"`
			AccessKeyID     string `json:"access_key_id"`
			AccessKeySecret string `json:"access_key_secret"`
			Token           string `json:"sts_token"`
			RoleName        string `json:"ram_role_name"`
			RoleARN         string `json:"ram_role_arn"`
			Session         string `json:"ram_session_name"`
			Seconds         int64  `json:"expired_seconds"`
		} `json:"profiles"`
	}
	text := r.File("shared_credentials_file", file)
	if text == nil {
		return
	}
	if json.Unmarshal(text, &found) != nil { // the decoder's error may contain part of a secret
		r.Wrong("shared_credentials_file", "Invalid Value", "%s is not a file of profiles of the Alibaba Cloud CLI.",
			file)
		return
	}
	for _, p := range found.Profiles {
		if p.Name != name {
			continue
		}
		w := &s.credentials
		switch p.Mode {
		case "AK", "StsToken", "RamRoleArn":
			if w.access == "" && w.secret == "" {
				w.access, w.secret, w.token = p.AccessKeyID, p.AccessKeySecret, cmp.Or(w.token, p.Token)
			}
		case "EcsRamRole":
			w.ecsRole = cmp.Or(w.ecsRole, p.RoleName)
		default:
			r.Wrong("profile", "Unsupported profile", "The profile %q has the mode %q. Expected AK, StsToken, "+
				"RamRoleArn or EcsRamRole.", name, p.Mode)
			return
		}
		if p.Mode == "RamRoleArn" && w.role.arn == "" {
			w.role.arn, w.role.session, w.role.seconds = p.RoleARN, cmp.Or(w.role.session, p.Session), p.Seconds
		}
		return
	}
	r.Wrong("profile", "No such profile", "%s has no profile %q.", file, name)
}
