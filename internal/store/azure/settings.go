package azure

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// settings holds the settings from the block and the environment.
type settings struct {
	account, container, key string
	group                   string
	lookup, snapshot        bool
	accessKey               []byte
	sas                     url.Values
	direct                  bool // the identity accesses the blobs without an account key
	customerKey, customerID string
	scope                   string
	credentials             credentials
	timeout, pause          time.Duration
	base                    string // address of the account; only tests set it
}

// credentials holds the identity that requests use.
type credentials struct {
	environment, metadata, subscription, tenant string
	client, secret                              string
	certificate                                 []byte
	password                                    string
	oidc                                        bool
	token, tokenFile, requestURL, requestToken  string
	connection                                  string // service connection of Azure Pipelines
	msi                                         bool
	msiEndpoint                                 string
	cli, pod                                    bool
	secrets                                     []string // hidden in messages
}

// clean removes secrets from a text.
func (w *credentials) clean(text string) string { return arguments.Hide(text, w.secrets) }

// reader reads values from a block or the environment and collects their problems.
type reader struct{ arguments.Reader }

// either returns an argument, or the content of the file that another argument names.
func (r reader) either(name, variable, fileName, fileVariable string) string {
	direct := r.Given(name, variable)
	inFile := strings.TrimSpace(string(r.File(fileName, r.Given(fileName, fileVariable))))
	if direct != "" && inFile != "" && direct != inFile {
		r.Wrong(name, "Conflicting values", "its value differs from the one in the file of %s. Set one of the two.",
			fileName)
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
	r := reader{arguments.New(config, o)}
	s := &settings{account: r.Given("storage_account_name"), container: r.Given("container_name"), key: r.Given("key"),
		group: r.Given("resource_group_name"), lookup: r.Is("lookup_blob_endpoint", "ARM_USE_DNS_ZONE_ENDPOINT"),
		snapshot: r.Is("snapshot", "ARM_SNAPSHOT"), direct: r.Is("use_azuread_auth", "ARM_USE_AZUREAD"),
		scope: r.Given("encryption_scope", "ARM_ENCRYPTION_SCOPE", "ARM_ENCYRPTION_SCOPE"),
		pause: web.FirstPause}
	r.names(s)
	s.credentials = r.credentials()
	s.credentials.connection = r.Given("ado_pipeline_service_connection_id")
	if s.credentials.connection == "" {
		s.credentials.connection = r.Given("ado_service_connection_id", "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
			"ARM_OIDC_AZURE_SERVICE_CONNECTION_ID", "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID")
	}
	s.timeout = time.Duration(r.Number("timeout_seconds", 0, 0, 86400, "ARM_TIMEOUT_SECONDS")) * time.Second
	r.keys(s)
	return s, r.Diags()
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
			r.Wrong(one.name, "Missing Required Value", "it must be set.")
		case !one.ok:
			r.Wrong(one.name, "Invalid Value", "%q is not valid. Expected one of %s.", one.value, one.want)
		}
	}
}

// keys reads the keys of the storage account and the keys that encrypt blobs.
func (r reader) keys(s *settings) {
	access, sas := r.Given("access_key", "ARM_ACCESS_KEY"), r.Given("sas_token", "ARM_SAS_TOKEN")
	s.credentials.secrets = append(s.credentials.secrets, access, sas)
	if access != "" {
		var err error
		if s.accessKey, err = base64.StdEncoding.DecodeString(access); err != nil {
			r.Wrong("access_key", "Invalid Value", "the value, or that of ARM_ACCESS_KEY, is not base64.")
		}
	} else if sas != "" {
		var err error
		if s.sas, err = url.ParseQuery(strings.TrimPrefix(sas, "?")); err != nil || s.sas.Get("sig") == "" {
			r.Wrong("sas_token", "Invalid Value",
				"the value, or that of ARM_SAS_TOKEN, is not a shared access signature: it has no sig=....")
		} else {
			s.credentials.secrets = append(s.credentials.secrets, s.sas.Get("sig"))
		}
	}
	if s.customerKey = r.Given("customer_provided_key", "ARM_CUSTOMER_PROVIDED_KEY"); s.customerKey != "" {
		s.credentials.secrets = append(s.credentials.secrets, s.customerKey)
		key, err := base64.StdEncoding.DecodeString(s.customerKey)
		if err != nil || len(key) != 32 {
			r.Wrong("customer_provided_key", "Invalid Value", "the key must have 256 bits, in base64.")
		}
		sum := sha256.Sum256(key)
		s.customerID = base64.StdEncoding.EncodeToString(sum[:])
		if s.scope != "" {
			r.Wrong("encryption_scope", "Conflicting arguments",
				"customer_provided_key is set, too. Set one of the two.")
		}
	}
}

// credentials reads the settings of the identity.
func (r reader) credentials() credentials {
	w := credentials{
		environment:  cmp.Or(r.Given("environment", "ARM_ENVIRONMENT"), "public"),
		metadata:     r.Given("metadata_host", "ARM_METADATA_HOSTNAME", "ARM_METADATA_HOST"),
		subscription: r.Given("subscription_id", "ARM_SUBSCRIPTION_ID"), tenant: r.Given("tenant_id", "ARM_TENANT_ID"),
		client: r.either("client_id", "ARM_CLIENT_ID", "client_id_file_path", "ARM_CLIENT_ID_FILE_PATH"),
		secret: r.either("client_secret", "ARM_CLIENT_SECRET", "client_secret_file_path",
			"ARM_CLIENT_SECRET_FILE_PATH"),
		password: r.Given("client_certificate_password", "ARM_CLIENT_CERTIFICATE_PASSWORD"),
		oidc:     r.Is("use_oidc", "ARM_USE_OIDC"), token: r.Given("oidc_token", "ARM_OIDC_TOKEN"),
		tokenFile: r.Path(r.Given("oidc_token_file_path", "ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE")),
		requestURL: r.Given("oidc_request_url", "ARM_OIDC_REQUEST_URL",
			"ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"),
		requestToken: r.Given("oidc_request_token", "ARM_OIDC_REQUEST_TOKEN",
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"),
		msi: r.Is("use_msi", "ARM_USE_MSI"), msiEndpoint: r.Given("msi_endpoint", "ARM_MSI_ENDPOINT"),
		cli: r.Flag("use_cli", true, "ARM_USE_CLI"),
		pod: r.Is("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY"),
	}
	if w.msiEndpoint == "" {
		w.msiEndpoint = r.Given("endpoint", "ARM_ENDPOINT")
	}
	w.certificate = r.File("client_certificate_path", r.Given("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH"))
	inline := r.Given("client_certificate", "ARM_CLIENT_CERTIFICATE")
	if inline != "" {
		var err error
		if w.certificate, err = base64.StdEncoding.DecodeString(inline); err != nil {
			r.Wrong("client_certificate", "Invalid Value",
				"the value, or that of ARM_CLIENT_CERTIFICATE, is not base64.")
		}
	}
	if w.metadata == "" && clouds[w.environment] == nil {
		r.Wrong("environment", "Invalid Value", "there is no cloud %q. Expected public, usgovernment or china, or "+
			"metadata_host for another one.", w.environment)
	}
	w.secrets = []string{w.secret, w.password, w.token, w.requestToken, inline}
	return w
}
