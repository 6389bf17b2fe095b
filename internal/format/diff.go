package format

import (
	"bytes"
	"fmt"
	"slices"
)

const (
	// context is the number of unchanged lines before and after changes.
	context = 3
	// maxEdits limits the search for the shortest difference, which takes quadratic time. Beyond it, everything between
	// the first and the last change is treated as changed.
	maxEdits = 2000
)

// Diff returns the changes of formatting a file, in the format of "diff -u".
func Diff(name string, before, after []byte) []byte {
	a, b := lines(before), lines(after)
	edits := script(a, b)
	if !slices.ContainsFunc(edits, func(e edit) bool { return e.op != ' ' }) {
		return nil
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- old/%s\n+++ new/%s\n", name, name)
	for len(edits) > 0 {
		first := slices.IndexFunc(edits, func(e edit) bool { return e.op != ' ' })
		if first < 0 {
			break
		}
		end := hunkEnd(edits, first)
		hunk(&out, edits[max(first-context, 0):end])
		edits = edits[end:]
	}
	return out.Bytes()
}

// hunkEnd returns the end of a hunk: after changes that are separated by no more unchanged lines than their contexts
// include.
func hunkEnd(edits []edit, first int) int {
	last := first
	for i := first; i < len(edits) && i-last <= 2*context+1; i++ {
		if edits[i].op != ' ' {
			last = i
		}
	}
	return min(last+1+context, len(edits))
}

func hunk(out *bytes.Buffer, edits []edit) {
	var old, new int
	for _, e := range edits {
		if e.op != '+' {
			old++
		}
		if e.op != '-' {
			new++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(edits[0].old, old), span(edits[0].new, new))
	for _, e := range edits {
		out.WriteByte(e.op)
		out.Write(e.line)
		if !bytes.HasSuffix(e.line, []byte("\n")) {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span returns the position of n lines from a given index.
func span(from, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func lines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	list := bytes.SplitAfter(text, []byte("\n"))
	if len(list[len(list)-1]) == 0 {
		list = list[:len(list)-1]
	}
	return list
}

// edit is one line of a difference: unchanged (a blank), removed (-) or added (+), with the number of lines of both
// texts before it.
type edit struct {
	op       byte
	line     []byte
	old, new int
}

// script returns a shortest difference of two texts.
func script(a, b [][]byte) []edit {
	prefix := 0
	for prefix < len(a) && prefix < len(b) && bytes.Equal(a[prefix], b[prefix]) {
		prefix++
	}
	suffix := 0
	for suffix < len(a)-prefix && suffix < len(b)-prefix && bytes.Equal(a[len(a)-1-suffix], b[len(b)-1-suffix]) {
		suffix++
	}
	x, y := 0, 0
	var edits []edit
	keep := func(n int) {
		for range n {
			edits = append(edits, edit{' ', a[x], x, y})
			x, y = x+1, y+1
		}
	}
	keep(prefix)
	for _, m := range append(common(a[prefix:len(a)-suffix], b[prefix:len(b)-suffix]), match{len(a) - suffix - prefix,
		len(b) - suffix - prefix, 0}) {
		for x < m.old+prefix {
			edits = append(edits, edit{'-', a[x], x, y})
			x++
		}
		for y < m.new+prefix {
			edits = append(edits, edit{'+', b[y], x, y})
			y++
		}
		keep(m.n)
	}
	keep(suffix)
	return edits
}

// match is a run of lines that two texts have in common.
type match struct{ old, new, n int }

// common finds the longest common subsequence of two lists of lines by Myers' greedy algorithm: after d steps, reach[k]
// is the furthest line on the diagonal k (line of a minus line of b). The lines reached in each step are kept to
// reconstruct the path.
func common(a, b [][]byte) []match {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3)
	at := func(k int) *int { return &reach[k+limit+1] }
	var history [][]int
	for d := 0; d <= limit; d++ {
		history = append(history, slices.Clone(reach[limit+1-d:limit+2+d]))
		for k := -d; k <= d; k += 2 {
			x := *at(k - 1) + 1
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				x = *at(k + 1)
			}
			for x < len(a) && x-k < len(b) && bytes.Equal(a[x], b[x-k]) {
				x++
			}
			*at(k) = x
			if x >= len(a) && x-k >= len(b) {
				return wayBack(history, len(a), len(b))
			}
		}
	}
	return nil
}

func wayBack(history [][]int, x, y int) []match {
	var out []match
	for d := len(history) - 1; d >= 0; d-- {
		before := history[d] // for the diagonals -d to d, after d-1 steps
		k := x - y
		from := k - 1
		if k == -d || k != d && before[k-1+d] < before[k+1+d] {
			from = k + 1
		}
		startX, startY := 0, 0
		if d > 0 {
			startX = before[from+d]
			startY = startX - from
			if from < k {
				startX++
			} else {
				startY++
			}
		}
		if n := x - startX; n > 0 {
			out = append(out, match{startX, startY, n})
		}
		x, y = startX, startY
		if d > 0 {
			if from < k {
				x--
			} else {
				y--
			}
		}
	}
	slices.Reverse(out)
	return out
}
