package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// A Document is the compared result of one step on one side: named parts, each plain JSON.
type Document map[string]any

// view converts a step's Result to a Document. It must be called for the steps in order, because n stores names.
func view(s Step, res Result, n *normaliser) Document {
	doc := Document{}
	states, into := map[string]any{}, map[string]string{}
	for name, text := range res.Files {
		if isJUnit(name) {
			doc["file "+name] = junit(text)
			continue
		}
		if isGenerated(name) {
			doc["file "+name] = generatedBlocks(text, n)
			continue
		}
		if isInto(name) {
			into[name] = text
			continue
		}
		states[name] = decode(text)
	}
	// terraform.tfstate before its .backup, so that current ids are named first
	for _, name := range sortedKeys(states) {
		if strings.HasSuffix(name, ".tfstate") || strings.HasSuffix(name, ".backup") {
			n.learn(states[name])
		}
	}
	if len(res.Runs) == 0 {
		return doc
	}
	if problems := undecodable(s, res, Result{}); len(problems) > 0 {
		doc["undecodable"] = bag(problems)
	}
	step := res.Runs[0]
	doc["exit"] = json.Number(fmt.Sprint(step.Exit))
	viewStep(doc, s, step, n)
	if run, ok := res.run("show plan"); ok {
		plan := decode(run.Stdout)
		n.learnValues(plan)
		doc["plan"] = n.plan(plan)
	}
	if run, ok := res.run("stream"); ok {
		doc["stream"] = testStream(run.Stdout, n)
		doc["diagnostics"], doc[marksPart] = eventDiagnostics(run.Stdout, n)
		doc["stream exit"] = json.Number(fmt.Sprint(run.Exit))
	}
	if run, ok := res.run("diagnostics"); ok {
		doc["diagnostics"], doc[marksPart] = eventDiagnostics(run.Stdout, n)
		doc["diagnostics exit"] = json.Number(fmt.Sprint(run.Exit))
	}
	for _, role := range []string{"show", "output"} {
		if run, ok := res.run(role); ok {
			shown := decode(run.Stdout)
			n.learnValues(shown)
			doc[role] = n.value(shown)
		}
	}
	for _, name := range sortedKeys(into) {
		doc["file "+name] = written(into[name], n)
	}
	for name, state := range states {
		switch {
		case strings.HasSuffix(name, "modules.json"):
			doc["file "+name] = n.value(state)
		case strings.HasSuffix(name, lockFile):
			doc["file "+name] = colorless(res.Files[name])
		case changesState(s):
			doc["file "+name] = n.state(name, state)
		}
	}
	doc["files"] = fileList(res.List)
	return doc
}

// written returns the content written by -json-into: lines or a document.
func written(text string, n *normaliser) any {
	if !isStream(text) {
		document := n.state("into", decode(text))
		dropMember(document, "detail") // of diagnostics, whose wording differs
		return document
	}
	found, _ := eventDiagnostics(text, n)
	return map[string]any{"events": eventGroups(text, n), "diagnostics": found}
}

// isStream reports whether a text consists of OpenTofu's JSON lines, which more commands print than in Terraform.
func isStream(text string) bool {
	return strings.HasPrefix(text, `{"@level":`) && strings.Contains(text, `"@module":"tofu.ui"`)
}

// generatedBlocks returns the blocks that -generate-config-out wrote, sorted, because terraform writes them in random
// order. The comment above them is ours.
func generatedBlocks(text string, n *normaliser) any {
	const head = "\n\n# __generated__"
	list := strings.Split(n.text(text), head)
	for i, block := range list {
		list[i] = strings.TrimSuffix(block, "\n")
	}
	return bag(list[1:])
}

// stampedBackup matches the names of backups of the state commands. They contain a time in seconds, so that two may
// coincide.
var stampedBackup = regexp.MustCompile(`\.tfstate\.\d+\.backup$`)

// fileList leaves out the journal, which our runs may keep beside the state.
func fileList(list []string) any {
	var out []string
	for _, name := range list {
		if !strings.Contains(name, ".journal") {
			out = append(out, stampedBackup.ReplaceAllString(name, ".tfstate.<time>.backup"))
		}
	}
	return bag(out)
}

