package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/moving"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// move applies the configured moves to the addresses of stored objects. The edits are the first of the plan, so that an
// apply records them before all other changes.
func (p *planner) move() error {
	open := make([]addr.AbsResourceInstance, len(p.opts.Interrupted))
	for i, intent := range p.opts.Interrupted {
		open[i] = intent.Object.Instance
	}
	p.moves = moving.Run(p.prog.Config, p.prior, open)
	p.prior = p.moves.State
	for i := range p.opts.Interrupted {
		p.unsettled[p.moves.Open[open[i]]] = &p.opts.Interrupted[i]
	}
	p.refreshed = append(p.refreshed, p.moves.Edits...)
	if err := p.walk.Report(p.targetedMoves()); err != nil {
		return err
	}
	return nil
}

// checkMoves checks the moved blocks, which is possible after everything is expanded.
func (p *planner) checkMoves() error {
	if diags := p.moves.Check(&declared{walk: p.walk}); diags.HasErrors() {
		p.void = true // the plan and its other problems result from unintended moves
		p.misled = p.before.Extend(diags)
		return p.walk.Report(diags)
	}
	diags := p.moves.Warnings().Extend(p.keptInstances())
	if p.opts.Mode != plan.Destroy {
		diags = diags.Extend(p.moves.WrongKeys(p.prog.Config, &declared{walk: p.walk}))
	}
	return p.walk.Report(diags)
}

// keptInstances returns errors for removed blocks with instances that are still declared.
func (p *planner) keptInstances() (diags diag.List) {
	blocks := p.prog.RemovedInstances()
	if len(blocks) == 0 || p.opts.Mode == plan.Destroy {
		return nil
	}
	d := &declared{walk: p.walk}
	for _, b := range blocks {
		for _, m := range d.Modules(b.Module) {
			name := ""
			exp, ok := p.walk.Expansion(addr.AbsResource{Module: m, Resource: b.Resource})
			switch {
			case !b.NamesModule(m):
			case b.Resource == (addr.Resource{}):
				name = m.String()
			case ok && b.HasKey && exp.Has(b.Key):
				name = addr.AbsResourceInstance{Module: m, Resource: b.Resource, Key: b.Key}.String()
			case ok && !b.HasKey:
				name = addr.AbsResource{Module: m, Resource: b.Resource}.String()
			}
			if name != "" {
				diags = diags.Errorf(&b.Range, "Removed instance still exists", "This block removes %s, but the "+
					"configuration still declares it. Remove one of the two.", name)
			}
		}
	}
	return diags
}

