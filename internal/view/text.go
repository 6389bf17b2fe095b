package view

import (
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// text is the View for people.
type text struct {
	o Options
	style

	mu sync.Mutex // holds Out and Err together, so that texts do not mix
}

func newText(o Options) *text { return &text{o: o, style: style{o.Color}} }

func (t *text) Send(event.Event)      {}
func (t *text) Start()                {}
func (t *text) Diagnostics(diag.List) {}
func (t *text) Plan(p *plan.Plan, schemas tfjson.Schemas) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := planWriter{renderer: renderer{style: t.style}, out: t.o.Out, o: t.o, schemas: schemas}
	w.plan(p)
}
func (t *text) NextStep(NextStep)                {}
func (t *text) Applied(*plan.Plan, *state.State) {}
func (t *text) Message(string)                   {}
func (t *text) Close()                           {}