func viewStep(doc Document, s Step, run Run, n *normaliser) {
	isJSON := slices.Contains(s.Args, "-json")
	switch {
	case isJSON && s.Verb == "test":
		doc["stream"] = testStream(run.Stdout, n)
		doc["diagnostics"], doc[marksPart] = eventDiagnostics(run.Stdout, n)
		return
	case isJSON && (hasEvents(s.Verb) || isStream(run.Stdout)):
		groups := eventGroups(run.Stdout, n)
		if other, ok := groups["other"].([]any); ok && s.Verb == "init" {
			sortInstallEvents(other)
		}
		doc["events"] = groups
		doc["diagnostics"], doc[marksPart] = eventDiagnostics(run.Stdout, n)
		return
	case s.Verb == "validate" && isJSON:
		doc["validate"], doc["diagnostics"], doc[marksPart] = validateDocument(run.Stdout, n)
		return
	case isJSON || s.Verb == "state" && len(s.Args) > 0 && s.Args[0] == "pull":
		doc["stdout"] = n.state("stdout", decode(run.Stdout))
		if out, ok := doc["stdout"].(map[string]any); ok {
			sortBy(out["relevant_attributes"])
			switch s.Verb {
			case "modules":
				sortBy(out["modules"])
			case "metadata":
				dropMember(out, "description") // the wording of functions' descriptions differs
			}
		}
	default:
		doc["text"] = n.text(stableText(s, run))
		if s.Changes {
			doc["changes"] = changeLines(strings.Split(n.text(run.Stdout), "\n"))
		}
	}
	doc["text diagnostics"] = textDiagnostics(run, n)
}

// stableText returns the lines that scripts read and that must therefore be equal. Other text for people may differ, as
// may everything that a failed command prints except for its diagnostics.
func stableText(s Step, run Run) string {
	text := run.Stdout
	if s.Verb == "test" {
		return strings.Join(testLine.FindAllString(colorless(text), -1), "\n")
	}
	if run.Exit == 1 {
		return ""
	}
	switch s.Verb {
	case "init":
		return installLines(text)
	case "workspace":
		return strings.Join(workspaceLine.FindAllString(colorless(text), -1), "\n")
	case "output":
		if !strings.HasPrefix(strings.TrimSpace(text), "Warning: ") { // otherwise its details are all there is
			return text
		}
	case "console", "fmt", "version", "-version", "--version", "-v":
		return text
	case "graph":
		return graphComment.ReplaceAllString(text, "")
	case "modules", "providers":
		if len(s.Args) > 0 && s.Args[0] == "lock" {
			return installLines(text)
		}
		// terraform draws its trees with non-breaking spaces
		return unorderedTree(strings.ReplaceAll(text, "\u00a0", " "))
	case "state":
		if len(s.Args) > 0 && (s.Args[0] == "list" || s.Args[0] == "show") {
			return controlSequence.ReplaceAllString(text, "") // terraform shows null in gray even with -no-color
		}
	case "plan", "apply", "destroy", "refresh":
		var out []string
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "Apply complete!") || strings.HasPrefix(line, "Destroy complete!") {
				out = append(out, withoutAdvice(lines[i:])...) // the outputs continue to the end
				break
			}
			if strings.HasPrefix(line, "Plan: ") || strings.HasPrefix(line, "No changes.") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	return ""
}

// changeLines returns the lines of a plan about objects and outputs that change: the blocks with braces, and the list
// of outputs.
func changeLines(lines []string) (out []any) {
	end, shown := "", false
	for i, line := range lines {
		switch {
		case blockStart.MatchString(line):
			end, shown = "    }", true
		case i > 0 && lines[i-1] == "Changes to Outputs:":
			end, shown = "", true
		case end == "" && !strings.HasPrefix(line, "  "):
			shown = false
		}
		if shown {
			out = append(out, line)
			shown = line != end
		}
	}
	return out
}

// blockStart matches the first line of a resource in a plan, with the sign before it.
var blockStart = regexp.MustCompile(`^ *(?:[-+~.]|<=|-/\+|\+/-)? *(?:resource|data) "[^"]+" "[^"]+" \{$`)

// dropMember removes all members with a name, at any depth.
func dropMember(v any, name string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			dropMember(e, name)
		}
	case map[string]any:
		delete(v, name)
		for _, e := range v {
			dropMember(e, name)
		}
	}
}

// workspaceLine matches the output of the workspace commands that scripts read: the list, the name alone, and the
// result.
var workspaceLine = regexp.MustCompile(
	`(?m)^(?:[* ] [^ \n]+|[^ \n]+|(?:Created and switched to|Switched to|Deleted) workspace .*|WARNING: .*)$`)

// graphComment matches the comments of a graph, which are for people.
var graphComment = regexp.MustCompile(`(?m)^ *(//.*|/\*.*\*/)\n`)

