package planning

import (
	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// impliedMoves gives instances their new address where a block got or lost count: the only instance becomes number 0, and the other
// way round, unless that address is taken.
func (p *planner) impliedMoves() {
	p.moved = map[addr.AbsResourceInstance]addr.AbsResourceInstance{}
	for _, r := range p.prior.Resources() {
		slot := p.prog.ResourceSlot(r.Addr.Config())
		if slot == nil || slot.Resource.ForEach != nil {
			continue
		}
		single, first := r.Instances[addr.NoKey], r.Instances[addr.IntKey(0)]
		from, to := r.Addr.Instance(addr.NoKey), r.Addr.Instance(addr.IntKey(0))
		switch {
		case slot.Resource.Count != nil && single != nil && first == nil:
		case slot.Resource.Count == nil && single == nil && first != nil:
			from, to = to, from
		default:
			continue
		}
		p.moved[to] = from
		p.refreshed = append(p.refreshed, state.Edit{Move: &state.MoveObject{From: from, To: to}})
	}
	if len(p.refreshed) > 0 {
		b := p.prior.Builder()
		b.Fold(p.refreshed...)
		p.prior = b.State()
	}
}
