// Package hcp keeps states in HCP Terraform, Terraform Enterprise and other servers of the same API, which Terraform's
// backend "remote" and block "cloud" configure. Operations are always local: no remote run is ever started.
//
// A workspace there is a state with a lock. A new state is a state version, which the server only accepts with a serial
// greater than the current one: of two runs that began with the same state, one writes. The lock belongs to a user, not
// to a run. Its reason names the run, so that two runs of one user can be distinguished if the server returns the
// reason. The API has no place for a journal, which is kept on this machine.
//
// The token of a host is only sent to the address that this host announces for the API. The contents of states are
// often on other hosts, at addresses that are secrets themselves.
//
//	kind := hcp.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Getenv: os.Getenv, Hosts: hosts})
package hcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Kind describes the backend "remote". Its schema is Terraform's.
func Kind() remote.Kind {
	return remote.Kind{Name: "remote", Place: place4People, Blocks: map[string]bool{"workspaces": true},
		Needed: map[string]string{"organization": ""},
		Schema: schema(map[string]*provider.Attribute{
			"name":   text("Name of the only workspace."),
			"prefix": text("Prefix of the workspaces' names in the service. Names in this configuration omit it."),
		}), Open: func(ctx context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
			return open(ctx, config, o, false)
		}, Location: func(config cty.Value, workspace string, o remote.Surroundings) string {
			return location(config, workspace, o, false)
		}}
}

// Cloud describes the block "cloud".
func Cloud() remote.Kind {
	return remote.Kind{Name: "cloud", Place: place4People, Blocks: map[string]bool{"workspaces": true},
		Needed: map[string]string{"organization": "TF_CLOUD_ORGANIZATION"},
		Schema: schema(map[string]*provider.Attribute{
			"name":    text("Name of the only workspace."),
			"project": text("Project of the workspaces."),
			"tags": {Type: cty.DynamicPseudoType, Optional: true,
				Description: "Tags of all workspaces of this configuration: names, or a map of keys and values."},
		}), Open: func(ctx context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
			return open(ctx, config, o, true)
		}, Location: func(config cty.Value, workspace string, o remote.Surroundings) string {
			return location(config, workspace, o, true)
		}}
}

// location returns the host, the organization and the name of a workspace in the service.
func location(config cty.Value, workspace string, o remote.Surroundings, cloud bool) string {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	s, diags := read(config, o, cloud)
	if diags.HasErrors() {
		return ""
	}
	name := s.prefix + workspace
	if s.name != "" {
		name = s.name
	}
	return fmt.Sprintf("hcp %q %q %q", s.host, s.organization, name)
}

const place4People = "HCP Terraform, or another server with its API"

func text(about string) *provider.Attribute {
	return &provider.Attribute{Type: cty.String, Optional: true, Description: about}
}

func schema(workspaces map[string]*provider.Attribute) *provider.Block {
	token := text("Token for the API. It is better to save a token for the host with \"login\".")
	token.Sensitive = true
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"hostname":     text("Host of the service. The default is " + usualHost + "."),
		"organization": text("Name of the organization."),
		"token":        token,
		"workspaces": {Optional: true, Description: "The workspaces in the service that belong to this configuration.",
			Nested: &provider.NestedObject{Nesting: provider.NestingSingle, Attributes: workspaces}},
	}}
}

// open reads the settings and the user's token. It sends no requests.
func open(ctx context.Context, config cty.Value, o remote.Surroundings, cloud bool) (remote.Driver, diag.List) {
	o = arguments.Complete(o)
	s, diags := read(config, o, cloud)
	if diags.HasErrors() {
		return nil, diags
	}
	c := newClient(s, o)
	if _, err := c.authorize(ctx); err != nil {
		return nil, diags.AppendError("Required token could not be found", err)
	}
	return &driver{s: s, client: c, known: map[string]*facts{}}, diags
}

