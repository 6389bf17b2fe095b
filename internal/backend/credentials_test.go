package backend

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// lentCases are blocks that name the destination of credentials from the environment: the variables, and the lines that
// init shows. A line with the prefix "?" only requires approval on a terminal.
var lentCases = []struct{ kind, block, env, want string }{
	{"http", "address=https://user:secret@a.example/x?token=secret", "TF_HTTP_PASSWORD=p",
		"?the value of TF_HTTP_PASSWORD, for https://a.example"},
	{"http", "address=https://a.example lock_address=https://b.example unlock_address=https://b.example",
		"TF_HTTP_PASSWORD=p", "?the value of TF_HTTP_PASSWORD, for https://a.example; " +
			"?the value of TF_HTTP_PASSWORD, for https://b.example; ?the value of TF_HTTP_PASSWORD, for " +
			"https://b.example"},
	{"http", "address=https://a.example password=own", "TF_HTTP_PASSWORD=p", ""},
	{"http", "address=https://a.example", "TF_HTTP_USERNAME=u", ""},
	{"http", "", "TF_HTTP_ADDRESS=https://a.example TF_HTTP_PASSWORD=p", ""},
	{"http", "address=http://127.0.0.1:1", "TF_HTTP_PASSWORD=p", ""},
	{"http", "address=http://127.0.0.1.a.example", "TF_HTTP_PASSWORD=p",
		"?the value of TF_HTTP_PASSWORD, for http://127.0.0.1.a.example"},
	{"consul", "address=a.example:8500 path=x", "CONSUL_HTTP_TOKEN=t CONSUL_HTTP_AUTH=u:p",
		"?the value of CONSUL_HTTP_TOKEN, for https://a.example:8500; ?the value of CONSUL_HTTP_AUTH, for " +
			"https://a.example:8500"},
	{"consul", "address=a.example:8500 access_token=own http_auth=x:y", "CONSUL_HTTP_TOKEN=t CONSUL_HTTP_AUTH=u:p", ""},
	{"consul", "path=x", "CONSUL_HTTP_ADDR=a.example CONSUL_HTTP_TOKEN=t", ""},
	{"pg", "conn_str=postgres://me@a.example/db", "PGPASSWORD=p", "?the value of PGPASSWORD, for postgres://a.example"},
	{"pg", "conn_str=postgres://me:own@a.example/db", "PGPASSWORD=p", ""},
	{"pg", "conn_str=postgres://a.example,b.example/db?sslmode=require", "PGPASSWORD=p PGHOST=a.example",
		"?the value of PGPASSWORD, for postgres://b.example"},
	{"pg", "conn_str=postgres://localhost/db", "PGPASSWORD=p", ""},
	{"pg", "", "PGHOST=a.example PGPASSWORD=p", ""},
	{"kubernetes", "host=https://a.example", "KUBE_TOKEN=t", "?the value of KUBE_TOKEN, for https://a.example"},
	{"kubernetes", "host=https://a.example token=own password=own", "KUBE_TOKEN=t KUBE_PASSWORD=p", ""},
	{"kubernetes", "host=https://a.example", "KUBE_CONFIG_PATH=/home/me/.kube/config",
		"the login of /home/me/.kube/config, for https://a.example"},
	{"kubernetes", "host=https://a.example config_path=/home/me/.kube/config", "",
		"the login of /home/me/.kube/config, for https://a.example"},
	{"kubernetes", "host=a.example", "KUBE_IN_CLUSTER_CONFIG=true", "the token of this pod, for https://a.example"},
	{"kubernetes", "config_path=/home/me/.kube/config", "", ""},
	{"gcs", "storage_custom_endpoint=https://a.example/x", "GOOGLE_ENCRYPTION_KEY=k",
		"your token for Google Cloud, for https://a.example; the value of GOOGLE_ENCRYPTION_KEY, for " +
			"https://a.example"},
	{"gcs", "storage_custom_endpoint=https://storage-x.p.googleapis.com/b", "GOOGLE_OAUTH_ACCESS_TOKEN=t", ""},
	{"gcs", "storage_custom_endpoint=https://googleapis.com.a.example", "",
		"your token for Google Cloud, for https://googleapis.com.a.example"},
	{"gcs", "storage_custom_endpoint=https://a.example access_token=own", "", ""},
	{"gcs", "storage_custom_endpoint=https://a.example credentials={}", "", ""},
	{"gcs", "universe_domain=a.example", "", "your token for Google Cloud, for https://storage.a.example"},
	{"gcs", "", "GOOGLE_STORAGE_CUSTOM_ENDPOINT=https://a.example GOOGLE_OAUTH_ACCESS_TOKEN=t", ""},
	{"azurerm", "metadata_host=a.example", "", "your credentials for Azure, for the cloud of a.example"},
	{"azurerm", "metadata_host=management.usgovcloudapi.net", "ARM_CLIENT_SECRET=s", ""},
	{"azurerm", "metadata_host=a.example access_key=own", "", ""},
	{"azurerm", "oidc_request_url=https://a.example", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t",
		"the value of ACTIONS_ID_TOKEN_REQUEST_TOKEN, for https://a.example"},
	{"azurerm", "oidc_request_url=https://run.actions.githubusercontent.com/x", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t", ""},
	{"s3", "endpoint=https://a.example", "AWS_SSE_CUSTOMER_KEY=k",
		"the value of AWS_SSE_CUSTOMER_KEY, for https://a.example"},
	{"s3", "endpoint=https://a.example sse_customer_key=own", "AWS_SSE_CUSTOMER_KEY=k", ""},
	{"s3", "endpoint=https://a.example", "AWS_ACCESS_KEY_ID=i AWS_SECRET_ACCESS_KEY=k", ""},
	{"oss", "bucket=b region=r endpoint=a.example", "ALICLOUD_ACCESS_KEY=i ALICLOUD_SECRET_KEY=k",
		"requests with your signatures, for https://a.example"},
	{"oss", "bucket=b region=r tablestore_table=t tablestore_endpoint=a.example", "",
		"requests with your signatures, for https://a.example"},
	{"oss", "bucket=b region=r assume_role_role_arn=x sts_endpoint=a.example", "",
		"requests with your signatures, for https://a.example"},
	{"oss", "bucket=b region=r endpoint=a.example access_key=own secret_key=own", "", ""},
	{"oss", "bucket=b region=r", "OSS_ENDPOINT=a.example", ""},
	{"oss", "bucket=b region=cn-beijing endpoint=oss-cn-beijing-internal.aliyuncs.com", "", ""},
}

// lendNothing maps kinds whose blocks cannot send the user's data to another party to the reason.
var lendNothing = map[string]string{
	"local":   "there is no service",
	"inmem":   "there is no service",
	"remote":  "the CLI configuration has each token for one host",
	cloudType: "the CLI configuration has each token for one host",
	"program": "whoever runs the command has agreed to it",
	"cos":     "signatures cover the host",
	"oci":     "signatures cover the host, and a region is a word",
}

// TestBlocksSendNoCredentialsWithoutApproval checks what init asks the user to approve. A new kind needs cases or a
// reason.
func TestBlocksSendNoCredentialsWithoutApproval(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range lentCases {
		seen[c.kind] = true
		values, env := map[string]cty.Value{}, map[string]string{}
		kind := kinds[c.kind]
		for name, a := range kind.Schema.Attributes {
			values[name] = cty.NullVal(a.ImpliedType())
		}
		for name, a := range kind.More {
			values[name] = cty.NullVal(a.ImpliedType())
		}
		for _, one := range strings.Fields(c.block) {
			name, text, _ := strings.Cut(one, "=")
			if _, known := values[name]; !known {
				t.Fatalf("%s has no argument %s", c.kind, name)
			}
			values[name] = cty.StringVal(text)
		}
		for _, one := range strings.Fields(c.env) {
			name, text, _ := strings.Cut(one, "=")
			env[name] = text
		}
		var lines []string
		for _, p := range kind.Programs(cty.ObjectVal(values), remote.Surroundings{Dir: t.TempDir(),
			Getenv: func(name string) string { return env[name] }}) {
			line := p.Line
			if p.Usual {
				line = "?" + line
			}
			lines = append(lines, line)
			if !p.Token || strings.Contains(line, "secret") {
				t.Errorf("%s: %+v", c.block, p)
			}
			if _, known := values[p.Argument]; !known {
				t.Errorf("%s %s: there is no argument %q", c.kind, c.block, p.Argument)
			}
		}
		if got := strings.Join(lines, "; "); got != c.want {
			t.Errorf("%s %s with %s:\n%s\nwant\n%s", c.kind, c.block, c.env, got, c.want)
		}
	}
	for name := range kinds {
		if seen[name] == (lendNothing[name] != "") {
			t.Errorf("the kind %s has cases (%t), and the reason %q", name, seen[name], lendNothing[name])
		}
	}
}
