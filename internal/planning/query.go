package planning

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// defaultLimit is the maximum number of objects of a list block without a limit.
const defaultLimit = 100

// Query finds objects with the list blocks, sorted by block and by instance. The dependencies of the blocks are
// planned, and data sources are read; nothing else of the configuration is evaluated, and nothing is changed. After
// errors it returns the objects found so far.
func Query(ctx, calls context.Context, prog *linking.Program, prior *state.State, providers Providers, o Options) (
	[]*plan.List, diag.List) {
	o.Mode = plan.Normal
	p := newPlanner(calls, prog, prior, providers, o)
	defer func() { p.CloseAll() }() // after a panic in code of the calling program
	in := p.inputs()
	in.Only, in.InUse, in.Importing = prog.Lists(), nil, false
	p.begin(ctx, in)
	err := p.move()
	if err == nil {
		err = p.walk.Run(ctx)
	}
	_ = p.walk.Report(p.CloseAll())
	diags := p.walk.Diagnostics()
	if err != nil && ctx.Err() != nil {
		diags = diags.Errorf(nil, "The query was interrupted", "The results are incomplete.")
	}
	slices.SortFunc(p.lists, func(a, b *plan.List) int { return a.Addr.Compare(b.Addr) })
	return p.lists, diags
}

// list queries objects for each instance of a list block.
func (p *planner) list(n *graph.Node, b *eval.Block) error {
	exp, diags := b.Expand()
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	if len(exp.Keys) > 0 {
		b.Prepare()
	}
	found := make([]cty.Value, len(exp.Keys))
	n.FanOut(len(exp.Keys), func(i int) (err error) {
		found[i], err = p.search(b, exp, i)
		return err
	}, func() error {
		values := make(map[addr.Key]cty.Value, len(found))
		for i, key := range exp.Keys {
			values[key] = found[i]
		}
		b.Set(exp, values)
		return nil
	})
	return nil
}

// search queries objects for one instance, and returns the value for references to it.
func (p *planner) search(b *eval.Block, exp eval.Expansion, index int) (cty.Value, error) {
	key := exp.Keys[index]
	cfg, err := b.ConfiguredBy(key)
	if err != nil {
		return cty.DynamicVal, err
	}
	prov, err := p.provider(cfg)
	if err != nil {
		return cty.DynamicVal, err
	}
	marked, err := b.Evaluate(key)
	if err != nil {
		return cty.DynamicVal, err
	}
	v, marks := p.opts.Secrets.Unmark(b.Slot.Type.Block, marked)
	s, diags := searchOf(b, key, v)
	if !diags.HasErrors() {
		diags = diags.Extend(s.known()).Extend(s.validate(p.calls, prov))
	}
	if err := p.walk.Report(diags); err != nil {
		return cty.DynamicVal, err
	}
	s.cfg = cfg
	s.names = listedNames(b.Config().Addr.Name, exp, index)
	s.secret = configMarks(slices.Concat(marks.Sensitive, marks.Ephemeral))
	if err := p.find(s, prov); err != nil {
		return cty.DynamicVal, err
	}
	return s.value(marked.GetAttr(linking.ListConfig)), nil
}

// search is the query of one instance of a list block.
type search struct {
	b      *eval.Block
	key    addr.Key
	cfg    addr.AbsProviderConfig // not while validating
	config cty.Value              // value of the config block; that of an empty one if there is none
	given  bool                   // whether there is such a block
	// limit and include may be unknown while validating.
	limit, include cty.Value
	secret         []cty.Path // sensitive paths of config

	names func(n int) string // names of the objects in generated configuration
	rt    *provider.ResourceType
	list  *plan.List
}

// searchOf returns the arguments of a list block from its value without marks.
func searchOf(b *eval.Block, key addr.Key, v cty.Value) (*search, diag.List) {
	s := &search{b: b, key: key, config: v.GetAttr(linking.ListConfig), limit: cty.NumberIntVal(defaultLimit),
		include: cty.False}
	if s.given = !s.config.IsNull(); !s.given {
		s.config = b.Slot.Type.Block.Blocks[linking.ListConfig].Block.EmptyValue()
	}
	var diags diag.List
	if b.Slot.Body.Sets(linking.ListLimit) {
		s.limit, diags = s.argument(linking.ListLimit, v, cty.Number)
		if !diags.HasErrors() && s.limit.IsKnown() {
			diags = diags.Extend(s.checkLimit())
		}
	}
	if b.Slot.Body.Sets(linking.ListInclude) {
		var more diag.List
		s.include, more = s.argument(linking.ListInclude, v, cty.Bool)
		diags = diags.Extend(more)
	}
	return s, diags
}

