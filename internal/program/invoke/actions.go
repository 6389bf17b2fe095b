package invoke

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

var client = provider.ClientCapabilities{WriteOnlyAttributesAllowed: true, ComputedBlocksAllowed: true}

// configure configures the provider, which precedes every call except those of functions.
func (a *invocation) configure() diag.List {
	if a.action == "call" && a.params.Get("provider") == nil {
		return nil
	}
	block := a.schema.Provider
	if block == nil {
		block = &provider.Block{}
	}
	config := a.object("provider", block)
	if config.IsNull() {
		config = block.EmptyValue()
	}
	if a.err != nil {
		return nil
	}
	checked := a.p.ValidateConfig(a.ctx, provider.ValidateConfigRequest{Config: config})
	if checked.Diagnostics.HasErrors() {
		return checked.Diagnostics
	}
	resp := a.p.Configure(a.ctx, provider.ConfigureRequest{TerraformVersion: state.LanguageVersion,
		Config: checked.Prepared, Client: client})
	return checked.Diagnostics.Extend(resp.Diagnostics)
}

func (a *invocation) validate() diag.List {
	config := a.config()
	if a.err != nil {
		return nil
	}
	return a.p.ValidateResource(a.ctx, provider.ValidateResourceRequest{Kind: a.kind, Type: a.typ, Config: config,
		Client: client})
}

// planned requests a plan.
func (a *invocation) planned(prior cty.Value) (provider.PlanResponse, cty.Value) {
	config := a.config()
	req := provider.PlanRequest{Type: a.typ, Prior: prior, Proposed: a.proposed(prior, config), Config: config,
		PriorPrivate: a.raw("private"), PriorIdentity: a.identity(), Client: client}
	if a.err != nil {
		return provider.PlanResponse{}, config
	}
	return a.p.Plan(a.ctx, req), config
}

func (a *invocation) plan() diag.List {
	if a.kind == provider.Action {
		return a.planAction()
	}
	resp, _ := a.planned(a.object("prior", a.rt.Block))
	if a.err != nil {
		return nil
	}
	a.put("planned", resp.Planned)
	a.addMeta(resp.Private, resp.Identity)
	if len(resp.RequiresReplace) > 0 {
		var paths diag.List
		for _, p := range resp.RequiresReplace {
			paths = append(paths, &diag.Diagnostic{Path: p})
		}
		var steps []struct{ Attribute json.RawMessage }
		_ = json.Unmarshal(problems(paths), &steps) // the value was just encoded
		list := make([]json.RawMessage, len(steps))
		for i, s := range steps {
			list[i] = s.Attribute
		}
		a.out["replace"], _ = json.Marshal(list)
	}
	return resp.Diagnostics
}

// change performs create and update. If the request contains no plan, it first requests one from the provider.
func (a *invocation) change() diag.List {
	prior := cty.NullVal(a.rt.Block.ImpliedType())
	if a.action == "update" {
		if prior = a.object("prior", a.rt.Block); prior.IsNull() && a.err == nil {
			a.err = errors.New(`an update needs the stored object, as "prior"`)
		}
	}
	req := provider.ApplyRequest{Type: a.typ, Prior: prior, Planned: a.object("planned", a.rt.Block),
		Config: a.config(), PlannedPrivate: a.raw("private"), PlannedIdentity: a.identity()}
	var diags diag.List
	if req.Planned.IsNull() && a.err == nil {
		resp, _ := a.planned(prior)
		if diags = resp.Diagnostics; diags.HasErrors() || a.err != nil {
			return diags
		}
		req.Planned, req.PlannedPrivate, req.PlannedIdentity = resp.Planned, resp.Private, resp.Identity
	}
	return diags.Extend(a.apply(req))
}

func (a *invocation) apply(req provider.ApplyRequest) diag.List {
	if a.err != nil {
		return nil
	}
	resp := a.p.Apply(a.ctx, req)
	a.put("state", resp.State)
	a.addMeta(resp.Private, resp.Identity)
	return resp.Diagnostics
}

