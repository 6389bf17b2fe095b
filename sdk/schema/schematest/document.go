package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Plan is the content of a plan's JSON document.
type Plan struct {
	// Actions are the actions on managed objects that change.
	Actions Actions
	// Drift lists the objects that were changed outside of Tombolo.
	Drift []string
	// Outputs lists the changed output values.
	Outputs []string
	// Text is the plan as text.
	Text string

	objects map[string]plannedObject
}

type plannedObject struct {
	after, unknown any
}

// State is the content of a state's JSON document.
type State struct {
	// Objects are managed objects and data sources by address.
	Objects map[string]*Object
	// Outputs are the output values of the root module.
	Outputs map[string]any
}

// Object is a managed object or a data source. Values are those of JSON: numbers are json.Number, and sets are in the
// engine's order.
type Object struct {
	Values  map[string]any
	Tainted bool

	sensitive any
}

// Object returns an object by its address, or nil if there is none.
func (s *State) Object(address string) *Object { return s.Objects[address] }

func (s *State) list() string { return listed(slices.Sorted(maps.Keys(s.Objects))) }

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// isEmpty reports whether there is nothing to apply.
func (p *Plan) isEmpty() bool { return len(p.Actions) == 0 && len(p.Outputs) == 0 }

func (p *Plan) describe() string {
	var words []string
	for _, address := range slices.Sorted(maps.Keys(p.Actions)) {
		words = append(words, fmt.Sprintf("%s %s", p.Actions[address], address))
	}
	for _, name := range p.Outputs {
		words = append(words, "change output "+name)
	}
	return strings.Join(words, ", ")
}

func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// parsePlan parses the output of `show -json` for a plan.
func parsePlan(text []byte, shown string) (*Plan, error) {
	type change struct {
		Actions      []string
		After        any
		AfterUnknown any `json:"after_unknown"`
	}
	type resource struct {
		Address, Mode, Deposed string
		Change                 change
	}
	var doc struct {
		Changes []resource        `json:"resource_changes"`
		Drift   []resource        `json:"resource_drift"`
		Outputs map[string]change `json:"output_changes"`
	}
	if err := decode(text, &doc); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p := &Plan{Actions: Actions{}, Text: shown, objects: map[string]plannedObject{}}
	for _, r := range doc.Changes {
		if r.Deposed != "" {
			r.Address += " (deposed)"
		}
		p.objects[r.Address] = plannedObject{after: r.Change.After, unknown: r.Change.AfterUnknown}
		if r.Mode != "managed" {
			continue
		}
		switch a := strings.Join(r.Change.Actions, "-"); a {
		case "no-op", "read":
		case "delete-create", "create-delete":
			p.Actions[r.Address] = Replace
		default:
			p.Actions[r.Address] = Action(a)
		}
	}
	for _, r := range doc.Drift {
		p.Drift = append(p.Drift, r.Address)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Outputs)) {
		if strings.Join(doc.Outputs[name].Actions, "-") != "no-op" {
			p.Outputs = append(p.Outputs, name)
		}
	}
	return p, nil
}

// parseState parses the output of `show -json` for a state.
func parseState(text []byte) (*State, error) {
	type module struct {
		Resources []struct {
			Address, Deposed string
			Values           map[string]any
			Tainted          bool
			Sensitive        any `json:"sensitive_values"`
		}
		Children []json.RawMessage `json:"child_modules"`
	}
	var doc struct {
		Values struct {
			Outputs map[string]struct{ Value any }
			Root    json.RawMessage `json:"root_module"`
		}
	}
	if err := decode(text, &doc); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	s := &State{Objects: map[string]*Object{}, Outputs: map[string]any{}}
	for name, o := range doc.Values.Outputs {
		s.Outputs[name] = o.Value
	}
	for queue := []json.RawMessage{doc.Values.Root}; len(queue) > 0; queue = queue[1:] {
		if len(queue[0]) == 0 {
			continue
		}
		var m module
		if err := decode(queue[0], &m); err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		for _, r := range m.Resources {
			if r.Deposed != "" {
				r.Address += " (deposed)"
			}
			s.Objects[r.Address] = &Object{Values: r.Values, Tainted: r.Tainted, sensitive: r.Sensitive}
		}
		queue = append(queue, m.Children...)
	}
	return s, nil
}

// lookup returns the value at a path such as "rule.0.port", "tags.env" or "rule.#". Keys of maps may contain dots.
func lookup(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
			if next, ok := v[path[:end]]; ok && path[end:] != "." {
				return lookup(next, strings.TrimPrefix(path[end:], "."))
			}
		}
		if path == "%" || path == "#" {
			return json.Number(strconv.Itoa(len(v))), true
		}
	case []any:
		step, rest, _ := strings.Cut(path, ".")
		if step == "#" && rest == "" {
			return json.Number(strconv.Itoa(len(v))), true
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return lookup(v[i], rest)
		}
	}
	return nil, false
}

// isSecret reports whether the value at a path, or a part of it, is sensitive.
func isSecret(sensitive any, path string) bool {
	for path != "" {
		if is, ok := lookup(sensitive, path); ok {
			return anyTrue(is)
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return sensitive == true
		}
		path = path[:i]
		if is, ok := lookup(sensitive, path); ok && is == true {
			return true
		}
	}
	return anyTrue(sensitive)
}

func anyTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case map[string]any:
		for _, e := range v {
			if anyTrue(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, anyTrue)
	}
	return false
}

// difference is a path at which two objects differ.
type difference struct{ path, text string }

// differences compares the values of two objects. Null equals a missing value.
func differences(path string, want, got *Object) (out []difference) {
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		am, aMap := a.(map[string]any)
		bm, bMap := b.(map[string]any)
		al, aList := a.([]any)
		bl, bList := b.([]any)
		at := func(step string) string { return strings.TrimPrefix(path+"."+step, ".") }
		switch {
		case aMap && bMap:
			for _, k := range slices.Sorted(maps.Keys(am)) {
				walk(at(k), am[k], bm[k])
			}
			for _, k := range slices.Sorted(maps.Keys(bm)) {
				if _, ok := am[k]; !ok {
					walk(at(k), nil, bm[k])
				}
			}
		case aList && bList && len(al) == len(bl):
			for i := range al {
				walk(at(strconv.Itoa(i)), al[i], bl[i])
			}
		case !equal(a, b):
			if isSecret(want.sensitive, path) || isSecret(got.sensitive, path) {
				out = append(out, difference{path, path + " is another sensitive value"})
				return
			}
			out = append(out, difference{path, fmt.Sprintf("%s is %s, expected %s", path, show(b), show(a))})
		}
	}
	walk(path, want.Values, got.Values)
	return out
}

// normalized converts any Go value to its form in a document.
func normalized(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	return out, decode(text, &out)
}

// equal compares values of documents; numbers are compared by value.
func equal(a, b any) bool {
	an, aok := a.(json.Number)
	bn, bok := b.(json.Number)
	if aok && bok {
		x, _, errX := big.ParseFloat(an.String(), 10, 512, big.ToNearestEven)
		y, _, errY := big.ParseFloat(bn.String(), 10, 512, big.ToNearestEven)
		return errX == nil && errY == nil && x.Cmp(y) == 0
	}
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		return maps.EqualFunc(am, bm, equal)
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	if aok && bok {
		return slices.EqualFunc(al, bl, equal)
	}
	return reflect.DeepEqual(a, b)
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
