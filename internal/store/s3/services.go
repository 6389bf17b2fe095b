package s3

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// formerly maps services to the arguments that endpoints has replaced, and to their variables.
var formerly = map[string][2]string{"s3": {"endpoint", "AWS_S3_ENDPOINT"},
	"dynamodb": {"dynamodb_endpoint", "AWS_DYNAMODB_ENDPOINT"}, "iam": {"iam_endpoint", "AWS_IAM_ENDPOINT"},
	"sts": {"sts_endpoint", "AWS_STS_ENDPOINT"}, "sso": {}}

// services reads the addresses of the services.
func (r reader) services(s *settings, o remote.Surroundings) {
	r.conflict("force_path_style", "use_path_style")
	if m := s.retryMode; m != "" && m != "standard" && m != "adaptive" {
		r.Wrong("retry_mode", "Invalid Value", "The value must be standard or adaptive.")
	}
	s.endpoints = map[string]string{}
	endpoints, _ := r.nested("endpoints")
	for _, service := range slices.Sorted(maps.Keys(formerly)) {
		old, oldVariable := formerly[service][0], formerly[service][1]
		address, former := endpoints.Given(service), r.Given(old)
		if address != "" && former != "" {
			r.Wrong("", "Conflicting Parameters", "The parameters %q and %q cannot be configured together.", old,
				"endpoints."+service)
		}
		checkURL(endpoints, service, address)
		checkURL(r, old, former)
		address = first(address, former, o.Getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(service)))
		if address == "" && oldVariable != "" {
			address = o.Getenv(oldVariable)
		}
		if address != "" {
			s.endpoints[service] = address
			s.secrets = append(s.secrets, password(address))
		}
	}
	for name, proxy := range map[string]*string{"http_proxy": s.proxy, "https_proxy": s.secureProxy} {
		if proxy == nil || *proxy == "" {
			continue
		}
		u, err := url.Parse(*proxy)
		if err != nil || u.Host == "" {
			r.Wrong(name, "Invalid Value", "The value must be an address with a scheme and a host, such as "+
				"http://proxy.example.com:3128.")
			continue
		}
		s.secrets = append(s.secrets, password(*proxy))
	}
}

// password returns the password in an address.
func password(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// checkURL reports an invalid address. It does not show the part after the scheme, which may contain a password.
func checkURL(r reader, name, address string) {
	if address == "" {
		return
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.Wrong(name, "Invalid Value", "The value must be an address with a scheme and a host, such as "+
			"https://s3.example.com.")
	}
}

// kmsName matches the name of a KMS key: an identifier, or the ARN of a key or an alias.
var kmsName = regex.Lazy(`^(arn:[a-z0-9-]+:kms:[a-z0-9-]+:\d{12}:(key/(mrk-)?[0-9a-fA-F-]{8,}|alias/[\w/-]+)` +
	`|mrk-[0-9a-f]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

// encryption reads the settings of the objects' encryption.
func (r reader) encryption(s *settings, o remote.Surroundings) {
	r.conflict("kms_key_id", "sse_customer_key")
	if s.kmsKey != "" && !kmsName().MatchString(s.kmsKey) {
		r.Wrong("kms_key_id", "Invalid KMS key", "%q is not a key of the Key Management Service: expected an ARN or "+
			"an id.", s.kmsKey)
	}
	if s.customerKey == "" && s.kmsKey == "" {
		s.customerKey = o.Getenv("AWS_SSE_CUSTOMER_KEY")
	}
	if s.customerKey == "" {
		return
	}
	s.secrets = append(s.secrets, s.customerKey)
	key, err := base64.StdEncoding.DecodeString(s.customerKey)
	if err != nil || len(key) != 32 {
		r.Wrong("sse_customer_key", "Invalid SSE customer key",
			"The key must have 256 bits, which are 44 characters of base64. It can also be set with the environment "+
				"variable AWS_SSE_CUSTOMER_KEY.")
	}
	s.secrets = append(s.secrets, string(key))
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
