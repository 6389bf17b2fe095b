package linking

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// maxDependencies limits the indirect dependencies that are recorded for one resource, in addition to all direct ones.
// Terraform records all of them, so that a chain of n resources costs n*n; the direct ones are sufficient for the
// order, and the nearest indirect ones keep it when an object between them was removed from the state.
const maxDependencies = 32

// findResourceDeps determines, for every resource, the resources that it depends on, nearest first. They include the
// dependencies of its provider's configuration: without these an object cannot be destroyed.
func (p *Program) findResourceDeps() {
	near := make([][]int, p.total) // the nearest resource slots of each slot, through other kinds of slots
	done := make([]bool, p.total)
	for _, u := range p.order {
		for _, s := range u.slots {
			p.nearResources(u.base+s.Index, near, done)
		}
	}
	seen := make([]int, p.total) // the last slot that visited it, plus one, so that it need not be cleared
	for _, u := range p.order {
		for _, s := range u.slots {
			if s.Kind == SlotResource || s.Kind == SlotProvider || s.Kind == SlotImport || s.Kind == SlotCallOutput {
				s.resourceDeps = p.closure(u.base+s.Index, near, seen)
			}
		}
	}
	for _, u := range p.order {
		for _, i := range u.slots {
			if i.Kind != SlotImport {
				continue
			}
			if s := p.ResourceSlot(i.Import.To); s != nil {
				s.importDeps = append(s.importDeps, i.resourceDeps...)
			}
		}
	}
}

// nearResources fills near for a slot and those between, without recursion.
func (p *Program) nearResources(start int, near [][]int, done []bool) {
	type frame struct {
		n     int
		edges []int
		next  int
	}
	if done[start] {
		return
	}
	onPath := map[int]bool{start: true}
	stack := []frame{{n: start, edges: p.valueEdges(start)}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next < len(f.edges) {
			e := f.edges[f.next]
			f.next++
			if !p.bySlotNumber(e).hasObjects() && !done[e] && !onPath[e] {
				onPath[e] = true
				stack = append(stack, frame{n: e, edges: p.valueEdges(e)})
			}
			continue
		}
		near[f.n] = p.joinNear(f.edges, near)
		done[f.n] = true
		delete(onPath, f.n)
		stack = stack[:len(stack)-1]
	}
}