func (a *invocation) remove() diag.List {
	null := cty.NullVal(a.rt.Block.ImpliedType())
	prior := a.state()
	return a.apply(provider.ApplyRequest{Type: a.typ, Prior: prior, Planned: null, Config: null,
		PlannedPrivate: a.raw("private"), PlannedIdentity: a.identity()})
}

// state returns the stored object, which the action requires.
func (a *invocation) state() cty.Value {
	v := a.object("state", a.rt.Block)
	if v.IsNull() && a.err == nil {
		a.err = fmt.Errorf(`the action %s needs the stored object, as "state"`, a.action)
	}
	return v
}

func (a *invocation) read() diag.List {
	req := provider.ReadRequest{Type: a.typ, Prior: a.state(), Private: a.raw("private"), Identity: a.identity(),
		Client: client}
	if a.err != nil {
		return nil
	}
	resp := a.p.Read(a.ctx, req)
	a.put("state", resp.State)
	a.addMeta(resp.Private, resp.Identity)
	return resp.Diagnostics
}

func (a *invocation) imported() diag.List {
	req := provider.ImportRequest{Type: a.typ, ID: a.string("id"), Identity: a.identity(), Client: client}
	if a.err != nil {
		return nil
	}
	resp := a.p.Import(a.ctx, req)
	for _, o := range resp.Imported {
		if o.Type == a.typ {
			a.put("state", o.State)
			a.addMeta(o.Private, o.Identity)
		}
	}
	return resp.Diagnostics
}

func (a *invocation) upgrade() diag.List {
	req := provider.UpgradeStateRequest{Type: a.typ, Stored: provider.StoredObject{JSON: a.raw("state")}}
	if from := a.params.Get("from"); from != nil && from.Kind == strictjson.Number {
		n, err := strconv.ParseInt(from.Text, 10, 64)
		if err != nil {
			a.err = fmt.Errorf(`"from" is not a version of a schema: %w`, err)
		}
		req.Version = n
	}
	if a.err != nil {
		return nil
	}
	resp := a.p.UpgradeState(a.ctx, req)
	a.put("state", resp.State)
	return resp.Diagnostics
}

// defaultLimit is the maximum number of objects in a list if the request has no limit.
const defaultLimit = 100

func (a *invocation) list() diag.List {
	req := provider.ListRequest{Type: a.typ, Limit: defaultLimit}
	if given := a.params.Get("limit"); given != nil {
		limit, err := strconv.Atoi(given.Text)
		if given.Kind != strictjson.Number || err != nil || limit < 1 {
			a.err = errors.New(`"limit" must be a whole number of at least 1`)
			return nil
		}
		req.Limit = limit
	}
	if list := a.schema.Lists[a.typ]; list != nil {
		if req.Config = a.object("config", list.Block); req.Config.IsNull() {
			req.Config = list.Block.EmptyValue()
		}
		if a.err != nil {
			return nil
		}
	} else if text := a.raw("config"); text != nil {
		var config ctyjson.SimpleJSONValue
		if err := config.UnmarshalJSON(text); err != nil || !config.Type().IsObjectType() {
			a.err = errors.New(`"config" must be an object`)
			return nil
		}
		req.Config = config.Value
	}
	if include := a.params.Get("include_object"); include != nil {
		if include.Kind != strictjson.Bool {
			a.err = errors.New(`"include_object" must be true or false`)
			return nil
		}
		req.IncludeObject = include.True
	}
	resp := a.p.List(a.ctx, req)
	switch {
	case resp.Diagnostics.HasErrors():
		return resp.Diagnostics
	case a.rt.Identity == nil:
		a.err = fmt.Errorf("the objects of %s cannot be listed: the type has no identity", a.typ)
		return nil
	}
	type result struct {
		Identity json.RawMessage `json:"identity"`
		Name     string          `json:"display_name,omitempty"`
		Object   json.RawMessage `json:"object,omitempty"`
	}
	results := make([]result, len(resp.Results))
	for i, found := range resp.Results {
		text, _ := message.EncodeValue(a.rt.Identity.ImpliedType(), found.Identity)
		results[i] = result{Identity: text, Name: found.DisplayName}
		if found.Object != cty.NilVal {
			results[i].Object, _ = message.Codec{Block: a.rt.Block}.Encode(found.Object)
		}
	}
	a.out["results"], _ = json.Marshal(results)
	return resp.Diagnostics
}

