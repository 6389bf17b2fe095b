package azure

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// settings holds the settings from the block and the environment.
type settings struct {
	account, container, key string
	group                   string
	lookup, snapshot        bool
	accessKey               []byte
	sas                     url.Values
	direct                  bool // the identity reaches the blobs itself
	customerKey, customerID string
	scope                   string
	who                     who
	timeout, pause          time.Duration
	base                    string // address of the account, for tests
}

// who is the identity for requests.
type who struct {
	environment, metadata, subscription, tenant string
	client, secret                              string
	certificate                                 []byte
	password                                    string
	oidc                                        bool
	token, tokenFile, requestURL, requestToken  string
	connection                                  string // of Azure Pipelines
	msi                                         bool
	msiEndpoint                                 string
	cli, pod                                    bool
	secrets                                     []string // what no message may show
}

// clean removes secrets from a text.
func (w *who) clean(text string) string {
	for _, s := range w.secrets {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, "(hidden)")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "(hidden)")
		}
	}
	return text
}

// reader reads values from a block or the environment and collects their problems.
type reader struct {
	v     cty.Value
	o     remote.Surroundings
	diags *diag.List
}

// wrong reports a problem with an argument. The text must not show the value of a secret one.
func (r reader) wrong(name, summary, format string, args ...any) {
	*r.diags = r.diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary,
		Detail: "The argument " + name + ": " + fmt.Sprintf(format, args...), Path: cty.GetAttrPath(name)})
}

func (r reader) value(name string) (v cty.Value, ok bool) {
	if r.v == cty.NilVal || r.v.IsNull() || !r.v.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	v, _ = r.v.GetAttr(name).UnmarkDeep()
	return v, !v.IsNull() && v.IsWhollyKnown()
}

// text returns an argument, or the first of the variables that is set.
func (r reader) text(name string, variables ...string) string {
	if v, ok := r.value(name); ok {
		return v.AsString()
	}
	for _, variable := range variables {
		if s := r.o.Getenv(variable); s != "" {
			return s
		}
	}
	return ""
}

func (r reader) is(name string, missing bool, variable string) bool {
	if v, ok := r.value(name); ok {
		return v.True()
	}
	if s := r.o.Getenv(variable); variable != "" && s != "" {
		b, err := strconv.ParseBool(s)
		if err != nil {
			r.wrong(name, "Invalid Value", "the environment variable %s must be true or false.", variable)
		}
		return b
	}
	return missing
}

// seconds returns a time that is an argument or the value of a variable; 0 for none.
func (r reader) seconds(name, variable string) time.Duration {
	n, exact := int64(0), true
	if v, ok := r.value(name); ok {
		n, _ = v.AsBigFloat().Int64()
		exact = v.AsBigFloat().IsInt()
	} else if s := r.o.Getenv(variable); s != "" {
		var err error
		n, err = strconv.ParseInt(s, 10, 64)
		exact = err == nil
	}
	if n < 0 || n > 86400 || !exact {
		r.wrong(name, "Invalid Value", "the value, or that of %s, must be a whole number from 0 to 86400.", variable)
	}
	return time.Duration(n) * time.Second
}

// file returns the content of a file, without surrounding white space.
func (r reader) file(argument, name string) []byte {
	if name == "" {
		return nil
	}
	b, err := regular.Read(r.path(name), maxMessage)
	if err == nil {
		return b
	}
	r.wrong(argument, "Unreadable file", "%v. Name a file that can be read.", err)
	return nil
}

// path returns the name of a file; relative ones are relative to the working directory.
func (r reader) path(name string) string {
	if name == "" || filepath.IsAbs(name) || r.o.Dir == "" {
		return name
	}
	return filepath.Join(r.o.Dir, name)
}

// either returns an argument, or the content of the file that another argument names.
func (r reader) either(name, variable, fileName, fileVariable string) string {
	direct := r.text(name, variable)
	inFile := strings.TrimSpace(string(r.file(fileName, r.text(fileName, fileVariable))))
	if direct != "" && inFile != "" && direct != inFile {
		r.wrong(name, "Conflicting values", "its value is not the one in the file of %s. Set one of the two.", fileName)
	}
	if direct == "" {
		return inFile
	}
	return direct
}

var (
	accountName   = regex.Lazy(`^[0-9a-z]{3,24}$`)
	containerName = regex.Lazy(`^(\$root|[0-9a-z](-?[0-9a-z]){2,62})$`)
)

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings) (*settings, diag.List) {
	var diags diag.List
	r := reader{v: config, o: o, diags: &diags}
	s := &settings{account: r.text("storage_account_name"), container: r.text("container_name"), key: r.text("key"),
		group: r.text("resource_group_name"), lookup: r.is("lookup_blob_endpoint", false, "ARM_USE_DNS_ZONE_ENDPOINT"),
		snapshot: r.is("snapshot", false, "ARM_SNAPSHOT"), direct: r.is("use_azuread_auth", false, "ARM_USE_AZUREAD"),
		scope: r.text("encryption_scope", "ARM_ENCRYPTION_SCOPE", "ARM_ENCYRPTION_SCOPE"),
		pause: web.FirstPause}
	r.names(s)
	s.who = r.who()
	s.who.connection = r.text("ado_pipeline_service_connection_id")
	if s.who.connection == "" {
		s.who.connection = r.text("ado_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
			"ARM_OIDC_AZURE_SERVICE_CONNECTION_ID", "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID")
	}
	s.timeout = r.seconds("timeout_seconds", "ARM_TIMEOUT_SECONDS")
	r.keys(s)
	return s, diags
}

