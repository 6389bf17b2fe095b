// Package httpstore keeps a state on a server of the user, as Terraform's backend "http" does: GET reads the state,
// POST writes it, and two more addresses acquire and release a lock. GitLab and many small servers implement this
// protocol.
//
// The protocol has one state and nothing else: no workspaces, no journal, no former states. It cannot query the holder
// of a lock. To learn whether a run still holds the lock, the driver requests the lock with the ID of that run. To
// learn who holds it, it requests the lock with a new ID, and releases it immediately if it is granted.
//
// Responses get lost. If a request for a lock is refused and the server names us as the holder, we hold it. A state
// whose response was lost is read back before it is sent again. Only idempotent requests are repeated without such a
// check.
//
//	kind := httpstore.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv})
package httpstore

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Kind describes the backend "http". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "http", Place: "an HTTP server", Schema: schema(), Open: open,
		Locating: []string{"address"},
		Unset:    map[string]remote.Unset{"address": {Variable: variable("address")}},
		Programs: programs,
		Needed:   map[string]string{"address": "TF_HTTP_ADDRESS"},
		More: map[string]*provider.Attribute{"headers": {Type: cty.Map(cty.String), Optional: true, Sensitive: true,
			Description: "Additional headers of each request. OpenTofu also has this argument."}}}
}

// programs returns the password from the environment if it is sent to an address from the block. A block cannot start
// programs.
func programs(config cty.Value, o remote.Surroundings) (all []remote.Program) {
	if remote.Written(config, "password") != "" {
		return nil
	}
	for _, name := range []string{"address", "lock_address", "unlock_address"} {
		all = append(all, o.SentTo(name, remote.Written(config, name), variable("password"))...)
	}
	return all
}

func schema() *provider.Block {
	text := func(ty cty.Type, about string) *provider.Attribute {
		return &provider.Attribute{Type: ty, Optional: true, Description: about}
	}
	secret := func(about string) *provider.Attribute {
		a := text(cty.String, about)
		a.Sensitive = true // addresses may contain passwords
		return a
	}
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"address":                secret("Address of the state."),
		"update_method":          text(cty.String, "Method that writes the state. The default is POST."),
		"lock_address":           secret("Address of the lock. Without it, the state is not locked."),
		"lock_method":            text(cty.String, "Method that takes the lock. The default is LOCK."),
		"unlock_address":         secret("Address that releases the lock."),
		"unlock_method":          text(cty.String, "Method that releases the lock. The default is UNLOCK."),
		"username":               text(cty.String, "User for basic authentication."),
		"password":               secret("Password for basic authentication."),
		"skip_cert_verification": text(cty.Bool, "Whether to accept any certificate of the server."),
		"retry_max":              text(cty.Number, "Number of retries of a request. The default is 2."),
		"retry_wait_min":         text(cty.Number, "Minimum seconds to wait before a retry. The default is 1."),
		"retry_wait_max":         text(cty.Number, "Maximum seconds to wait before a retry. The default is 30."),
		"client_ca_certificate_pem": text(cty.String, "CA certificates in PEM that the server's certificate is "+
			"checked against."),
		"client_certificate_pem": text(cty.String, "Client certificate in PEM."),
		"client_private_key_pem": secret("Private key of the client certificate, in PEM."),
	}}
}

// open reads the settings. It sends no requests.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o)
	if diags.HasErrors() {
		return nil, diags
	}
	return &driver{s: s, client: newClient(s, o)}, diags
}

// driver keeps one state.
type driver struct {
	s      *settings
	client *client
}

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(context.Context) ([]string, error) { return nil, remote.ErrNoWorkspaces }

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	if workspace != state.DefaultWorkspace {
		return nil, remote.ErrNoWorkspaces
	}
	return &place{s: d.s, client: d.client}, nil
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}
