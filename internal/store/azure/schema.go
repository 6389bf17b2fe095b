package azure

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

func text(ty cty.Type, what string) *provider.Attribute {
	return &provider.Attribute{Type: ty, Optional: true, Description: what}
}

func secret(what string) *provider.Attribute {
	return &provider.Attribute{Type: cty.String, Optional: true, Sensitive: true, Description: what}
}

// identity returns the arguments for credentials, which the backend and the key provider share.
func identity() map[string]*provider.Attribute {
	str, flag := cty.String, cty.Bool
	return map[string]*provider.Attribute{
		"environment":                 text(str, "The cloud: public, usgovernment or china."),
		"metadata_host":               text(str, "Host that describes another cloud."),
		"subscription_id":             text(str, "Subscription of the storage account."),
		"tenant_id":                   text(str, "Tenant of the identity."),
		"client_id":                   text(str, "Client id of the service principal or managed identity."),
		"client_id_file_path":         text(str, "File with the client id."),
		"client_secret":               secret("Secret of the service principal."),
		"client_secret_file_path":     text(str, "File with that secret."),
		"client_certificate":          secret("Certificate with its key, as PKCS #12 in base64."),
		"client_certificate_path":     text(str, "File with the certificate and its key, as PKCS #12 or PEM."),
		"client_certificate_password": secret("Password of the certificate."),
		"use_oidc":                    text(flag, "Whether a token of another identity provider is used."),
		"oidc_token":                  secret("That token."),
		"oidc_token_file_path":        text(str, "File with that token."),
		"oidc_request_url":            text(str, "Address that issues that token."),
		"oidc_request_token":          secret("Token for that address."),
		"use_msi":                     text(flag, "Whether the managed identity of the machine is used."),
		"msi_endpoint":                text(str, "Address that issues tokens of the managed identity."),
		"use_cli":                     text(flag, "Whether the login of the Azure CLI is used: true."),
		"use_aks_workload_identity":   text(flag, "Whether the workload identity of the pod is used."),
	}
}

// schema returns the arguments of Terraform 1.11 and later, with its types.
func schema() *provider.Block {
	str, flag := cty.String, cty.Bool
	all := identity()
	for name, a := range map[string]*provider.Attribute{
		"storage_account_name": text(str, "Name of the storage account."),
		"container_name":       text(str, "Name of the container."),
		"key": text(str,
			"Name of the blob with the state of the default workspace. The journal is stored beside it."),
		"resource_group_name":  text(str, "Resource group of the storage account."),
		"lookup_blob_endpoint": text(flag, "Whether to look up the address of the storage account."),
		"snapshot":             text(flag, "Whether a snapshot of the state is made before it is replaced."),
		"endpoint":             text(str, "Deprecated: use msi_endpoint."),
		"access_key":           secret("Access key of the storage account."),
		"sas_token":            secret("Shared access signature."),
		"use_azuread_auth":     text(flag, "Whether the identity accesses the blobs itself, without an access key."),
		"ado_pipeline_service_connection_id": text(str,
			"Service connection of Azure Pipelines that issues the token."),
	} {
		all[name] = a
	}
	return &provider.Block{Attributes: all}
}

// more returns the arguments that only OpenTofu has.
func more() map[string]*provider.Attribute {
	return map[string]*provider.Attribute{
		"ado_service_connection_id": text(cty.String, "Service connection of Azure Pipelines that issues the token."),
		"timeout_seconds":           text(cty.Number, "Time limit of a request in seconds. The default is 300."),
		"customer_provided_key":     secret("Key that encrypts the blobs, 256 bits in base64."),
		"encryption_scope":          text(cty.String, "Encryption scope of the blobs."),
	}
}
