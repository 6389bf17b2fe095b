// Package planning makes plans: Run compares a configuration with a prior state, calls the providers, and returns a
// plan.Plan.
//
// It drives a walk of internal/eval. The node of a resource block refreshes the stored objects of the block, evaluates
// the configuration of each instance, requests the planned value from the provider, checks the response by the rules of
// internal/value, and passes the planned value to its dependents. After the walk, orphans are planned for deletion, and
// the order of all actions is computed (steps.go).
//
// Planning writes nothing. The results of refreshing are kept in the plan, as edits of the state. Provider calls share
// a semaphore of the given parallelism; the walk owns all goroutines, which have ended when Run returns.
package planning

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/access"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/graph"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/moving"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Providers returns providers; internal/host's Pool implements it.
type Providers interface {
	access.Providers
	Unconfigured(p addr.Provider) (provider.Provider, diag.List)
}

// Options configures a plan.
type Options struct {
	access.Settings
	// Title is the name of the program in sentences; "" means "Tombolo".
	Title       string
	Mode        plan.Mode
	SkipRefresh bool
	// MinimalRefresh reads only the kept objects that change or depend on a change; for others the stored ones are
	// used. It only applies to normal plans.
	MinimalRefresh bool
	// MaxAge, in a minimal refresh, makes the plan read objects whose last read is older; 0 means that age is ignored.
	// If it is set, the state records when objects were read.
	MaxAge time.Duration
	// Rules are the addresses and patterns for which the project has settings.
	Rules []addr.Target
	// Unrefreshed selects objects that are not read, except in refresh-only plans; nil selects none.
	Unrefreshed *linking.Selection
	// InFlight holds the objects of interrupted operations, which are always read.
	InFlight []addr.Object
	Targets  []addr.Target
	Except   []addr.Target // excluded with all dependents; excludes Targets
	// Interrupted holds creations with an unknown result. The plan does not touch them, their dependents or their
	// dependencies.
	Interrupted []state.Intent
	// Defer leaves what cannot be planned yet to later plans: Plan.Deferred.
	Defer        bool
	ForceReplace []addr.AbsResourceInstance
	// Unprotected destroys objects despite prevent_destroy and destroy = false, for objects of tests.
	Unprotected bool
	// Remember records prevent_destroy in the state, and applies it if the block is removed.
	Remember bool
	// Generate generates configuration for imported objects that have none.
	Generate bool
	// Strict makes failed conditions errors in refresh-only plans, too: their results are recorded without being shown.
	Strict bool
	// Invoke holds actions to invoke. Then nothing else is planned; the mode is RefreshOnly, and Targets selects the
	// callers of an action that refers to them.
	Invoke []addr.Target
	// Import imports one object without an import block. Then the mode is RefreshOnly.
	Import *Import

	// postponed holds addresses of slots that are deferred from the start, each with the cause: an earlier attempt
	// found that they cannot be planned completely.
	postponed map[string]string

	// Hooks run around the reads of data sources; may be nil.
	Hooks *hook.Set
	Now   time.Time
	// DeposedKey returns keys for deposed objects; nil means random keys. It must not repeat a key, and is called
	// concurrently.
	DeposedKey func() addr.DeposedKey
}

// deposedKey returns a new key: eight hex digits.
func (o *Options) deposedKey() addr.DeposedKey {
	if o.DeposedKey != nil {
		return o.DeposedKey()
	}
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("tombolo: no randomness: " + err.Error())
	}
	return addr.DeposedKey(hex.EncodeToString(b[:]))
}

