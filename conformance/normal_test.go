package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
)

// A normaliser replaces random and time-dependent values by names that are the same on both sides. It is used for one
// side of one case: an id that was named in an earlier step keeps its name, so a reference to the wrong object is still
// a difference.
type normaliser struct {
	names   map[string]string // id, lineage or deposed key -> name
	counts  map[string]int    // number of ids of an address so far
	serials map[string]string // last serial of each state file

	varies map[string][]string // type of resource -> attributes that differ in every run
	// values of such attributes, longest first: they are replaced everywhere, also within other texts
	texts []string
	// anyVersion: the oracle has another version than the one that we report.
	anyVersion bool
	// noStore: the oracle's terraform_data has no block store, which is null here unless it is configured.
	noStore bool
	// late: the oracle reports a test file after it has ended.
	late bool
}

// normaliser returns a new one for either side of the case.
func (c *Case) normaliser() *normaliser {
	n := newNormaliser(c.varies)
	n.anyVersion = c.oracle != terraform1_11
	n.noStore = c.oracle != terraform1_16
	n.late = c.oracle.flavor() == flavor.OpenTofu
	return n
}

func newNormaliser(varies map[string][]string) *normaliser {
	return &normaliser{names: map[string]string{}, counts: map[string]int{}, serials: map[string]string{},
		varies: varies}
}

var (
	uuidPattern    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	elapsedPattern = regexp.MustCompile(`after (\d+h)?(\d+m)?\d+s`)
	deposedPattern = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
)

// learn names the ids, the lineage and the deposed keys of a decoded state file.
func (n *normaliser) learn(state any) {
	doc, ok := state.(map[string]any)
	if !ok {
		return
	}
	if lineage, ok := doc["lineage"].(string); ok && lineage != "" {
		n.name(lineage, "lineage")
	}
	eachInstance(doc, func(resource, instance map[string]any) {
		addr := instanceAddress(resource, instance)
		if deposed, ok := instance["deposed"].(string); ok {
			n.name(deposed, "deposed "+addr)
		}
		attributes, _ := instance["attributes"].(map[string]any)
		if id, ok := attributes["id"].(string); ok && uuidPattern.MatchString(id) {
			n.name(id, "id "+addr)
		}
		for _, name := range n.varies[fmt.Sprint(resource["type"])] {
			n.nameText(attributes[name], name+" "+addr)
		}
	})
}

// learnValues names varying texts in the values of a plan or of show, such as those of data sources that are read
// during planning.
func (n *normaliser) learnValues(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.learnValues(e)
		}
	case map[string]any:
		values, isResource := v["values"].(map[string]any)
		if attributes := n.varies[fmt.Sprint(v["type"])]; isResource && attributes != nil {
			for _, name := range attributes {
				n.nameText(values[name], fmt.Sprintf("%s %s", name, v["address"]))
			}
			return
		}
		for _, k := range sortedKeys(v) {
			n.learnValues(v[k])
		}
	}
}

func (n *normaliser) name(raw, what string) {
	if _, known := n.names[raw]; known {
		return
	}
	n.counts[what]++
	n.names[raw] = fmt.Sprintf("<%s #%d>", what, n.counts[what])
}

// nameText names a varying text. Texts shorter than six characters are skipped, because others could contain them by
// chance.
func (n *normaliser) nameText(v any, what string) {
	text, ok := v.(string)
	if !ok || len(text) < 6 || n.names[text] != "" {
		return
	}
	n.name(text, what)
	n.texts = append(n.texts, text)
	slices.SortStableFunc(n.texts, func(a, b string) int { return len(b) - len(a) })
}

func instanceAddress(resource, instance map[string]any) string {
	addr := fmt.Sprintf("%v.%v", resource["type"], resource["name"])
	if resource["mode"] == "data" {
		addr = "data." + addr
	}
	if module, ok := resource["module"]; ok {
		addr = fmt.Sprintf("%v.%s", module, addr)
	}
	switch key := instance["index_key"].(type) {
	case nil:
		return addr
	case string:
		return fmt.Sprintf("%s[%q]", addr, key)
	default:
		return fmt.Sprintf("%s[%v]", addr, key)
	}
}

// text replaces random parts of a string.
func (n *normaliser) text(s string) string {
	if n.noStore {
		s = storeLine.ReplaceAllString(s, "")
	}
	s = uuidPattern.ReplaceAllStringFunc(s, func(id string) string {
		if name, ok := n.names[id]; ok {
			return name
		}
		return "<uuid>"
	})
	for _, text := range n.texts {
		s = strings.ReplaceAll(s, text, n.names[text])
	}
	s = deposedPattern.ReplaceAllStringFunc(s, func(key string) string {
		if name, ok := n.names[key]; ok {
			return name
		}
		return key
	})
	s = timePattern.ReplaceAllString(s, "<time>")
	return elapsedPattern.ReplaceAllString(s, "after <elapsed>")
}