// argument returns the value of an argument that the language defines.
func (s *search) argument(name string, v cty.Value, ty cty.Type) (cty.Value, diag.List) {
	given := v.GetAttr(name)
	converted, err := convert.Convert(given, ty)
	switch {
	case err != nil:
		return cty.UnknownVal(ty), s.problem(name, "Incorrect value type", "The argument %s must be a %s: %s.", name,
			ty.FriendlyName(), err)
	case converted.IsNull():
		return cty.UnknownVal(ty), s.problem(name, fmt.Sprintf("Invalid %q argument", name),
			"The value of %s is null. Leave the argument out, or give it a %s.", name, ty.FriendlyName())
	}
	return converted, nil
}

func (s *search) checkLimit() diag.List {
	limit := s.limit.AsBigFloat()
	switch {
	case !limit.IsInt():
		return s.problem(linking.ListLimit, `Invalid "limit" argument`,
			"The limit is the maximum number of objects to find: a whole number, not %s.", limit.Text('f', -1))
	case limit.Sign() < 0:
		return s.problem(linking.ListLimit, "Invalid limit argument",
			"The limit is the maximum number of objects to find, so it cannot be negative.")
	}
	return nil
}

// known returns errors for unknown parts.
func (s *search) known() (diags diag.List) {
	for _, part := range []struct {
		name string
		v    cty.Value
	}{{linking.ListLimit, s.limit}, {linking.ListInclude, s.include}, {linking.ListConfig, s.config}} {
		if !ctyfast.WhollyKnown(part.v) {
			diags = diags.Extend(s.problem(part.name, part.name+" is not known", "The query needs a value that is "+
				"known only after apply. First apply its dependencies, or set a known value."))
		}
	}
	return diags
}

func (s *search) problem(name, summary, format string, args ...any) diag.List {
	diags := diag.List(nil).Errorf(nil, summary, format, args...)
	diags[0].Path = cty.GetAttrPath(name)
	return s.b.Locate(diags, s.key)
}

func (s *search) addr() addr.AbsResourceInstance { return s.b.Addr().Instance(s.key) }

// locate returns a provider's problems with their range: within the config block, or that of the list block.
func (s *search) locate(diags diag.List) diag.List {
	out := make(diag.List, len(diags))
	for i, d := range diags {
		moved := *d
		if len(d.Path) > 0 {
			moved.Path = slices.Concat(cty.GetAttrPath(linking.ListConfig), d.Path)
		} else if d.Subject == nil {
			moved.Subject = s.b.Config().DeclRange.Ptr()
		}
		out[i] = &moved
	}
	return s.b.Locate(out, s.key)
}

// validate calls the provider to validate the arguments.
func (s *search) validate(ctx context.Context, prov provider.Provider) diag.List {
	return s.locate(prov.ValidateResource(ctx, provider.ValidateResourceRequest{
		Object: addr.Object{Instance: s.addr()}, Kind: provider.ListResource, Type: s.addr().Resource.Type,
		Config: s.config, IncludeObject: s.include, Limit: s.limit, Client: access.Client,
	}))
}

// configMarks returns the paths within the config block, relative to it.
func configMarks(paths []cty.Path) (out []cty.Path) {
	for _, path := range paths {
		if step, ok := path[0].(cty.GetAttrStep); ok && step.Name == linking.ListConfig {
			out = append(out, path[1:])
		}
	}
	return out
}

// listedNames returns the names of the resources in generated configuration, made from the block, the position of its
// instance if it is repeated, and the position of the object.
func listedNames(block string, exp eval.Expansion, index int) func(int) string {
	if !exp.Keys[index].IsNone() {
		block += "_" + strconv.Itoa(index)
	}
	return func(n int) string { return block + "_" + strconv.Itoa(n) }
}