// Run creates a plan. When ctx ends, nothing new starts; calls is the context of provider calls. After errors it
// returns an incomplete plan that is marked as errored, or nil if no part of it would be valid.
func Run(ctx, calls context.Context, prog *linking.Program, prior *state.State, providers Providers, o Options) (
	*plan.Plan, diag.List) {
	if diags := unsuitable(o); diags.HasErrors() {
		return nil, diags
	}
	p := newPlanner(calls, prog, prior, providers, o)
	defer func() { p.CloseAll() }() // after a panic in code of the calling program
	err := p.run(ctx)
	closed := p.CloseAll()
	if len(p.again) > 0 {
		return Run(ctx, calls, prog, prior, providers, p.againWith()) // p.again is not empty only if it has new ones
	}
	_ = p.walk.Report(closed)
	if o.Walked != nil {
		o.Walked(p.walk)
	}
	diags := p.walk.Diagnostics()
	if err != nil && ctx.Err() != nil {
		diags = diags.Errorf(nil, "Planning was interrupted",
			"The plan is incomplete, so it cannot be applied. The state is unchanged.").Because(context.Cause(ctx))
	}
	if p.void {
		return nil, p.misled.Extend(closed)
	}
	return p.finish(diags), diags
}

// run implements Run. An error without a diagnostic means that the context ended.
func (p *planner) run(ctx context.Context) error {
	p.hidePrior()
	if err := p.walkAll(ctx); err != nil {
		return err
	}
	if err := p.planOrphans(ctx); err != nil {
		return err
	}
	if p.postponeTriggers() {
		return nil
	}
	if err := p.checkMoves(); err != nil {
		return err
	}
	if err := p.generate(); err != nil {
		return err
	}
	if i := p.opts.Import; i != nil && !p.tookOver {
		return p.walk.Report(diag.List{}.Errorf(nil, "Configuration for import target does not exist",
			"The configuration declares no instance %s: count or for_each of its block, or of a module, does not "+
				"include it.",
			i.Target))
	}
	if err := p.planActions(); err != nil {
		return err
	}
	p.listHeld()
	if err := p.walk.Report(p.withhold()); err != nil {
		return err
	}
	if p.opts.Mode != plan.RefreshOnly {
		_ = p.walk.Report(incomplete(p.sortedLeftOut()))
	}
	_ = p.walk.Report(p.unmatched())
	if err := p.walk.Report(p.forgotten()); err != nil || p.walk.Diagnostics().HasErrors() {
		return err
	}
	return p.walk.Report(p.unstorable)
}

// walkAll plans everything in the configuration.
func (p *planner) walkAll(ctx context.Context) error {
	p.begin(ctx, p.inputs())
	if p.opts.Mode != plan.Destroy {
		if err := p.walk.Report(p.prog.StillDeclared()); err != nil {
			return err
		}
	}
	if p.targets != nil && len(p.opts.Invoke) == 0 {
		_ = p.walk.Report(diag.List{}.Warnf(nil, "Resource targeting is in effect",
			"The plan is limited by -target or -exclude, so it may leave out changes of the configuration.\n\nUse "+
				"these options only in exceptional situations, such as recovering from an error."))
	}
	if err := p.move(); err != nil {
		return err
	}
	p.before = slices.Clip(p.walk.Diagnostics())
	return p.walk.Run(ctx)
}

// begin prepares the walk. When ctx ends, nothing new starts.
func (p *planner) begin(ctx context.Context, in eval.Inputs) {
	p.until, p.walk = ctx, eval.NewWalk(p.prog, in, p)
	p.Access = access.New(ctx, p.calls, p.walk, p.providers, p.opts.Settings)
}