// value replaces random parts anywhere in decoded JSON, including object keys.
func (n *normaliser) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if n.noStore && ofStore(k, e) {
				continue
			}
			out[n.text(k)] = n.value(e)
		}
		return out
	}
	return v
}

// ofStore reports whether a member of a JSON object belongs to the block store of terraform_data: its value, its type,
// or its schema.
func ofStore(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "store"
	case []any:
		if name != "store" || len(v) != 2 {
			return false
		}
		attributes, _ := v[1].(map[string]any)
		return attributes["sensitive_output"] != nil
	case map[string]any:
		if name == "block_types" && len(v) == 1 {
			return ofStore("store", v["store"]) && v["store"] != nil
		}
		return name == "store" && v["nesting_mode"] == "single"
	}
	return false
}

// storeLine matches the value of the block in text.
var storeLine = regexp.MustCompile(`(?m)^[ +~-]*"?store"? *= null( /\* object \*/)?\n`)

// state normalises a state file. Terraform's serial counts its intermediate writes, which the other side need not do,
// so only whether a step changed it is compared.
func (n *normaliser) state(file string, state any) any {
	out := n.value(state)
	doc, ok := out.(map[string]any)
	if !ok || doc["serial"] == nil { // JSON, but not a state
		return out
	}
	serial := fmt.Sprint(doc["serial"])
	switch last, seen := n.serials[file]; {
	case !seen:
		doc["serial"] = "new"
	case last == serial:
		doc["serial"] = "same"
	default:
		doc["serial"] = "changed"
	}
	n.serials[file] = serial
	if hasRandomOrder(doc) {
		doc["serial"] = "not compared"
	}
	checks, _ := doc["check_results"].([]any)
	sortBy(checks)
	for _, c := range checks {
		if c, ok := c.(map[string]any); ok {
			sortBy(c["objects"])
		}
	}
	eachInstance(doc, func(_, instance map[string]any) { sortBy(instance["sensitive_attributes"]) })
	return doc
}

// eachInstance calls f for every instance in a decoded state file.
func eachInstance(state map[string]any, f func(resource, instance map[string]any)) {
	resources, _ := state["resources"].([]any)
	for _, r := range resources {
		resource, _ := r.(map[string]any)
		instances, _ := resource["instances"].([]any)
		for _, i := range instances {
			if instance, ok := i.(map[string]any); ok {
				f(resource, instance)
			}
		}
	}
}

// hasRandomOrder reports whether a state has lists that terraform writes in an order that differs between runs. An
// apply without changes may then write the state again and increase the serial, or not.
func hasRandomOrder(state map[string]any) bool {
	checks, _ := state["check_results"].([]any)
	random := len(checks) > 1
	for _, c := range checks {
		if c, ok := c.(map[string]any); ok {
			objects, _ := c["objects"].([]any)
			random = random || len(objects) > 1
		}
	}
	eachInstance(state, func(_, instance map[string]any) {
		paths, _ := instance["sensitive_attributes"].([]any)
		random = random || len(paths) > 1
	})
	return random
}

// sortBy sorts a list by its elements' JSON, if terraform's own order differs between runs.
func sortBy(v any) {
	if list, ok := v.([]any); ok {
		sort.Slice(list, func(i, j int) bool { return compact(list[i]) < compact(list[j]) })
	}
}

// plan normalises a plan document.
func (n *normaliser) plan(plan any) any {
	out := n.value(plan)
	if doc, ok := out.(map[string]any); ok {
		sortBy(doc["relevant_attributes"])
		changes, _ := doc["resource_changes"].([]any)
		for _, c := range changes {
			if c, ok := c.(map[string]any); ok {
				if change, ok := c["change"].(map[string]any); ok {
					sortBy(change["replace_paths"]) // a set in terraform, and in providers
				}
			}
		}
		sortChildModules(doc)
	}
	return out
}

// sortChildModules sorts every list of child modules, at any depth.
func sortChildModules(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			sortChildModules(e)
		}
	case map[string]any:
		for k, e := range v {
			sortChildModules(e)
			if k == "child_modules" {
				sortBy(e)
			}
		}
	}
}

var cycleMember = regexp.MustCompile(` \([a-z ]+\)`)

var controlSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// colorless removes colors, which terraform also writes to files.
func colorless(s string) string { return controlSequence.ReplaceAllString(s, "") }

// summary normalises the summary of a diagnostic. Terraform lists the members of a cycle in an order that differs
// between runs, and with the phases of its graph, which are internal.
func (n *normaliser) summary(s string) string {
	s = colorless(n.text(s))
	rest, isCycle := strings.CutPrefix(s, "Cycle: ")
	if !isCycle {
		return s
	}
	members := strings.Split(cycleMember.ReplaceAllString(rest, ""), ", ")
	slices.Sort(members)
	return "Cycle: " + strings.Join(slices.Compact(members), ", ")
}
