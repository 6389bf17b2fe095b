package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// testLine matches the lines of the command test that scripts read: the results of files and runs.
var testLine = regexp.MustCompile(`(?m)^(?:  run "|[^ \n].*\.tftest\.(?:hcl|json)\.\.\. |Success! |Failure! ).*$`)

// testStream returns the lines that the command test prints, in order, which is fixed, because runs are sequential.
func testStream(stream string, n *normaliser) any {
	var out []any
	for _, line := range strings.Split(strings.TrimSpace(stream), "\n") {
		event, ok := decode(line).(map[string]any)
		if !ok {
			out = append(out, "no JSON: "+line)
			continue
		}
		switch event["type"] {
		case "version":
			if n.anyVersion {
				continue
			}
		case "diagnostic":
			event = map[string]any{"diagnostic": describeDiagnostic(event["diagnostic"], n), "file": event["@testfile"],
				"run": event["@testrun"], "@level": event["@level"]}
		case "test_run":
			if run, ok := event["test_run"].(map[string]any); ok && run["elapsed"] != nil {
				if progress := run["progress"]; compact(run["elapsed"]) != "0" &&
					(progress == "running" || progress == "teardown") {
					continue // of a run that takes long
				}
			}
		case "test_cleanup", "test_interrupt":
			delete(event, "@message")
			if left, ok := event["test_cleanup"].(map[string]any); ok {
				delete(left, "state") // ours has its location
			}
		case "log":
			continue
		case "test_plan", "test_state":
			for _, kind := range []string{"test_plan", "test_state"} {
				if doc, ok := event[kind].(map[string]any); ok {
					// compared in documents of plans; after a failure they depend on how far terraform came
					delete(doc, "relevant_attributes")
					n.learnValues(doc)
					n.learnRandom(doc["root_module"])
					n.learnRandom(doc["resource_changes"])
					n.learnRandom(doc["output_changes"])
					dropMember(doc["provider_schemas"], "description") // the wording differs
					dropMember(doc["provider_schemas"], "summary")
					dropMember(doc["provider_schemas"], "deprecation_message")       // here too
					dropMember(doc["provider_schemas"], "resource_identity_schemas") // later versions have them
					event[kind] = n.plan(doc)
				}
			}
		}
		out = append(out, n.value(event))
	}
	begin := 1 // after the version
	if n.anyVersion {
		begin = 0
	}
	for end := begin; end < len(out); end++ {
		if event, _ := out[end].(map[string]any); event["diagnostic"] == nil || event["file"] != nil {
			break // the order of problems found before any run is random
		}
		sortBy(out[begin : end+1])
	}
	if n.late {
		return resultsFirst(out)
	}
	return out
}

// resultsFirst returns the events of tests in the order of OpenTofu: without progress, and with the result of a file
// before those of its runs.
func resultsFirst(events []any) []any {
	ends := map[any]any{} // file -> its result
	var rest []any
	for _, e := range events {
		event, _ := e.(map[string]any)
		about, _ := event[fmt.Sprint(event["type"])].(map[string]any)
		if progress := about["progress"]; progress != nil && progress != "complete" {
			continue
		}
		if event["type"] == "test_file" || event["type"] == "test_run" {
			delete(about, "progress")
		}
		if event["type"] == "test_file" {
			ends[event["@testfile"]] = e
		} else {
			rest = append(rest, e)
		}
	}
	var out []any
	for _, e := range rest {
		event, _ := e.(map[string]any)
		file := cmp.Or(event["@testfile"], event["file"])
		if end, ok := ends[file]; ok {
			out = append(out, end)
			delete(ends, file)
		}
		out = append(out, e)
	}
	for _, file := range slices.SortedFunc(maps.Keys(ends), func(a, b any) int { // those without runs
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}) {
		out = append(out, ends[file])
	}
	return out
}

var randomPattern = regexp.MustCompile(`^[a-z0-9]{8}$`)

// learnRandom names the texts that mocks generate.
func (n *normaliser) learnRandom(v any) {
	switch v := v.(type) {
	case string:
		if randomPattern.MatchString(v) {
			n.nameText(v, "random")
		}
	case []any:
		for _, e := range v {
			n.learnRandom(e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			n.learnRandom(v[k])
		}
	}
}

// forgetTests removes the states of objects that tests could not destroy, which only we store and report.
func (r *runner) forgetTests(s Step) error {
	if s.Verb != "test" {
		return nil
	}
	return os.RemoveAll(filepath.Join(r.dir, r.cd, ".terraform", "tests"))
}

func isJUnit(rel string) bool { return strings.HasSuffix(rel, "junit.xml") }

var (
	junitTimes = regexp.MustCompile(` (time|timestamp)="[^"]*"`)
	junitText  = regexp.MustCompile(`(?s)<!\[CDATA\[.*?\]\]>`)
)

// junit removes from a file of results everything that differs between runs, and texts with our own wording.
func junit(text string) string {
	return junitText.ReplaceAllString(junitTimes.ReplaceAllString(text, ` $1=""`), "<text>")
}