func newPlanner(calls context.Context, prog *linking.Program, prior *state.State, providers Providers,
	o Options) *planner {
	p := &planner{
		prog: prog, base: prior, prior: prior, providers: providers, opts: o, calls: calls,
		changed:      map[addr.AbsResource]bool{},
		changedBelow: map[changedBelow]bool{}, behind: map[*linking.Slot][]addr.ConfigResource{},
		fired:          map[addr.AbsResource]bool{},
		changedModules: map[addr.ModuleInstance]bool{},
		planned:        plannedChanges{}, visited: map[addr.AbsResource]bool{},
		rootOutputs: map[string]cty.Value{},
		evaluated:   map[addr.AbsProviderConfig]bool{},
		replace:     map[addr.AbsResourceInstance]bool{},
		targets:     prog.Targets(o.Targets, prior), moves: &moving.Result{},
		actions: actions{triggers: map[addr.AbsResource]*eval.Block{},
			ready:   map[addr.AbsResourceInstance]*readyAction{},
			callers: map[addr.AbsResourceInstance]cty.Value{}},
		again:     map[string]string{},
		unsettled: make(map[addr.AbsResourceInstance]*state.Intent, len(o.Interrupted)),
	}
	if len(o.Invoke) > 0 {
		p.targets, p.actions.only = prog.Invoking(o.Invoke), linking.Select(o.Targets)
	}
	if len(o.Except) > 0 {
		p.targets = prog.Except(o.Except, prior)
	}
	for _, a := range o.ForceReplace {
		p.replace[a] = true
	}
	return p
}

// inputs returns the inputs of the walk. A destroy plan only evaluates these: provider configurations, with the data
// sources that they need (stored values may be out of date, such as an expired token), the guards of objects, and the
// actions on their destruction.
func (p *planner) inputs() eval.Inputs {
	in := p.opts.Inputs()
	in.Lenient, in.StrictOutputs = p.opts.Mode != plan.Normal && !p.opts.Strict, p.opts.Import != nil
	in.InUse, in.Hold = p.inUse(), p.holding()
	if p.defers() {
		in.Hold, in.Defers, in.Deferred = eval.HoldDependents, true, map[string]bool{}
		for a := range p.opts.postponed {
			in.Deferred[a] = true
		}
	}
	in.Importing = p.opts.Mode == plan.Normal
	in.Only, in.Partial = p.targets.Inputs(), p.targets != nil
	if p.opts.Mode == plan.Destroy {
		guards := p.prog.Guards()
		in.Only = p.prog.Needed(func(s *linking.Slot) bool {
			return s.Kind == linking.SlotProvider || guards[s] || s.ActsAtEnd()
		})
	}
	return in
}

// inUse returns the provider configurations of stored objects.
func (p *planner) inUse() map[addr.AbsProviderConfig]bool {
	used := map[addr.AbsProviderConfig]bool{}
	for _, r := range p.base.Resources() {
		used[r.Provider.Block()] = true
		for _, inst := range r.Instances {
			if inst.Current != nil && inst.Current.Provider != nil {
				used[inst.Current.Provider.Block()] = true
			}
		}
	}
	return used
}

// planner is the state of one run. It is the walk's driver.
type planner struct {
	*access.Access

	prog      *linking.Program
	base      *state.State // the stored state
	prior     *state.State // the state with moves applied
	moves     *moving.Result
	targets   *linking.Targets                           // nil means everything
	unsettled map[addr.AbsResourceInstance]*state.Intent // interrupted creations, by their current address
	doomed    map[addr.AbsResourceInstance]bool          // for a destroy with targets; computed on first use
	untouched map[addr.AbsResourceInstance]bool          // with -exclude; computed on first use
	providers Providers
	opts      Options
	calls     context.Context
	until     context.Context // when it ends, nothing new starts
	walk      *eval.Walk
	void      bool      // no plan is returned, not even an errored one
	before    diag.List // reported before the walk
	misled    diag.List // problems to report without a plan

	configs struct { // the copies of provider addresses that changes share; callers may hold mu
		sync.Mutex
		of map[addr.AbsProviderConfig]*addr.AbsProviderConfig
	}

	mu           sync.Mutex                      // guards the fields below
	evaluated    map[addr.AbsProviderConfig]bool // provider configurations, true for those with unknown values
	tookOver     bool                            // Options.Import was used
	changes      []*plan.Change
	invocations  []*plan.Invocation
	lists        []*plan.List
	actions      actions
	drift        []*plan.Change
	refreshed    []state.Edit
	planned      plannedChanges
	changed      map[addr.AbsResource]bool               // blocks with a pending change
	changedBelow map[changedBelow]bool                   // the same, by all enclosing modules
	behind       map[*linking.Slot][]addr.ConfigResource // dependencies of slots, computed on first use
	stored       *stored                                 // the blocks of the prior state, indexed on first use
	// for blocks in replace_triggered_by: whether they trigger a replacement
	fired          map[addr.AbsResource]bool
	changedModules map[addr.ModuleInstance]bool      // modules with a pending change inside
	visited        map[addr.AbsResource]bool         // blocks whose stored objects have been planned
	replace        map[addr.AbsResourceInstance]bool // -replace
	rootOutputs    map[string]cty.Value
	leftOutList    []plan.LeftOut             // in no order
	deferrals      []plan.Deferral            // in no order
	again          map[string]string          // slots to defer when planning again, with the causes
	unread         []addr.AbsResourceInstance // instances whose objects are not read, in no order
	unrefreshed    []addr.AbsResourceInstance // those of them that a setting excludes
	late           []unplanned                // removed instances that are planned after the walk
	unstorable     diag.List                  // root outputs that a state cannot hold
}

