package oraclecloud

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// settings holds the settings from the block and the environment.
type settings struct {
	bucket, namespace, key, prefix string
	region                         string
	endpoint                       string // replaces the address of the region
	domain, rightDomain            string // domain replaces that of the region, unless it equals rightDomain
	authorities                    string // trusted root certificates in PEM; "" means the default ones
	kmsKey                         string
	customerKey, customerSum       string
	credentials                    credentials

	arguments.Secrets
}

// credentials holds the settings of authentication.
type credentials struct {
	method                     string
	profile, file              string
	tenancy, user, fingerprint string
	key, password              string
}

// Methods of signing requests.
const (
	apiKey            = "apikey"
	securityToken     = "securitytoken"
	instancePrincipal = "instanceprincipal"
	resourcePrincipal = "resourceprincipal"
	workloadIdentity  = "okeworkloadidentity"
)

var methods = []string{apiKey, securityToken, instancePrincipal, resourcePrincipal, workloadIdentity}

// overrides is a variable with hosts that replace the default ones: "client=host;client=host".
const overrides = "CLIENT_HOST_OVERRIDES"

var (
	regionName = regex.Lazy(`^[A-Za-z0-9-]*$`)
	domainName = regex.Lazy(`^[A-Za-z0-9.-]*$`)
)

// read takes the settings from the values of a block and from the environment. Variables have the names of the
// arguments, with or without the prefix OCI_.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	r := arguments.New(config, o)
	text := func(name string) string { return r.Text(name, "OCI_"+name, name) }
	s := &settings{bucket: r.Text("bucket"), namespace: r.Text("namespace"),
		key: cmp.Or(text("key"), "terraform.tfstate"), region: text("region"), kmsKey: text("kms_key_id"),
		prefix: cmp.Or(text("workspace_key_prefix"), "tf-state-env")}
	r.Needed("bucket", s.bucket)
	r.Needed("namespace", s.namespace)
	if strings.HasPrefix(s.key, "/") || strings.HasSuffix(s.key, "/") || strings.Contains(s.key, "//") {
		r.Wrong("key", "Invalid Value", "%q must not begin or end with a slash, or have two in a row.", s.key)
	}
	if strings.HasPrefix(s.prefix, "/") || strings.Contains(s.prefix, "//") {
		r.Wrong("workspace_key_prefix", "Invalid Value", "%q must not begin with a slash, or have two in a row.",
			s.prefix)
	}
	s.prefix = strings.TrimSuffix(s.prefix, "/")
	if !regionName().MatchString(s.region) { // it becomes a part of the host name
		r.Wrong("region", "Invalid Value", "%q is not a region, such as us-ashburn-1.", s.region)
	}
	s.credentials = credentials{method: strings.ToLower(cmp.Or(text("auth"), apiKey)),
		profile: text("config_file_profile"),
		file:    o.Path(cmp.Or(o.Getenv("OCI_CONFIG_FILE"), atHome(o, "~/.oci/config"))),
		tenancy: text("tenancy_ocid"), user: text("user_ocid"), fingerprint: text("fingerprint"),
		key: strings.ReplaceAll(text("private_key"), `\n`, "\n"), password: text("private_key_password")}
	if !slices.Contains(methods, s.credentials.method) {
		r.Wrong("auth", "Invalid Value", "%q is not a way to sign requests. Expected ApiKey, SecurityToken, "+
			"InstancePrincipal, ResourcePrincipal or OKEWorkloadIdentity.", text("auth"))
	}
	if s.credentials.method == securityToken {
		r.Needed("config_file_profile", s.credentials.profile, "OCI_config_file_profile")
	}
	if path := text("private_key_path"); path != "" && s.credentials.key == "" && s.credentials.method == apiKey {
		s.credentials.key = string(r.File("private_key_path", atHome(o, path)))
	}
	s.encryption(r, text)
	s.address(r, o)
	s.domain, s.rightDomain = text("domain_name_override"), text("has_correct_domain_name")
	if !domainName().MatchString(s.domain) {
		r.Wrong("", "Invalid Value", "The environment variable domain_name_override is %q: expected a domain.",
			s.domain)
	}
	s.authorities = string(r.File("", text("custom_cert_location")))
	if s.authorities != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.authorities)) {
		r.Wrong("", "Invalid Value", "The file that custom_cert_location names has no certificate in PEM.")
	}
	s.Add(s.credentials.key, s.credentials.password, s.customerKey)
	s.Add(strings.Split(s.credentials.key, "\n")...)
	return s, r.Diags()
}

// atHome returns a file name below the user's home folder, which a variable may replace.
func atHome(o remote.Surroundings, name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && o.Getenv("OCI_HOME_OVERRIDE") != "" {
		return filepath.Join(o.Getenv("OCI_HOME_OVERRIDE"), rest)
	}
	return name
}

// encryption reads the customer's key.
func (s *settings) encryption(r arguments.Reader, text func(string) string) {
	s.customerKey, s.customerSum = text("sse_customer_key"), text("sse_customer_key_sha256")
	algorithm := cmp.Or(text("sse_customer_algorithm"), "AES256")
	if s.customerKey == "" {
		return
	}
	if s.kmsKey != "" {
		r.Wrong("sse_customer_key", "Conflicting arguments", "kms_key_id is set, too. Set one of the two.")
	}
	key, err := base64.StdEncoding.DecodeString(s.customerKey)
	if err != nil || len(key) != 32 {
		r.Wrong("sse_customer_key", "Invalid Value", "The key must have 256 bits, which are 44 characters of base64.")
		return
	}
	sum := sha256.Sum256(key)
	want := base64.StdEncoding.EncodeToString(sum[:])
	switch s.customerSum {
	case want:
	case "":
		r.Wrong("sse_customer_key_sha256", "Missing Required Value", "sse_customer_key needs its digest, which is "+
			"%s. Without it, Terraform ignores the key and could not read the encrypted state.", want)
	default:
		r.Wrong("sse_customer_key_sha256", "Invalid Value", "It is not the digest of sse_customer_key, which is %s.",
			want)
	}
	if algorithm != "AES256" {
		r.Wrong("sse_customer_algorithm", "Invalid Value", "%q is not AES256, the only algorithm.", algorithm)
	}
}

// address reads settings that change how the service is reached.
func (s *settings) address(r arguments.Reader, o remote.Surroundings) {
	for one := range strings.SplitSeq(cmp.Or(o.Getenv("OCI_"+overrides), o.Getenv(overrides)), ";") {
		client, host, _ := strings.Cut(one, "=")
		if client != "oci_object_storage.ObjectStorageClient" {
			continue
		}
		if !strings.Contains(host, "://") {
			host = "https://" + host
		}
		if u, err := url.Parse(host); err != nil || u.Host == "" {
			r.Wrong("", "Invalid Value", "The environment variable %s has no host for Object Storage.", overrides)
		}
		s.endpoint = strings.TrimSuffix(host, "/")
	}
}

// base returns the address of the service in the region.
func (s *settings) base(region string) string {
	if s.endpoint != "" {
		return s.endpoint
	}
	host := common.Region(region).Endpoint("objectstorage")
	if s.domain != "" && (s.rightDomain == "" || !strings.HasSuffix(host, s.rightDomain)) {
		parts := strings.Split(host, ".")
		host = strings.Join(append(parts[:max(0, len(parts)-2)], s.domain), ".")
	}
	return "https://" + host
}

// trust returns a configuration with the trusted root certificates, or nil for the default ones.
func (s *settings) trust() *tls.Config {
	if s.authorities == "" {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM([]byte(s.authorities))
	return c
}
