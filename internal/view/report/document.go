package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// document is the payload of a page. The script in page reads it.
type document struct {
	Kind      string `json:"kind"` // plan, apply, state or units
	Title     string `json:"title"`
	Program   string `json:"program"`
	Version   string `json:"version,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Created   string `json:"created"`
	Headline  string `json:"headline"`
	// Failed means that there were errors.
	Failed   bool      `json:"failed,omitempty"`
	Notes    []note    `json:"notes,omitempty"`
	Problems []problem `json:"problems,omitempty"`
	// Objects are in the order of the plan. Losses are indices of those that are destroyed, replaced, forgotten or no
	// longer protected.
	Objects []object `json:"objects"`
	Losses  []int    `json:"losses,omitempty"`
	// Bodies are the blocks of objects; equal blocks are stored once.
	Bodies  []string `json:"bodies"`
	Drift   []object `json:"drift,omitempty"`
	Outputs []output `json:"outputs,omitempty"`
	Checks  []check  `json:"checks,omitempty"`
	// Graphs are that of the changes, and that of all resources if there are more.
	Graphs   []*graph   `json:"graphs,omitempty"`
	Order    [][]step   `json:"order,omitempty"`
	Timeline []bar      `json:"timeline,omitempty"`
	Pending  []leftover `json:"pending,omitempty"`
	// Units are the root modules of a page about many, which has no other parts.
	Units []unit `json:"units,omitempty"`

	bodies map[string]int
}

// note is a remark about the whole document, such as that the plan was limited to targets.
type note struct {
	Level string `json:"level"` // warning or info
	Text  string `json:"text"`
}

// problem is an error or a warning.
type problem struct {
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// object is an object of the plan or state.
type object struct {
	Address string `json:"a"`
	Module  string `json:"m,omitempty"` // with keys
	// Block is the address without the key of the instance.
	Block    string   `json:"b"`
	Type     string   `json:"t"`
	Provider string   `json:"p"`
	Fate     string   `json:"f,omitempty"`
	Sign     string   `json:"s,omitempty"`
	Headline string   `json:"h,omitempty"`
	Remarks  []string `json:"r,omitempty"`
	Why      string   `json:"w,omitempty"`
	Exposed  bool     `json:"x,omitempty"` // prevent_destroy no longer holds
	// Body and Full are indices into Bodies, plus one; 0 means none.
	Body int `json:"d,omitempty"`
	Full int `json:"l,omitempty"`
	// Node is an index into the nodes of the last graph, plus one. Because holds such nodes.
	Node    int    `json:"n,omitempty"`
	Because []int  `json:"c,omitempty"`
	Outcome string `json:"o,omitempty"` // in an apply: done, failed, half, untried

	config  addr.ConfigResource
	because []addr.ConfigResource
}

type output struct {
	Name string `json:"n"`
	Fate string `json:"f,omitempty"`
	Body string `json:"d"`
}

// check is a condition with its results.
type check struct {
	Address  string   `json:"a"`
	Kind     string   `json:"k"`
	Status   string   `json:"s"`
	Failures []string `json:"f,omitempty"`
}

// leftover is an object that was not read, or that is left alone.
type leftover struct {
	Address string `json:"a"`
	Why     string `json:"w"`
}

// maxBody limits how many bytes of a block a report shows; show -full shows all of them.
const maxBody = 64 << 10

// body stores a block and returns its index, plus one.
func (d *document) body(text string) int {
	if text == "" {
		return 0
	}
	text = strings.TrimRight(text, "\n")
	if len(text) > maxBody {
		end := strings.LastIndexByte(text[:maxBody], '\n')
		text = text[:max(end, 0)] + fmt.Sprintf("\n... and %d more bytes, which \"show -full\" shows", len(text)-end)
	}
	if d.bodies == nil {
		d.bodies = map[string]int{}
	}
	at, known := d.bodies[text]
	if !known {
		d.Bodies = append(d.Bodies, text)
		at = len(d.Bodies)
		d.bodies[text] = at
	}
	return at
}

func (d *document) object(detail view.Detail, p addr.Provider) object {
	i := detail.Object.Instance
	return object{
		Address: view.CleanLine(detail.Object.String()), Module: view.CleanLine(i.Module.String()),
		Block: view.CleanLine(i.AbsResource().String()), Type: i.Resource.Type, Provider: p.ForDisplay(),
		Fate: detail.Fate, Headline: detail.Headline, Remarks: detail.Remarks, Why: detail.Why,
		Body: d.body(detail.Body), Full: d.body(detail.Full), config: i.Config(), because: detail.Because,
	}
}

// signs are the same as in the text of plans.
var signs = map[plan.Action]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.DeleteThenCreate: "-/+",
	plan.CreateThenDelete: "+/-", plan.ForgetThenCreate: "./+", plan.Read: "<=", plan.Forget: "."}

func planDocument(o Options, p *plan.Plan, schemas tfjson.Schemas) *document {
	details := view.NewDetails(o.View, p, schemas)
	d := &document{Kind: "plan", Title: "Plan", Headline: strings.TrimPrefix(view.Summary(p), "Plan: "),
		Objects: []object{}, Bodies: []string{}, Workspace: p.Workspace, Failed: p.Errored}
	d.about(o, p.Created)
	if p.Mode == plan.Destroy {
		d.Title = "Plan to destroy"
	} else if p.Mode == plan.RefreshOnly {
		d.Title = "Refresh-only plan"
	}
	at := map[*plan.Change]int{}
	add := func(c *plan.Change, detail view.Detail) {
		one := d.object(detail, c.Provider.Provider)
		one.Exposed = c.Unprotected
		if one.Fate != "" {
			one.Sign = signs[c.Action]
		}
		at[c] = len(d.Objects)
		if lossOrder[one.Fate] > 0 || one.Exposed {
			d.Losses = append(d.Losses, len(d.Objects))
		}
		d.Objects = append(d.Objects, one)
	}
	shown := map[*plan.Change]bool{}
	for _, c := range view.Shown(p) {
		shown[c] = true
		add(c, details.Change(c))
	}
	for _, c := range tfjson.SortedChanges(p.Changes) {
		if !shown[c] {
			add(c, view.Detail{Object: c.Object, Change: c})
		}
	}
	slices.SortStableFunc(d.Losses, func(a, b int) int { return rank(d.Objects[a].Fate) - rank(d.Objects[b].Fate) })
	d.drift(details, p)
	for _, out := range details.Outputs(p) {
		d.Outputs = append(d.Outputs, output{out.Name, out.Fate, strings.TrimRight(out.Body, "\n")})
	}
	d.checks(p.Checks, details.Text)
	d.pending(p)
	d.Notes = append(d.Notes, notes(o, p)...)
	for _, problem := range o.Problems.Sorted() {
		d.problem(problem, details.Problem(problem))
	}
	dependencies := map[addr.ConfigResource][]addr.ConfigResource{}
	for _, c := range p.Changes {
		dependencies[c.Object.Instance.Config()] = append(dependencies[c.Object.Instance.Config()], c.Dependencies...)
	}
	closures := d.graphs(dependencies)
	d.Order = order(p, at, d, closures)
	if o.Run != nil {
		d.applied(o, p, at)
	}
	return d
}

// lossOrder orders losses as at the end of a plan. Objects that only lose their protection come last.
var lossOrder = map[string]int{"destroy": 1, "replace": 2, "forget": 3}

func rank(outcome string) int { return cmp.Or(lossOrder[outcome], len(lossOrder)+1) }

func (d *document) about(o Options, created time.Time) {
	d.Program, d.Version = o.View.Program, o.Version
	if d.Program == "" {
		d.Program = "tombolo"
	}
	d.Created = created.UTC().Format(time.RFC3339)
}

func (d *document) problem(p *diag.Diagnostic, text string) {
	d.Problems = append(d.Problems, problem{p.Severity.String(), text})
	d.Failed = d.Failed || p.Severity == diag.Error
}

// drift adds the changes made outside. Those that may have caused a part of the plan are marked.
func (d *document) drift(details *view.Details, p *plan.Plan) {
	relevant := map[addr.AbsResource]bool{}
	for _, r := range p.Relevant {
		relevant[r.Resource.AbsResource()] = true
	}
	for _, c := range tfjson.SortedChanges(p.Drift) {
		detail, some := details.Drift(c)
		if !some {
			continue
		}
		if relevant[c.Object.Instance.AbsResource()] && p.Mode != plan.RefreshOnly {
			detail.Why = "may be the reason for a part of this plan"
		}
		d.Drift = append(d.Drift, d.object(detail, c.Provider.Provider))
	}
}

func (d *document) checks(list []state.CheckResult, text func(string) string) {
	for _, result := range list {
		for _, o := range result.Objects {
			one := check{Address: view.CleanLine(o.Addr), Kind: result.Kind, Status: o.Status}
			for _, f := range o.Failures {
				one.Failures = append(one.Failures, text(f))
			}
			d.Checks = append(d.Checks, one)
		}
		if len(result.Objects) == 0 {
			d.Checks = append(d.Checks, check{Address: view.CleanLine(result.ConfigAddr), Kind: result.Kind,
				Status: result.Status})
		}
	}
	worst := []string{"fail", "error", "unknown", "pass"}
	slices.SortStableFunc(d.Checks, func(a, b check) int {
		return slices.Index(worst, a.Status) - slices.Index(worst, b.Status)
	})
}

func (d *document) pending(p *plan.Plan) {
	for _, l := range p.LeftOut {
		why := l.Why()
		if l.Reason == plan.LeftOutUnsettled {
			why = "a run ended in the middle of its creation: it may exist"
		}
		d.Pending = append(d.Pending, leftover{view.CleanLine(l.Address), view.CleanLine(why)})
	}
	for _, l := range p.Deferred {
		d.Pending = append(d.Pending, leftover{view.CleanLine(l.Address), view.CleanLine("deferred: " + l.Why())})
	}
	for _, a := range p.Unread {
		why := "not read, because the refresh is minimal"
		if _, set := slices.BinarySearchFunc(p.UnreadBySetting, a, addr.AbsResourceInstance.Compare); set {
			why = "not read, because tombolo.hcl sets refresh = false"
		}
		d.Pending = append(d.Pending, leftover{view.CleanLine(a.String()), why})
	}
}

// notes returns the limitations of a plan, as sentences.
func notes(o Options, p *plan.Plan) (list []note) {
	say := func(level, format string, args ...any) {
		list = append(list, note{level, fmt.Sprintf(format, args...)})
	}
	if p.Errored {
		say("warning", "Planning ended with errors. The plan is not complete and cannot be applied.")
	}
	targets := func(list []addr.Target) string {
		var names []string
		for _, t := range list {
			names = append(names, view.CleanLine(t.String()))
		}
		return strings.Join(names, ", ")
	}
	if len(p.Targets) > 0 {
		say("warning", "The plan is limited by -target: %s. The rest of the configuration may have changes, too.",
			targets(p.Targets))
	}
	if len(p.Except) > 0 {
		say("warning", "Because of -exclude, the plan leaves out %s, and everything that depends on it.",
			targets(p.Except))
	}
	if len(p.Invoke) > 0 {
		say("info", "The plan only invokes %s.", targets(p.Invoke))
	}
	if len(p.LeftOut) > 0 {
		say("warning", "Interrupted creations must be resolved first: %d parts of the configuration are left out.",
			len(p.LeftOut))
	}
	if n := len(p.Deferred); n > 0 {
		say("warning", "The plan defers what cannot be planned yet (%d): make another plan after this one was applied.",
			n)
	}
	if p.Unrefreshed {
		say("warning", "The real objects were not read (-refresh=false): changes made outside are not in this plan.")
	}
	if n := len(p.Unread); n > 0 {
		say("info", "%s not read: the tab \"Not checked\" lists them.", map[bool]string{true: "One real object was",
			false: fmt.Sprintf("%d real objects were", n)}[n == 1])
	}
	if n := len(p.Invocations); n > 0 {
		const shown = 10
		var names []string
		for _, i := range p.Invocations[:min(n, shown)] {
			names = append(names, view.CleanLine(i.Action.String()))
		}
		if n > shown {
			names = append(names, fmt.Sprintf("%d more", n-shown))
		}
		say("info", "Actions are invoked: %s.", strings.Join(names, ", "))
	}
	if p.Mode == plan.RefreshOnly {
		say("info", "A refresh-only plan changes no real object: it records changes made outside in the state.")
	}
	return list
}

func stateDocument(o Options, s *state.State, schemas tfjson.Schemas) (*document, error) {
	details := view.NewStateDetails(o.View, s, schemas)
	d := &document{Kind: "state", Title: "State", Objects: []object{}, Bodies: []string{}, Workspace: o.Workspace}
	d.about(o, o.now())
	dependencies := map[addr.ConfigResource][]addr.ConfigResource{}
	for _, r := range s.Resources() {
		for _, key := range r.Keys() {
			instance := r.Instances[key]
			objects := []addr.Object{}
			if instance.Current != nil {
				objects = append(objects, addr.Object{Instance: r.Addr.Instance(key)})
			}
			for _, deposed := range instance.DeposedKeys() {
				objects = append(objects, addr.Object{Instance: r.Addr.Instance(key), Deposed: deposed})
			}
			for _, a := range objects {
				detail, err := details.Object(r, a)
				if err != nil {
					return nil, err
				}
				one := d.object(detail, r.Manager(s.Object(a)).Provider)
				one.because = nil // its dependencies are in the graph
				config := r.Addr.Config()
				dependencies[config] = append(dependencies[config], detail.Because...)
				d.Objects = append(d.Objects, one)
			}
		}
	}
	d.Headline = count(len(d.Objects), "object")
	for _, out := range details.Outputs() {
		d.Outputs = append(d.Outputs, output{Name: out.Name, Body: strings.TrimRight(out.Body, "\n")})
	}
	d.checks(s.Checks(), details.Text)
	d.graphs(dependencies)
	return d, nil
}

// count returns a number with its noun.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
