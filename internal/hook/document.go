package hook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
)

// FormatVersion is the version of the documents. The first number changes with every incompatible change.
const FormatVersion = "1.0"

// Outcome is the result of an event.
type Outcome string

// The outcomes. Unknown is the outcome of an operation during which a run was killed.
const (
	OK          Outcome = "ok"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Unknown     Outcome = "unknown"
)

// Document is the standard input of a hook; docs/extensions/hooks.md describes it.
type Document struct {
	FormatVersion string `json:"format_version"`
	Event         Event  `json:"event"`
	Hook          string `json:"hook"`
	Run           Run    `json:"run"`
	// Outcome is the result of the event, for hooks after it.
	Outcome Outcome `json:"outcome,omitempty"`
	// Again is set if a hook runs for an operation of a killed run.
	Again  bool    `json:"again,omitempty"`
	Plan   *Plan   `json:"plan,omitempty"`
	Counts *Counts `json:"counts,omitempty"`
	Object *Object `json:"object,omitempty"`

	plan *plan.Plan // the source of Plan, which is created only for a hook
}

// Run is the run of an event.
type Run struct {
	ID        string `json:"id,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// Plan is the list of changes of a plan.
type Plan struct {
	Applyable bool     `json:"applyable"`
	Changes   []Change `json:"changes"`
}

// Change is a change of a plan, without its values.
type Change struct {
	Address string   `json:"address"`
	Deposed string   `json:"deposed,omitempty"`
	Actions []string `json:"actions"`
}

// Counts holds the numbers of objects that an apply has changed.
type Counts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Destroyed int `json:"destroyed"`
	Imported  int `json:"imported"`
	Forgotten int `json:"forgotten"`
	Invoked   int `json:"invoked"`
}

// Object is an operation on an object.
type Object struct {
	Address      string `json:"address"`
	Deposed      string `json:"deposed,omitempty"`
	Mode         string `json:"mode"`
	Type         string `json:"type"`
	Name         string `json:"name"`
	Index        any    `json:"index,omitempty"`
	Module       string `json:"module_address,omitempty"`
	ProviderName string `json:"provider_name"`
	Action       string `json:"action"`
	Replace      bool   `json:"replace"`
	// Before and After are its values, or null. Hidden lists the paths of secret values, which are null.
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Hidden []string        `json:"hidden"`
}

// planOf returns a description of a plan, without changes that have no effect.
func planOf(p *plan.Plan) *Plan {
	out := &Plan{Applyable: p.Applyable(), Changes: []Change{}}
	for _, c := range p.Changes {
		if c.Action == plan.NoOp {
			continue
		}
		out.Changes = append(out.Changes, Change{Address: c.Object.Instance.String(), Deposed: string(c.Object.Deposed),
			Actions: parts(c.Action)})
	}
	return out
}

// WithPlan returns the document with a description of a plan, which is created only if a hook needs it.
func (d Document) WithPlan(p *plan.Plan) Document {
	d.plan = p
	return d
}

// parts returns an action in the form of show -json.
func parts(a plan.Action) []string {
	switch a {
	case plan.DeleteThenCreate:
		return []string{"delete", "create"}
	case plan.CreateThenDelete:
		return []string{"create", "delete"}
	case plan.ForgetThenCreate:
		return []string{"forget", "create"}
	}
	return []string{a.String()}
}

// publisher converts values without their secrets.
type publisher struct {
	hide   func(text string) (string, bool) // nil hides nothing
	hidden map[string]bool
}

// public returns a value as JSON. Values that the block or one of the paths marks as sensitive are null, and so are
// unknown values.
func (p *publisher) public(v cty.Value, block *provider.Block, sensitive []cty.Path) json.RawMessage {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return json.RawMessage("null")
	}
	v, _ = v.UnmarkDeep()
	v = value.MarkSensitive(v, value.SensitivePaths(block, v, sensitive))
	out, err := json.Marshal(p.plain(v, nil))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// plain converts a value to the types of encoding/json.
func (p *publisher) plain(v cty.Value, at cty.Path) any {
	switch ty := v.Type(); {
	case v.IsMarked():
		p.conceal(at)
		return nil
	case !v.IsKnown() || v.IsNull():
		return nil
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return p.number(v, at)
	case ty == cty.String:
		text, whole := p.text(v.AsString())
		if whole {
			p.conceal(at)
			return nil
		}
		return text
	case ty.IsMapType() || ty.IsObjectType():
		out, parts := map[string]any{}, v.AsValueMap()
		for _, key := range slices.Sorted(maps.Keys(parts)) {
			step := cty.PathStep(cty.GetAttrStep{Name: key})
			if ty.IsMapType() {
				step = cty.IndexStep{Key: cty.StringVal(key)}
			}
			name, _ := p.text(key)
			for _, taken := out[name]; taken; _, taken = out[name] {
				name += "+"
			}
			out[name] = p.plain(parts[key], append(at[:len(at):len(at)], step))
		}
		return out
	case ty.IsListType() || ty.IsTupleType() || ty.IsSetType():
		out := []any{}
		for i, part := range v.AsValueSlice() {
			step := cty.IndexStep{Key: cty.NumberIntVal(int64(i))}
			out = append(out, p.plain(part, append(at[:len(at):len(at)], step)))
		}
		return out
	}
	return nil // a capsule, which has no JSON form
}

func (p *publisher) number(v cty.Value, at cty.Path) any {
	const most = 4096 // maximum precision in bits of a number that is written in full
	f, format := v.AsBigFloat(), byte('f')
	if exponent := f.MantExp(nil); exponent > most || exponent < -most {
		format = 'e'
	}
	text := f.Text(format, -1)
	if _, whole := p.text(text); whole {
		p.conceal(at)
		return nil
	}
	return json.Number(text)
}

// conceal records the path of a secret value.
func (p *publisher) conceal(at cty.Path) {
	p.hidden[strings.TrimPrefix(value.FormatPath(at), ".")] = true
}

func (p *publisher) text(text string) (shown string, whole bool) {
	if p.hide == nil {
		return text, false
	}
	return p.hide(text)
}
