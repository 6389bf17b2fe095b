package azure

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// surroundings describes a cloud: its token service, its resource manager and the suffix of its blob hosts.
type surroundings struct {
	authority, manager, audience, storage string
	exchange                              string // audience of tokens of other identity providers
	private                               bool
}

var (
	public = &surroundings{authority: "https://login.microsoftonline.com/", manager: "https://management.azure.com",
		audience: "https://management.azure.com", storage: "core.windows.net", exchange: "api://AzureADTokenExchange"}
	government = &surroundings{authority: "https://login.microsoftonline.us/",
		manager: "https://management.usgovcloudapi.net", audience: "https://management.usgovcloudapi.net",
		storage: "core.usgovcloudapi.net", exchange: "api://AzureADTokenExchangeUSGov"}
	china = &surroundings{authority: "https://login.chinacloudapi.cn/", manager: "https://management.chinacloudapi.cn",
		audience: "https://management.chinacloudapi.cn", storage: "core.chinacloudapi.cn",
		exchange: "api://AzureADTokenExchangeChina"}
)

// clouds maps the names that settings may use to clouds.
var clouds = map[string]*surroundings{"public": public, "global": public, "canary": public,
	"usgovernment": government, "usgovernmentl4": government, "usgovernmentl5": government, "dod": government,
	"china": china}

// access holds the credentials of requests. Without a key and a token, requests carry a shared access signature.
type access struct {
	base  *url.URL
	key   []byte
	token func(context.Context) (string, error)
}

const (
	storageScope = "https://storage.azure.com/.default"
	armVersion   = "2023-01-01"
)

// reach finds the service and its credentials. It does so only once.
func (b *blobs) reach(ctx context.Context) (*access, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.access != nil {
		return b.access, nil
	}
	a, err := b.find(ctx)
	if err == nil {
		b.access = a
	}
	return a, err
}

func (b *blobs) find(ctx context.Context) (*access, error) {
	s, a := b.s, &access{}
	env, err := s.credentials.cloud(ctx, b.http)
	if err != nil {
		return nil, err
	}
	address := "https://" + s.account + ".blob." + env.storage
	var credential azcore.TokenCredential
	if s.accessKey == nil && s.sas == nil || s.lookup {
		if credential, err = s.credentials.credential(env, b.http); err != nil {
			return nil, err
		}
	}
	if s.lookup {
		if address, err = b.endpoint(ctx, env, credential); err != nil {
			return nil, err
		}
	}
	switch {
	case s.accessKey != nil:
		a.key = s.accessKey
	case s.sas != nil:
	case s.direct:
		a.token = func(ctx context.Context) (string, error) { return s.credentials.ask(ctx, credential, storageScope) }
	default:
		if a.key, err = b.firstKey(ctx, env, credential); err != nil {
			return nil, err
		}
	}
	if s.base != "" {
		address = s.base
	}
	if a.base, err = url.Parse(address); err != nil || a.base.Host == "" {
		return nil, &problem{text: "the address of the storage account is not valid"}
	}
	return a, nil
}

// fetch requests a JSON document.
func (w *credentials) fetch(ctx context.Context, c *http.Client, method, address string, header map[string]string,
	body any, out any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sent))
	if err != nil {
		return errors.New("the address is not a URL")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.Do(r)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return fmt.Errorf("%s cannot be reached: %w", r.URL.Host, err)
	}
	defer a.Body.Close()
	content, err := web.Read(ctx, cancel, a.Body, maxMessage, silence)
	if err != nil {
		return fmt.Errorf("the answer of %s: %w", r.URL.Host, err)
	}
	if a.StatusCode/100 != 2 {
		var why struct {
			Error struct{ Code, Message string }
		}
		_ = json.Unmarshal(content, &why) // without a reason, the error reports the status
		text := strings.Trim(why.Error.Code+": "+why.Error.Message, ": ")
		return &statusError{a.StatusCode, w.clean(fmt.Sprintf("%s answered %s %.500s", r.URL.Host, a.Status, text))}
	}
	if json.Unmarshal(content, out) != nil {
		return fmt.Errorf("the answer of %s is not the JSON that was expected", r.URL.Host)
	}
	return nil
}

// statusError is a response with an error status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return strings.TrimSpace(e.text) }

