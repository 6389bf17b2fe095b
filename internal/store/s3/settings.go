package s3

import (
	"net/url"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	bucket, key, prefix string
	region, stsRegion   string
	lockFile            bool
	table               string

	access, secret, token    string
	profile                  string
	configs, credentials     []string // files
	allowed, forbidden       []string // accounts
	skipAccount              bool
	skipMetadata             bool
	metadata                 string // address
	metadataMode             string
	assume                   *assumed
	web                      *assumed
	endpoints                map[string]string // by service
	pathStyle                bool
	dualStack, fips          bool
	encrypt                  bool
	kmsKey, customerKey, acl string
	stateTags, lockTags      url.Values

	proxy, secureProxy, noProxy *string
	caBundle                    string
	insecure                    bool
	retries                     int // -1 means not set
	retryMode                   string
	pause                       time.Duration // limit of the pause before a retry
	skipChecksum                bool

	secrets []string // hidden in messages
}

// assumed is a role to assume.
type assumed struct {
	arn, externalID, policy, session, source string
	duration                                 time.Duration
	policies, transitive                     []string
	tags                                     map[string]string
	token, tokenFile                         string
}

// reader reads values from a block and collects their problems.
type reader struct{ arguments.Reader }

// set returns a string argument, which may be empty, or nil if it is not set.
func (r reader) set(name string) *string {
	if v, ok := r.Value(name); ok {
		s := v.AsString()
		return &s
	}
	return nil
}

func (r reader) texts(name string) (out []string) {
	v, ok := r.Value(name)
	if !ok {
		return nil
	}
	for _, e := range v.AsValueSlice() {
		if !e.IsNull() {
			out = append(out, e.AsString())
		}
	}
	return out
}

// pairs returns a map of strings.
func (r reader) pairs(name string) map[string]string {
	v, ok := r.Value(name)
	if !ok {
		return nil
	}
	all := map[string]string{}
	for k, e := range v.AsValueMap() {
		if !e.IsNull() {
			all[k] = e.AsString()
		}
	}
	return all
}

// tags returns the tags of an object in the form that is sent. S3 accepts ten tags.
func (r reader) tags(name string) url.Values {
	all := url.Values{}
	for k, v := range r.pairs(name) {
		if all.Set(k, v); k == "" || len([]rune(k)) > 128 || len([]rune(v)) > 256 {
			r.Wrong(name, "Invalid Value", "Keys of tags have 1 to 128 characters, and values at most 256.")
		}
	}
	if len(all) > 10 {
		r.Wrong(name, "Invalid Value", "An object has at most 10 tags.")
	}
	return all
}

// file returns a file name; relative ones are relative to the working directory.
func (r reader) file(name string) string {
	if strings.HasPrefix(name, "~") { // Amazon's library resolves it
		return name
	}
	return r.Path(name)
}

func (r reader) files(names []string) []string {
	for i, name := range names {
		names[i] = r.file(name)
	}
	return names
}

func (r reader) nested(name string) (reader, bool) {
	inner, ok := r.Block(name)
	return reader{inner}, ok
}

// Limits of the lifetime of a role's credentials.
const (
	shortestRole = 15 * time.Minute
	longestRole  = 12 * time.Hour
)

// duration returns a duration, which must be within the limits of the service.
func (r reader) duration(name string) time.Duration {
	s := r.Given(name)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < shortestRole || d > longestRole {
		r.Wrong(name, "Invalid Duration", "%q is not a duration between 15 minutes (15m) and 12 hours (12h).", s)
	}
	return d
}

// conflict reports arguments of which at most one may be set.
func (r reader) conflict(names ...string) {
	n := 0
	for _, name := range names {
		if _, ok := r.Value(name); ok {
			n++
		}
	}
	if n > 1 {
		r.Wrong("", "Conflicting arguments", "%s conflict. Keep one of them.", strings.Join(names, ", "))
	}
}

// regionName matches names of regions. It is a pattern because new regions are added.
var regionName = regex.Lazy(`^[a-z]{2,5}(-[a-z]+)+-\d+$`)

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := reader{arguments.New(config, o)}
	s := r.settings()
	r.names(s)
	r.access(s, o)
	r.services(s, o)
	r.encryption(s, o)
	return s, r.Diags()
}

// settings reads the values of the block.
func (r reader) settings() *settings {
	s := &settings{
		bucket: r.Given("bucket"), key: r.Given("key"), prefix: "env:", lockFile: r.Is("use_lockfile"),
		table: r.Given("dynamodb_table"), region: r.Given("region"), stsRegion: r.Given("sts_region"),
		access: r.Given("access_key"), secret: r.Given("secret_key"), token: r.Given("token"),
		profile:     r.Given("profile"),
		configs:     r.files(r.texts("shared_config_files")),
		credentials: r.files(r.texts("shared_credentials_files")),
		allowed:     r.texts("allowed_account_ids"), forbidden: r.texts("forbidden_account_ids"),
		skipAccount: r.Is("skip_requesting_account_id"), skipMetadata: r.Is("skip_metadata_api_check"),
		metadata:     r.Given("ec2_metadata_service_endpoint"),
		metadataMode: r.Given("ec2_metadata_service_endpoint_mode"),
		pathStyle:    r.Is("use_path_style") || r.Is("force_path_style"),
		dualStack:    r.Is("use_dualstack_endpoint"), fips: r.Is("use_fips_endpoint"),
		encrypt: r.Is("encrypt"), kmsKey: r.Given("kms_key_id"), customerKey: r.Given("sse_customer_key"),
		acl: r.Given("acl"), proxy: r.set("http_proxy"), secureProxy: r.set("https_proxy"), noProxy: r.set("no_proxy"),
		caBundle: r.file(r.Given("custom_ca_bundle")), insecure: r.Is("insecure"), retries: -1,
		retryMode: r.Given("retry_mode"), pause: longestPause, skipChecksum: r.Is("skip_s3_checksum"),
	}
	if p := r.set("workspace_key_prefix"); p != nil {
		s.prefix = *p
	}
	s.stateTags, s.lockTags = r.tags("state_tags"), r.tags("lock_tags")
	if file := r.Given("shared_credentials_file"); file != "" && len(s.credentials) == 0 {
		s.credentials = []string{r.file(file)}
	}
	if v, ok := r.Value("max_retries"); ok {
		n, _ := v.AsBigFloat().Int64()
		s.retries = int(n)
		if n < 0 || n > 1000 {
			r.Wrong("max_retries", "Invalid Value", "The value must be a number from 0 to 1000.")
		}
	}
	return s
}