func (r reader) names(s *settings) {
	for _, one := range []struct {
		name, value string
		ok          bool
		want        string
	}{
		{"storage_account_name", s.account, accountName().MatchString(s.account),
			"3 to 24 lower case letters and digits"},
		{"container_name", s.container, containerName().MatchString(s.container) && len(s.container) <= 63,
			"3 to 63 lower case letters, digits and single hyphens between them"},
		{"key", s.key, len(s.key) <= 900 && !strings.HasSuffix(s.key, "/"),
			"the name of a blob of at most 900 bytes that does not end with a slash"},
	} {
		switch {
		case one.value == "":
			r.wrong(one.name, "Missing Required Value", "it must be set.")
		case !one.ok:
			r.wrong(one.name, "Invalid Value", "%q is not valid. Expected one of %s.", one.value, one.want)
		}
	}
}

// keys reads the keys of the storage account and the keys that encrypt blobs.
func (r reader) keys(s *settings) {
	access, sas := r.text("access_key", "ARM_ACCESS_KEY"), r.text("sas_token", "ARM_SAS_TOKEN")
	s.who.secrets = append(s.who.secrets, access, sas)
	if access != "" {
		var err error
		if s.accessKey, err = base64.StdEncoding.DecodeString(access); err != nil {
			r.wrong("access_key", "Invalid Value", "the value, or that of ARM_ACCESS_KEY, is not base64.")
		}
	} else if sas != "" {
		var err error
		if s.sas, err = url.ParseQuery(strings.TrimPrefix(sas, "?")); err != nil || s.sas.Get("sig") == "" {
			r.wrong("sas_token", "Invalid Value",
				"the value, or that of ARM_SAS_TOKEN, is not a shared access signature: it has no sig=....")
		} else {
			s.who.secrets = append(s.who.secrets, s.sas.Get("sig"))
		}
	}
	if s.customerKey = r.text("customer_provided_key", "ARM_CUSTOMER_PROVIDED_KEY"); s.customerKey != "" {
		s.who.secrets = append(s.who.secrets, s.customerKey)
		key, err := base64.StdEncoding.DecodeString(s.customerKey)
		if err != nil || len(key) != 32 {
			r.wrong("customer_provided_key", "Invalid Value", "the key must have 256 bits, in base64.")
		}
		sum := sha256.Sum256(key)
		s.customerID = base64.StdEncoding.EncodeToString(sum[:])
		if s.scope != "" {
			r.wrong("encryption_scope", "Conflicting arguments",
				"customer_provided_key is set, too. Set one of the two.")
		}
	}
}

// who reads the settings of the identity.
func (r reader) who() who {
	w := who{
		environment:  cmp.Or(r.text("environment", "ARM_ENVIRONMENT"), "public"),
		metadata:     r.text("metadata_host", "ARM_METADATA_HOSTNAME", "ARM_METADATA_HOST"),
		subscription: r.text("subscription_id", "ARM_SUBSCRIPTION_ID"), tenant: r.text("tenant_id", "ARM_TENANT_ID"),
		client: r.either("client_id", "ARM_CLIENT_ID", "client_id_file_path", "ARM_CLIENT_ID_FILE_PATH"),
		secret: r.either("client_secret", "ARM_CLIENT_SECRET", "client_secret_file_path",
			"ARM_CLIENT_SECRET_FILE_PATH"),
		password: r.text("client_certificate_password", "ARM_CLIENT_CERTIFICATE_PASSWORD"),
		oidc:     r.is("use_oidc", false, "ARM_USE_OIDC"), token: r.text("oidc_token", "ARM_OIDC_TOKEN"),
		tokenFile: r.path(r.text("oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE")),
		requestURL: r.text("oidc_request_url", "ARM_OIDC_REQUEST_URL",
			"ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"),
		requestToken: r.text("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN",
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"),
		msi: r.is("use_msi", false, "ARM_USE_MSI"), msiEndpoint: r.text("msi_endpoint", "ARM_MSI_ENDPOINT"),
		cli: r.is("use_cli", true, "ARM_USE_CLI"),
		pod: r.is("use_aks_workload_identity", false, "ARM_USE_AKS_WORKLOAD_IDENTITY"),
	}
	if w.msiEndpoint == "" {
		w.msiEndpoint = r.text("endpoint", "ARM_ENDPOINT")
	}
	w.certificate = r.file("client_certificate_path", r.text("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH"))
	inline := r.text("client_certificate", "ARM_CLIENT_CERTIFICATE")
	if inline != "" {
		var err error
		if w.certificate, err = base64.StdEncoding.DecodeString(inline); err != nil {
			r.wrong("client_certificate", "Invalid Value",
				"the value, or that of ARM_CLIENT_CERTIFICATE, is not base64.")
		}
	}
	if w.metadata == "" && clouds[w.environment] == nil {
		r.wrong("environment", "Invalid Value", "there is no cloud %q. Expected public, usgovernment or china, or "+
			"metadata_host for another one.", w.environment)
	}
	w.secrets = []string{w.secret, w.password, w.token, w.requestToken, inline}
	return w
}
