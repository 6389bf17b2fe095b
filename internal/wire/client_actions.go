package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// Calls for list blocks, actions and generated configurations.

func (c *client) validateList(ctx context.Context, req provider.ValidateResourceRequest,
	rt *provider.ResourceType) diag.List {
	w := &writer{c: c, method: methodValidateList}
	in := &plugin6.ValidateListRequest{Type: req.Type, Config: w.value("config", req.Config, rt.Block.ImpliedType()),
		IncludeObject: w.value("include_resource", req.IncludeObject, cty.Bool),
		Limit:         w.value("limit", req.Limit, cty.Number)}
	if w.diags != nil {
		return w.diags
	}
	var m plugin6.DiagnosticsFirst
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return diags
	}
	return decodeDiagnostics(m.GetDiagnostics())
}

func (c *client) GenerateConfig(ctx context.Context,
	req provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if rt == nil {
		return provider.GenerateConfigResponse{Diagnostics: diags}
	}
	ty := rt.Block.ImpliedType()
	w := &writer{c: c, method: methodGenerate}
	in := &plugin6.GenerateConfigRequest{Type: req.Type, State: w.value("state", req.State, ty)}
	if w.diags != nil {
		return provider.GenerateConfigResponse{Diagnostics: w.diags}
	}
	var m plugin6.GenerateConfigResponse
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.GenerateConfigResponse{Diagnostics: diags}
	}
	r := c.reader(w.method, m.GetDiagnostics())
	resp := provider.GenerateConfigResponse{}
	if !r.diags.HasErrors() {
		resp.Config = r.value("config", m.GetConfig(), ty, cty.NilVal)
	}
	resp.Diagnostics = r.diags
	return resp
}

// List reads at most the requested number of objects, and no more bytes than one response may have.
func (c *client) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	list, diags := c.typeOf(ctx, provider.ListResource, req.Type)
	if list == nil {
		return provider.ListResponse{Diagnostics: diags}
	}
	rt, diags := c.typeOf(ctx, provider.ManagedResource, req.Type)
	if rt == nil {
		return provider.ListResponse{Diagnostics: diags}
	}
	if rt.Identity == nil {
		return provider.ListResponse{Diagnostics: diag.List{c.bad(methodList, "identity",
			fmt.Errorf("%s can be listed, but its objects have no identities", req.Type))}}
	}
	w := &writer{c: c, method: methodList}
	in := &plugin6.ListRequest{Type: req.Type, Config: w.value("config", req.Config, list.Block.ImpliedType()),
		IncludeObject: req.IncludeObject, Limit: int64(req.Limit)}
	if w.diags != nil {
		return provider.ListResponse{Diagnostics: w.diags}
	}
	var resp provider.ListResponse
	var problems []*plugin6.Diagnostic
	r, size := &reader{c: c, method: methodList}, 0
	event := &plugin6.ListEvent{}
	_, err := c.stream(ctx, methodList, in, event, func() bool {
		if size += proto.Size(event); size > cmp.Or(c.opts.MaxAnswer, MaxMessage) {
			r.diags = r.diags.Append(c.bad(methodList, "results", errors.New("they are larger than the limit for "+
				"answers")))
			return false
		}
		problems = append(problems, event.GetDiagnostics()...)
		if event.GetIdentity() != nil {
			found := provider.Listed{DisplayName: diag.Shortened(event.GetDisplayName()),
				Identity: r.value("identity", event.GetIdentity().GetValue(), rt.Identity.ImpliedType(), cty.NilVal)}
			if req.IncludeObject && event.GetObject() != nil {
				found.Object = r.value("object", event.GetObject(), rt.Block.ImpliedType(), cty.NilVal)
			}
			if !r.diags.HasErrors() {
				resp.Results = append(resp.Results, found)
			}
		} else if len(event.GetDiagnostics()) == 0 {
			r.diags = r.diags.Append(c.bad(methodList, "identity", errNothing))
		}
		return !r.diags.HasErrors() && len(resp.Results) < req.Limit
	})
	resp.Diagnostics = decodeDiagnostics(problems).Extend(r.diags).Extend(c.failed(methodList, err))
	return resp
}

func (c *client) PlanAction(ctx context.Context, req provider.PlanActionRequest) provider.PlanActionResponse {
	rt, diags := c.typeOf(ctx, provider.Action, req.Type)
	if rt == nil {
		return provider.PlanActionResponse{Diagnostics: diags}
	}
	w := &writer{c: c, method: methodPlanAction}
	in := &plugin6.ActionRequest{Type: req.Type, Config: w.value("config", req.Config, rt.Block.ImpliedType()),
		ClientCapabilities: encodeClient(req.Client)}
	if w.diags != nil {
		return provider.PlanActionResponse{Diagnostics: w.diags}
	}
	var m plugin6.PlanActionResponse
	if diags := c.call(ctx, w.method, in, &m); diags != nil {
		return provider.PlanActionResponse{Diagnostics: diags}
	}
	return provider.PlanActionResponse{Deferred: decodeDeferred(m.GetDeferred()),
		Diagnostics: decodeDiagnostics(m.GetDiagnostics())}
}

func (c *client) InvokeAction(ctx context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	rt, diags := c.typeOf(ctx, provider.Action, req.Type)
	if rt == nil {
		return provider.InvokeActionResponse{Diagnostics: diags}
	}
	w := &writer{c: c, method: methodInvoke}
	in := &plugin6.ActionRequest{Type: req.Type, Config: w.value("config", req.Config, rt.Block.ImpliedType()),
		ClientCapabilities: encodeClient(req.Client)}
	if w.diags != nil {
		return provider.InvokeActionResponse{Diagnostics: w.diags}
	}
	var completed *plugin6.DiagnosticsFirst
	event := &plugin6.ActionEvent{}
	sent, err := c.stream(ctx, methodInvoke, in, event, func() bool {
		switch e := event.GetEvent().(type) {
		case *plugin6.ActionEvent_Progress_:
			if req.Progress != nil {
				req.Progress(diag.Shortened(e.Progress.GetMessage()))
			}
		case *plugin6.ActionEvent_Completed:
			completed = e.Completed
		}
		return completed == nil
	})
	if completed != nil {
		return provider.InvokeActionResponse{Diagnostics: decodeDiagnostics(completed.GetDiagnostics())}
	}
	if err == nil {
		return provider.InvokeActionResponse{Lost: true, Diagnostics: diag.List{c.bad(methodInvoke, "completed",
			errors.New("the answer ended without the result of the action"))}}
	}
	return provider.InvokeActionResponse{Lost: sent, Diagnostics: c.failed(methodInvoke, err)}
}

// stream performs a call with several response messages. It decodes each message into event and calls each, which
// reports whether to continue. sent reports whether the plugin may have received the call.
func (c *client) stream(ctx context.Context, method string, req, event proto.Message, each func() bool) (sent bool,
	err error) {
	sent, err = c.conn.Stream(ctx, c.version.path(method), req, event, cmp.Or(c.opts.MaxAnswer, MaxMessage), each)
	return c.refused(req, sent, err)
}
