package view

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// reading applies the text of a difference to the old value, as a careful reader would. It panics with a mismatch where
// the text contradicts the old value, or itself.
type reading struct {
	text string
	pos  int
}

type mismatch string

// Values that a text shows, and which stand for several real ones: a heredoc has no white space at its ends, and of
// jsonencode(...), base64encode(...) and pem(...) only the content is shown.
type (
	heredoc     string
	encoded     struct{ content any }
	base64d     struct{ content any }
	fingerprint struct{}
	numeric     string
	setOf       []any // without order
)

// plainOf returns a value as strings, numbers, bools, nil, lists, sets and maps. Null members of objects are absent,
// except in dynamic values.
func plainOf(ty cty.Type, v cty.Value) any {
	dynamic := ty == cty.DynamicPseudoType
	if dynamic {
		ty = v.Type()
	}
	inner := func(i int, name string) cty.Type {
		switch {
		case dynamic:
			return cty.DynamicPseudoType
		case ty.IsTupleType() || ty.IsObjectType():
			return memberType(ty, i, name, v)
		}
		return ty.ElementType()
	}
	switch {
	case v.IsNull():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Number:
		return numeric(literal(v))
	case ty == cty.Bool:
		return v.True()
	case ty.IsMapType() || ty.IsObjectType():
		out := map[string]any{}
		for name, member := range v.AsValueMap() {
			if member.IsNull() && ty.IsObjectType() && !dynamic {
				continue
			}
			out[name] = plainOf(inner(0, name), member)
		}
		return out
	}
	list := []any{}
	for i, element := range v.AsValueSlice() {
		list = append(list, plainOf(inner(i, ""), element))
	}
	if ty.IsSetType() && !dynamic {
		return setOf(list)
	}
	return list
}

// agree reports whether a value, of which parts may come from a text, is a real value.
func agree(shown, is any) bool {
	text, isText := is.(string)
	switch shown := shown.(type) {
	case heredoc:
		return isText && strings.TrimSpace(string(shown)) == strings.TrimSpace(text)
	case encoded:
		v, ok := parseEmbedded(cty.StringVal(text))
		return isText && ok && agree(shown.content, plainOf(cty.DynamicPseudoType, v))
	case base64d:
		raw, err := base64.StdEncoding.DecodeString(text)
		return isText && err == nil && agree(shown.content, string(raw))
	case fingerprint:
		return isText && strings.Contains(text, "-----BEGIN ")
	case map[string]any:
		real, ok := is.(map[string]any)
		return ok && maps.EqualFunc(shown, real, agree)
	case []any:
		if set, isSet := is.(setOf); isSet { // a text has one form for both
			return agree(setOf(shown), set)
		}
		real, ok := is.([]any)
		return ok && slices.EqualFunc(shown, real, agree)
	case setOf:
		real, ok := is.(setOf)
		left := slices.Clone(real)
		for _, element := range shown {
			i := slices.IndexFunc(left, func(r any) bool { return agree(element, r) })
			if i < 0 {
				return false
			}
			left = slices.Delete(left, i, i+1)
		}
		return ok && len(left) == 0
	}
	return shown == is
}

// loose reports whether a shown value stands for several real ones, so that a change may be invisible in it.
func loose(shown any) bool {
	switch shown.(type) {
	case heredoc, encoded, base64d, fingerprint:
		return true
	}
	return false
}

func (r *reading) fail(format string, args ...any) {
	panic(mismatch(fmt.Sprintf("line %d: ", 1+strings.Count(r.text[:r.pos], "\n")) + fmt.Sprintf(format, args...)))
}

// try runs a function, and returns to the start if it fails.
func (r *reading) try(f func()) (why error) {
	at := r.pos
	defer func() {
		if p := recover(); p != nil {
			m, ok := p.(mismatch)
			if !ok {
				panic(p)
			}
			r.pos, why = at, fmt.Errorf("%s", string(m))
		}
	}()
	f()
	return nil
}

func (r *reading) rest() string { return r.text[r.pos:] }

// skip goes past a text if it is next.
func (r *reading) skip(s string) bool {
	if !strings.HasPrefix(r.rest(), s) {
		return false
	}
	r.pos += len(s)
	return true
}

func (r *reading) expect(s string) {
	if !r.skip(s) {
		line, _, _ := strings.Cut(r.rest(), "\n")
		r.fail("%q is expected before %q", s, line)
	}
}

