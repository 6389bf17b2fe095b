package view

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// item is an element of one side of a sequence or set.
type item struct {
	value   cty.Value
	secrets *tfjson.Secrets
	// id is equal for equal items, on both sides.
	id int
}

// items returns the elements of a sequence or set.
func items(v cty.Value, secrets *tfjson.Secrets) []item {
	if isAbsent(v) || v.IsNull() || !v.IsKnown() {
		return nil
	}
	out := make([]item, 0, v.LengthInt())
	for _, element := range ctyfast.Each(v) {
		out = append(out, item{value: element, secrets: secrets.Item(len(out))})
	}
	return out
}

// number assigns ids to items. Secret items equal only equal secret ones; unknown items equal no others.
func number(lists ...[]item) {
	type class struct {
		item
		id int
	}
	classes := map[int][]class{}
	next := 1
	for _, list := range lists {
		for i := range list {
			it := &list[i]
			if !ctyfast.WhollyKnown(it.value) {
				it.id = next
				next++
				continue
			}
			hash := it.value.Hash()
			for _, c := range classes[hash] {
				if ctyfast.RawEquals(c.value, it.value) && c.secrets.Any() == it.secrets.Any() {
					it.id = c.id
				}
			}
			if it.id == 0 {
				it.id = next
				next++
				classes[hash] = append(classes[hash], class{*it, it.id})
			}
		}
	}
}

// compareBag compares sets: first removed, then added elements, regardless of order.
func compareBag(s sides, element func(sides) *node) *node {
	n := &node{kind: bag, op: s.container(), replace: s.replace.isHere()}
	plain, matched := bagSides(s)
	for _, c := range plain {
		n.add(element(c))
	}
	for _, c := range matched {
		n.matched = append(n.matched, element(c))
	}
	return n
}

// bagSides returns the elements of a set as kept, removed or added. matched has similar elements paired as changes
// instead, and is nil if there are no pairs.
func bagSides(s sides) (plain, matched []sides) {
	before, after := items(s.before, nil), items(s.after, nil)
	number(before, after)
	kept := map[int]bool{}
	for _, a := range after {
		kept[a.id] = true
	}
	had := map[int]bool{}
	var gone, fresh []cty.Value
	for _, b := range before {
		had[b.id] = true
		if kept[b.id] {
			plain = append(plain, sides{before: b.value, after: b.value})
			continue
		}
		plain = append(plain, sides{before: b.value})
		gone = append(gone, b.value)
	}
	for _, a := range after {
		if !had[a.id] {
			plain = append(plain, sides{after: a.value})
			fresh = append(fresh, a.value)
		}
	}
	partner, taken := bestMatches(gone, fresh), map[int]bool{}
	if len(partner) == 0 {
		return plain, nil
	}
	nthGone, nthFresh := 0, 0
	for _, j := range partner {
		taken[j] = true
	}
	for _, c := range plain {
		switch {
		case isAbsent(c.after):
			if j, ok := partner[nthGone]; ok {
				c.after = fresh[j]
			}
			nthGone++
		case isAbsent(c.before):
			if nthFresh++; taken[nthFresh-1] {
				continue
			}
		}
		matched = append(matched, c)
	}
	return plain, matched
}

// mostMatched limits how many elements of each side are compared with each other.
const mostMatched = 64

