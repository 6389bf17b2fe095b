package wire

import (
	"context"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// List blocks, actions and generated configurations.

func (s *Server) validateList(ctx context.Context, req *plugin6.ValidateListRequest) *plugin6.DiagnosticsFirst {
	c, ok := s.begin(ctx, methodValidateList)
	defer c.end()
	var answer diag.List
	if ok {
		if rt := c.typeOf(provider.ListResource, req.GetType()); rt != nil {
			in := provider.ValidateResourceRequest{Kind: provider.ListResource, Type: req.GetType(),
				Config:        c.read("config", req.GetConfig(), rt.Block.ImpliedType()),
				IncludeObject: c.read("include_resource", req.GetIncludeObject(), cty.Bool),
				Limit:         c.read("limit", req.GetLimit(), cty.Number)}
			if c.diags == nil {
				answer = c.inst.ValidateResource(ctx, in)
			}
		}
	}
	return &plugin6.DiagnosticsFirst{Diagnostics: c.problems(answer)}
}

func (s *Server) generateConfig(ctx context.Context,
	req *plugin6.GenerateConfigRequest) *plugin6.GenerateConfigResponse {
	m := &plugin6.GenerateConfigResponse{}
	m.Diagnostics = s.onResource(ctx, methodGenerate, req.GetType(), func(c *session, _ *provider.ResourceType,
		ty cty.Type) {
		state := c.read("state", req.GetState(), ty)
		if c.diags != nil {
			return
		}
		resp := c.inst.GenerateConfig(ctx, provider.GenerateConfigRequest{Type: req.GetType(), State: state})
		if c.diags = resp.Diagnostics; !c.diags.HasErrors() {
			m.Config = c.write("config", resp.Config, ty)
		}
	})
	return m
}

// list sends the objects that were found, and then the diagnostics.
func (s *Server) list(ctx context.Context, req *plugin6.ListRequest, send func(proto.Message) error) error {
	c, ok := s.begin(ctx, methodList)
	defer c.end()
	var answer diag.List
	if ok {
		resp, events := c.listed(ctx, req)
		answer = resp
		for _, event := range events {
			if err := send(event); err != nil {
				return err
			}
		}
	}
	if problems := c.problems(answer); len(problems) > 0 {
		return send(&plugin6.ListEvent{Diagnostics: problems})
	}
	return nil
}

func (c *session) listed(ctx context.Context, req *plugin6.ListRequest) (diag.List, []*plugin6.ListEvent) {
	list := c.typeOf(provider.ListResource, req.GetType())
	if list == nil {
		return nil, nil
	}
	rt := c.typeOf(provider.ManagedResource, req.GetType())
	if rt == nil {
		return nil, nil
	}
	in := provider.ListRequest{Type: req.GetType(), Config: c.read("config", req.GetConfig(), list.Block.ImpliedType()),
		IncludeObject: req.GetIncludeObject(), Limit: int(max(1, req.GetLimit()))}
	if c.diags != nil {
		return nil, nil
	}
	resp := c.inst.List(ctx, in)
	var events []*plugin6.ListEvent
	for _, found := range resp.Results {
		event := &plugin6.ListEvent{Identity: c.writeIdentity(found.Identity, rt), DisplayName: text(found.DisplayName)}
		if in.IncludeObject {
			event.Object = c.write("object", found.Object, rt.Block.ImpliedType())
		}
		events = append(events, event)
	}
	return resp.Diagnostics, events
}

func (s *Server) planAction(ctx context.Context, req *plugin6.ActionRequest) *plugin6.PlanActionResponse {
	c, ok := s.begin(ctx, methodPlanAction)
	defer c.end()
	m := &plugin6.PlanActionResponse{}
	var answer diag.List
	if config, found := c.action(ok, req); found {
		resp := c.inst.PlanAction(ctx, provider.PlanActionRequest{Type: req.GetType(), Config: config,
			Client: decodeClient(req.GetClientCapabilities())})
		m.Deferred, answer = encodeDeferred(resp.Deferred), resp.Diagnostics
	}
	m.Diagnostics = c.problems(answer)
	return m
}

// action returns the configuration in a request about an action; found reports that there is no problem yet.
func (c *session) action(ok bool, req *plugin6.ActionRequest) (config cty.Value, found bool) {
	if !ok {
		return cty.NilVal, false
	}
	rt := c.typeOf(provider.Action, req.GetType())
	if rt == nil {
		return cty.NilVal, false
	}
	config = c.read("config", req.GetConfig(), rt.Block.ImpliedType())
	return config, c.diags == nil
}

func (s *Server) invokeAction(ctx context.Context, req *plugin6.ActionRequest, send func(proto.Message) error) error {
	c, ok := s.begin(ctx, methodInvoke)
	defer c.end()
	var answer diag.List
	if config, found := c.action(ok, req); found {
		var mu sync.Mutex // held while a message is sent
		answer = c.inst.InvokeAction(ctx, provider.InvokeActionRequest{Type: req.GetType(), Config: config,
			Client: decodeClient(req.GetClientCapabilities()), Progress: func(message string) {
				mu.Lock()
				defer mu.Unlock()
				// If the client is gone, the context of the call is cancelled and responses are dropped.
				_ = send(&plugin6.ActionEvent{Event: &plugin6.ActionEvent_Progress_{
					Progress: &plugin6.ActionEvent_Progress{Message: text(message)}}})
			}}).Diagnostics
	}
	return send(&plugin6.ActionEvent{Event: &plugin6.ActionEvent_Completed{
		Completed: &plugin6.DiagnosticsFirst{Diagnostics: c.problems(answer)}}})
}
