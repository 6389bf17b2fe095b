package wire

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// onResource calls f for a request that needs a resource type, unless the request is already invalid.
func (s *Server) onResource(ctx context.Context, method, name string, f func(c *session, rt *provider.ResourceType,
	ty cty.Type)) []*plugin6.Diagnostic {
	c, ok := s.begin(ctx, method)
	defer c.end()
	if ok {
		if rt := c.typeOf(provider.ManagedResource, name); rt != nil {
			f(c, rt, rt.Block.ImpliedType())
		}
	}
	return c.problems(nil)
}

func (s *Server) upgradeState(ctx context.Context, req *plugin6.UpgradeStateRequest) *plugin6.UpgradeStateResponse {
	m := &plugin6.UpgradeStateResponse{}
	m.Diagnostics = s.onResource(ctx, methodUpgradeState, req.GetType(), func(c *session, _ *provider.ResourceType,
		ty cty.Type) {
		resp := c.inst.UpgradeState(ctx, provider.UpgradeStateRequest{Type: req.GetType(), Version: req.GetVersion(),
			Stored: decodeStored(req.GetStored())})
		c.diags = resp.Diagnostics
		if !c.diags.HasErrors() {
			m.State = c.write("upgraded state", resp.State, ty)
		}
	})
	return m
}

func (s *Server) upgradeIdentity(ctx context.Context,
	req *plugin6.UpgradeIdentityRequest) *plugin6.UpgradeIdentityResponse {
	m := &plugin6.UpgradeIdentityResponse{}
	m.Diagnostics = s.onResource(ctx, methodUpgradeIdentity, req.GetType(), func(c *session, rt *provider.ResourceType,
		_ cty.Type) {
		resp := c.inst.UpgradeIdentity(ctx, provider.UpgradeIdentityRequest{
			Type: req.GetType(), Version: req.GetVersion(), JSON: req.GetStored().GetJson()})
		c.diags = resp.Diagnostics
		m.Identity = c.writeIdentity(resp.Identity, rt)
	})
	return m
}

func (s *Server) move(ctx context.Context, req *plugin6.MoveRequest) *plugin6.MoveResponse {
	m := &plugin6.MoveResponse{}
	m.Diagnostics = s.onResource(ctx, methodMove, req.GetTargetType(), func(c *session, rt *provider.ResourceType,
		ty cty.Type) {
		resp := c.inst.MoveState(ctx, provider.MoveStateRequest{
			SourceProvider: req.GetSourceProvider(), SourceType: req.GetSourceType(),
			SourceVersion: req.GetSourceVersion(), Source: decodeStored(req.GetSource()),
			SourcePrivate: req.GetSourcePrivate(), SourceIdentity: req.GetSourceIdentity().GetJson(),
			SourceIdentityVersion: req.GetSourceIdentityVersion(),
			TargetType:            req.GetTargetType(),
		})
		c.diags = resp.Diagnostics
		if !c.diags.HasErrors() {
			m.State = c.write("target state", resp.State, ty)
		}
		m.Private, m.Identity = resp.Private, c.writeIdentity(resp.Identity, rt)
	})
	return m
}

func (s *Server) importObjects(ctx context.Context, req *plugin6.ImportRequest) *plugin6.ImportResponse {
	m := &plugin6.ImportResponse{}
	m.Diagnostics = s.onResource(ctx, methodImport, req.GetType(), func(c *session, rt *provider.ResourceType,
		_ cty.Type) {
		in := provider.ImportRequest{Type: req.GetType(), ID: req.GetId(), Identity: c.readIdentity(req.GetIdentity(),
			rt), Client: decodeClient(req.GetClientCapabilities())}
		if c.diags != nil {
			return
		}
		resp := c.inst.Import(ctx, in)
		c.diags, m.Deferred = resp.Diagnostics, encodeDeferred(resp.Deferred)
		for _, o := range resp.Imported {
			rt := c.typeOf(provider.ManagedResource, o.Type)
			if rt == nil {
				continue
			}
			m.Imported = append(m.Imported, &plugin6.ImportResponse_Object{
				Type: o.Type, State: c.write("imported state", o.State, rt.Block.ImpliedType()), Private: o.Private,
				Identity: c.writeIdentity(o.Identity, rt),
			})
		}
	})
	return m
}