// bestMatches pairs objects that have at least half of their parts in common, best matches first. The result is indexed
// by the old ones.
func bestMatches(gone, fresh []cty.Value) map[int]int {
	if len(gone) > mostMatched || len(fresh) > mostMatched {
		return nil
	}
	type pair struct{ i, j, common int }
	var pairs []pair
	for i, a := range gone {
		for j, b := range fresh {
			if common, all := inCommon(a, b); common > 0 && 2*common >= all {
				pairs = append(pairs, pair{i, j, common})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.common - a.common })
	partner, taken := map[int]int{}, map[int]bool{}
	for _, p := range pairs {
		if _, has := partner[p.i]; !has && !taken[p.j] {
			partner[p.i], taken[p.j] = p.j, true
		}
	}
	return partner
}

// inCommon counts the equal parts of two objects, and the parts that are set in either.
func inCommon(a, b cty.Value) (common, all int) {
	if !isObjectValue(a) || !isObjectValue(b) || !a.IsKnown() || !b.IsKnown() {
		return 0, 0
	}
	for _, name := range memberNames(a, b) {
		x, y := nullAsAbsent(part(a, name)), nullAsAbsent(part(b, name))
		switch {
		case isAbsent(x) && isAbsent(y):
			continue
		case !isAbsent(x) && !isAbsent(y) && y.IsKnown() && ctyfast.RawEquals(x, y):
			common++
		}
		all++
	}
	return common, all
}

func (n *node) add(c *node) {
	n.children = append(n.children, c)
	if n.op == same && c.op != same {
		n.op = update
	}
}

// compareElements compares sequences. element returns the difference of two elements, of which one index may be -1;
// objects reports whether two elements are objects, which are better compared with each other than shown as removed and
// added. Sets in dynamic values are compared here too, so elements are looked up among the items and never by index.
func compareElements(s sides, element func(i, j int, s sides) *node, objects func(before, after item) bool) *node {
	n := &node{kind: sequence, op: s.container(), replace: s.replace.isHere()}
	before, after := items(s.before, s.hadSecret), items(s.after, s.secret)
	add := func(i, j int) {
		var c sides
		if i >= 0 {
			c.before, c.hadSecret = before[i].value, before[i].secrets
			c.replace = s.replace.at(itemName(i))
		}
		if j >= 0 {
			c.after, c.secret = after[j].value, after[j].secrets
		}
		n.add(element(i, j, c))
	}
	switch {
	case len(before) == 0 || len(after) == 0:
		for i := range before {
			add(i, -1)
		}
		for j := range after {
			add(-1, j)
		}
		return n
	}
	number(before, after)
	if byPosition(before, after) {
		for i := range before {
			add(i, i)
		}
		return n
	}
	n.reordered = sameItems(before, after)
	align(before, after, objects, add)
	n.reordered = n.reordered && n.op == update
	return n
}

// sameItems reports whether two lists have the same items, each equally often.
func sameItems(before, after []item) bool {
	counts := map[int]int{}
	for _, b := range before {
		counts[b.id]++
	}
	for _, a := range after {
		counts[a.id]--
	}
	for _, n := range counts {
		if n != 0 {
			return false
		}
	}
	return true
}

// byPosition reports whether two sequences are best compared element by element: if they have the same length and an
// element is gone, elements were changed rather than moved.
func byPosition(before, after []item) bool {
	if len(before) != len(after) {
		return false
	}
	kept := make(map[int]bool, len(after))
	for _, a := range after {
		kept[a.id] = true
	}
	for _, b := range before {
		if !kept[b.id] {
			return true
		}
	}
	return false
}

// align calls add for removed (i, -1), added (-1, j) and common (i, j) elements, along a longest common subsequence.
func align(before, after []item, objects func(before, after item) bool, add func(i, j int)) {
	common := longestCommon(before, after)
	i, j, k := 0, 0, 0
	for i < len(before) || j < len(after) {
		for i < len(before) && (k >= len(common) || before[i].id != common[k]) {
			if j < len(after) && (k >= len(common) || after[j].id != common[k]) && objects(before[i], after[j]) {
				add(i, j)
				j++
			} else {
				add(i, -1)
			}
			i++
		}
		for j < len(after) && (k >= len(common) || after[j].id != common[k]) {
			add(-1, j)
			j++
		}
		if k < len(common) {
			add(i, j)
			i, j, k = i+1, j+1, k+1
		}
	}
}

// tableLimit limits the table of longestCommon. Longer sequences are compared without their common ends, and if that is
// not enough, as if the rest had nothing in common.
const tableLimit = 4 << 20

func longestCommon(before, after []item) []int {
	if len(before)*len(after) <= tableLimit {
		return commonByTable(before, after)
	}
	var head, tail []int
	for len(before) > 0 && len(after) > 0 && before[0].id == after[0].id {
		head = append(head, before[0].id)
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1].id == after[len(after)-1].id {
		tail = append(tail, before[len(before)-1].id)
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	if len(before)*len(after) <= tableLimit {
		head = append(head, commonByTable(before, after)...)
	}
	for i := len(tail) - 1; i >= 0; i-- {
		head = append(head, tail[i])
	}
	return head
}

// commonByTable is the textbook algorithm. Of several longest subsequences it selects the one that ends earliest in
// after.
func commonByTable(before, after []item) []int {
	width := len(after) + 1
	table := make([]int32, (len(before)+1)*width)
	for i := range before {
		for j := range after {
			at := (i+1)*width + j + 1
			if before[i].id == after[j].id {
				table[at] = table[at-width-1] + 1
			} else {
				table[at] = max(table[at-1], table[at-width])
			}
		}
	}
	out := make([]int, table[len(table)-1])
	for i, j, k := len(before), len(after), len(out); k > 0; {
		switch at := i*width + j; {
		case before[i-1].id == after[j-1].id:
			k--
			out[k] = before[i-1].id
			i, j = i-1, j-1
		case table[at-1] >= table[at-width]:
			j--
		default:
			i--
		}
	}
	return out
}