// withoutAdvice removes the text before the path of a state that -state-out names, because only the path is read, and
// what Tombolo lists after the counts: what was done, and where the state is.
func withoutAdvice(lines []string) []string {
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "State path: ") }); i >= 0 {
		return append(lines[:1:1], lines[i:]...)
	}
	saved := func(line string) bool { return strings.HasPrefix(line, "The results are saved in the state") }
	if i := slices.IndexFunc(lines, saved); i >= 0 {
		for i < len(lines) && lines[i] != "" {
			i++
		}
		return append(lines[:1:1], lines[i:]...)
	}
	return lines
}

// The location of a diagnostic in text is file and line; the column is only in JSON.
var textPosition = regexp.MustCompile(`(?m)^  on (.+) line (\d+)(?:, in .*)?:$`)

// initPreamble begins the text of terraform init before the errors of an invalid configuration. It resembles an error,
// but is not one.
const initPreamble = "Terraform encountered problems during initialisation"

// saidAtRandom is a warning that terraform shows in some runs and not in others, for the same plan of the same
// configuration.
const saidAtRandom = "Config generation is experimental"

// textDiagnostics parses the diagnostics in text for people, with the stream that each was printed on.
func textDiagnostics(run Run, n *normaliser) any {
	var found []string
	for stream, text := range map[string]string{"stdout": plain(run.Stdout), "stderr": plain(run.Stderr)} {
		starts := diagnosticStart.FindAllStringIndex(text, -1)
		for i, at := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			if i > 0 && isDetail(text[starts[i-1][0]:at[0]]) {
				continue
			}
			block := text[at[0]:end]
			head, _, _ := strings.Cut(block, "\n")
			severity, summary, _ := strings.Cut(head, ": ")
			if strings.HasPrefix(summary, initPreamble) || summary == saidAtRandom {
				continue
			}
			head = strings.ToLower(severity) + ": " + n.summary(summary)
			if pos := textPosition.FindStringSubmatch(block); pos != nil && !strings.HasPrefix(head, aCycle) {
				head += fmt.Sprintf(" @ %s:%s", pos[1], pos[2])
			}
			found = append(found, head+" ("+stream+")")
		}
	}
	return bag(found)
}

// isDetail reports whether a text that begins with the head of a diagnostic ends where its details begin: they may
// quote an error. A head that is a sentence has no details.
func isDetail(before string) bool {
	head, rest, _ := strings.Cut(before, "\n")
	return head != "" && !strings.HasSuffix(head, ".") && rest == "\n"
}

// plain removes colors and frames, which terraform by default also writes to files.
func plain(text string) string {
	lines := strings.Split(controlSequence.ReplaceAllString(text, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, "│ "), "│")
	}
	return strings.Join(lines, "\n")
}

// eventGroups groups the lines of an event stream by their object: the events of one object are ordered, those of
// different objects are not. Diagnostics are compared separately.
func eventGroups(stream string, n *normaliser) map[string]any {
	groups := map[string]any{}
	for _, line := range strings.Split(strings.TrimSpace(stream), "\n") {
		event, ok := decode(line).(map[string]any)
		if !ok {
			event = map[string]any{"@message": "no JSON: " + line}
		}
		if event["type"] == "diagnostic" {
			continue
		}
		if event["@module"] == "tofu.ui" && (event["type"] == nil || event["type"] == "log" ||
			event["type"] == "init_output") {
			continue // a sentence, which has no type in OpenTofu
		}
		if event["type"] == "init_output" {
			delete(event, "@message") // programs identify it by its code
		}
		key := "other"
		for _, field := range []string{"hook", "change"} {
			if m, ok := event[field].(map[string]any); ok {
				if _, ok := m["elapsed_seconds"].(json.Number); ok {
					m["elapsed_seconds"] = "<elapsed>"
				}
				if r, ok := m["resource"].(map[string]any); ok {
					key = fmt.Sprint(r["addr"])
				}
			}
		}
		group, _ := groups[key].([]any)
		groups[key] = append(group, n.value(event))
	}
	return groups
}

// decode decodes JSON and keeps numbers as written. Text that is not JSON is returned unchanged.
func decode(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return text
	}
	return v
}

// compact returns decoded JSON on one line, with sorted keys.
func compact(v any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(buf.String())
}

// bag sorts strings and removes duplicates: terraform reports some problems twice, in an order that depends on its
// graph walk.
func bag(list []string) any {
	slices.Sort(list)
	list = slices.Compact(list)
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