// names checks the names of objects.
func (r reader) names(s *settings) {
	for name, value := range map[string]string{"bucket": s.bucket, "key": s.key} {
		set := r.set(name)
		switch {
		case set == nil:
			r.Wrong(name, "Missing Required Value", "It must be set.")
		case strings.TrimSpace(value) == "":
			r.Wrong(name, "Invalid Value", "The value has only spaces.")
		}
	}
	for name, value := range map[string]string{"key": s.key, "workspace_key_prefix": s.prefix} {
		switch {
		case strings.HasPrefix(value, "/") || strings.HasSuffix(value, "/"):
			r.Wrong(name, "Invalid Value", "It must not begin or end with a slash: other programs would not find the "+
				"objects.")
		case strings.Contains(value, "//"):
			r.Wrong(name, "Invalid Value", `The value must not contain "//".`)
		}
	}
}

// access reads the settings for credentials.
func (r reader) access(s *settings, o remote.Surroundings) {
	if s.region == "" {
		s.region = first(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"))
	}
	if s.region != "" && !r.Is("skip_region_validation") && !regionName().MatchString(s.region) {
		r.Wrong("region", "Invalid region value", "%q does not look like an AWS region such as eu-central-1. For "+
			"another service, set skip_region_validation = true.", s.region)
	}
	if (s.access == "") != (s.secret == "") {
		r.Wrong("", "Incomplete credentials", "access_key and secret_key must be set together. Set both or neither: "+
			"without them, the environment, shared files and roles of this machine are used.")
	}
	if file := o.Getenv("AWS_SHARED_CONFIG_FILE"); file != "" && len(s.configs) == 0 { // unknown to the SDK
		s.configs = r.files([]string{file})
	}
	r.conflict("shared_credentials_file", "shared_credentials_files")
	r.conflict("allowed_account_ids", "forbidden_account_ids")
	s.metadata = first(s.metadata, o.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), o.Getenv("AWS_METADATA_URL"))
	s.metadataMode = first(s.metadataMode, o.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"))
	if m := s.metadataMode; m != "" && !strings.EqualFold(m, "IPv4") && !strings.EqualFold(m, "IPv6") {
		r.Wrong("ec2_metadata_service_endpoint_mode", "Invalid Value", "The value must be IPv4 or IPv6.")
	}
	r.conflict("assume_role", "role_arn")
	if a, ok := r.nested("assume_role"); ok {
		s.assume = a.role()
		s.assume.externalID, s.assume.source = a.Given("external_id"), a.Given("source_identity")
		s.assume.transitive, s.assume.tags = a.texts("transitive_tag_keys"), a.pairs("tags")
	} else if arn := r.Given("role_arn"); arn != "" {
		s.assume = r.formerRole(arn)
	}
	if w, ok := r.nested("assume_role_with_web_identity"); ok {
		s.web = w.role()
		s.web.session = first(s.web.session, o.Getenv("AWS_ROLE_SESSION_NAME"))
		s.web.token, s.web.tokenFile = w.Given("web_identity_token"), w.file(w.Given("web_identity_token_file"))
		if s.web.token == "" && s.web.tokenFile == "" {
			s.web.tokenFile = o.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE")
		}
		if (s.web.token == "") == (s.web.tokenFile == "") {
			w.Wrong("", "Missing Required Value", "Exactly one of web_identity_token, web_identity_token_file must be "+
				"set.")
		}
		s.secrets = append(s.secrets, s.web.token)
	}
	s.secrets = append(s.secrets, s.access, s.secret, s.token, o.Getenv("AWS_SECRET_ACCESS_KEY"),
		o.Getenv("AWS_SESSION_TOKEN"))
}

// formerRole returns the role from the arguments that assume_role has replaced.
func (r reader) formerRole(arn string) *assumed {
	a := &assumed{arn: arn, session: r.Given("session_name"), externalID: r.Given("external_id"),
		policy: r.Given("assume_role_policy"), policies: r.texts("assume_role_policy_arns"),
		tags: r.pairs("assume_role_tags"), transitive: r.texts("assume_role_transitive_tag_keys")}
	if v, ok := r.Value("assume_role_duration_seconds"); ok {
		n, _ := v.AsBigFloat().Int64()
		if a.duration = time.Duration(n) * time.Second; a.duration < shortestRole || a.duration > longestRole {
			r.Wrong("assume_role_duration_seconds", "Invalid Value", "The value must be a number from %d to %d.",
				int(shortestRole.Seconds()), int(longestRole.Seconds()))
		}
	}
	return a
}

func (r reader) role() *assumed {
	a := &assumed{arn: r.Given("role_arn"), policy: r.Given("policy"), session: r.Given("session_name"),
		duration: r.duration("duration"), policies: r.texts("policy_arns")}
	if a.arn == "" {
		r.Wrong("role_arn", "Missing Required Value", "The role is missing. Set it by its ARN.")
	}
	return a
}