// cloud returns the settings of the cloud. With a metadata host, it fetches them from there.
func (w *credentials) cloud(ctx context.Context, c *http.Client) (*surroundings, error) {
	if w.metadata == "" {
		return clouds[w.environment], nil
	}
	var response struct {
		Authentication struct {
			LoginEndpoint string
			Audiences     []string
		}
		ResourceManager string
		Suffixes        struct{ Storage string }
	}
	err := w.fetch(ctx, c, http.MethodGet, "https://"+w.metadata+"/metadata/endpoints?api-version=2022-09-01", nil, nil,
		&response)
	if err == nil && (response.Suffixes.Storage == "" || len(response.Authentication.Audiences) == 0) {
		err = errors.New("it has no storage endpoint or no audience")
	}
	if err != nil {
		return nil, fmt.Errorf("the description of the cloud from metadata_host cannot be used: %w", err)
	}
	return &surroundings{authority: response.Authentication.LoginEndpoint, manager: response.ResourceManager,
		audience: response.Authentication.Audiences[0], storage: response.Suffixes.Storage, exchange: public.exchange,
		private: true}, nil
}

// ask requests a token.
func (w *credentials) ask(ctx context.Context, c azcore.TokenCredential, scope string) (string, error) {
	token, err := c.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n-----")
		return "", &problem{text: w.clean("no token: " + strings.TrimSpace(text)), err: err}
	}
	return token.Token, nil
}

// manager sends a request about the storage account to the resource manager.
func (b *blobs) manager(ctx context.Context, env *surroundings, c azcore.TokenCredential, method, action string,
	out any) error {
	s := b.s
	if s.group == "" || s.credentials.subscription == "" {
		return &problem{text: "subscription_id (or ARM_SUBSCRIPTION_ID) and resource_group_name must be set, to look " +
			"up the storage account. Or set use_azuread_auth = true, access_key or sas_token"}
	}
	token, err := s.credentials.ask(ctx, c, strings.TrimSuffix(env.audience, "/")+"/.default")
	if err != nil {
		return err
	}
	address := strings.TrimSuffix(env.manager, "/") + "/subscriptions/" + url.PathEscape(s.credentials.subscription) +
		"/resourceGroups/" + url.PathEscape(s.group) + "/providers/Microsoft.Storage/storageAccounts/" + s.account +
		action + "?api-version=" + armVersion
	err = s.credentials.fetch(ctx, b.http, method, address,
		map[string]string{"Authorization": "Bearer " + token}, nil, out)
	if answer := (*statusError)(nil); errors.As(err, &answer) && !passing(answer.status) {
		return &problem{text: answer.Error(), err: err}
	}
	return err
}

// endpoint returns the address of the blobs, from the resource manager.
func (b *blobs) endpoint(ctx context.Context, env *surroundings, c azcore.TokenCredential) (string, error) {
	var account struct {
		Properties struct {
			PrimaryEndpoints struct{ Blob string }
		}
	}
	err := b.manager(ctx, env, c, http.MethodGet, "", &account)
	return account.Properties.PrimaryEndpoints.Blob, err
}

// firstKey returns an access key, from the resource manager.
func (b *blobs) firstKey(ctx context.Context, env *surroundings, c azcore.TokenCredential) ([]byte, error) {
	var list struct {
		Keys []struct{ Value string }
	}
	if err := b.manager(ctx, env, c, http.MethodPost, "/listKeys", &list); err != nil {
		return nil, err
	}
	if len(list.Keys) == 0 {
		return nil, &problem{text: "the storage account has no access key. Set use_azuread_auth = true"}
	}
	key, err := base64.StdEncoding.DecodeString(list.Keys[0].Value)
	if err != nil {
		return nil, &problem{text: "the access key of the storage account is not base64"}
	}
	return key, nil
}

