//go:build unix

package team

import (
	"fmt"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
)

// container returns a backend block with additional arguments.
func container(more string) string {
	return fmt.Sprintf(`backend "azurerm" {
  storage_account_name = %q
  container_name       = %q
  key                  = "team/state"
  %s
}`, azuretest.Account, azuretest.Container, more)
}

// principal returns the credentials of an application with a secret.
func principal(secret string) string {
	text := "\ntenant_id = \"tenant\"\nclient_id = \"client\"\n"
	if secret != "" {
		text += fmt.Sprintf("client_secret = %q\n", secret)
	}
	return text
}

// start starts an empty Azure emulator, whose application has a secret, and returns the variables to connect to it.
func start(t *testing.T, secret string) []string {
	t.Helper()
	cloud := azuretest.Cloud{Blobs: &azuretest.Blobs{}, Secret: secret}
	return cloud.Start(t)
}

func TestBlobsAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		cloud := azuretest.Cloud{Blobs: &azuretest.Blobs{}}
		p := place{block: container(""), env: append(cloud.Start(t), "ARM_ACCESS_KEY="+azuretest.Key)}
		p.known(t, other)
		p.live(t, other)
	})
}

// The same with Azurite.
func TestBlobsOfAzuriteAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		u, err := url.Parse(azuretest.Azurite(t))
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/"
		cloud := azuretest.Cloud{Blobs: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			r.Out.Host = r.In.Host // has the account's name
		}}}
		p := place{block: container(""), env: append(cloud.Start(t), "ARM_ACCESS_KEY="+azuretest.Key)}
		p.known(t, other)
		p.live(t, other)
	})
}

// The records of init are byte for byte the same, and however the account is reached, either program continues with the
// state of the other.
func TestRecordsOfBlobsAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	for name, more := range map[string]string{
		"access key": "access_key = \"" + azuretest.Key + "\"",
		"signature":  "snapshot = true\nsas_token = \"sv=2021-12-02&sig=sas-canary\"",
		"key lookup": principal(azuretest.Secret) + "subscription_id = \"sub\"\nresource_group_name = \"group\"",
		"identity": principal(azuretest.Secret) + "use_azuread_auth = true\nuse_cli = false\n" +
			"environment = \"public\"",
		"endpoint": principal(azuretest.Secret) + "subscription_id = \"sub\"\nresource_group_name = \"group\"\n" +
			"lookup_blob_endpoint = true",
		"token": "tenant_id = \"tenant\"\nclient_id = \"client\"\nuse_oidc = true\n" +
			"oidc_token = \"assertion-canary\"\nuse_azuread_auth = true",
	} {
		t.Run(name, func(t *testing.T) {
			cloud := azuretest.Cloud{Blobs: &azuretest.Blobs{}, Assertion: "assertion-canary"}
			p := place{block: container(more), env: cloud.Start(t)}
			one, two := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
			if got, want := recordOf(t, one), recordOf(t, two); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
			one.run("apply", "-auto-approve", "-no-color")
			two.idle()
		})
	}
}

// A data source of either program reads outputs of a state in a container.
func TestBlobsAreReadByDataSources(t *testing.T) {
	inFull(t)
	env := append(start(t, ""), "ARM_ACCESS_KEY="+azuretest.Key)
	p := place{block: container(""), env: env}
	writer := p.member(t, "the writer", ours)
	writer.run("apply", "-auto-approve", "-no-color")
	want := fmt.Sprint(writer.ids())
	read := func(t *testing.T, bin string) {
		reader := &member{t: t, name: bin, bin: bin, dir: t.TempDir()}
		reader.env = p.environ(reader.dir)
		reader.file("main.tf", fmt.Sprintf("data \"terraform_remote_state\" \"it\" {\n  backend = \"azurerm\"\n"+
			"  config = {\n    storage_account_name = %q\n    container_name = %q\n    key = \"team/state\"\n  }\n}\n"+
			"output \"ids\" {\n  value = data.terraform_remote_state.it.outputs.ids\n}\n", azuretest.Account,
			azuretest.Container))
		reader.touch("cli.tfrc")
		reader.run("init", "-no-color")
		reader.run("apply", "-auto-approve", "-no-color")
		if got := fmt.Sprint(reader.ids()); got != want {
			t.Errorf("%s reads %s, want %s", bin, got, want)
		}
	}
	t.Run("tombolo", func(t *testing.T) { read(t, ours) })
	withPeers(t, func(t *testing.T, other string) {
		p.known(t, other)
		read(t, other)
	})
}
