package engine

import (
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/applying"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/plan"
)

// Wave limits the changes of the objects that match an address or a pattern: at most AtOnce of them at a time, unless
// it is 0, and with Stop none after one has failed.
type Wave struct {
	Objects addr.Target
	AtOnce  int
	Stop    bool
}

// wavesOf returns the waves of a project file.
func wavesOf(f projectfile.File) (list []Wave) {
	for _, r := range f.Resources {
		t, diags := addr.ParseSelector(r.Address)
		if diags.HasErrors() || r.AtOnce == nil && !r.Stop {
			continue
		}
		w := Wave{Objects: t, Stop: r.Stop}
		if r.AtOnce != nil {
			w.AtOnce = *r.AtOnce
		}
		list = append(list, w)
	}
	return list
}

// waves returns the waves of the project for an apply.
func (p *Project) waves() (list []applying.Wave) {
	for _, w := range p.opts.Waves {
		list = append(list, applying.Wave{Name: w.Objects.String(), AtOnce: w.AtOnce, Stop: w.Stop,
			Select: linking.Select([]addr.Target{w.Objects})})
	}
	return list
}

// outsideWaves reports replacements that cannot be made in waves, because the configuration destroys all old objects of
// a block first.
func (p *Project) outsideWaves(pl *plan.Plan) (diags diag.List) {
	if pl == nil || pl.Errored {
		return nil
	}
	for _, w := range p.waves() {
		var found []string
		for _, c := range pl.Changes {
			if c.Action == plan.DeleteThenCreate && w.Select.Contains(c.Object.Instance) {
				found = append(found, c.Object.String())
			}
		}
		if w.AtOnce == 0 || len(found) <= w.AtOnce {
			continue
		}
		const most = 10
		if rest := len(found) - most; rest > 0 {
			found = append(found[:most:most], "...")
		}
		diags = diags.Errorf(nil, "Replacements exceed the limit", "The project file limits the changes of %s "+
			"to %d at a time, but this plan would destroy more of them before it creates the new ones: %s. Set "+
			"create_before_destroy for them, or replace some of them with -target.", w.Name, w.AtOnce,
			strings.Join(found, ", "))
	}
	return diags
}

// unusedRules warns about rules that match no provider in use: perhaps the name is wrong.
func (r *Run) unusedRules(mode plan.Mode) (diags diag.List) {
	if mode != plan.Normal || len(r.project.opts.Patience) == 0 {
		return nil
	}
	inUse := map[addr.Provider]bool{}
	for _, a := range used(r.project.config) {
		inUse[a] = true
	}
	for _, res := range r.State().Resources() {
		inUse[res.Provider.Provider] = true
	}
	for a := range r.project.opts.Patience {
		if !inUse[a] {
			diags = diags.Warnf(nil, "Unused settings for a provider", "The project file has a block for the provider "+
				"%s, which neither the configuration nor the state uses.", a.ForDisplay())
		}
	}
	return diags
}
