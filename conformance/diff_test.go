package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// A Difference is one place at which the two sides differ.
type Difference struct {
	Case      string
	Step      int    // index into the case's steps
	Path      string // "plan.resource_changes[terraform_data.a].change.actions[0]"
	Terraform string // the values of both sides, as JSON or "(nothing)"
	Tombolo   string
}

const nothing = "(nothing)"

// compareDocuments returns every place at which two Documents differ, in the order of their paths.
func compareDocuments(terraform, tombolo Document) []Difference {
	var d differ
	d.objects("", terraform, tombolo)
	return d.found
}

// compareEvents is compareDocuments for documents in which events of tests are compared by their subjects.
func compareEvents(terraform, tombolo Document) []Difference {
	d := differ{byEvent: true}
	d.objects("", terraform, tombolo)
	return d.found
}

type differ struct {
	found   []Difference
	byEvent bool
}

func (d *differ) report(path, terraform, tombolo string) {
	d.found = append(d.found, Difference{Path: path, Terraform: terraform, Tombolo: tombolo})
}

func (d *differ) values(path string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			d.lists(path, a, b)
			return
		}
	}
	if left, right := compact(a), compact(b); left != right {
		d.report(path, left, right)
	}
}

func (d *differ) objects(path string, a, b map[string]any) {
	keys := sortedKeys(a)
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := k
		if path != "" {
			at = path + "." + k
		}
		left, inA := a[k]
		right, inB := b[k]
		switch {
		case !inA:
			d.report(at, nothing, compact(right))
		case !inB:
			d.report(at, compact(left), nothing)
		default:
			d.values(at, left, right)
		}
	}
}

// lists compares elements by their identity, so that one missing element is one difference, and reports a different
// order separately. Lists of strings, such as those of diagnostics and files, are compared as multisets; a different
// order is reported for all of them.
func (d *differ) lists(path string, a, b []any) {
	if d.byEvent && path == "stream" {
		d.streams(path, a, b)
		return
	}
	keysA, keysB := listKeys(a), listKeys(b)
	if keysA == nil || keysB == nil {
		for i := range max(len(a), len(b)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(a):
				d.report(at, nothing, compact(b[i]))
			case i >= len(b):
				d.report(at, compact(a[i]), nothing)
			default:
				d.values(at, a[i], b[i])
			}
		}
		return
	}
	before := len(d.found)
	d.keyed(path, a, b, keysA, keysB)
	if len(d.found) == before && !slices.Equal(keysA, keysB) {
		d.report(path+".(order)", strings.Join(keysA, ", "), strings.Join(keysB, ", "))
	}
}

// keyed compares elements with the same key.
func (d *differ) keyed(path string, a, b []any, keysA, keysB []string) {
	for i, k := range keysA {
		if j := slices.Index(keysB, k); j >= 0 {
			d.values(path+"["+k+"]", a[i], b[j])
		} else {
			d.report(path+"["+k+"]", compact(a[i]), nothing)
		}
	}
	for j, k := range keysB {
		if !slices.Contains(keysA, k) {
			d.report(path+"["+k+"]", nothing, compact(b[j]))
		}
	}
}

// streams compares the events of tests by their subjects, so that a missing one does not shift the paths of others. The
// order of those that both sides have is always compared.
func (d *differ) streams(path string, a, b []any) {
	keysA, keysB := eventKeys(a), eventKeys(b)
	d.keyed(path, a, b, keysA, keysB)
	shared := func(keys, others []string) (both []string) {
		for _, k := range keys {
			if slices.Contains(others, k) {
				both = append(both, k)
			}
		}
		return both
	}
	if left, right := shared(keysA, keysB), shared(keysB, keysA); !slices.Equal(left, right) {
		d.report(path+".(order)", strings.Join(left, ", "), strings.Join(right, ", "))
	}
}

// eventKeys returns the subject of each event of tests. Events with the same subject are numbered.
func eventKeys(list []any) (keys []string) {
	seen := map[string]int{}
	for _, v := range list {
		key := compact(v)
		if event, ok := v.(map[string]any); ok {
			key = "diagnostic of " + fmt.Sprint(event["file"], " ", event["run"])
			if event["type"] != nil {
				key = fmt.Sprint(event["type"], " ", event["@testfile"], " ", event["@testrun"], " ", event["@message"])
			}
		}
		if seen[key]++; seen[key] > 1 {
			key += fmt.Sprintf(" #%d", seen[key])
		}
		keys = append(keys, key)
	}
	return keys
}

// listKeys returns the identity of each element, or nil if the identities are not unique.
func listKeys(list []any) []string {
	keys := make([]string, 0, len(list))
	for _, e := range list {
		k := elementKey(e)
		if k == "" || slices.Contains(keys, k) {
			return nil
		}
		keys = append(keys, k)
	}
	return keys
}

func elementKey(e any) string {
	switch e := e.(type) {
	case string:
		return e
	case map[string]any:
		switch address := e["address"].(type) {
		case string: // a resource in plan or show JSON
			if deposed, ok := e["deposed"].(string); ok {
				return address + " " + deposed
			}
			return address
		case map[string]any: // a check
			return fmt.Sprint(address["to_display"])
		}
		if instances, ok := e["instances"]; ok && e["type"] != nil && instances != nil { // a resource in a state file
			return instanceAddress(e, nil)
		}
		for _, field := range []string{"index_key", "config_addr", "object_addr", "Key"} {
			if v, ok := e[field]; ok {
				if deposed, ok := e["deposed"].(string); ok {
					return fmt.Sprint(v, " ", deposed)
				}
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}