// driver has the workspaces of a configuration.
type driver struct {
	s      *settings
	client *client

	mu    sync.Mutex // guards the fields below
	known map[string]*facts
	order []string // keys of known, oldest first
	ready bool     // the organization exists
	inbox string   // ID of the project; "" until it is requested
}

// facts holds properties of a state version that the server does not report.
type facts struct {
	lineage string
	serial  uint64
	digest  [32]byte
}

// maxKnown bounds how many state versions are remembered.
const maxKnown = 16

func (d *driver) know(version string, f *facts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[version] == nil {
		d.order = append(d.order, version)
	}
	d.known[version] = f
	for len(d.order) > maxKnown {
		delete(d.known, d.order[0])
		d.order = d.order[1:]
	}
}

func (d *driver) knows(version string) *facts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[version]
}

// Named implements remote.Naming.
func (d *driver) Named() (only string, yes bool) {
	switch {
	case d.s.cloud:
		return d.s.name, true
	default:
		return "", d.s.prefix != ""
	}
}

// errDefault is why there is no workspace of that name.
var errDefault = diag.Advised(
	errors.New("the backend has no default workspace: each of its workspaces has another name"),
	"Select one with \"%s\", or create one with \"%s\".", diag.Run("workspace", "select"), diag.Run("workspace", "new"))

// Place implements remote.Driver.
func (d *driver) Place(workspace string) (remote.Place, error) {
	name := workspace
	switch {
	case d.s.name != "" && d.s.cloud:
		if workspace != d.s.name {
			return nil, fmt.Errorf("%w: the cloud block names the only workspace, %q", remote.ErrNoWorkspaces,
				d.s.name)
		}
	case d.s.name != "":
		if workspace != state.DefaultWorkspace {
			return nil, remote.ErrNoWorkspaces
		}
		name = d.s.name
	case workspace == state.DefaultWorkspace:
		return nil, errDefault
	default:
		name = d.s.prefix + workspace
	}
	if !validName().MatchString(name) {
		return nil, fmt.Errorf("%q is not a valid name of a workspace in HCP Terraform: use letters, digits, hyphens "+
			"and underscores, at most 90", name)
	}
	return &place{d: d, client: d.client, name: name}, nil
}

// Workspaces implements remote.Driver.
func (d *driver) Workspaces(ctx context.Context) ([]string, error) {
	if err := d.check(ctx); err != nil {
		return nil, err
	}
	switch {
	case d.s.name != "" && d.s.cloud:
		return []string{d.s.name}, nil
	case d.s.name != "":
		return nil, remote.ErrNoWorkspaces
	}
	query := map[string]string{}
	if d.s.prefix != "" {
		query["search[name]"] = d.s.prefix
	}
	if len(d.s.tags) > 0 {
		query["search[tags]"] = strings.Join(slices.Sorted(maps.Keys(d.s.tags)), ",")
	}
	if d.s.valued {
		delete(query, "search[tags]")
		for n, key := range slices.Sorted(maps.Keys(d.s.tags)) {
			query[fmt.Sprintf("filter[tagged][%d][key]", n)] = key
			query[fmt.Sprintf("filter[tagged][%d][value]", n)] = d.s.tags[key]
		}
	}
	if d.s.project != "" {
		id, err := d.project(ctx)
		if err != nil {
			return nil, err
		}
		query["filter[project][id]"] = id
	}
	all, err := d.client.list(ctx, query)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range all {
		if name, ok := strings.CutPrefix(w.Attributes.Name, d.s.prefix); ok && name != "" && d.has(w) {
			names = append(names, name)
		}
	}
	return names, nil
}

// has reports whether a workspace has the required tags, if its description contains tags. A server that does not
// support a filter ignores it and lists all workspaces.
func (d *driver) has(w *workspace) bool {
	if d.s.valued || w.Attributes.TagNames == nil {
		return true
	}
	for tag := range d.s.tags {
		if !slices.Contains(*w.Attributes.TagNames, tag) {
			return false
		}
	}
	return true
}

// Close implements remote.Driver.
func (d *driver) Close() error {
	d.client.http.CloseIdleConnections()
	return nil
}