// targetedMoves requires targets at both ends of every move: if one end is excluded, the object is planned at neither
// address.
func (p *planner) targetedMoves() diag.List {
	if p.targets == nil {
		return nil
	}
	missing := map[string]bool{}
	for to, from := range p.moves.From {
		in, was := p.targets.Contains(to), p.targets.Contains(from)
		if !in {
			missing[to.String()] = true
		}
		if !was {
			missing[from.String()] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var list strings.Builder
	for _, a := range sortedNames(missing) {
		fmt.Fprintf(&list, "\n  %s", shellQuoted(a))
	}
	if p.targets.Excepts() {
		return diag.List{}.Errorf(nil, "Moved resource instances excluded by targeting",
			"Objects of the state have new addresses in the configuration, but the -exclude options leave some of "+
				"them out, so no correct plan is possible. Apply the moves first, or do not exclude these:%s",
			list.String())
	}
	return diag.List{}.Errorf(nil, "Moved resource instances excluded by targeting",
		"Objects of the state have new addresses in the configuration, but the -target options leave some of them "+
			"out, so no correct plan is possible. Remove the options, or add these:%s",
		strings.ReplaceAll(list.String(), "\n  ", "\n  -target="))
}

func sortedNames(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for n := range set {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// shellQuoted quotes an address for a shell.
func shellQuoted(a string) string {
	if strings.ContainsAny(a, `"$`) {
		return "'" + a + "'"
	}
	return `"` + a + `"`
}

// prevAddr returns the address that an object has in the stored state if it moves, otherwise nil. A destroy plan has no
// former addresses.
func (p *planner) prevAddr(a addr.AbsResourceInstance) *addr.AbsResourceInstance {
	if from, ok := p.moves.From[a]; ok && p.opts.Mode != plan.Destroy && from != a {
		return &from
	}
	return nil
}

// shared returns the only copy of a provider configuration's address: changes are many, and it is large.
func (p *planner) shared(cfg addr.AbsProviderConfig) *addr.AbsProviderConfig {
	p.configs.Lock()
	defer p.configs.Unlock()
	if p.configs.of == nil {
		p.configs.of = map[addr.AbsProviderConfig]*addr.AbsProviderConfig{}
	}
	one := p.configs.of[cfg]
	if one == nil {
		c := cfg
		one = &c
		p.configs.of[c] = one
	}
	return one
}

// foreign reports whether an object had another type or provider before its move.
func (p *planner) foreign(o addr.Object, cfg addr.AbsProviderConfig) (was addr.AbsResourceInstance,
	source addr.Provider, foreign bool) {
	was, moved := p.moves.From[o.Instance]
	if !moved {
		return was, source, false
	}
	source = p.base.ProviderOf(addr.Object{Instance: was, Deposed: o.Deposed}).Provider
	return was, source, was.Resource.Type != o.Instance.Resource.Type || source != cfg.Provider
}

// convert calls a provider to convert a foreign object.
func (p *planner) convert(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, inst provider.Provider,
	k known) (known, error) {
	was, source, _ := p.foreign(o, cfg)
	stored := k.object
	schema, err := p.Schema(cfg.Provider)
	if err != nil {
		return k, err
	}
	if !schema.MoveResourceState {
		return k, p.walk.Report(diag.List{}.Errorf(nil, "Move Resource State Not Supported",
			"%s moved to %s, which has another resource type or another provider. The provider %s cannot move such "+
				"objects. Remove the moved block, and use removed and import blocks instead.", was,
			o.Instance, cfg.Provider.ForDisplay()))
	}
	resp := inst.MoveState(p.calls, provider.MoveStateRequest{Object: o,
		SourceProvider: source.String(), SourceType: was.Resource.Type, SourceVersion: stored.SchemaVersion,
		Source: provider.StoredObject{JSON: stored.Attributes, Flat: stored.Flat}, SourcePrivate: stored.Private,
		SourceIdentity: stored.Identity, SourceIdentityVersion: stored.IdentityVersion,
		TargetType: o.Instance.Resource.Type,
	})
	if err := p.walk.Report(resp.Diagnostics.InAddress(o.String())); err != nil {
		return k, err
	}
	if resp.State == cty.NilVal || resp.State.IsNull() {
		return k, p.walk.Report(diag.List{}.Errorf(nil, "Unable to Move Resource State",
			"Provider %s returned no object for %s, which was %s. This is a bug in the provider.",
			cfg.Provider.ForDisplay(), o.Instance, was))
	}
	if errs := value.CheckIdentity(rt.Identity, resp.Identity, true); len(errs) > 0 {
		return k, p.walk.Report(p.place(o, value.BadAnswer(o, cfg, "Provider produced invalid identity", errs)))
	}
	k.value, k.private, k.sensitive, k.converted = resp.State, resp.Private, nil, true
	if resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
		k.identity = resp.Identity
	}
	return k, nil
}

// noteMove adds an object that moved without other changes to the drift of a refresh-only plan.
func (p *planner) noteMove(o addr.Object, cfg addr.AbsProviderConfig, rt *provider.ResourceType, k known) {
	if p.opts.Mode == plan.RefreshOnly && p.prevAddr(o.Instance) != nil {
		p.addDrift(o, cfg, rt, plan.NoOp, k, k)
	}
}

// declared implements moving.Declared with a walk that has ended.
type declared struct {
	walk    *eval.Walk
	modules map[addr.Module][]addr.ModuleInstance
}

// Modules implements moving.Declared.
func (d *declared) Modules(m addr.Module) []addr.ModuleInstance {
	if d.modules == nil {
		d.modules = map[addr.Module][]addr.ModuleInstance{}
		for a := range d.walk.Instances() {
			d.modules[a.Config()] = append(d.modules[a.Config()], a)
		}
	}
	return addr.SortModules(d.modules[m])
}

// HasModule implements moving.Declared.
func (d *declared) HasModule(m addr.ModuleInstance) bool { return d.walk.Instance(m) != nil }

// HasInstance implements moving.Declared.
func (d *declared) HasInstance(a addr.AbsResourceInstance) bool {
	exp, ok := d.walk.Expansion(a.AbsResource())
	return ok && exp.Has(a.Key)
}