// match goes past a match of an anchored pattern, and returns its groups, or nil.
func (r *reading) match(pattern *regexp.Regexp) []string {
	m := pattern.FindStringSubmatch(r.rest())
	if m != nil {
		r.pos += len(m[0])
	}
	return m
}

func spaces(n int) string { return strings.Repeat(" ", n) }

// sign goes past the indentation and the sign of a line.
func (r *reading) sign(depth int) op {
	for o, sign := range map[op]string{create: "+ ", update: "~ ", remove: "- "} {
		if r.skip(spaces(4*depth-2) + sign) {
			return o
		}
	}
	r.expect(spaces(4 * depth))
	return same
}

var (
	hiddenParts = regexp.MustCompile(`^ *# \((\d+) unchanged (?:element|attribute)s? hidden\)\n`)
	hiddenText  = regexp.MustCompile(`^ *# \((\d+) unchanged lines? hidden(?:, in [^\n]*)?\)\n`)
	noted       = regexp.MustCompile(`^ # [^\n]*`)
	numeral     = regexp.MustCompile(`^-?[0-9][0-9.]*`)
	identifier  = regexp.MustCompile(`^[\pL_][\pL\pN_-]*`)
	excerptHead = regexp.MustCompile(`^ *# at character (\d+) of \d+\n`)
)

