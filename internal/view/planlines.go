package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
)

// changeLine is the payload of resource_drift and planned_change.
type changeLine struct {
	Resource         resource   `json:"resource"`
	PreviousResource *resource  `json:"previous_resource,omitempty"`
	Action           string     `json:"action"`
	Reason           string     `json:"reason,omitempty"`
	Importing        *importing `json:"importing,omitempty"`
	GeneratedConfig  string     `json:"generated_config,omitempty"`
	// NotImported is an additional member of Tombolo: the optional import that found no object.
	NotImported *importing `json:"not_imported,omitempty"`
}

type importing struct {
	ID      string `json:"id,omitempty"`
	Unknown bool   `json:"unknown,omitempty"`
}

// lineOf returns the line of a change; ok is false if it needs none.
func lineOf(c *plan.Change) (line changeLine, ok bool) {
	line = changeLine{
		Resource: resourceOf(c.Object.Instance), Action: c.Action.String(), Reason: lineReason(c.Reason),
		GeneratedConfig: c.GeneratedConfig,
	}
	switch {
	case c.Action == plan.NoOp && hasMoved(c):
		line.Action = "move"
	case c.Action == plan.NoOp && c.Importing != nil:
		line.Action = "import"
	case c.Action == plan.NoOp:
		return line, false
	case c.Action.IsReplace():
		line.Action = "replace"
	case c.Action == plan.Forget:
		line.Action = "remove"
	}
	if hasMoved(c) {
		previous := resourceOf(*c.PrevAddr)
		line.PreviousResource = &previous
	}
	line.Importing, line.NotImported = importingOf(c.Importing), importingOf(c.NotImported)
	return line, true
}

func importingOf(i *plan.Importing) *importing {
	switch {
	case i == nil:
		return nil
	case i.ByIdentity():
		return &importing{Unknown: i.Unknown}
	}
	return &importing{Unknown: i.Unknown, ID: i.Shown()}
}

// lineReason returns the word for a reason in this format, in which those of replacements have other names.
func lineReason(r plan.Reason) string {
	switch r {
	case plan.ReplaceBecauseTainted:
		return "tainted"
	case plan.ReplaceByRequest:
		return "requested"
	case plan.ReplaceByTriggers:
		return "replace_triggered_by"
	case plan.ReplaceBecauseCannotUpdate:
		return "cannot_update"
	}
	return string(r)
}

// summaryLine is the payload of change_summary.
type summaryLine struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Import int `json:"import"`
	Remove int `json:"remove"`
	// Invoke is always set in Terraform; OpenTofu does not have it.
	Invoke *int `json:"action_invocation,omitempty"`
	Failed int  `json:"action_fail,omitempty"`
	// Forget is an additional member of OpenTofu.
	Forget    *int   `json:"forget,omitempty"`
	Operation string `json:"operation"`
	// LeftOut is an additional member of Tombolo: the objects that the plan leaves alone, as in the plan document.
	LeftOut []leftOutLine `json:"left_out,omitempty"`
	// Deferred is another one: what a later plan has to plan.
	Deferred []deferredLine `json:"deferred,omitempty"`
	// Unread is another one: the instances whose real objects were not read.
	Unread []string `json:"unread,omitempty"`
	// UnreadBySetting has those of them that the project's settings exclude.
	UnreadBySetting []string `json:"unread_by_setting,omitempty"`
}

// forgotten returns a number of objects that are removed from the state and not destroyed, or nil for tools without
// this member.
func (l *lines) forgotten(n int) *int {
	if !l.o.countsForgotten() {
		return nil
	}
	return &n
}

// invoked returns a count of invoked actions as the member of a summary.
func (l *lines) invoked(n int) *int {
	if n == 0 && l.o.tool() == flavor.OpenTofu {
		return nil
	}
	return &n
}

type leftOutLine struct {
	Address string             `json:"address"`
	Reason  plan.LeftOutReason `json:"reason"`
	Because string             `json:"because"`
}

func leftOutLines(p *plan.Plan) (lines []leftOutLine) {
	for _, l := range p.LeftOut {
		lines = append(lines, leftOutLine{l.Address, l.Reason, l.Because.String()})
	}
	return lines
}

