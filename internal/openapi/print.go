package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// members is a JSON object with ordered members.
type members []member

type member struct {
	name  string
	value any
}

//go:noinline
func (m *members) add(name string, value any) { *m = append(*m, member{name, value}) }

// get returns the value of a member, or nil if there is none.
//
//go:noinline
func (m members) get(name string) any {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// set replaces or adds a member.
func (m *members) set(name string, value any) {
	for i, one := range *m {
		if one.name == name {
			(*m)[i].value = value
			return
		}
	}
	m.add(name, value)
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(leaf(one.name) + ": " + compact(one.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// width is the maximum length of a line with a complete object.
const width = 118

// printed returns a value as formatted JSON. Objects that fit are on one line.
func printed(v any, indent int) string {
	var inner []string
	begin, end := "{", "}"
	switch v := v.(type) {
	case members:
		for _, one := range v {
			inner = append(inner, leaf(one.name)+": "+printed(one.value, indent+1))
		}
	case []any:
		begin, end = "[", "]"
		for _, one := range v {
			inner = append(inner, printed(one, indent+1))
		}
	default:
		return compact(v)
	}
	if flat := compact(v); (indent > 2 || len(inner) < 2) && len(flat)+2*indent < width || len(inner) == 0 {
		return flat
	}
	space := strings.Repeat("  ", indent)
	return begin + "\n" + space + "  " + strings.Join(inner, ",\n"+space+"  ") + "\n" + space + end
}

// compact returns a value as JSON on one line.
func compact(v any) string {
	switch v := v.(type) {
	case members:
		text, _ := v.MarshalJSON() // it never fails
		return string(text)
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, compact(one))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case []string:
		var list []any
		for _, one := range v {
			list = append(list, one)
		}
		return compact(list)
	}
	return leaf(v)
}

func leaf(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("openapi: %T cannot be printed: %s", v, err)) // only this package creates the values
	}
	return strings.TrimSpace(b.String())
}

func itoa(n int) string { return strconv.Itoa(n) }

// quoted returns a string literal of the language, without interpolations.
func quoted(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(leaf(text))
}

// at returns the expression of a member of another expression.
//
//go:noinline
func at(expr, name string) string {
	plain := name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if plain && (name[0] < '0' || name[0] > '9') {
		return expr + "." + name
	}
	return expr + "[" + quoted(name) + "]"
}