// credential returns the first kind of credential for which all settings are present.
func (w *credentials) credential(env *surroundings, c *http.Client) (cred azcore.TokenCredential, err error) {
	options := policy.ClientOptions{Transport: c, Telemetry: policy.TelemetryOptions{Disabled: true},
		Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: env.authority,
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{}}}
	principal := w.tenant != "" && w.client != ""
	switch {
	case principal && w.certificate != nil:
		chain, key, bad := azidentity.ParseCertificates(w.certificate, []byte(w.password))
		if bad != nil {
			return nil, &problem{text: "the client certificate cannot be read: it is not PKCS #12 or PEM, or " +
				"client_certificate_password is wrong"}
		}
		cred, err = azidentity.NewClientCertificateCredential(w.tenant, w.client, chain, key,
			&azidentity.ClientCertificateCredentialOptions{ClientOptions: options, SendCertificateChain: true,
				DisableInstanceDiscovery: env.private})
	case principal && w.secret != "":
		cred, err = azidentity.NewClientSecretCredential(w.tenant, w.client, w.secret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: env.private})
	case principal && w.oidc && (w.token != "" || w.tokenFile != "" || w.requestURL != "" && w.requestToken != ""):
		cred, err = azidentity.NewClientAssertionCredential(w.tenant, w.client,
			func(ctx context.Context) (string, error) { return w.assertion(ctx, env, c) },
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: env.private})
	case w.msi && w.msiEndpoint != "":
		cred = &local{w: w, http: c}
	case w.msi:
		o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
		if w.client != "" {
			o.ID = azidentity.ClientID(w.client)
		}
		cred, err = azidentity.NewManagedIdentityCredential(o)
	case w.pod:
		cred, err = azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, ClientID: w.client, TenantID: w.tenant, DisableInstanceDiscovery: env.private})
	case w.cli:
		cred, err = azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: w.tenant})
	default:
		return nil, &problem{text: "there are no credentials. Set access_key or sas_token; or tenant_id and " +
			"client_id with client_secret, with a certificate, or with use_oidc and its token; or use_msi, " +
			"use_aks_workload_identity or use_cli; or their environment variables ARM_..."}
	}
	if err != nil {
		return nil, &problem{text: w.clean("the credentials cannot be used: " + err.Error()), err: err}
	}
	return cred, nil
}

// local gets tokens of the machine's managed identity from the address in the user's settings.
type local struct {
	w    *credentials
	http *http.Client
}

// GetToken implements azcore.TokenCredential.
func (l *local) GetToken(ctx context.Context, o policy.TokenRequestOptions) (t azcore.AccessToken, err error) {
	u, err := url.Parse(l.w.msiEndpoint)
	if err != nil || u.Host == "" || len(o.Scopes) != 1 {
		return t, errors.New("msi_endpoint is not a URL")
	}
	query := u.Query()
	query.Set("api-version", "2018-02-01")
	query.Set("resource", strings.TrimSuffix(o.Scopes[0], "/.default"))
	if l.w.client != "" {
		query.Set("client_id", l.w.client)
	}
	u.RawQuery = query.Encode()
	var response struct {
		Token string `json:"access_token"`
	}
	err = l.w.fetch(ctx, l.http, http.MethodGet, u.String(), map[string]string{"Metadata": "true"}, nil, &response)
	if err == nil && response.Token == "" {
		err = fmt.Errorf("the answer of %s has no token", u.Host)
	}
	// The service itself caches tokens until shortly before they expire.
	return azcore.AccessToken{Token: response.Token, ExpiresOn: time.Now().Add(5 * time.Minute)}, err
}

// assertion returns the token of the other identity provider. Such a token is only valid for minutes, so each call
// requests a new one.
func (w *credentials) assertion(ctx context.Context, env *surroundings, c *http.Client) (string, error) {
	if w.token != "" {
		return w.token, nil
	}
	if w.tokenFile != "" {
		b, err := regular.Read(w.tokenFile, maxMessage)
		return strings.TrimSpace(string(b)), err
	}
	u, err := url.Parse(w.requestURL)
	if err != nil || u.Host == "" {
		return "", errors.New("oidc_request_url is not a URL")
	}
	method, body := http.MethodGet, any(nil)
	query := u.Query()
	if w.connection != "" { // Azure Pipelines
		method, body = http.MethodPost, struct{}{}
		query.Set("serviceConnectionId", w.connection)
		if !query.Has("api-version") {
			query.Set("api-version", "7.1")
		}
	} else if !query.Has("audience") {
		query.Set("audience", env.exchange)
	}
	u.RawQuery = query.Encode()
	var response struct {
		Value     string `json:"value"`
		OIDCToken string `json:"oidcToken"`
	}
	err = w.fetch(ctx, c, method, u.String(), map[string]string{"Authorization": "Bearer " + w.requestToken,
		"Accept": "application/json; api-version=2.0"}, body, &response)
	if err == nil && response.Value+response.OIDCToken == "" {
		err = fmt.Errorf("the answer of %s has no token", u.Host)
	}
	return response.Value + response.OIDCToken, err
}