// Provider implements eval.Driver: it records the configuration; the provider starts on first use.
func (p *planner) Provider(s *linking.Slot, key addr.Key, config cty.Value) error {
	unmarked := p.Configure(s, key, config)
	a := s.ConfiguredAs()
	a.Key = key
	p.mu.Lock()
	defer p.mu.Unlock()
	p.evaluated[a] = !ctyfast.WhollyKnown(unmarked)
	return nil
}

// RootOutput implements eval.Driver. Like in Terraform, a value that cannot be stored only matters if there is no other
// error.
func (p *planner) RootOutput(s *linking.Slot, v cty.Value) error {
	problem := s.Storable(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unstorable = p.unstorable.Extend(problem); problem == nil {
		p.rootOutputs[s.Name] = v
	}
	return nil
}

// provider returns a configured provider, or an error. A provider whose block could not be evaluated is not configured:
// its problems would only be consequences.
func (p *planner) provider(a addr.AbsProviderConfig) (provider.Provider, error) {
	p.mu.Lock()
	_, evaluated := p.evaluated[a]
	p.mu.Unlock()
	if !evaluated && p.prog.ProviderSlot(a) != nil && p.walk.Diagnostics().HasErrors() {
		return nil, eval.ErrReported
	}
	if err := p.configurable(a); err != nil {
		return nil, err
	}
	return p.Configured(a)
}

// providerOf returns the provider for an instance, or its mock.
func (p *planner) providerOf(inst addr.AbsResourceInstance, cfg addr.AbsProviderConfig) (provider.Provider, error) {
	prov, err := p.provider(cfg)
	if isPostponed(err) {
		return nil, err
	}
	return p.Traced(inst, cfg, p.walk.Inputs.ProviderOf(inst, cfg, access.Untraced(prov))), err
}

// Resource implements eval.Driver.
func (p *planner) Resource(n *graph.Node, b *eval.Block) error {
	switch b.Config().Addr.Mode {
	case addr.Action:
		return p.action(n, b)
	case addr.List:
		return p.list(n, b)
	}
	if p.opts.Mode == plan.Destroy && (b.Config().Addr.Mode == addr.Managed || b.Config().Addr.Mode == addr.Data &&
		p.opts.SkipRefresh) {
		p.visit(b)
		return p.destroyValue(b)
	}
	exp, diags := b.Expand()
	if exp.Deferred() {
		b.HoldWhole()
		return nil
	}
	p.visit(b)
	if err := p.walk.Report(diags); err != nil {
		return err
	}
	if len(exp.Keys) > 0 {
		b.Prepare()
	}
	if err := p.walk.Report(p.halfNamed(b, exp)); err != nil {
		return err
	}
	p.hold(b, exp)
	work := p.workOf(b, exp)
	values := make(map[addr.Key]cty.Value, len(exp.Keys))
	var mu sync.Mutex // guards values and later
	var later []addr.AbsResourceInstance
	n.FanOut(len(work), func(i int) (failed error) {
		w := work[i]
		end := p.Object("plan object", b.Addr().Instance(w.key))
		defer func() { end(failed) }()
		o := addr.Object{Instance: b.Addr().Instance(w.key), Deposed: w.deposed}
		if w.deposed != "" {
			return p.putOff(o, b.Slot.ProviderConfig, p.planDeposed(o, b.Slot.ProviderConfig))
		}
		v, err := p.planInstance(b, exp, w)
		mu.Lock()
		defer mu.Unlock()
		if isPostponed(err) {
			later = append(later, o.Instance)
			v, _ = b.Stored(p.prior, w.key)
		}
		values[w.key] = v
		return p.putOff(o, b.Slot.ProviderConfig, err)
	}, func() error {
		for _, a := range later {
			b.HoldDeferred(a)
		}
		p.leftOut(b, exp, values)
		maps.DeleteFunc(values, func(_ addr.Key, v cty.Value) bool { return v == cty.NilVal })
		b.Set(exp, values)
		return nil
	})
	return nil
}

// planInstance plans one instance, and returns its planned value.
func (p *planner) planInstance(b *eval.Block, exp eval.Expansion, w item) (cty.Value, error) {
	switch mode := b.Config().Addr.Mode; {
	case w.orphan:
		return p.planUnwanted(b, w.key, orphanReason(b, exp, w.key))
	case mode == addr.Managed:
		return p.planManaged(b, w.key)
	case mode == addr.Data:
		return p.planData(b, w.key)
	}
	return p.openEphemeral(b, w.key)
}

// halfNamed warns about a -replace address of a block with instance keys, which selects no instance.
func (p *planner) halfNamed(b *eval.Block, exp eval.Expansion) diag.List {
	a := b.Addr().Instance(addr.NoKey)
	if !p.replace[a] || exp.Has(addr.NoKey) {
		return nil
	}
	const summary = "Incompletely-matched force-replace resource instance"
	if len(exp.Keys) == 0 {
		return diag.List{}.Warnf(nil, summary, "-replace=%s replaces nothing: the resource has no instances.", a)
	}
	var list strings.Builder
	for _, k := range exp.Keys[:min(len(exp.Keys), 20)] {
		fmt.Fprintf(&list, "\n  -replace=%s", shellQuoted(b.Addr().Instance(k).String()))
	}
	return diag.List{}.Warnf(nil, summary,
		"-replace=%s replaces nothing: the resource has instances with keys. Use the address of an instance:%s", a,
		list.String())
}

// visit records that the walk has reached the block, and whether its changes trigger actions.
func (p *planner) visit(b *eval.Block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visited[b.Addr()] = true
	if len(b.Config().ActionTriggers) > 0 {
		p.actions.triggers[b.Addr()] = b
	}
}

// item is one task of a block: an instance in the configuration, an object that is no longer in it, or a deposed
// object.
type item struct {
	key     addr.Key
	deposed addr.DeposedKey
	orphan  bool
}

// workOf returns the tasks of a block: first the instances in the configuration, in the order of the expansion.
func (p *planner) workOf(b *eval.Block, exp eval.Expansion) []item {
	work := make([]item, 0, len(exp.Keys))
	for _, k := range exp.Keys {
		if a := b.Addr().Instance(k); p.targets.Wants(b.Slot, a) && !p.skips(a) {
			work = append(work, item{key: k})
		}
	}
	stored := p.prior.Resource(b.Addr())
	if stored == nil {
		return work
	}
	for _, key := range stored.Keys() {
		inst := stored.Instances[key]
		if a := b.Addr().Instance(key); !p.targets.Wants(b.Slot, a) || p.skips(a) {
			continue
		}
		for _, d := range inst.DeposedKeys() {
			work = append(work, item{key: key, deposed: d})
		}
		if inst.Current != nil && !exp.Has(key) {
			work = append(work, item{key: key, orphan: true})
		}
	}
	return work
}

// leftOut sets the values of instances that are excluded by targets, or unsettled, to those in the state.
func (p *planner) leftOut(b *eval.Block, exp eval.Expansion, values map[addr.Key]cty.Value) {
	if p.targets == nil && len(p.unsettled) == 0 {
		return
	}
	for _, key := range exp.Keys {
		if _, planned := values[key]; planned {
			continue
		}
		if a := b.Addr().Instance(key); !p.targets.Wants(b.Slot, a) || p.skips(a) {
			b.Unchecked(key)
		}
		if v, ok := b.Stored(p.prior, key); ok {
			values[key] = v
		}
	}
}

// orphanReason returns the reason why an instance of an existing block is deleted.
func orphanReason(b *eval.Block, exp eval.Expansion, key addr.Key) plan.Reason {
	_, isInt := key.Int()
	_, isStr := key.Str()
	switch {
	case exp.Mode == eval.Counted && isInt:
		return plan.DeleteBecauseCountIndex
	case exp.Mode == eval.Keyed && isStr:
		return plan.DeleteBecauseEachKey
	case exp.Mode == eval.Switched && key.IsNone():
		return plan.DeleteBecauseDisabled
	}
	return plan.DeleteBecauseWrongRepetition
}

// add records a change.
func (p *planner) add(c *plan.Change) {
	c.PrevAddr = p.prevAddr(c.Object.Instance)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = append(p.changes, c)
	if c.Object.Deposed == "" {
		p.planned.add(c)
	}
	if c.Action != plan.NoOp {
		p.noteChanged(c.Object.Instance.AbsResource(), c.Reason)
	}
}

// edit records an edit of the state that refreshing caused.
func (p *planner) edit(e state.Edit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshed = append(p.refreshed, e)
}

// finish assembles the plan.
func (p *planner) finish(diags diag.List) *plan.Plan {
	slices.SortFunc(p.changes, compareChanges)
	slices.SortFunc(p.drift, compareChanges)
	out := &plan.Plan{
		Mode: p.opts.Mode, Created: p.opts.Now.UTC().Truncate(time.Second), Workspace: p.opts.Workspace,
		Base: p.base, Refreshed: p.refreshed, Changes: p.changes, Drift: p.drift,
		Checks: p.walk.CheckResults(), Targets: p.opts.Targets, Except: p.opts.Except,
		ForceReplace: p.opts.ForceReplace, Invocations: p.invocations, Invoke: p.opts.Invoke,
		Errored: diags.HasErrors(),
		Complete: (p.targets == nil || len(p.opts.Invoke) > 0 && len(p.opts.Targets) == 0) &&
			len(p.leftOutList)+len(p.deferrals) == 0 && !diags.HasErrors(),
		Deferred:  p.sortedDeferrals(),
		Unsettled: p.unsettledTargets(), LeftOut: p.sortedLeftOut(), Expansions: p.walk.Expansions(),
		Unrefreshed: p.opts.SkipRefresh, Unread: sortedUnread(&p.unread),
		UnreadBySetting: sortedUnread(&p.unrefreshed),
	}
	p.planOutputs(out, diags.HasErrors())
	out.Relevant = p.relevant(out)
	if !out.Errored {
		out.Steps = p.steps(out.Changes)
	}
	return out
}

func compareChanges(a, b *plan.Change) int {
	return cmp.Or(a.Object.Instance.Compare(b.Object.Instance), cmp.Compare(a.Object.Deposed, b.Object.Deposed))
}
