package schema

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// ListResource describes how to find the objects of a resource type, managed or not. The resource type needs an
// Identity.
type ListResource struct {
	// Schema describes the block config of list blocks: arguments and blocks, nothing Computed.
	Schema map[string]*Schema
	// List finds objects. It must not change anything.
	List ListFunc
	// Complete means that List sets all attributes of objects. Otherwise Read completes each object if whole objects
	// are requested.
	Complete bool

	DeprecationMessage string
	Description        string
}

// ListFunc is the callback of a ListResource. For each found object it calls ListData.Object, sets the ID and the
// attributes of the identity, and passes it to ListData.Found, until that returns false.
type ListFunc func(ctx context.Context, d *ListData, meta interface{}) diag.List

// ListData is a query in a callback. Get and the other methods read the config block.
type ListData struct {
	*ResourceData
	of    *resourceType
	limit int
	whole bool
	found []foundObject
}

type foundObject struct {
	name string
	data *ResourceData
}

// Limit returns the maximum number of objects.
func (d *ListData) Limit() int { return d.limit }

// IncludeResource reports whether whole objects are requested, and not only their identities.
func (d *ListData) IncludeResource() bool { return d.whole }

// Object returns data for an object of the resource type, like Read gets it. Complete it with SetId, Set and Identity.
func (d *ListData) Object() *ResourceData {
	t := d.of
	o := newData(t, reader{object: t.object, old: cty.NullVal(t.object.ty), now: t.block().EmptyValue()})
	o.identity, o.ctx = t.identityData(cty.NilVal), d.ctx
	return o
}

// Found adds an object that Object returned, with a name for people, which may be empty. It reports whether more
// objects are needed.
func (d *ListData) Found(displayName string, o *ResourceData) bool {
	if len(d.found) < d.limit {
		d.found = append(d.found, foundObject{displayName, o})
	}
	return len(d.found) < d.limit
}

type listType struct {
	*resourceType
	l *ListResource
}

func compileList(name string, l *ListResource) *listType {
	r := &Resource{Schema: l.Schema, Description: l.Description, DeprecationMessage: l.DeprecationMessage}
	return &listType{compile(name, r, listing), l}
}

func (c *inspection) list(w where, l *ListResource, of *Resource) {
	c.typeName(w)
	switch {
	case l == nil:
		c.add(w.what, "the list is nil")
		return
	case l.List == nil:
		c.add(w.what, "there is no List")
	}
	switch {
	case of == nil:
		c.add(w.what, "there is no resource type of this name")
	case of.Identity == nil:
		c.add(w.what, "the resource type has no Identity, which a list returns")
	}
	c.fields(w, l.Schema)
}

// List finds objects.
func (s *server) List(ctx context.Context, req provider.ListRequest) provider.ListResponse {
	t, of := s.lists[req.Type], s.managed[req.Type]
	if t == nil || of == nil {
		return provider.ListResponse{Diagnostics: noSuchType("list", req.Type, s.lists)}
	}
	config, err := t.withDefaults(req.Config)
	if err != nil {
		return provider.ListResponse{Diagnostics: diag.List{setProblem(err)}}
	}
	if diags := t.missing(config); diags.HasErrors() {
		return provider.ListResponse{Diagnostics: diags}
	}
	d := &ListData{ResourceData: newData(t.resourceType, reader{object: t.object, old: cty.NullVal(t.object.ty),
		now: config, config: req.Config}), of: of, limit: max(1, req.Limit), whole: req.IncludeObject}
	diags := s.guard(ctx, t.resourceType, "list", func(ctx context.Context) diag.List {
		d.ctx = ctx
		return t.l.List(ctx, d, s.meta())
	})
	resp := provider.ListResponse{Diagnostics: dropped(d.mistakes, diags)}
	for _, one := range d.found {
		if resp.Diagnostics.HasErrors() {
			break // other errors usually have the same cause
		}
		listed, problems := s.listed(ctx, t, d, one)
		for _, p := range problems {
			p.Path = nil // it is a path in the object, not in the config block
		}
		resp.Diagnostics = resp.Diagnostics.Extend(problems)
		if listed.Identity != cty.NilVal {
			resp.Results = append(resp.Results, listed)
		}
	}
	return resp
}

// listed returns the result for an object. Without an identity, the object was deleted in the meantime.
func (s *server) listed(ctx context.Context, t *listType, d *ListData, one foundObject) (provider.Listed, diag.List) {
	o := one.data
	switch {
	case o == nil || o.typ != d.of:
		return provider.Listed{}, diag.List{}.Errorf(nil, "Invalid list",
			"The provider's list of %s returned an object that ListData.Object did not create. %s", t.name,
			value.ProviderBug)
	case o.id == "":
		return provider.Listed{}, diag.List{}.Errorf(nil, "Invalid list",
			"The provider's list of %s returned an object without an id: it must call SetId. %s", t.name,
			value.ProviderBug)
	}
	listed := provider.Listed{DisplayName: one.name}
	state := o.State()
	if !d.whole || t.l.Complete {
		var diags diag.List
		if listed.Identity, diags = o.identity.result(state); diags.HasErrors() {
			return listed, diags
		}
		if d.whole {
			listed.Object = value.NullWriteOnly(d.of.block(), state)
			diags = diags.Extend(invalidResponse("Invalid object from the provider",
				value.CheckRefreshed(d.of.block(), listed.Object)))
		}
		return listed, dropped(o.mistakes, diags)
	}
	if diags := dropped(o.mistakes, nil); diags.HasErrors() {
		return listed, diags
	}
	identity := cty.NilVal
	if o.identity.complete() {
		identity = o.identity.now
	}
	read := s.Read(ctx, provider.ReadRequest{Type: t.name, Prior: state, Identity: identity})
	if read.Diagnostics.HasErrors() || read.State.IsNull() {
		return provider.Listed{}, read.Diagnostics
	}
	listed.Object, listed.Identity = read.State, read.Identity
	return listed, read.Diagnostics
}