func (s *Server) read(ctx context.Context, req *plugin6.ReadRequest) *plugin6.ReadResponse {
	// If a request cannot be served, the response contains the unchanged object.
	m := &plugin6.ReadResponse{State: req.GetState(), Private: req.GetPrivate(), Identity: req.GetIdentity()}
	m.Diagnostics = s.onResource(ctx, methodRead, req.GetType(), func(c *session, rt *provider.ResourceType,
		ty cty.Type) {
		in := provider.ReadRequest{
			Type: req.GetType(), Prior: c.read("current state", req.GetState(), ty), Private: req.GetPrivate(),
			Meta:     c.readMeta(req.GetProviderMeta()),
			Identity: c.readIdentity(req.GetIdentity(), rt), Client: decodeClient(req.GetClientCapabilities()),
		}
		if c.diags != nil {
			return
		}
		resp := c.inst.Read(ctx, in)
		c.diags = resp.Diagnostics
		if resp.State == cty.NilVal && !c.diags.HasErrors() { // null would mean that the object does not exist
			c.diags = append(c.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "The result is not known",
				Detail: "The provider did not return the result for the object."})
		}
		if resp.State == cty.NilVal {
			return
		}
		if state := c.write("new state", resp.State, ty); state != nil {
			m.State = state
		}
		m.Private, m.Identity, m.Deferred = resp.Private, c.writeIdentity(resp.Identity, rt),
			encodeDeferred(resp.Deferred)
	})
	return m
}

func (s *Server) plan(ctx context.Context, req *plugin6.PlanRequest) *plugin6.PlanResponse {
	m := &plugin6.PlanResponse{Planned: req.GetProposed(), Private: req.GetPrivate(), Identity: req.GetIdentity()}
	m.Diagnostics = s.onResource(ctx, methodPlan, req.GetType(), func(c *session, rt *provider.ResourceType,
		ty cty.Type) {
		in := provider.PlanRequest{
			Type: req.GetType(), Prior: c.read("prior state", req.GetPrior(), ty), Proposed: c.read("proposed state",
				req.GetProposed(), ty),
			Config: c.read("config", req.GetConfig(), ty), PriorPrivate: req.GetPrivate(),
			PlannedPrivate: req.GetPlannedPrivate(),
			Meta:           c.readMeta(req.GetProviderMeta()),
			PriorIdentity:  c.readIdentity(req.GetIdentity(), rt), Client: decodeClient(req.GetClientCapabilities()),
		}
		if c.diags != nil {
			return
		}
		resp := c.inst.Plan(ctx, in)
		c.diags = resp.Diagnostics
		if planned := c.write("planned state", resp.Planned, ty); planned != nil {
			m.Planned = planned
		}
		for _, path := range resp.RequiresReplace {
			m.RequiresReplace = append(m.RequiresReplace, encodePath(path))
		}
		m.Private, m.Identity, m.Deferred = resp.Private, c.writeIdentity(resp.Identity, rt),
			encodeDeferred(resp.Deferred)
		m.LegacyTypeSystem = resp.LegacyTypeSystem
	})
	return m
}

func (s *Server) apply(ctx context.Context, req *plugin6.ApplyRequest) *plugin6.ApplyResponse {
	m := &plugin6.ApplyResponse{State: req.GetPrior(), Private: req.GetPrivate(), Identity: req.GetIdentity()}
	m.Diagnostics = s.onResource(ctx, methodApply, req.GetType(), func(c *session, rt *provider.ResourceType,
		ty cty.Type) {
		in := provider.ApplyRequest{
			Type: req.GetType(), Prior: c.read("prior state", req.GetPrior(), ty), Planned: c.read("planned state",
				req.GetPlanned(), ty),
			Config: c.read("config", req.GetConfig(), ty), PlannedPrivate: req.GetPrivate(),
			Meta:            c.readMeta(req.GetProviderMeta()),
			PlannedIdentity: c.readIdentity(req.GetIdentity(), rt),
		}
		if c.diags != nil {
			return
		}
		var known partial
		in.Partial = known.record
		s.answerApply(c, m, rt, ty, c.inst.Apply(ctx, in), &known)
	})
	return m
}

// answerApply encodes the response of Apply. If the provider does not know whether the object exists, which the
// protocol cannot express, the response contains the partial object of the call, or else the previous one, because a
// client takes null for a deleted object.
func (s *Server) answerApply(c *session, m *plugin6.ApplyResponse, rt *provider.ResourceType, ty cty.Type,
	resp provider.ApplyResponse, known *partial) {
	c.diags = resp.Diagnostics
	m.LegacyTypeSystem = resp.LegacyTypeSystem
	if resp.State == cty.NilVal {
		if !c.diags.HasErrors() {
			c.diags = append(c.diags, &diag.Diagnostic{Severity: diag.Error, Summary: "The result is not known",
				Detail: "The provider does not know the result for the object."})
		}
		if state, private, ok := known.last(); ok {
			m.State, m.Private = c.write("new state", state, ty), private
		}
		return
	}
	if state := c.write("new state", resp.State, ty); state != nil {
		m.State = state
	}
	m.Private, m.Identity = resp.Private, c.writeIdentity(resp.Identity, rt)
}