func (a *invocation) planAction() diag.List {
	config := a.config()
	if a.err != nil {
		return nil
	}
	return a.p.PlanAction(a.ctx, provider.PlanActionRequest{Type: a.typ, Config: config, Client: client}).Diagnostics
}

// invoke performs an action. The answer contains its reports of progress.
func (a *invocation) invoke() diag.List {
	config := a.config()
	if a.err != nil {
		return nil
	}
	var mu sync.Mutex
	var messages []string
	resp := a.p.InvokeAction(a.ctx, provider.InvokeActionRequest{Type: a.typ, Config: config, Client: client,
		Progress: func(message string) {
			mu.Lock()
			defer mu.Unlock()
			messages = append(messages, message)
		}})
	if len(messages) > 0 {
		a.out["progress"], _ = json.Marshal(messages) // strings can always be encoded
	}
	return resp.Diagnostics
}

func (a *invocation) data() diag.List {
	req := provider.ReadDataRequest{Type: a.typ, Config: a.config(), Client: client}
	if a.err != nil {
		return nil
	}
	resp := a.p.ReadData(a.ctx, req)
	a.put("state", resp.State)
	return resp.Diagnostics
}

func (a *invocation) open() diag.List {
	req := provider.OpenEphemeralRequest{Type: a.typ, Config: a.config(), Client: client}
	if a.err != nil {
		return nil
	}
	resp := a.p.OpenEphemeral(a.ctx, req)
	a.put("result", resp.Result)
	a.addMeta(resp.Private, cty.NilVal)
	a.time("renew_at", resp.RenewAt)
	return resp.Diagnostics
}

func (a *invocation) renew() diag.List {
	resp := a.p.RenewEphemeral(a.ctx, provider.RenewEphemeralRequest{Type: a.typ, Private: a.raw("private")})
	a.addMeta(resp.Private, cty.NilVal)
	a.time("renew_at", resp.RenewAt)
	return resp.Diagnostics
}

func (a *invocation) close() diag.List {
	return a.p.CloseEphemeral(a.ctx, provider.CloseEphemeralRequest{Type: a.typ, Private: a.raw("private")})
}

// call calls a function.
func (a *invocation) call() diag.List {
	name := a.typ
	if name == "" {
		name = a.string("function")
	}
	f := a.schema.Functions[name]
	if f == nil {
		a.err = fmt.Errorf("the provider has no function %q", name)
		return nil
	}
	given := a.params.Get("args")
	if given == nil || given.Kind != strictjson.Array {
		a.err = errors.New(`the call of a function needs "args", an array`)
		return nil
	}
	var args []cty.Value
	for i, item := range given.Items {
		p := f.VarParam
		if i < len(f.Params) {
			p = &f.Params[i]
		}
		if p == nil {
			a.err = fmt.Errorf("the function %s takes %d arguments, but got %d", name, len(f.Params), len(given.Items))
			return nil
		}
		v, wrong := message.DecodeValue(p.Type, item, a.text)
		if len(wrong) > 0 {
			a.err = fmt.Errorf("argument %d does not fit the schema: %w", i, wrong[0])
			return nil
		}
		args = append(args, v)
	}
	if len(args) < len(f.Params) {
		a.err = fmt.Errorf("the function %s takes %d arguments, but got %d", name, len(f.Params), len(args))
		return nil
	}
	result, err := a.p.CallFunction(a.ctx, name, args)
	if err != nil {
		return diag.FromError("The function failed", err)
	}
	a.out["result"], _ = message.EncodeValue(f.Return, result)
	return nil
}
