package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Check returns why a value does not match the schema, or "" if it does. Read-only values are invalid in requests, and
// so are members that are not in the schema unless it allows others.
func (s *Schema) Check(v any, request bool) string { return s.check(v, request, "", 0) }

func (s *Schema) check(v any, request bool, where string, depth int) string {
	bad := func(format string, args ...any) string {
		return either(where, "the body") + ": " + fmt.Sprintf(format, args...)
	}
	if s == nil || depth > maxDepth {
		return ""
	}
	if v == nil {
		if s.Nullable || s.Type == "" && s.Types == nil && len(s.choices) == 0 {
			return ""
		}
		return bad("null is not allowed")
	}
	if why := s.kind(v); why != "" {
		return bad("%s", why)
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return compact(e) == compact(v) }) {
		return bad("%s is not one of %s", compact(v), compact(s.Enum))
	}
	for _, group := range s.Choices() {
		first := ""
		fits := slices.ContainsFunc(group, func(o *Schema) bool {
			why := o.check(v, false, where, depth+1)
			first = either(first, why)
			return why == "" || len(o.members) == 0 && o.Type == ""
		})
		if !fits {
			return either(first, bad("no alternative fits"))
		}
	}
	switch v := v.(type) {
	case string:
		if why := s.text(v); why != "" {
			return bad("%s", why)
		}
	case json.Number:
		if why := s.number(v); why != "" {
			return bad("%s", why)
		}
	case []any:
		return s.elements(v, request, where, depth)
	case map[string]any:
		return s.object(v, request, where, depth)
	}
	return ""
}

// kind returns why the type of a value is wrong, or "".
func (s *Schema) kind(v any) string {
	is := kindsOf([]any{v})[0]
	allowed := s.Types
	if s.Type != "" {
		allowed = []string{s.Type}
	}
	if allowed == nil {
		return ""
	}
	for _, kind := range allowed {
		n := number(v)
		if kind == is || kind == "integer" && n != nil && n.IsInt() {
			return ""
		}
	}
	return fmt.Sprintf("the type is %s, not %s", is, compact(allowed))
}

func (s *Schema) text(v string) string {
	n := big.NewRat(int64(utf8.RuneCountInString(v)), 1)
	if limit := number(s.Limits["minLength"]); limit != nil && n.Cmp(limit) < 0 {
		return "the text is too short"
	}
	if limit := number(s.Limits["maxLength"]); limit != nil && n.Cmp(limit) > 0 {
		return "the text is too long"
	}
	if pattern, err := regexp.Compile(text(s.Limits["pattern"])); err == nil && !pattern.MatchString(v) {
		return "the text does not match " + pattern.String()
	}
	var err error
	switch s.Format {
	case "date-time":
		_, err = time.Parse(time.RFC3339, v)
	case "date":
		_, err = time.Parse(time.DateOnly, v)
	case "email":
		if name, host, ok := strings.Cut(v, "@"); !ok || name == "" || host == "" {
			err = errors.New("no address")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(v); err == nil && !u.IsAbs() {
			err = errors.New("no scheme")
		}
	case "uuid":
		if len(v) != 36 || strings.Trim(v, "0123456789abcdefABCDEF-") != "" {
			err = errors.New("no UUID")
		}
	}
	if err != nil {
		return "the text is not of the format " + s.Format
	}
	return ""
}

func (s *Schema) number(v json.Number) string {
	n := number(v)
	if n == nil {
		return ""
	}
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		limit := number(s.Limits[name])
		if limit == nil {
			continue
		}
		c := n.Cmp(limit)
		if strings.HasSuffix(name, "inimum") {
			c = -c
		}
		if c > 0 || c == 0 && name[0] == 'e' {
			return fmt.Sprintf("%s is beyond the %s of %s", v, name, s.Limits[name])
		}
	}
	if by := number(s.Limits["multipleOf"]); by != nil && by.Sign() > 0 && !new(big.Rat).Quo(n, by).IsInt() {
		return fmt.Sprintf("%s is not a multiple of %s", v, s.Limits["multipleOf"])
	}
	return ""
}

func (s *Schema) elements(v []any, request bool, where string, depth int) string {
	n := big.NewRat(int64(len(v)), 1)
	if limit := number(s.Limits["minItems"]); limit != nil && n.Cmp(limit) < 0 {
		return where + ": there are too few elements"
	}
	if limit := number(s.Limits["maxItems"]); limit != nil && n.Cmp(limit) > 0 {
		return where + ": there are too many elements"
	}
	items := s.Items()
	for i, one := range v {
		if why := items.check(one, request, where+"["+strconv.Itoa(i)+"]", depth+1); why != "" {
			return why
		}
	}
	return ""
}

func (s *Schema) object(v map[string]any, request bool, where string, depth int) string {
	all, _ := s.united()
	extra := s.Extra()
	for _, name := range sorted(v) {
		at := where + "." + name
		m := all.Member(name)
		switch {
		case m == nil && extra != nil:
			if why := extra.check(v[name], request, at, depth+1); why != "" {
				return why
			}
		case m == nil && request && len(all.members) > 0 && !s.Open:
			return at + ": the document has no such member"
		case m != nil && request && m.ReadOnly:
			return at + ": only answers have this member"
		case m != nil && len(s.choices) == 0:
			if why := m.check(v[name], request, at, depth+1); why != "" {
				return why
			}
		}
	}
	for _, name := range sorted(s.Required) {
		m := s.Member(name)
		if _, has := v[name]; !has && m != nil && !(request && m.ReadOnly) && !(!request && m.WriteOnly) {
			return where + "." + name + ": the member is missing"
		}
	}
	return ""
}

// decodeBody parses a JSON body like the values of a document.
func decodeBody(src []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