func (p *Program) joinNear(edges []int, near [][]int) []int {
	var out []int
	for _, e := range edges {
		if p.bySlotNumber(e).hasObjects() {
			out = append(out, e)
		} else {
			out = append(out, near[e]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valueEdges is like edges, without dependencies of import blocks: these order work but are not dependencies of the
// object.
func (p *Program) valueEdges(n int) []int {
	s := p.bySlotNumber(n)
	edges := p.edges(s)
	if len(s.imports) == 0 {
		return edges
	}
	return slices.DeleteFunc(edges, func(e int) bool { return p.bySlotNumber(e).Kind == SlotImport })
}

// closure traverses resources breadth first, starting at a resource.
func (p *Program) closure(start int, near [][]int, seen []int) []addr.ConfigResource {
	mark := start + 1
	seen[start] = mark
	queue := []int{}
	push := func(list []int) {
		for _, n := range list {
			if seen[n] != mark {
				seen[n] = mark
				queue = append(queue, n)
			}
		}
	}
	push(near[start])
	direct := len(queue)
	for i := 0; i < len(queue) && len(queue) < direct+maxDependencies; i++ {
		push(near[queue[i]])
	}
	queue = queue[:min(len(queue), direct+maxDependencies)]
	slots := make([]*Slot, 0, len(queue))
	for _, n := range queue {
		slots = append(slots, p.bySlotNumber(n))
	}
	slices.SortFunc(slots, func(a, b *Slot) int { return strings.Compare(a.text, b.text) })
	out := make([]addr.ConfigResource, 0, len(slots))
	for _, s := range slots {
		out = append(out, s.ConfigAddr())
	}
	return out
}

// ResourcesBehind returns all resources that a slot depends on, directly or indirectly, without a limit.
func (p *Program) ResourcesBehind(s *Slot) []addr.ConfigResource {
	start := s.unit.base + s.Index
	seen := map[int]bool{start: true}
	var out []addr.ConfigResource
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, n := range p.valueEdges(queue[0]) {
			if seen[n] {
				continue
			}
			seen[n] = true
			queue = append(queue, n)
			if d := p.bySlotNumber(n); d.hasObjects() {
				out = append(out, d.ConfigAddr())
			}
		}
	}
	return out
}

// propagateCreateBeforeDestroy forces the order on everything that a resource with create_before_destroy depends on:
// otherwise the old dependency could not be destroyed while the old dependent still uses it.
func (p *Program) propagateCreateBeforeDestroy() {
	var stack []int
	seen := make([]bool, p.total)
	for _, u := range p.order {
		for _, s := range u.slots {
			if s.Kind == SlotResource && s.Resource.CreateBeforeDestroy {
				s.CreateBeforeDestroy = true
				seen[u.base+s.Index] = true
				stack = append(stack, u.base+s.Index)
			}
		}
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range p.valueEdges(n) {
			if !seen[e] {
				seen[e] = true
				if s := p.bySlotNumber(e); s.Kind == SlotResource && s.Resource.Addr.Mode == addr.Managed {
					s.CreateBeforeDestroy = true
				}
				stack = append(stack, e)
			}
		}
	}
}

// ProviderDeps returns the resources that the configuration of a provider depends on.
func (p *Program) ProviderDeps(a addr.AbsProviderConfig) []addr.ConfigResource {
	if s := p.ProviderSlot(a); s != nil {
		return s.resourceDeps
	}
	return nil
}

// LocateProvider returns a provider's diagnostics about its configuration with a source range, if there is a block.
func (p *Program) LocateProvider(a addr.AbsProviderConfig, diags diag.List) diag.List {
	if s := p.ProviderSlot(a); s != nil && s.Body != nil {
		return s.Body.Locate(diags)
	}
	return diags
}

// ProviderSlot returns the slot of a provider configuration, or nil.
func (p *Program) ProviderSlot(a addr.AbsProviderConfig) *Slot { return p.providers[a.Block()] }

// Dependencies returns all slots of a program, each with the numbers of its direct dependencies, without cycles.
func (p *Program) Dependencies() (slots []*Slot, edges [][]int) {
	slots, edges = make([]*Slot, p.total), make([][]int, p.total)
	for _, u := range p.order {
		for _, s := range u.slots {
			slots[u.base+s.Index] = s
			edges[u.base+s.Index] = p.edges(s)
		}
	}
	return slots, edges
}

// usersOf returns the slots that may use the value of an ephemeral resource, directly or indirectly; kept reports
// whether a provider's configuration is among them, whose users are not counted.
func (p *Program) usersOf(s *Slot) (users []*Slot, kept bool) {
	if p.dependents == nil {
		p.findDependents()
	}
	seen := map[int]bool{s.unit.base + s.Index: true}
	queue := []int{s.unit.base + s.Index}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, d := range p.dependents[n] {
			if seen[d] {
				continue
			}
			seen[d] = true
			u := p.bySlotNumber(d)
			switch u.Kind {
			case SlotProvider:
				return nil, true
			case SlotResource:
				users = append(users, u)
				if u.Resource.Addr.Mode != addr.Ephemeral {
					continue // results of other resources are not ephemeral
				}
			case SlotCallClose:
				continue
			default:
				users = append(users, u)
			}
			queue = append(queue, d)
		}
	}
	return users, false
}

// findDependents reverses the edges of the program, once, for programs with ephemeral resources.
func (p *Program) findDependents() {
	p.dependents = make([][]int, p.total)
	for _, u := range p.order {
		for _, s := range u.slots {
			for _, e := range p.edges(s) {
				p.dependents[e] = append(p.dependents[e], u.base+s.Index)
			}
		}
	}
}
