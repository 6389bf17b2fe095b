package azure

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// The test fails if the driver reads a variable that is missing in the table. The defaults are those that Terraform
// documents.
func TestVariablesMatchArguments(t *testing.T) {
	block := drivertest.Settings{Schema: schema(), More: more(),
		Base: map[string]string{"storage_account_name": "account", "container_name": "states", "key": "k",
			"access_key": "a2V5"},
		Read: func(config cty.Value, o remote.Surroundings) (any, diag.List) {
			s, diags := read(config, o)
			return s, diags
		},
	}
	block.Default(t, map[string]string{"environment": "public", "snapshot": "false", "lookup_blob_endpoint": "false",
		"use_cli": "true", "use_oidc": "false", "use_msi": "false", "use_azuread_auth": "false",
		"use_aks_workload_identity": "false"})
	block.Say(t, []drivertest.Variable{
		{Name: "ARM_ACCESS_KEY", Argument: "access_key", Value: "b3RoZXI="},
		{Name: "ARM_SAS_TOKEN", Argument: "sas_token", Value: "sig=a", With: map[string]string{"access_key": ""}},
		{Name: "ARM_SNAPSHOT", Argument: "snapshot", Value: "true"},
		{Name: "ARM_USE_AZUREAD", Argument: "use_azuread_auth", Value: "true"},
		{Name: "ARM_USE_DNS_ZONE_ENDPOINT", Argument: "lookup_blob_endpoint", Value: "true"},
		{Name: "ARM_ENVIRONMENT", Argument: "environment", Value: "china"},
		{Name: "ARM_METADATA_HOSTNAME", Argument: "metadata_host", Value: "meta.example"},
		{Name: "ARM_METADATA_HOST", Argument: "metadata_host", Value: "meta.example"},
		{Name: "ARM_SUBSCRIPTION_ID", Argument: "subscription_id", Value: "s"},
		{Name: "ARM_TENANT_ID", Argument: "tenant_id", Value: "t"},
		{Name: "ARM_CLIENT_ID", Argument: "client_id", Value: "c"},
		{Name: "ARM_CLIENT_SECRET", Argument: "client_secret", Value: "s"},
		{Name: "ARM_CLIENT_CERTIFICATE_PASSWORD", Argument: "client_certificate_password", Value: "p"},
		{Name: "ARM_USE_OIDC", Argument: "use_oidc", Value: "true"},
		{Name: "ARM_OIDC_TOKEN", Argument: "oidc_token", Value: "t"},
		{Name: "ARM_OIDC_TOKEN_FILE_PATH", Argument: "oidc_token_file_path", Value: "/nowhere/token"},
		{Name: "ARM_OIDC_REQUEST_URL", Argument: "oidc_request_url", Value: "https://id.example"},
		{Name: "ACTIONS_ID_TOKEN_REQUEST_URL", Argument: "oidc_request_url", Value: "https://id.example"},
		{Name: "SYSTEM_OIDCREQUESTURI", Argument: "oidc_request_url", Value: "https://id.example"},
		{Name: "ARM_OIDC_REQUEST_TOKEN", Argument: "oidc_request_token", Value: "t"},
		{Name: "ACTIONS_ID_TOKEN_REQUEST_TOKEN", Argument: "oidc_request_token", Value: "t"},
		{Name: "SYSTEM_ACCESSTOKEN", Argument: "oidc_request_token", Value: "t"},
		{Name: "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID", Argument: "ado_pipeline_service_connection_id", Value: "s"},
		{Name: "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID", Argument: "ado_pipeline_service_connection_id", Value: "s"},
		{Name: "ARM_USE_MSI", Argument: "use_msi", Value: "true"},
		{Name: "ARM_MSI_ENDPOINT", Argument: "msi_endpoint", Value: "http://msi.example"},
		{Name: "ARM_USE_CLI", Argument: "use_cli", Value: "false"},
		{Name: "ARM_USE_AKS_WORKLOAD_IDENTITY", Argument: "use_aks_workload_identity", Value: "true"},
		{Name: "ARM_CLIENT_CERTIFICATE_PATH", Argument: "client_certificate_path", Value: drivertest.Content + "x"},
		{Name: "ARM_CLIENT_CERTIFICATE", Argument: "client_certificate", Value: "eA=="},
		{Name: "ARM_CUSTOMER_PROVIDED_KEY", Argument: "customer_provided_key",
			Value: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
		{Name: "ARM_TIMEOUT_SECONDS", Argument: "timeout_seconds", Value: "9"},
		{Name: "ARM_CLIENT_ID_FILE_PATH", Argument: "client_id_file_path", Value: drivertest.Content + "x"},
		{Name: "ARM_CLIENT_SECRET_FILE_PATH", Argument: "client_secret_file_path", Value: drivertest.Content + "x"},
		{Name: "ARM_ENDPOINT", Argument: "endpoint", Value: "http://msi.example"},
		{Name: "ARM_ENCRYPTION_SCOPE", Argument: "encryption_scope", Value: "scope"},
		{Name: "ARM_ENCYRPTION_SCOPE", Argument: "encryption_scope", Value: "scope"},
		{Name: "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID", Argument: "", Value: "s"},
		{Name: "AZURE_FEDERATED_TOKEN_FILE", Argument: "", Value: "/nowhere/token"},
	})
}
