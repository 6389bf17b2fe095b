package value

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/provider"
)

// checker is one run of a check over an object. It keeps the steps from the root, from which it only builds a path to
// report a problem.
type checker struct {
	block  *provider.Block
	hidden []cty.Path
	trail  []step
	errs   []PathError

	// hard means that the problems found now are errors even under the legacy type system.
	hard bool
	// probing means that only the existence of problems matters. Elements of sets are compared this way.
	probing bool
	failed  bool
}

// step is a path step that is only built when it is needed.
type step struct {
	name  string // name of an attribute or, if keyed, key of an element of a map
	keyed bool
	index int // index of an element of a sequence, if >= 0
}

func (c *checker) enterAttr(name string) { c.trail = append(c.trail, step{name: name, index: -1}) }
func (c *checker) enterKey(key string) {
	c.trail = append(c.trail, step{name: key, keyed: true, index: -1})
}
func (c *checker) enterIndex(i int) { c.trail = append(c.trail, step{index: i}) }
func (c *checker) leave()           { c.trail = c.trail[:len(c.trail)-1] }

func (c *checker) path() cty.Path {
	path := make(cty.Path, len(c.trail))
	for i, s := range c.trail {
		switch {
		case s.index >= 0:
			path[i] = cty.IndexStep{Key: intKey(s.index)}
		case s.keyed:
			path[i] = cty.IndexStep{Key: cty.StringVal(s.name)}
		default:
			path[i] = cty.GetAttrStep{Name: s.name}
		}
	}
	return path
}

// failf records a problem at the current path. Values in args are shortened, or withheld if anything here is secret.
func (c *checker) failf(format string, args ...any) {
	c.failed = true
	if c.probing {
		return
	}
	path := c.path()
	secret := c.secret(path)
	var quoted []string
	for i, a := range args {
		if v, ok := a.(cty.Value); ok {
			args[i] = "(sensitive value)"
			if !secret {
				quoted = append(quoted, Brief(v))
				args[i] = quoted[len(quoted)-1]
			}
		}
	}
	c.errs = append(c.errs, PathError{Path: path, Problem: fmt.Sprintf(format, args...), Quoted: quoted,
		Tolerable: !c.hard})
}

// secret reports whether a value at a path must not be shown: it is within a sensitive value or contains one.
func (c *checker) secret(path cty.Path) bool {
	return slices.ContainsFunc(c.hidden, func(h cty.Path) bool { return Overlap(h, path) }) ||
		touchesSensitive(c.block, path)
}

// touchesSensitive reports whether the schema declares anything on a path or below it sensitive.
func touchesSensitive(block *provider.Block, path cty.Path) bool {
	s := blockShape(block)
	var at *provider.Attribute
	for _, st := range path {
		get, ok := st.(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := s.attrs[get.Name]; a != nil {
			at, s = a, shape{}
			if a.Sensitive {
				return true
			}
			if a.Nested != nil {
				s = objectShape(a.Nested)
			}
		} else if nb := s.blocks[get.Name]; nb != nil {
			at, s = nil, blockShape(&nb.Block)
		} else {
			// Within an attribute's type without a schema: the attribute was checked.
			return false
		}
	}
	if at != nil && at.Nested == nil {
		return false
	}
	return shapeHasSensitive(s)
}

func shapeHasSensitive(s shape) bool {
	for _, a := range s.attrs {
		if attributeHasSensitive(a) {
			return true
		}
	}
	for _, nb := range s.blocks {
		if nb.HasSensitive() {
			return true
		}
	}
	return false
}

func attributeHasSensitive(a *provider.Attribute) bool {
	return a.Sensitive || a.Nested != nil && shapeHasSensitive(objectShape(a.Nested))
}

// inSet marks the problems found since then as being in an element of a set, which paths cannot express.
func (c *checker) inSet(since int) {
	for i := since; i < len(c.errs); i++ {
		c.errs[i].Problem = "in an element of the set: " + c.errs[i].Problem
	}
}

// probe runs a check and discards its problems.
func (c *checker) probe(check func()) (ok bool) {
	probing, failed, depth := c.probing, c.failed, len(c.trail)
	c.probing, c.failed = true, false
	check()
	ok = !c.failed
	c.probing, c.failed, c.trail = probing, failed, c.trail[:depth]
	return ok
}

// done reports whether a probing check can stop.
func (c *checker) done() bool { return c.probing && c.failed }

// result returns the problems sorted by path, because schemas are maps, whose order is random.
func (c *checker) result() []PathError {
	slices.SortStableFunc(c.errs, func(a, b PathError) int { return comparePaths(a.Path, b.Path) })
	return c.errs
}

// Brief formats a value for a message: in the syntax of the language, shortened, and without sensitive or ephemeral
// parts.
func Brief(v cty.Value) string {
	const limit = 120
	var b strings.Builder
	brief(&b, v, limit)
	if runes := []rune(b.String()); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return b.String()
}

// brief stops descending when the limit is reached, so that a large value costs little.
func brief(b *strings.Builder, v cty.Value, limit int) {
	if b.Len() > utf8.UTFMax*limit {
		return
	}
	if text, yes := Withheld(v); yes {
		b.WriteString(text)
		return
	}
	v, _ = v.Unmark()
	switch ty := v.Type(); {
	case !v.IsKnown():
		b.WriteString("(known after apply)")
	case v.IsNull():
		b.WriteString("null")
	case ty == cty.String:
		s := v.AsString()
		if enough := utf8.UTFMax * limit; len(s) > enough {
			s = strings.ToValidUTF8(s[:enough], "")
		}
		b.WriteString(strconv.Quote(s))
	case ty == cty.Number:
		b.WriteString(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty.IsObjectType(), ty.IsMapType():
		briefMembers(b, v, "{", "}", limit)
	case v.CanIterateElements():
		briefMembers(b, v, "[", "]", limit)
	default:
		b.WriteString("(" + ty.FriendlyName() + ")")
	}
}

func briefMembers(b *strings.Builder, v cty.Value, start, end string, limit int) {
	b.WriteString(start)
	first := true
	for k, ev := range ctyfast.Each(v) {
		if !first {
			b.WriteString(", ")
		}
		first = false
		if start == "{" {
			b.WriteString(k.AsString() + " = ")
		}
		brief(b, ev, limit)
		if b.Len() > utf8.UTFMax*limit {
			return
		}
	}
	b.WriteString(end)
}
