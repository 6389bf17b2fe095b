package view

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// item is an element of one side of a sequence or set.
type item struct {
	value   cty.Value
	secrets *tfjson.Secrets
	// id is the same for items that are the same, on both sides.
	id int
}

// items takes a sequence or set apart.
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

// number assigns items ids. Secret items are only the same as equal secret ones; unknown ones are the same as none.
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

// compareBag compares sets: what is gone, then what is new, without order.
func compareBag(s sides, element func(sides) *node) *node {
	n := &node{kind: bag, op: s.container(), replace: s.replace.isHere()}
	before, after := items(s.before, nil), items(s.after, nil)
	number(before, after)
	kept := map[int]bool{}
	for _, a := range after {
		kept[a.id] = true
	}
	had := map[int]bool{}
	for _, b := range before {
		had[b.id] = true
		if kept[b.id] {
			n.add(element(sides{before: b.value, after: b.value}))
		} else {
			n.add(element(sides{before: b.value}))
		}
	}
	for _, a := range after {
		if !had[a.id] {
			n.add(element(sides{after: a.value}))
		}
	}
	return n
}

func (n *node) add(c *node) {
	n.children = append(n.children, c)
	if n.op == same && c.op != same {
		n.op = update
	}
}

// compareElements compares sequences. element returns the difference of two elements, of which one index may be -1;
// objects reports whether two elements are objects, which are better compared with each other than shown as one gone
// and one new. Sets come here too, in dynamic values, so elements are found among the items and never by index.
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
	align(before, after, objects, add)
	return n
}

// byPosition reports that two sequences are best compared element by element: when they are equally long and something
// that was there is not there any more, elements were changed rather than moved.
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

// align calls add for what is gone (i, -1), new (-1, j) or on both sides (i, j), along a longest common subsequence.
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
// not enough, as if the rest had nothing in common: nobody reads a diff of that length closely.
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

// commonByTable is the textbook algorithm; of several longest subsequences it takes the one that ends earliest in
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
