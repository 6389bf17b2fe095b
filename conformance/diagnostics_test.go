package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// marksPart is the part of a Document with the fields of diagnostics, by severity, summary and location. Diagnostics
// that only one side has are reported elsewhere, so only those of both sides are compared here.
const marksPart = "marks"

// onlyShared removes the diagnostics that the other side does not have.
func onlyShared(a, b Document) {
	left, _ := a[marksPart].(map[string]any)
	right, _ := b[marksPart].(map[string]any)
	for key := range left {
		if _, both := right[key]; !both {
			delete(left, key)
		}
	}
	for key := range right {
		if _, both := left[key]; !both {
			delete(right, key)
		}
	}
	for key := range right {
		list, _ := right[key].([]any)
		wants, _ := left[key].([]any)
		for i, mark := range list {
			if len(wants) > 0 {
				withoutMore(wants[min(i, len(wants)-1)].(map[string]any), mark.(map[string]any))
			}
		}
		right[key] = eachOnce(list) // as add merged terraform's, which have no addresses to distinguish them
	}
}

// eachOnce returns a list without duplicates.
func eachOnce(list []any) (once []any) {
	for _, v := range list {
		if !slices.ContainsFunc(once, func(other any) bool { return compact(other) == compact(v) }) {
			once = append(once, v)
		}
	}
	return once
}

// withoutMore removes from our answer what terraform's does not have: the code, the object's address, and the values of
// the expression. Terraform leaves the last two out if it did not find the problem by evaluation, and no tool depends
// on that.
func withoutMore(terraform, ours map[string]any) {
	delete(ours, "code")
	if _, ok := terraform["address"]; !ok {
		delete(ours, "address")
	}
	there, _ := terraform["snippet"].(map[string]any)
	here, _ := ours["snippet"].(map[string]any)
	known, _ := there["values"].([]any)
	if here == nil || len(known) > 0 {
		return
	}
	if _, ok := here["values"].([]any); ok {
		here["values"] = []any{}
	}
}

// withoutCodes removes the codes of problems, which only we have, from printed or stored documents.
func withoutCodes(doc Document) {
	for name, part := range doc {
		document, _ := part.(map[string]any)
		list, _ := document["diagnostics"].([]any)
		if name != "stdout" && !strings.HasPrefix(name, "file ") {
			continue
		}
		for _, e := range list {
			if problem, ok := e.(map[string]any); ok {
				delete(problem, "code")
			}
		}
	}
}

// sortByTraversal sorts the values in a snippet by their references, because their descriptions may differ.
func sortByTraversal(v any) {
	list, _ := v.([]any)
	slices.SortStableFunc(list, func(a, b any) int {
		left, _ := a.(map[string]any)
		right, _ := b.(map[string]any)
		return strings.Compare(compact(left["traversal"]), compact(right["traversal"]))
	})
}

// diagnostics collects machine-readable diagnostics.
type diagnostics struct {
	n     *normaliser
	found []string
	marks map[string]any
}

// add adds a decoded diagnostic. The details are left out, because their wording differs.
func (d *diagnostics) add(v any) {
	fields, ok := d.n.value(v).(map[string]any)
	if !ok {
		d.found = append(d.found, fmt.Sprintf("no diagnostic: %v", v))
		return
	}
	key := describeDiagnostic(v, d.n)
	if strings.HasSuffix(key, saidAtRandom) || strings.Contains(key, initPreamble) {
		return
	}
	d.found = append(d.found, key)
	delete(fields, "detail")
	delete(fields, "summary") // in the key, in which cycles have a stable order
	if strings.HasPrefix(key, aCycle) {
		delete(fields, "range")
		delete(fields, "snippet")
	}
	if snippet, ok := fields["snippet"].(map[string]any); ok {
		sortByTraversal(snippet["values"])
	}
	if d.marks == nil {
		d.marks = map[string]any{}
	}
	list, _ := d.marks[key].([]any)
	list = eachOnce(append(list, fields))
	sortBy(list)
	d.marks[key] = list
}

// eventDiagnostics reads the diagnostics of a -json event stream.
func eventDiagnostics(stream string, n *normaliser) (list, marks any) {
	d := diagnostics{n: n}
	for _, line := range strings.Split(stream, "\n") {
		if event, ok := decode(line).(map[string]any); ok && event["type"] == "diagnostic" {
			d.add(event["diagnostic"])
		}
	}
	return bag(d.found), d.marks
}

// aCycle is the beginning of errors about cycles. Only ours have a location.
const aCycle = "error: Cycle: "

// describeDiagnostic returns the parts of a JSON diagnostic that identify it: severity, summary, and where it starts.
func describeDiagnostic(v any, n *normaliser) string {
	d, _ := v.(map[string]any)
	text := fmt.Sprintf("%v: %s", d["severity"], n.summary(fmt.Sprint(d["summary"])))
	rng, ok := d["range"].(map[string]any)
	if ok && !strings.HasPrefix(text, aCycle) {
		start, _ := rng["start"].(map[string]any)
		text += fmt.Sprintf(" @ %v:%v:%v", rng["filename"], start["line"], start["column"])
	}
	return text
}

// validateDocument splits the document of validate into its diagnostics and the rest.
func validateDocument(stdout string, n *normaliser) (doc, list, marks any) {
	m, ok := decode(stdout).(map[string]any)
	if !ok {
		return stdout, nil, nil
	}
	d := diagnostics{n: n}
	all, _ := m["diagnostics"].([]any)
	for _, one := range all {
		d.add(one)
	}
	delete(m, "diagnostics")
	return n.value(m), bag(d.found), d.marks
}