type deferredLine struct {
	Address string              `json:"address"`
	Reason  plan.DeferralReason `json:"reason"`
	Because string              `json:"because,omitempty"`
}

func deferredLines(p *plan.Plan) (lines []deferredLine) {
	for _, d := range p.Deferred {
		lines = append(lines, deferredLine{d.Address, d.Reason, d.Because})
	}
	return lines
}

func unreadLines(list []addr.AbsResourceInstance) (lines []string) {
	for _, a := range list {
		lines = append(lines, a.String())
	}
	return lines
}

// outputLine is one member of the payload of outputs.
type outputLine struct {
	Sensitive bool            `json:"sensitive"`
	Action    string          `json:"action,omitempty"`
	Type      json.RawMessage `json:"type,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// Plan writes the planned changes.
func (l *lines) Plan(p *plan.Plan, _ tfjson.Schemas) {
	for _, c := range tfjson.SortedChanges(p.Drift) {
		if line, ok := lineOf(c); ok {
			l.info(fmt.Sprintf("%s: Drift detected (%s)", c.Object.Instance, line.Action), "resource_drift", "change",
				line)
		}
	}
	l.planned(shownChanges(p))
	l.invocations(p.Invocations)
	s := p.Summary()
	l.info("Plan:"+l.o.summary(p), "change_summary", "changes",
		summaryLine{Add: s.Add, Change: s.Change, Import: s.Import, Remove: s.Destroy, Invoke: l.invoked(s.Invoke),
			Forget:    l.forgotten(s.Forget),
			Operation: "plan",
			LeftOut:   leftOutLines(p), Deferred: deferredLines(p), Unread: unreadLines(p.Unread),
			UnreadBySetting: unreadLines(p.UnreadBySetting)})
	if len(p.Outputs) == 0 {
		return
	}
	outputs := map[string]outputLine{}
	for _, o := range p.Outputs {
		outputs[o.Name] = outputLine{Sensitive: o.Sensitive || o.BeforeSensitive,
			Action: strings.ReplaceAll(o.Action.String(), "-", "")}
	}
	l.info(fmt.Sprintf("Outputs: %d", len(outputs)), "outputs", "outputs", outputs)
}

// Saved writes a line for each change that an apply performs. Moves, and imports without changes, were shown with the
// plan and have no operation (moved/saved_json).
func (l *lines) Saved(p *plan.Plan) {
	l.planned(slices.DeleteFunc(slices.Clone(shownChanges(p)), func(c *plan.Change) bool {
		return c.Action == plan.NoOp
	}))
}

// planned writes a line for each change.
func (l *lines) planned(changes []*plan.Change) {
	for _, c := range changes {
		if line, ok := lineOf(c); ok {
			l.info(fmt.Sprintf("%s: Plan to %s", c.Object.Instance, line.Action), "planned_change", "change", line)
		}
	}
}

// Incomplete writes nothing: the errors are already written.
func (l *lines) Incomplete(Ending) {}

// Applied writes the counts of changes and the root output values, sensitive ones without their values.
func (l *lines) Applied(e Ending) {
	p, s := e.Plan, e.State
	l.mu.Lock()
	done := l.done
	l.mu.Unlock()
	operation := "apply"
	if p != nil && p.Mode == plan.Destroy && l.o.Command != "apply" {
		operation = "destroy"
	}
	if l.o.Command != "refresh" {
		l.info(completed(l.o, e, done), "change_summary", "changes",
			summaryLine{Add: done.add, Change: done.change, Import: e.imported(), Remove: done.destroy,
				Invoke: l.invoked(done.invoke), Failed: done.failed, Forget: l.forgotten(e.forgotten()),
				Operation: operation})
	}
	if operation == "destroy" {
		return
	}
	outputs := map[string]outputLine{}
	for _, name := range s.OutputNames() {
		o := s.Output(name)
		line := outputLine{Sensitive: o.Sensitive}
		var ty, value bytes.Buffer
		if tfjson.Type(&ty, o.Value.Type()) == nil {
			line.Type = ty.Bytes()
		}
		if !o.Sensitive && tfjson.Value(&value, o.Value) == nil {
			line.Value = value.Bytes()
		}
		outputs[name] = line
	}
	l.info(fmt.Sprintf("Outputs: %d", len(outputs)), "outputs", "outputs", outputs)
}
