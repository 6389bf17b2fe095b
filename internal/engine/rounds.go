package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/plan"
)

// maxRounds limits how often one apply plans: every round creates what the next one waits for, so a configuration has
// about as many rounds as its longest chain of unknown instances.
const maxRounds = 100

// Rounds are the rounds that an apply has completed. The zero value has none.
type Rounds struct {
	n    int
	last string // what the last one planned
}

// Continues reports whether another round follows the plan.
func Continues(pl *plan.Plan) bool { return len(pl.Deferred) > 0 && pl.Mode == plan.Normal }

// Count adds a round and returns its number.
func (r *Rounds) Count(pl *plan.Plan) int {
	r.n, r.last = r.n+1, fingerprint(pl)
	return r.n
}

// Stuck returns an error if a plan defers something, but neither it nor its repetition can lead to anything else.
func (r *Rounds) Stuck(pl *plan.Plan) diag.List {
	if !Continues(pl) || pl.Applyable() && fingerprint(pl) != r.last && r.n < maxRounds {
		return nil
	}
	const most = 20
	var list []string
	for _, d := range pl.Deferred[:min(most, len(pl.Deferred))] {
		list = append(list, fmt.Sprintf("\n  %s: %s", d.Address, d.Why()))
	}
	if n := len(pl.Deferred) - most; n > 0 {
		list = append(list, fmt.Sprintf("\n  and %d more", n))
	}
	before := "Nothing was applied"
	if r.n > 0 {
		before = fmt.Sprintf("%d rounds were applied", r.n)
	}
	return diag.List{}.Errorf(nil, "Apply makes no progress", "%s, and a further round would not make the rest of the "+
		"configuration known. These parts are still deferred:%s\n\nCompute their count or for_each from values that "+
		"are known, or change what they depend on.", before, strings.Join(list, ""))
}

// fingerprint returns what a plan changes and defers.
func fingerprint(pl *plan.Plan) string {
	var b strings.Builder
	for _, c := range pl.Changes {
		if c.Action != plan.NoOp {
			fmt.Fprintln(&b, c.Object, c.Action)
		}
	}
	for _, d := range pl.Deferred {
		fmt.Fprintln(&b, d.Address, d.Reason)
	}
	return b.String()
}

// Unreplaced returns the instances to replace that a plan has not replaced: once is enough.
func Unreplaced(list []addr.AbsResourceInstance, pl *plan.Plan) []addr.AbsResourceInstance {
	replaced := map[addr.AbsResourceInstance]bool{}
	for _, c := range pl.Changes {
		if c.Action.IsReplace() {
			replaced[c.Object.Instance] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(a addr.AbsResourceInstance) bool { return replaced[a] })
}
