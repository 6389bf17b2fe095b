package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instanceKey matches the key of a module instance in an address. The generator's keys have no brackets.
var instanceKey = regexp.MustCompile(`\[[^\]]*\]`)

// withoutVanished removes, from the dependencies of stored objects, blocks without objects in the same document, now or
// after the plan. Terraform keeps the former dependencies of an object, under their former names, until the object is
// written again, and includes removed blocks in the dependencies on their module.
func withoutVanished(doc Document) {
	for name, part := range doc {
		switch part, _ := part.(map[string]any); {
		case strings.HasPrefix(name, "file "), name == "show":
			filterDependencies(part, storedBlocks(part, map[string]bool{}))
		case name == "plan":
			filterDependencies(part["prior_state"], storedBlocks(part["planned_values"], map[string]bool{}))
		}
	}
}

// storedBlocks collects the addresses of the blocks with objects in a state, in either of its forms.
func storedBlocks(v any, found map[string]bool) map[string]bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			storedBlocks(e, found)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		name, _ := v["name"].(string)
		if instances, file := v["instances"].([]any); kind != "" && name != "" && (!file || len(instances) > 0) {
			address, shown := v["address"].(string)
			if !shown {
				module, _ := v["module"].(string)
				address = strings.TrimPrefix(module+"."+kind+"."+name, ".")
				if v["mode"] == "data" {
					address = strings.TrimPrefix(module+".data."+kind+"."+name, ".")
				}
			}
			found[instanceKey.ReplaceAllString(address, "")] = true
			return found
		}
		for _, e := range v {
			storedBlocks(e, found)
		}
	}
	return found
}

func filterDependencies(v any, stored map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			filterDependencies(e, stored)
		}
	case map[string]any:
		for _, list := range []string{"dependencies", "depends_on"} {
			if on, ok := v[list].([]any); ok {
				on = slices.DeleteFunc(slices.Clone(on), func(a any) bool {
					address, _ := a.(string)
					return !stored[instanceKey.ReplaceAllString(address, "")]
				})
				if v[list] = on; len(on) == 0 {
					delete(v, list)
				}
			}
		}
		for name, e := range v {
			if name != "values" || v["type"] == nil { // the attributes of objects are skipped
				filterDependencies(e, stored)
			}
		}
	}
}

// listedDependencies limits the number of indirect dependencies stored with an object; the nearest come first, and more
// distant ones are dependencies of those.
const listedDependencies = 32

// withinLimit removes, from terraform's long lists, the entries beyond the limit of tombolo's list of the same object.
func withinLimit(terraform, tombolo Document) {
	for _, name := range []string{"file terraform.tfstate", "show", "plan"} {
		theirs, ours := map[string]map[string]any{}, map[string]map[string]any{}
		dependents(terraform[name], "", theirs)
		dependents(tombolo[name], "", ours)
		for object, of := range ours {
			for _, list := range []string{"dependencies", "depends_on"} {
				short, _ := of[list].([]any)
				long, _ := theirs[object][list].([]any)
				if len(short) > listedDependencies && len(long) > len(short) {
					theirs[object][list] = slices.DeleteFunc(slices.Clone(long), func(a any) bool {
						return !slices.Contains(short, a)
					})
				}
			}
		}
	}
}

// dependents collects the objects of a document that have dependencies, each by its path in the document.
func dependents(v any, way string, found map[string]map[string]any) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			key := fmt.Sprint(i)
			if m, ok := e.(map[string]any); ok {
				key = fmt.Sprint(m["address"], m["module"], m["mode"], m["type"], m["name"], m["index_key"])
			}
			dependents(e, way+"/"+key, found)
		}
	case map[string]any:
		if v["dependencies"] != nil || v["depends_on"] != nil {
			found[way] = v
		}
		for name, e := range v {
			dependents(e, way+"/"+name, found)
		}
	}
}

func TestVanishedDependencies(t *testing.T) {
	doc := Document{
		"file terraform.tfstate": decode(`{"resources": [
			{"mode": "managed", "type": "t", "name": "gone", "instances": []},
			{"mode": "data", "module": "module.m[\"x\"]", "type": "t", "name": "d", "instances": [{}]},
			{"mode": "managed", "type": "t", "name": "a", "instances": [{"dependencies": ["module.m.data.t.d", "t.b", "t.gone"]}]},
			{"mode": "managed", "type": "t", "name": "b", "instances": [{"dependencies": ["t.gone"]}]}]}`),
		"show": decode(`{"values": {"root_module": {"resources": [
			{"address": "t.a[0]", "type": "t", "name": "a", "values": {"depends_on": ["x"]}, "depends_on": ["t.a", "t.b"]}]}}}`),
	}
	withoutVanished(doc)
	want := Document{
		"file terraform.tfstate": decode(`{"resources": [
			{"mode": "managed", "type": "t", "name": "gone", "instances": []},
			{"mode": "data", "module": "module.m[\"x\"]", "type": "t", "name": "d", "instances": [{}]},
			{"mode": "managed", "type": "t", "name": "a", "instances": [{"dependencies": ["module.m.data.t.d", "t.b"]}]},
			{"mode": "managed", "type": "t", "name": "b", "instances": [{}]}]}`),
		"show": decode(`{"values": {"root_module": {"resources": [
			{"address": "t.a[0]", "type": "t", "name": "a", "values": {"depends_on": ["x"]}, "depends_on": ["t.a"]}]}}}`),
	}
	if got := compact(doc); got != compact(want) {
		t.Errorf("got %s\nwant %s", got, compact(want))
	}
}
