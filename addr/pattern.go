package addr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/diag"
)

// A Pattern matches addresses of instances. It looks like an address of a module or resource with wildcards:
//
//   - a * in a name stands for any text: aws_*.web;
//   - a * in brackets without quotes stands for any text of a key: aws_instance.web[*], module.net[eu-*];
//   - ** in place of a module stands for any number of modules, or none: **.aws_instance.web.
//
// A quoted key matches literally. A module or resource without brackets stands for all of its instances. The zero value
// matches nothing.
type Pattern struct {
	text     string
	modules  []modulePattern
	resource bool // if false, everything in the modules matches
	mode     Mode
	typ      string
	name     string
	key      keyPattern
}

type modulePattern struct {
	deep bool // **
	name string
	key  keyPattern
}

// keyPattern matches instance keys. The zero value matches all.
type keyPattern struct {
	glob  string // "" if there is none
	exact bool
	key   Key
}

func (k keyPattern) matches(key Key) bool {
	switch {
	case k.exact:
		return key == k.key
	case k.glob == "":
		return true
	case key.kind == intKey:
		return globMatches(k.glob, strconv.Itoa(key.num))
	}
	return key.kind == stringKey && globMatches(k.glob, key.str)
}

// globMatches reports whether a text matches a glob, in which a * stands for any text. It takes O(len(text)) for each
// star of the glob.
func globMatches(glob, text string) bool {
	first, rest, star := strings.Cut(glob, "*")
	if !star {
		return glob == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		var part string
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
}

// String returns the text that ParsePattern read.
func (p *Pattern) String() string { return p.text }

// Matches reports whether the pattern matches an instance.
func (p *Pattern) Matches(a AbsResourceInstance) bool {
	return p.matches(a.Module.Steps(), a.Resource, a.Key, false)
}

// MatchesConfig reports whether the pattern can match instances of a block, whatever their keys.
func (p *Pattern) MatchesConfig(a ConfigResource) bool {
	var steps []Step
	for _, call := range a.Module.Calls() {
		steps = append(steps, Step{Call: call})
	}
	return p.matches(steps, a.Resource, NoKey, true)
}

// Covers reports whether the pattern matches every instance of a block, because it has no brackets.
func (p *Pattern) Covers(a ConfigResource) bool {
	keyed := func(m modulePattern) bool { return m.key != keyPattern{} }
	return p.key == keyPattern{} && !slices.ContainsFunc(p.modules, keyed) && p.MatchesConfig(a)
}

func (p *Pattern) matches(steps []Step, r Resource, key Key, anyKey bool) bool {
	if p.resource && (r.Mode != p.mode || !globMatches(p.typ, r.Type) || !globMatches(p.name, r.Name) ||
		!anyKey && !p.key.matches(key)) {
		return false
	}
	if !p.resource && len(p.modules) == 0 {
		return false
	}
	// at[i] reports whether the module patterns so far match the first i steps.
	at := make([]bool, len(steps)+1)
	at[0] = true
	for _, m := range p.modules {
		next := make([]bool, len(at))
		for i := range at {
			if m.deep {
				next[i] = at[i] || i > 0 && next[i-1]
			} else if i > 0 {
				s := steps[i-1]
				next[i] = at[i-1] && globMatches(m.name, s.Call) && (anyKey || m.key.matches(s.Key))
			}
		}
		at = next
	}
	if p.resource {
		return at[len(steps)]
	}
	for _, matched := range at[1:] { // everything inside
		if matched {
			return true
		}
	}
	return false
}

// IsPattern reports whether a text is a pattern, that is, has a star outside of quotes.
func IsPattern(s string) bool {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '*' && !quoted:
			return true
		}
	}
	return false
}

// ParseSelector parses an argument of -target or -exclude: an address, like ParseTarget, or a pattern.
func ParseSelector(s string) (Target, diag.List) {
	if !IsPattern(s) {
		return ParseTarget(s)
	}
	p, problem := ParsePattern(s)
	if problem != nil {
		return Target{}, diag.List(nil).Errorf(nil, "Invalid address", "%s", problem)
	}
	return Target{Pattern: p.text}, nil
}

