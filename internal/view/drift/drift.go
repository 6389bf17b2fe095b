// Package drift reports changes made outside: as text, as Markdown and as JSON.
//
//	r := drift.Of(plan, acceptances, time.Now())
//	err := r.Text(w)
//	if len(r.Drifted) > 0 { ... }
//
// The plan must be refresh-only, so that it has read every object. A difference with an acceptance does not count until
// the acceptance expires. Sensitive attributes are named, and their values are not shown. The package reads no files.
package drift

import (
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
)

// Acceptance permits known drift for a limited time.
type Acceptance struct {
	Objects *addr.Pattern
	// Attributes are the names of attributes that may differ. None means all, and that the object may be gone.
	Attributes []string
	Reason     string
	Until      time.Time // the day after the last one, in UTC
}

// Report lists the objects that were changed outside.
type Report struct {
	Looked   int // how many objects were read
	Drifted  []Object
	Accepted []Object
	Unused   []Acceptance // acceptances without drift
}

// Object is an object that differs from what is stored.
type Object struct {
	Address     string
	Gone        bool
	Differences []Difference
	// By is the acceptance of an accepted object, or an expired one, or nil.
	By *Acceptance
}

// Difference is a path at which an object differs. An object that is gone has none.
type Difference struct {
	Path          cty.Path
	Before, After cty.Value
	Sensitive     bool
}

// Of returns the report of a plan at a given time.
func Of(p *plan.Plan, accepted []Acceptance, now time.Time) Report {
	r := Report{}
	for _, res := range p.Base.Resources() {
		if res.Addr.Resource.Mode == addr.Managed {
			for _, inst := range res.Instances {
				if inst.Current != nil {
					r.Looked++
				}
			}
		}
	}
	used := make([]bool, len(accepted))
	for _, c := range p.Drift {
		o := Object{Address: c.Object.String(), Gone: c.Action == plan.Delete}
		if !o.Gone {
			secret := append(slices.Clip(c.Before.Sensitive), c.After.Sensitive...)
			if o.Differences = differences(nil, c.Before.Value, c.After.Value, secret, nil); len(o.Differences) == 0 {
				continue // it has only moved, or only its marks differ
			}
		}
		r.classify(o, c.Object.Instance, accepted, used, now)
	}
	for i, a := range accepted {
		if !used[i] {
			r.Unused = append(r.Unused, a)
		}
	}
	return r
}

// classify determines whether an object's drift is accepted.
func (r *Report) classify(o Object, inst addr.AbsResourceInstance, accepted []Acceptance, used []bool, now time.Time) {
	for i := range accepted {
		a := &accepted[i]
		if !a.Objects.Matches(inst) || !a.covers(o) {
			continue
		}
		used[i] = true
		o.By = a
		if now.Before(a.Until) {
			r.Accepted = append(r.Accepted, o)
			return
		}
	}
	r.Drifted = append(r.Drifted, o)
}

// covers reports whether every difference of the object is accepted.
func (a *Acceptance) covers(o Object) bool {
	if len(a.Attributes) == 0 {
		return true
	}
	return !o.Gone && !slices.ContainsFunc(o.Differences, func(d Difference) bool {
		if len(d.Path) == 0 {
			return true
		}
		first, ok := d.Path[0].(cty.GetAttrStep)
		return !ok || !slices.Contains(a.Attributes, first.Name)
	})
}

// differences adds the paths at which two values differ, descending as long as they have the same members.
func differences(path cty.Path, before, after cty.Value, secret []cty.Path, list []Difference) []Difference {
	if ctyfast.RawEquals(before, after) {
		return list
	}
	hidden := slices.ContainsFunc(secret, path.HasPrefix)
	if hidden || !alike(before, after) {
		hidden = hidden || slices.ContainsFunc(secret, func(s cty.Path) bool { return s.HasPrefix(path) })
		return append(list, Difference{slices.Clone(path), before, after, hidden})
	}
	olds, news := before.AsValueMap(), after.AsValueMap()
	for _, name := range names(olds, news) {
		var step cty.PathStep = cty.GetAttrStep{Name: name}
		if before.Type().IsMapType() {
			step = cty.IndexStep{Key: cty.StringVal(name)}
		}
		list = differences(append(slices.Clip(path), step), orNull(olds[name]), orNull(news[name]), secret, list)
	}
	return list
}

// alike reports whether two values can be compared by member.
func alike(a, b cty.Value) bool {
	for _, v := range []cty.Value{a, b} {
		if ty := v.Type(); !ty.IsMapType() && !ty.IsObjectType() || v.IsNull() || !v.IsKnown() {
			return false
		}
	}
	return a.Type().IsMapType() == b.Type().IsMapType()
}

func orNull(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return v
}

func names(a, b map[string]cty.Value) (list []string) {
	for name := range a {
		list = append(list, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// place returns the path of a difference as at the end of a reference, or "the object" for an empty one.
func (d Difference) place() string {
	if len(d.Path) == 0 {
		return "the object"
	}
	return strings.TrimPrefix(value.FormatPath(d.Path), ".")
}