// find queries the provider, and stores and reports the results.
func (p *planner) find(s *search, prov provider.Provider) error {
	cfg, typ := s.cfg, s.addr().Resource.Type
	schema, err := p.Schema(cfg.Provider)
	if err != nil {
		return err
	}
	if s.rt = schema.Resources[typ]; s.rt == nil || s.rt.Identity == nil {
		return p.walk.Report(s.b.Locate(diag.List{}.Errorf(nil, "Provider cannot be searched",
			"Provider %s finds objects of the type %s, but has no such resource type with an identity. %s",
			cfg.Provider.ForDisplay(), typ, value.ProviderBug), s.key))
	}
	s.list = &plan.List{Addr: s.addr(), Config: plan.Value{Value: cty.NullVal(s.config.Type())}}
	if s.given {
		s.list.Config = plan.Value{Value: s.config, Sensitive: s.secret}
	}
	p.mu.Lock()
	p.lists = append(p.lists, s.list)
	p.mu.Unlock()
	req := provider.ListRequest{Type: typ, Config: s.config, IncludeObject: s.include.True() || p.opts.Generate,
		Limit: math.MaxInt32}
	if limit, _ := s.limit.AsBigFloat().Int64(); limit < math.MaxInt32 {
		req.Limit = int(limit)
	}
	p.opts.Events.Send(event.ListStart{List: s.list})
	var resp provider.ListResponse
	if req.Limit > 0 {
		of := access.Of{Provider: cfg.Provider, Object: addr.Object{Instance: s.addr()}}
		if err := p.Ask(of, func(int) diag.List {
			resp = prov.List(p.calls, req)
			return resp.Diagnostics
		}); err != nil {
			return err
		}
	}
	diags := s.locate(resp.Diagnostics)
	for _, found := range resp.Results[:min(len(resp.Results), req.Limit)] {
		o, more := p.listed(s, prov, schema, found)
		if diags = diags.Extend(more); more.HasErrors() {
			break
		}
		s.list.Found = append(s.list.Found, o)
		p.opts.Events.Send(event.ListFound{List: s.list, Object: o})
	}
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	p.opts.Events.Send(event.ListDone{List: s.list})
	return nil
}

// listed checks one object that a provider found, and generates its configuration if requested.
func (p *planner) listed(s *search, prov provider.Provider, schema *provider.Schema, found provider.Listed) (
	*plan.Listed, diag.List) {
	cfg, o := s.cfg, addr.Object{Instance: s.addr()}
	bad := func(summary string, errs []value.PathError) diag.List {
		return s.b.Locate(value.BadAnswer(o, cfg, summary, errs), s.key)
	}
	missing := found.Identity == cty.NilVal || found.Identity.IsNull()
	if errs := value.CheckIdentity(s.rt.Identity, found.Identity, true); missing || len(errs) > 0 {
		if missing {
			errs = []value.PathError{{Problem: "an object without an identity"}}
		}
		return nil, bad("Provider produced invalid identity", errs)
	}
	out := &plan.Listed{DisplayName: found.DisplayName, Identity: found.Identity,
		IdentityVersion: s.rt.Identity.Version}
	if found.Object == cty.NilVal || found.Object.IsNull() {
		if p.opts.Generate {
			return nil, bad("Provider produced invalid object", []value.PathError{{Problem: "an object with only its " +
				"identity, so no configuration can be generated for it"}})
		}
		return out, nil
	}
	if errs := value.CheckRefreshed(s.rt.Block, found.Object); len(errs) > 0 {
		return nil, bad("Provider produced invalid object", errs)
	}
	secret := value.SensitivePaths(s.rt.Block, found.Object, nil)
	if s.include.True() || p.opts.Generate {
		out.Object = plan.Value{Value: found.Object, Sensitive: secret}
	}
	if !p.opts.Generate {
		return out, nil
	}
	config, diags := p.configOf(prov, schema, s.rt, o, cfg, found.Object)
	if diags.HasErrors() {
		return nil, s.locate(diags)
	}
	r := addr.Resource{Mode: addr.Managed, Type: o.Instance.Resource.Type, Name: s.names(len(s.list.Found))}
	ref := s.b.Config().ProviderRef
	out.GeneratedConfig = generated(r, s.rt.Block, config, ref, cfg.Key)
	out.GeneratedImport = generatedImport(r, found.Identity, ref, cfg.Key)
	return out, s.locate(diags)
}

// value returns the value for references to the instance. config has its marks.
func (s *search) value(config cty.Value) cty.Value {
	objectType := s.rt.Block.ImpliedType()
	ty := cty.Object(map[string]cty.Type{"display_name": cty.String, "identity": s.rt.Identity.ImpliedType(),
		"state": objectType})
	elements := make([]cty.Value, len(s.list.Found))
	same := true
	for i, found := range s.list.Found {
		object := cty.NullVal(objectType)
		if found.Object.Value != cty.NilVal && s.include.True() {
			object = value.MarkAt(found.Object.Value, value.Sensitive, found.Object.Sensitive)
		}
		elements[i] = cty.ObjectVal(map[string]cty.Value{"display_name": cty.StringVal(found.DisplayName),
			"identity": found.Identity, "state": object})
		same = same && elements[i].Type().Equals(elements[0].Type())
	}
	data := cty.ListValEmpty(ty)
	switch {
	case len(elements) > 0 && same:
		data = cty.ListVal(elements)
	case len(elements) > 0:
		data = cty.TupleVal(elements)
	}
	return cty.ObjectVal(map[string]cty.Value{linking.ListConfig: config, linking.ListData: data})
}
