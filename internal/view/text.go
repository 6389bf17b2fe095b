package view

import (
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// text is the View for people.
type text struct{ o Options }

func newText(o Options) *text { return &text{o: o} }

func (t *text) Send(event.Event)                 {}
func (t *text) Start()                           {}
func (t *text) Diagnostics(diag.List)            {}
func (t *text) Plan(*plan.Plan, tfjson.Schemas)  {}
func (t *text) NextStep(NextStep)                {}
func (t *text) Applied(*plan.Plan, *state.State) {}
func (t *text) Message(string)                   {}
func (t *text) Close()                           {}
