package azure

import (
	"net/url"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// describing lists the metadata hosts of Azure's own clouds.
var describing = []string{"management.azure.com", "management.chinacloudapi.cn", "management.usgovcloudapi.net"}

// requestTokens are variables whose tokens let a pipeline request further tokens.
var requestTokens = []string{"ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"}

// programs returns the data that goes to a cloud that the block describes: files of the user, and credentials unless
// the block contains them. A block cannot start programs.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	text := func(name string) string { return remote.Written(config, name) }
	if to := text("oidc_request_url"); remote.Elsewhere(to, "visualstudio.com", "azure.com",
		"actions.githubusercontent.com") && text("oidc_request_token") == "" {
		for _, name := range requestTokens {
			if o.Getenv(name) != "" {
				all = append(all, remote.Sent("oidc_request_url", "the value of "+name, to))
			}
		}
	}
	to := text("metadata_host")
	if to == "" {
		return all
	}
	for _, name := range []string{"client_secret_file_path", "oidc_token_file_path"} {
		if file := text(name); file != "" && o.Own(file) {
			all = append(all, remote.Program{Argument: name, Token: true,
				Line: "the content of " + file + ", for the cloud of " + to})
		}
	}
	own := text("access_key") == "" && text("sas_token") == "" && text("client_secret") == "" &&
		text("client_secret_file_path") == "" && text("oidc_token_file_path") == ""
	if own && remote.Elsewhere(to, describing...) {
		all = append(all, remote.Program{Argument: "metadata_host", Token: true,
			Line: "your credentials for Azure, for the cloud of " + to})
	}
	return all
}

// ofAzure reports whether an address belongs to a vault in one of Azure's clouds.
func ofAzure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return false
	}
	for _, domain := range []string{"azure.net", "azure.cn", "usgovcloudapi.net"} {
		if strings.HasSuffix(strings.ToLower(u.Hostname()), "."+domain) {
			return true
		}
	}
	return false
}
