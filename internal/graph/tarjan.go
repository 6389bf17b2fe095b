package graph

// Cycles finds the groups of nodes that depend on each other, in one pass of Tarjan's algorithm without recursion.
// Nodes are 0 to n-1; edges returns the nodes that a node depends on. A node that depends on itself is a group of one.
// The members of each group are in the order in which they were found.
func Cycles(n int, edges func(i int) []int) [][]int {
	t := tarjan{edges: edges, index: make([]int, n), low: make([]int, n), onStack: make([]bool, n)}
	for i := range n {
		if t.index[i] == 0 {
			t.visit(i)
		}
	}
	return t.groups
}

type tarjan struct {
	edges   func(int) []int
	counter int
	index   []int // 0 means not visited
	low     []int
	onStack []bool
	stack   []int
	groups  [][]int
}

type frame struct {
	node int
	deps []int
}

func (t *tarjan) enter(i int) frame {
	t.counter++
	t.index[i], t.low[i] = t.counter, t.counter
	t.stack = append(t.stack, i)
	t.onStack[i] = true
	return frame{i, t.edges(i)}
}

func (t *tarjan) visit(root int) {
	calls := []frame{t.enter(root)}
	for len(calls) > 0 {
		f := &calls[len(calls)-1]
		if len(f.deps) > 0 {
			d := f.deps[0]
			f.deps = f.deps[1:]
			if t.index[d] == 0 {
				calls = append(calls, t.enter(d))
			} else if t.onStack[d] {
				t.low[f.node] = min(t.low[f.node], t.index[d])
			}
			continue
		}
		node := f.node
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			parent := calls[len(calls)-1].node
			t.low[parent] = min(t.low[parent], t.low[node])
		}
		if t.low[node] == t.index[node] {
			t.pop(node)
		}
	}
}

// pop removes a finished group from the stack and keeps it if it is a cycle.
func (t *tarjan) pop(root int) {
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	group := append([]int(nil), t.stack[at:]...)
	t.stack = t.stack[:at]
	for _, m := range group {
		t.onStack[m] = false
	}
	if len(group) > 1 {
		t.groups = append(t.groups, group)
		return
	}
	for _, d := range t.edges(root) {
		if d == root {
			t.groups = append(t.groups, group)
			return
		}
	}
}
