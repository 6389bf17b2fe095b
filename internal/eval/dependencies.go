package eval

// Dependencies gives all slots of a program, and for each the numbers of those that it depends on directly. There are no cycles.
func (p *Program) Dependencies() (slots []*Slot, edges [][]int) {
	slots, edges = make([]*Slot, p.total), make([][]int, p.total)
	for _, u := range p.order {
		for _, s := range u.slots {
			slots[u.base+s.index] = s
			edges[u.base+s.index] = p.edges(s)
		}
	}
	return slots, edges
}
