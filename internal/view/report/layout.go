package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// drawing collects the items and edges of a picture.
type drawing struct {
	items map[[2]int]int
	list  [][2]int
	edges map[[2]int]bool
}

func (d *drawing) item(what [2]int) int {
	at, known := d.items[what]
	if !known {
		at = len(d.list)
		d.items[what] = at
		d.list = append(d.list, what)
	}
	return at
}

func (d *drawing) edge(from, to [2]int) {
	if from != to {
		d.edges[[2]int{d.item(from), d.item(to)}] = true
	}
}

// sweeps is how many times the items of a column are ordered by their neighbors.
const sweeps = 6

// picture places the items: each is in a column to the right of its dependencies. Items without edges are below the
// others. A column that is too tall is split.
func (d *drawing) picture() picture {
	n := len(d.list)
	after, before := make([][]int, n), make([][]int, n)
	edges := slices.SortedFunc(maps.Keys(d.edges), func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	var p picture
	for _, e := range edges {
		after[e[0]], before[e[1]] = append(after[e[0]], e[1]), append(before[e[1]], e[0])
		p.Edges = append(p.Edges, e[0], e[1])
	}
	ranks := longest(after)
	columns, alone := [][]int{}, []int{}
	for i, rank := range ranks {
		if len(after[i])+len(before[i]) == 0 {
			alone = append(alone, i)
			continue
		}
		for len(columns) <= rank {
			columns = append(columns, nil)
		}
		columns[rank] = append(columns[rank], i)
	}
	reduceCrossings(columns, after, before)
	most := max(10, int(math.Ceil(1.3*math.Sqrt(float64(n)))))
	columns = broken(columns, most)
	tallest := 0
	for _, c := range columns {
		tallest = max(tallest, len(c))
	}
	at := make([][2]int, n)
	for x, c := range columns {
		for y, i := range c {
			at[i] = [2]int{x, (tallest-len(c))/2 + y}
		}
	}
	top, wide := 0, max(len(columns), 4, int(math.Ceil(math.Sqrt(float64(len(alone))/2))))
	if len(columns) > 0 {
		top = tallest + 1
	}
	for k, i := range alone {
		at[i] = [2]int{k % wide, top + k/wide}
	}
	for i, what := range d.list {
		p.Items = append(p.Items, what[0], what[1], at[i][0], at[i][1])
	}
	return p
}

// longest returns the length of the longest path to each node. Edges that close a cycle are ignored: two modules may
// depend on each other.
func longest(after [][]int) []int {
	const (
		unseen = iota
		open
		closed
	)
	marks := make([]uint8, len(after))
	next := make([]int, len(after))
	var finished []int // nodes that are reached from a node precede it
	back := map[[2]int]bool{}
	for root := range after {
		if marks[root] != unseen {
			continue
		}
		stack := []int{root}
		marks[root] = open
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			if next[i] == len(after[i]) {
				marks[i] = closed
				finished = append(finished, i)
				stack = stack[:len(stack)-1]
				continue
			}
			to := after[i][next[i]]
			next[i]++
			switch marks[to] {
			case open:
				back[[2]int{i, to}] = true
			case unseen:
				marks[to] = open
				stack = append(stack, to)
			}
		}
	}
	ranks := make([]int, len(after))
	for _, i := range slices.Backward(finished) {
		for _, to := range after[i] {
			if !back[[2]int{i, to}] {
				ranks[to] = max(ranks[to], ranks[i]+1)
			}
		}
	}
	return ranks
}

// reduceCrossings orders the items of each column by the mean position of their neighbors, from left to right and back.
func reduceCrossings(columns [][]int, after, before [][]int) {
	n := len(after)
	place, key := make([]float64, n), make([]float64, n)
	number := func(c []int) {
		for y, i := range c {
			place[i] = float64(y) - float64(len(c))/2
		}
	}
	for _, c := range columns {
		number(c)
	}
	for sweep := range sweeps {
		neighbours := before
		if sweep%2 == 1 {
			neighbours = after
		}
		for x := range columns {
			c := columns[x]
			if sweep%2 == 1 {
				c = columns[len(columns)-1-x]
			}
			for _, i := range c {
				key[i] = place[i]
				if len(neighbours[i]) > 0 {
					sum := 0.0
					for _, j := range neighbours[i] {
						sum += place[j]
					}
					key[i] = sum / float64(len(neighbours[i]))
				}
			}
			slices.SortStableFunc(c, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
			number(c)
		}
	}
}

// broken splits columns with more items than the limit.
func broken(columns [][]int, most int) (out [][]int) {
	for _, c := range columns {
		parts := (len(c) + most - 1) / most
		for part := range parts {
			out = append(out, c[len(c)*part/parts:len(c)*(part+1)/parts])
		}
	}
	return out
}
