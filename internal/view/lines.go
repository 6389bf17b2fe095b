package view

import (
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// lines is the View for programs: one JSON object a line.
type lines struct{ o Options }

func newLines(o Options) *lines { return &lines{o: o} }

func (l *lines) Send(event.Event)                 {}
func (l *lines) Start()                           {}
func (l *lines) Diagnostics(diag.List)            {}
func (l *lines) Plan(*plan.Plan, tfjson.Schemas)  {}
func (l *lines) NextStep(NextStep)                {}
func (l *lines) Applied(*plan.Plan, *state.State) {}
func (l *lines) Message(string)                   {}
func (l *lines) Close()                           {}
