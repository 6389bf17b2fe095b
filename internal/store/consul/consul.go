// Package consul keeps states in the keys and values of Consul, in the layout that Terraform and OpenTofu use: all
// three share a state, its workspaces and its locks.
//
// The lock, "<path>/.lock", is held by a session of Consul, which ends unless it is renewed. A goroutine of the hold
// renews it until the lock is released. Every write under a lock is a transaction that checks that the session still
// holds it, so Consul itself refuses a run that has lost the lock. A state is replaced on the condition that its index
// is the one that was read, and so is the journal, which is one key. Keys that only Tombolo uses are below
// "<path>/.tombolo/", which the listings of the other programs ignore.
//
//	kind := consul.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package consul

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Kind describes the backend "consul". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "consul", Place: "Consul", Schema: schema(), Open: open,
		Locating: []string{"path", "address"},
		Unset:    map[string]remote.Unset{"address": {Variable: "CONSUL_HTTP_ADDR"}},
		Programs: programs,
		Needed:   map[string]string{"path": ""}}
}

// programs returns the credentials from the environment that are sent to an address from the block. A block cannot
// start programs.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	to := remote.Written(config, "address")
	if remote.Written(config, "access_token") == "" {
		all = o.SentTo("address", to, "CONSUL_HTTP_TOKEN", "CONSUL_HTTP_TOKEN_FILE")
	}
	if remote.Written(config, "http_auth") == "" {
		all = append(all, o.SentTo("address", to, "CONSUL_HTTP_AUTH")...)
	}
	return all
}

func schema() *provider.Block {
	text := func(about string) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Optional: true, Description: about}
	}
	flag := func(about string) *provider.Attribute {
		return &provider.Attribute{Type: cty.Bool, Optional: true, Description: about}
	}
	secret := func(about string) *provider.Attribute {
		a := text(about)
		a.Sensitive = true
		return a
	}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"path":         text("Key of the state."),
		"access_token": secret("Token of the access control list."),
		"address":      secret("Address of Consul. The default is 127.0.0.1:8500."), // may contain a password
		"scheme":       text("http or https."),
		"datacenter":   text("Datacenter whose keys and values are used."),
		"http_auth":    secret("User and password for basic authentication, with a colon between them."),
		"gzip":         flag("Whether the state is compressed."),
		"lock":         flag("Whether to lock the state. The default is true."),
		"ca_file":      text("File with CA certificates in PEM that the server's certificate is checked against."),
		"cert_file":    text("File with the client certificate in PEM."),
		"key_file":     text("File with the private key of the client certificate, in PEM."),
	}}
}

// open reads the settings. It sends no requests.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	d := &driver{s: s, client: newClient(s, o)}
	d.open, d.close = context.WithCancel(context.Background())
	return d, diags
}

// driver keeps the states below one path.
type driver struct {
	s      *settings
	client *client
	open   context.Context // ends with the driver; stops the renewal of sessions
	close  context.CancelFunc
}

// environment separates the path from the name of a workspace.
const environment = "-env:"

// Workspaces implements remote.Driver. It ignores keys below those of states.
func (d *driver) Workspaces(ctx context.Context) (names []string, err error) {
	prefix := d.s.path + environment
	keys, err := d.client.keys(ctx, prefix, "/")
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, err
}

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	key := d.s.path
	if workspace != state.DefaultWorkspace {
		key += environment + workspace
	}
	p := &place{d: d, client: d.client, key: key, base: strings.TrimRight(key, "/")}
	p.journal = objects.New(space{client: d.client}, p.own(), maxValue)
	return p, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.close()
	d.client.http.CloseIdleConnections()
	return nil
}