// hidden goes past a line about hidden parts, and returns their number.
func (r *reading) hidden(pattern *regexp.Regexp) int {
	if m := r.match(pattern); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

func (r *reading) quoted() string {
	q, err := strconv.QuotedPrefix(r.rest())
	if err != nil {
		line, _, _ := strings.Cut(r.rest(), "\n")
		r.fail("a string is expected before %q", line)
	}
	r.pos += len(q)
	text, _ := strconv.Unquote(q)
	return text
}

func (r *reading) name() string {
	if m := r.match(identifier); m != nil {
		return m[0]
	}
	return r.quoted()
}

// whole reads a value of which all lines have the same sign.
func (r *reading) whole(depth int, side op) any {
	switch {
	case r.skip("null"):
		return nil
	case r.skip("true"):
		return true
	case r.skip("false"):
		return false
	case r.skip("[]"):
		return []any{}
	case r.skip("{}"):
		return map[string]any{}
	case r.skip("["):
		return r.wholeList(depth, side)
	case r.skip("{"):
		return r.wholeMap(depth, side)
	case r.skip("<<-EOT\n"):
		var lines []string
		for !r.skip(spaces(4*depth) + "EOT") {
			r.expect(spaces(4 * (depth + 1)))
			lines = append(lines, r.line())
		}
		return heredoc(strings.Join(lines, "\n"))
	case r.skip("jsonencode("):
		return encoded{r.inCall(depth, func(depth int) any { return r.whole(depth, side) })}
	case r.skip("base64encode("):
		return base64d{r.inCall(depth, func(depth int) any { return r.whole(depth, side) })}
	case r.skip("pem("):
		r.inCall(depth, func(depth int) any { return r.whole(depth, side) })
		return fingerprint{}
	}
	if m := r.match(numeral); m != nil {
		return numeric(m[0])
	}
	return r.quoted()
}

func (r *reading) wholeList(depth int, side op) any {
	list := []any{}
	r.match(noted)
	r.expect("\n")
	for !r.skip(spaces(4*depth) + "]") {
		r.signed(depth+1, side)
		list = append(list, r.whole(depth+1, side))
		r.expect(",\n")
	}
	return list
}

func (r *reading) wholeMap(depth int, side op) any {
	out := map[string]any{}
	r.match(noted)
	r.expect("\n")
	for !r.skip(spaces(4*depth) + "}") {
		r.signed(depth+1, side)
		name := r.name()
		r.pos += len(r.rest()) - len(strings.TrimLeft(r.rest(), " "))
		r.expect("= ")
		out[name] = r.whole(depth+1, side)
		r.skip(",")
		r.expect("\n")
	}
	return out
}

func (r *reading) signed(depth int, side op) {
	if got := r.sign(depth); got != side {
		r.fail("the sign is %d, want %d", got, side)
	}
}

func (r *reading) line() string {
	line, _, _ := strings.Cut(r.rest(), "\n")
	r.pos += len(line) + 1
	return line
}

// inCall reads the argument of a function, in one line or on its own lines.
func (r *reading) inCall(depth int, argument func(depth int) any) any {
	r.match(noted)
	if !r.skip("\n") {
		v := argument(depth)
		r.expect(")")
		r.match(noted)
		return v
	}
	r.sign(depth + 1)
	v := argument(depth + 1)
	r.expect("\n" + spaces(4*depth) + ")")
	return v
}

// changed reads the difference of a value, and returns the new one.
func (r *reading) changed(depth int, old any) (new any) {
	at := r.pos
	inside := r.try(func() { new = r.inner(depth, old) })
	if inside == nil && !strings.HasPrefix(r.rest(), " -> ") {
		return new
	}
	r.pos = at
	if inside == nil {
		inside = fmt.Errorf("the value is replaced")
	}
	var was any
	if err := r.try(func() {
		was = r.whole(depth, remove)
		r.expect(" -> ")
		new = r.whole(depth, create)
	}); err != nil {
		r.fail("neither a change of a part (%v) nor of the whole (%v)", inside, err)
	}
	if !agree(was, old) {
		r.fail("%#v is shown as the old value, which is %#v", was, old)
	}
	if agree(new, old) && !loose(new) {
		r.fail("%#v is shown as a change, and is the same", old)
	}
	return new
}

// inner reads the difference of a value by its parts.
func (r *reading) inner(depth int, old any) any {
	switch old := old.(type) {
	case []any:
		return r.list(depth, old)
	case setOf:
		return r.set(depth, old)
	case map[string]any:
		return r.members(depth, old)
	case string:
		return r.str(depth, old)
	}
	r.fail("a scalar has no parts")
	return nil
}

// list applies the difference of a list.
func (r *reading) list(depth int, old []any) any {
	out, at := []any{}, 0
	next := func() any {
		if at == len(old) {
			r.fail("more elements than the old list has")
		}
		at++
		return old[at-1]
	}
	r.expect("[")
	r.match(noted)
	r.expect("\n")
	for !r.skip(spaces(4*depth) + "]") {
		for range r.hidden(hiddenParts) {
			out = append(out, next())
		}
		if strings.HasPrefix(r.rest(), spaces(4*depth)+"]") {
			continue
		}
		switch o := r.sign(depth + 1); o {
		case create:
			out = append(out, r.whole(depth+1, create))
		case update:
			out = append(out, r.changed(depth+1, next()))
		default:
			was := next()
			if shown := r.whole(depth+1, o); !agree(shown, was) {
				r.fail("%#v is shown in place of the element %#v", shown, was)
			}
			if o == same {
				out = append(out, was)
			}
		}
		r.expect(",\n")
	}
	if at != len(old) {
		r.fail("%d of %d old elements are shown or counted", at, len(old))
	}
	return out
}

// set applies the difference of a set.
func (r *reading) set(depth int, old setOf) any {
	out, kept := setOf{}, slices.Clone(old)
	// take removes the first old element that the text fits.
	take := func(fits func(was any) any) (any, any) {
		var why error
		for i, was := range kept {
			var result any
			if why = r.try(func() { result = fits(was) }); why == nil {
				kept = slices.Delete(kept, i, i+1)
				return was, result
			}
		}
		r.fail("no old element is like this: %v", why)
		return nil, nil
	}
	r.expect("[")
	r.match(noted)
	r.expect("\n")
	hidden := 0
	for !r.skip(spaces(4*depth) + "]") {
		if hidden = r.hidden(hiddenParts); hidden > 0 {
			continue
		}
		switch o := r.sign(depth + 1); o {
		case create:
			out = append(out, r.whole(depth+1, create))
		case update:
			_, new := take(func(was any) any { return r.changed(depth+1, was) })
			out = append(out, new)
		default:
			was, _ := take(func(was any) any {
				if shown := r.whole(depth+1, o); !agree(shown, was) {
					r.fail("%#v is not %#v", shown, was)
				}
				return nil
			})
			if o == same {
				out = append(out, was)
			}
		}
		r.expect(",\n")
	}
	if len(kept) != hidden {
		r.fail("%d old elements are neither shown nor counted, but for %d", len(kept), hidden)
	}
	return append(out, kept...)
}

// members applies the difference of a map or object.
func (r *reading) members(depth int, old map[string]any) any {
	out, untouched, hidden := maps.Clone(old), maps.Clone(old), 0
	r.expect("{")
	r.match(noted)
	r.expect("\n")
	for !r.skip(spaces(4*depth) + "}") {
		if hidden = r.hidden(hiddenParts); hidden > 0 {
			continue
		}
		o := r.sign(depth + 1)
		name := r.name()
		r.pos += len(r.rest()) - len(strings.TrimLeft(r.rest(), " "))
		r.expect("= ")
		was, has := untouched[name]
		if delete(untouched, name); has == (o == create) {
			r.fail("the member %q was there: %v, and its sign is %d", name, has, o)
		}
		switch o {
		case create:
			out[name] = r.whole(depth+1, create)
		case update:
			out[name] = r.changed(depth+1, was)
		default:
			if shown := r.whole(depth+1, o); !agree(shown, was) {
				r.fail("%#v is shown in place of the member %#v", shown, was)
			}
			if o == remove {
				delete(out, name)
				r.skip(" -> null")
			}
		}
		r.skip(",")
		r.expect("\n")
	}
	if len(untouched) != hidden {
		r.fail("%d old members are neither shown nor counted, but for %d", len(untouched), hidden)
	}
	return out
}

// str applies the difference of a string that is shown by its structure.
func (r *reading) str(depth int, old string) any {
	switch {
	case r.skip("<<-EOT"):
		r.match(noted)
		r.expect("\n")
		return r.heredoc(depth, strings.Split(strings.TrimSpace(old), "\n"))
	case r.skip("excerpts(\n"):
		return r.excerpts(depth, []rune(old))
	case r.skip("jsonencode("):
		v, ok := parseEmbedded(cty.StringVal(old))
		if !ok {
			r.fail("%q is not JSON", old)
		}
		content := plainOf(cty.DynamicPseudoType, v)
		return encoded{r.inCall(depth, func(depth int) any { return r.partly(depth, content) })}
	case r.skip("base64encode("):
		raw, err := base64.StdEncoding.DecodeString(old)
		if err != nil {
			r.fail("%q is no base64", old)
		}
		return base64d{r.inCall(depth, func(depth int) any { return r.changed(depth, string(raw)) })}
	case r.skip("pem("):
		r.inCall(depth, func(int) any { // a fingerprint, from which no text follows
			end := strings.Index(r.rest(), "\n"+spaces(4*depth)+")")
			if end < 0 {
				r.fail("pem( has no end")
			}
			r.pos += end
			return nil
		})
		return fingerprint{}
	}
	r.fail("the text has no parts")
	return nil
}

// partly reads a value that changes, or is the same if only the text around it changes.
func (r *reading) partly(depth int, old any) (new any) {
	if r.try(func() {
		if new = r.whole(depth, same); !agree(new, old) {
			r.fail("another value")
		}
	}) == nil && !strings.HasPrefix(r.rest(), " -> ") {
		return old
	}
	return r.changed(depth, old)
}

func (r *reading) heredoc(depth int, old []string) any {
	var out []string
	at := 0
	next := func() string {
		if at == len(old) {
			r.fail("more lines than the old text has")
		}
		at++
		return old[at-1]
	}
	for !r.skip(spaces(4*depth) + "EOT") {
		if n := r.hidden(hiddenText); n > 0 {
			for range n {
				out = append(out, next())
			}
			continue
		}
		o := r.sign(depth + 1)
		line := r.line()
		if o != create {
			if was := next(); was != line {
				r.fail("%q is shown in place of the line %q", line, was)
			}
		}
		if o != remove {
			out = append(out, line)
		}
	}
	if at != len(old) {
		r.fail("%d of %d old lines are shown or counted", at, len(old))
	}
	return heredoc(strings.Join(out, "\n"))
}

func (r *reading) excerpts(depth int, old []rune) any {
	out, at := "", 0
	for !r.skip(spaces(4*depth) + ")") {
		m := r.match(excerptHead)
		if m == nil {
			r.fail("no place of an excerpt")
		}
		from, _ := strconv.Atoi(m[1])
		side := func(o op) string {
			r.signed(depth+1, o)
			r.skip("...")
			text := r.quoted()
			r.skip("...")
			r.expect("\n")
			return text
		}
		was, is := side(remove), side(create)
		end := from - 1 + len([]rune(was))
		if from-1 < at || end > len(old) || string(old[from-1:end]) != was {
			r.fail("%q is not at character %d", was, from)
		}
		out += string(old[at:from-1]) + is
		at = end
	}
	return out + string(old[at:])
}