// ParsePattern parses a pattern. The error is a sentence about the whole text.
func ParsePattern(s string) (*Pattern, error) {
	fail := func(format string, args ...any) (*Pattern, error) {
		return nil, fmt.Errorf(`%q is not a pattern such as aws_*.web, module.net[*].aws_instance.* or `+
			`**.aws_instance.web[eu-*]. `+format, append([]any{s}, args...)...)
	}
	if !utf8.ValidString(s) {
		return fail("It is not valid UTF-8.")
	}
	segments, problem := patternSegments(s)
	if problem != "" {
		return fail("%s", problem)
	}
	p := &Pattern{text: s, mode: Managed}
	for len(segments) > 0 {
		switch first := segments[0]; {
		case first.name == "**":
			if first.brackets {
				return fail("** matches any number of modules and cannot have brackets.")
			}
			p.modules, segments = append(p.modules, modulePattern{deep: true}), segments[1:]
			if len(segments) == 0 {
				return fail("After ** comes a module or a resource.")
			}
			continue
		case first.name == "module" && !first.brackets:
			if len(segments) < 2 || segments[1].name == "**" {
				return fail(`After "module." comes the name of a module call, or *.`)
			}
			call := segments[1]
			if problem := call.problem(); problem != "" {
				return fail("%s", problem)
			}
			p.modules = append(p.modules, modulePattern{name: call.name, key: call.key})
			segments = segments[2:]
			continue
		}
		break
	}
	if len(segments) == 0 {
		return p, nil
	}
	if problem := p.readResource(segments); problem != "" {
		return fail("%s", problem)
	}
	return p, nil
}

// patternModes are the words before the type of a resource.
var patternModes = map[string]Mode{"resource": Managed, "data": Data, "ephemeral": Ephemeral,
	"action": Action, "list": List}

// readResource parses the resource at the end of a pattern, or returns the problem as a sentence.
func (p *Pattern) readResource(segments []patternSegment) (problem string) {
	p.resource = true
	if mode, ok := patternModes[segments[0].name]; ok && !segments[0].brackets {
		p.mode, segments = mode, segments[1:]
	}
	if len(segments) != 2 || segments[0].brackets {
		return "A resource has a type and a name, such as aws_instance.web or *.web. Brackets can only follow the " +
			"name of a resource or of a module."
	}
	for _, s := range segments {
		if problem := s.problem(); problem != "" {
			return problem
		}
	}
	p.typ, p.name, p.key = segments[0].name, segments[1].name, segments[1].key
	return ""
}

// patternSegment is the part of a pattern between two dots: a name and the content of the brackets after it.
type patternSegment struct {
	name     string
	brackets bool
	key      keyPattern
}

// problem returns the problem of a name as a sentence, or "".
func (s patternSegment) problem() string {
	if strings.Contains(s.name, "**") {
		return fmt.Sprintf("%q is not a name: ** matches whole modules. Within a name, write *.", s.name)
	}
	if !hclsyntax.ValidIdentifier(strings.ReplaceAll(s.name, "*", "a")) {
		return fmt.Sprintf("%q is not a name, with or without *.", s.name)
	}
	return ""
}

// patternSegments splits a pattern at its dots, or returns the problem as a sentence.
func patternSegments(s string) (list []patternSegment, problem string) {
	for {
		end := strings.IndexAny(s, ".[")
		if end < 0 {
			return append(list, patternSegment{name: s}), ""
		}
		segment := patternSegment{name: s[:end]}
		rest := s[end:]
		if rest[0] == '[' {
			segment.brackets = true
			if segment.key, rest, problem = patternKey(rest[1:]); problem != "" {
				return nil, problem
			}
			if rest == "" {
				return append(list, segment), ""
			}
			if rest[0] != '.' {
				return nil, fmt.Sprintf("After the brackets comes a dot or nothing, not %q.", rest)
			}
		}
		list, s = append(list, segment), rest[1:]
	}
}

// patternKey parses the text in brackets, after the opening one, and returns the text after the closing one.
func patternKey(s string) (k keyPattern, rest, problem string) {
	end := strings.IndexByte(s, ']')
	if strings.HasPrefix(s, `"`) {
		end = 1
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		end++ // skips the quote
		if end >= len(s) || s[end] != ']' {
			end = -1
		}
	}
	if end < 0 {
		return k, "", "A bracket is not closed."
	}
	inside, rest := s[:end], s[end+1:]
	switch {
	case inside == "" || strings.ContainsAny(inside, "[") && !strings.HasPrefix(inside, `"`):
		return k, "", fmt.Sprintf("In brackets, expected a key or a pattern of keys, not %q.", inside)
	case strings.HasPrefix(inside, `"`):
		t, diags := ParseTarget("a.b[" + inside + "]")
		if diags.HasErrors() {
			return k, "", fmt.Sprintf("%s is not a key.", inside)
		}
		return keyPattern{exact: true, key: t.Key}, rest, ""
	}
	if n, err := strconv.Atoi(inside); err == nil && n >= 0 && !strings.HasPrefix(inside, "+") {
		return keyPattern{exact: true, key: IntKey(n)}, rest, ""
	}
	if !strings.Contains(inside, "*") {
		return k, "", fmt.Sprintf("The key %s needs quotes.", inside)
	}
	return keyPattern{glob: inside}, rest, ""
}
