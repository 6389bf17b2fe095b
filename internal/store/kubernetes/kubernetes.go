// Package kubernetes keeps states in secrets of Kubernetes, in the layout that Terraform and OpenTofu use: all three
// share a state, its workspaces and its locks, which are leases.
//
// A state is compressed, and split into several secrets if it is large. Each is replaced on the condition that its
// version is the one that was read, the first one before all others, so that only one of two runs writes. Meanwhile a
// copy of the entire state is kept beside them: it is read if a run ends before it has written all parts. The journal
// is in secrets that only Tombolo uses. They have other labels, so that the listings of the other programs ignore them.
//
//	kind := kubernetes.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/provider"
)

// Kind describes the backend "kubernetes". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "kubernetes", Place: "secrets of Kubernetes", Schema: schema(), Open: open,
		Locating: []string{"secret_suffix", "namespace"},
		Unset:    map[string]remote.Unset{"namespace": {Variable: "KUBE_NAMESPACE", Value: "default"}},
		Programs: programs, Blocks: map[string]bool{"exec": true}, Needed: map[string]string{"secret_suffix": ""}}
}

func schema() *provider.Block {
	of := func(ty cty.Type, about string) *provider.Attribute {
		return &provider.Attribute{Type: ty, Optional: true, Description: about}
	}
	text := func(about string) *provider.Attribute { return of(cty.String, about) }
	secret := func(about string) *provider.Attribute {
		a := text(about)
		a.Sensitive = true
		return a
	}
	required := func(about string) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Required: true, Description: about}
	}
	env := of(cty.Map(cty.String), "Its environment variables.")
	env.Sensitive = true
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"secret_suffix":            text("Suffix of the names of secrets: tfstate-WORKSPACE-SUFFIX."),
		"labels":                   of(cty.Map(cty.String), "Additional labels of the secrets."),
		"namespace":                text("Namespace of the secrets. The default is default."),
		"in_cluster_config":        of(cty.Bool, "Whether to use the credentials of the pod."),
		"load_config_file":         of(cty.Bool, "Has no effect, as in Terraform."),
		"host":                     text("Address of the API server."),
		"username":                 text("User for basic authentication."),
		"password":                 secret("Password for basic authentication."),
		"insecure":                 of(cty.Bool, "Whether to accept any certificate of the server."),
		"client_certificate":       text("Client certificate in PEM."),
		"client_key":               secret("Private key of the client certificate, in PEM."),
		"cluster_ca_certificate":   text("CA certificates in PEM that the server's certificate is checked against."),
		"config_paths":             of(cty.List(cty.String), "Configuration files of kubectl."),
		"config_path":              text("Configuration file of kubectl."),
		"config_context":           text("Context in the configuration of kubectl."),
		"config_context_auth_info": text("User in the configuration of kubectl."),
		"config_context_cluster":   text("Cluster in the configuration of kubectl."),
		"token":                    secret("Token of a service account."),
		"proxy_url":                text("Proxy for all requests."),
		"exec": {Optional: true, Description: "Program that prints credentials.",
			Nested: &provider.NestedObject{Nesting: provider.NestingSingle, Attributes: map[string]*provider.Attribute{
				"api_version": required("API version of its output."), "command": required("The program."),
				"args": of(cty.List(cty.String), "Its arguments."), "env": env,
			}}},
	}}
}

// open reads the settings and determines how to connect. It sends no requests.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	c, err := newClient(s, o)
	if err != nil {
		return nil, diags.Errorf(nil, "Kubernetes cannot be reached", "%s. Check the connection arguments of the "+
			"backend \"kubernetes\", and the configuration file of kubectl.", s.clean(err.Error()))
	}
	return &driver{s: s, client: c}, diags
}

// driver keeps the states with one suffix.
type driver struct {
	s      *settings
	client *client
}

// Labels of the other programs' secrets.
const (
	labelState     = "tfstate"
	labelSuffix    = "tfstateSecretSuffix"
	labelWorkspace = "tfstateWorkspace"
	labelManager   = "app.kubernetes.io/managed-by"
	// labelOwn is the label of secrets that only Tombolo uses. Its value is the name of the state's first secret.
	labelOwn = "tombolo"
)

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	all, err := d.client.list(ctx, labelState+"=true,"+labelSuffix+"="+d.s.suffix)
	for _, one := range all {
		if name := one.Labels[labelWorkspace]; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// secretName matches valid names of secrets.
var secretName = regex.Lazy(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	name := "tfstate-" + workspace + "-" + d.s.suffix
	const most = 120 // out of 253, because suffixes are added; a label value is limited to 63
	if !secretName().MatchString(name) || len(name) > most || len(workspace) > 63 || strings.HasSuffix(workspace, ".") {
		return nil, fmt.Errorf("%q is not a valid name for the Kubernetes secret with the state. Use only lower-case "+
			"letters, digits and hyphens in workspace names and secret_suffix, at most %d together", name, most)
	}
	p := &place{d: d, client: d.client, workspace: workspace, name: name}
	s := space{client: d.client, state: name}
	p.journal = objects.New(s, "tombolo."+name+".", maxSecret)
	p.spare = objects.New(s, "tombolo."+name+".spare.", maxSecret)
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}
