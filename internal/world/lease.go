package world

import (
	"context"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// leaseName is the type of an ephemeral resource: a token that is valid for a while. The ledger records when it was
// opened, renewed and closed.
const leaseName = "world_lease"

// Kinds of events of leases.
const (
	Opened  Kind = "OPENED"
	Renewed Kind = "RENEWED"
	Closed  Kind = "CLOSED"
)

var leaseType = &provider.ResourceType{Block: &provider.Block{Attributes: map[string]*provider.Attribute{
	"name": attr(cty.String, required), "renew": attr(cty.String, optional), "fail": attr(cty.String, optional),
	"token": attr(cty.String, func(a *provider.Attribute) { a.Computed, a.Sensitive = true, true }),
}}}

// OpenEphemeral implements provider.Provider. The argument fail may be open, renew or close.
func (p *world) OpenEphemeral(ctx context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	if req.Type != leaseName {
		return p.Base.OpenEphemeral(ctx, req)
	}
	name, fail, every := text(req.Config.GetAttr("name")), text(req.Config.GetAttr("fail")),
		text(req.Config.GetAttr("renew"))
	if fail == "open" {
		return provider.OpenEphemeralResponse{Diagnostics: problem(nil, "No lease", "The lease %q was told to fail.",
			name)}
	}
	if err := p.world.append(Event{Kind: Opened, Op: "open", Name: name}); err != nil {
		return provider.OpenEphemeralResponse{Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	vals := req.Config.AsValueMap()
	vals["token"] = cty.StringVal("token-of-" + name)
	return provider.OpenEphemeralResponse{Result: cty.ObjectVal(vals), Private: []byte(name + "\n" + fail + "\n" +
		every), RenewAt: after(every)}
}

func after(every string) time.Time {
	if d, err := time.ParseDuration(every); err == nil {
		return time.Now().Add(d)
	}
	return time.Time{}
}

// leaseOf decodes the private data from OpenEphemeral.
func leaseOf(private []byte) (name, fail, every string) {
	name, rest, _ := strings.Cut(string(private), "\n")
	fail, every, _ = strings.Cut(rest, "\n")
	return name, fail, every
}

// RenewEphemeral implements provider.Provider.
func (p *world) RenewEphemeral(_ context.Context, req provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	name, fail, every := leaseOf(req.Private)
	if fail == "renew" {
		return provider.RenewEphemeralResponse{Diagnostics: problem(nil, "No renewal", "The lease %q was told to fail.",
			name)}
	}
	if err := p.world.append(Event{Kind: Renewed, Op: "renew", Name: name}); err != nil {
		return provider.RenewEphemeralResponse{Diagnostics: problem(nil, "The world is broken", "%s.", err)}
	}
	return provider.RenewEphemeralResponse{Private: req.Private, RenewAt: after(every)}
}

// CloseEphemeral implements provider.Provider.
func (p *world) CloseEphemeral(_ context.Context, req provider.CloseEphemeralRequest) diag.List {
	name, fail, _ := leaseOf(req.Private)
	if err := p.world.append(Event{Kind: Closed, Op: "close", Name: name}); err != nil {
		return problem(nil, "The world is broken", "%s.", err)
	}
	if fail == "close" {
		return problem(nil, "Not given back", "The lease %q was told to fail.", name)
	}
	return nil
}
