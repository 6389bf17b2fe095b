package stacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/live"
	"github.com/tombolo-iac/tombolo/internal/view/report"
)

// board shows what all units are doing: one line for each in a terminal, otherwise lines that begin with the name.
type board struct {
	call    *command.Call
	running *command.Running
	options view.Options
	display *live.Display // nil without a terminal

	mu    sync.Mutex // guards the fields below, and the writers of the units
	units map[*stack.Unit]*unitBoard
}

// unitBoard is the part of a board for one unit.
type unitBoard struct {
	view        view.View
	done, total int
	shown       bool             // the display has a line for it
	busy        bool             // that line is about work
	recorder    *report.Recorder // nil without a report
	told        string
	summed      string
}

func newBoard(c *command.Call, running *command.Running, units []*stack.Unit) *board {
	b := &board{call: c, running: running, options: c.ViewOptions(), units: map[*stack.Unit]*unitBoard{}}
	if o := b.options; o.Size != nil && !o.Concise && !o.Digest {
		b.display = live.New(live.Options{Out: c.Out, Size: o.Size})
	}
	for _, u := range units {
		ub := &unitBoard{}
		if b.display == nil {
			ub.view = b.view(u, &prefixed{to: c.Out, name: u.Name, lines: c.JSON, mu: &b.mu})
		}
		b.units[u] = ub
	}
	return b
}

// view returns a view for one unit.
func (b *board) view(u *stack.Unit, out io.Writer) view.View {
	o := b.options
	o.Out, o.Size, o.Automation = out, nil, true
	if o.Into != nil {
		o.Into = &prefixed{to: o.Into, name: u.Name, lines: true, mu: &b.mu}
	}
	if o.JSON {
		o.Err = out
	}
	return view.New(o)
}

func (b *board) close() {
	for _, ub := range b.units {
		if ub.view != nil {
			ub.view.Close()
		}
	}
	if b.display != nil {
		b.display.Close()
	}
}

// begin shows the units that have to be planned or applied, before the first of them is.
func (b *board) begin(list []*stack.Result) {
	if b.display == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range list {
		switch r.Phase {
		case stack.Waiting, stack.Deferred, stack.Planned:
			b.units[r.Unit].shown = true
			b.display.Start(r.Unit.Name, live.Task{Name: r.Unit.Name, Verb: "waiting", Waits: true})
			if r.Phase == stack.Deferred {
				b.display.Say(r.Unit.Name, view.CleanLine(r.Reason))
			}
		}
	}
}

// finish removes the lines of units that still wait.
func (b *board) finish(list []*stack.Result) {
	if b.display == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range list {
		b.remove(r.Unit)
	}
}

// remove removes the line of a unit. The caller holds the mutex.
func (b *board) remove(u *stack.Unit) {
	ub := b.units[u]
	if ub.shown {
		b.display.EndPart(u.Name, "")
	}
	ub.shown, ub.busy = false, false
}

// Phase implements stack.Watcher. A phase that was already told, with the same reason, is not told again: a unit can
// wait for many rounds.
func (b *board) Phase(u *stack.Unit, p stack.Phase, reason string) {
	c := b.call
	b.mu.Lock()
	known := b.units[u].told == words(p, reason)
	b.units[u].told = words(p, reason)
	b.mu.Unlock()
	if known && p != stack.Planning && p != stack.Applying {
		return
	}
	if c.JSON || b.options.Into != nil {
		members := []any{"unit", u.Name, "phase", string(p)}
		if reason != "" {
			members = append(members, "reason", reason)
		}
		b.mu.Lock()
		c.View().Tell(view.Notice{Kind: "unit", Message: u.Name + ": " + words(p, reason), Members: members})
		b.mu.Unlock()
		if c.JSON {
			return
		}
	}
	if b.display == nil {
		if !b.options.Concise {
			b.mu.Lock()
			fmt.Fprintf(c.Out, "[%s] %s\n", u.Name, view.CleanLine(words(p, reason)))
			b.mu.Unlock()
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ub := b.units[u]
	b.remove(u)
	if p == stack.Planning || p == stack.Applying {
		ub.shown, ub.busy, ub.done, ub.total = true, true, 0, 0
		b.display.Start(u.Name, live.Task{Name: u.Name, Verb: string(p)})
		return
	}
	b.display.Print(u.Name + ": " + view.CleanLine(words(p, reason)) + "\n")
}

func words(p stack.Phase, reason string) string {
	if reason == "" {
		return string(p)
	}
	return string(p) + ": " + reason
}

// Sink implements stack.Watcher.
func (b *board) Sink(u *stack.Unit) event.Sink {
	track := b.running.Track()
	ub := b.units[u]
	return event.Func(func(e event.Event) {
		track.Send(e)
		if ub.recorder != nil {
			ub.recorder.Send(e)
		}
		if ub.view != nil {
			ub.view.Send(e)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := e.(type) {
		case event.Total:
			ub.done, ub.total = 0, e.Operations
		case event.OperationDone:
			ub.done++
		default:
			return
		}
		if ub.busy && ub.total > 0 {
			b.display.Say(u.Name, fmt.Sprintf("%d of %d", ub.done, ub.total))
		}
	})
}

// results shows the plans and problems of a step, unit by unit.
func (b *board) results(list []*stack.Result, plans bool) {
	for _, r := range list {
		if b.call.JSON && r.Phase == stack.Applied && !plans {
			b.units[r.Unit].view.Applied(view.Ending{Plan: r.Plan, State: r.State})
		}
		withPlan := plans && r.Plan != nil && (r.Phase == stack.Planned || len(r.Plan.Drift) > 0 && r.Plan.Applyable())
		if !withPlan && len(r.Problems) == 0 {
			continue
		}
		b.one(r, withPlan)
	}
}

// one shows the plan and the problems of a unit.
func (b *board) one(r *stack.Result, withPlan bool) {
	c, o := b.call, b.options
	o.Automation = true
	if r.Secrets != nil {
		o.Secrets = r.Secrets
	}
	if o.Into != nil {
		o.Into = &prefixed{to: o.Into, name: r.Unit.Name, lines: true, mu: &b.mu}
	}
	if o.JSON {
		o.Out = &prefixed{to: c.Out, name: r.Unit.Name, lines: true, mu: &b.mu}
		o.Err = o.Out
	} else {
		fmt.Fprintf(c.Out, "\n%s\n", c.Bold("Unit "+r.Unit.Name))
		for _, note := range r.Notes {
			fmt.Fprintf(c.Out, "  %s\n", view.CleanLine(note))
		}
	}
	diags := shown(c, r.Unit, r.Problems)
	v := view.New(o)
	defer v.Close()
	if withPlan {
		v.Plan(r.Plan, r.Schemas)
	}
	if len(diags) > 0 {
		v.Diagnostics(diags)
	}
}

// summary shows a line for each unit.
func (b *board) summary(list []*stack.Result) {
	for _, ub := range b.units {
		ub.summed = ""
	}
	b.progress(list)
}

// progress shows a line for each unit for which it is not the same as before.
func (b *board) progress(list []*stack.Result) {
	c := b.call
	if c.JSON || len(list) == 0 {
		return
	}
	width := 0
	for _, r := range list {
		width = max(width, len(r.Unit.Name))
	}
	fmt.Fprintf(c.Out, "\n%s\n", c.Bold("Units"))
	same := 0
	for _, r := range list {
		p := string(r.Phase)
		if r.Phase == stack.Unchanged && r.Changed {
			p = string(stack.Applied)
		}
		line := strings.TrimRight(fmt.Sprintf("  %-*s  %-9s  %s", width, r.Unit.Name, p, view.CleanLine(r.Reason)), " ")
		if ub := b.units[r.Unit]; ub.summed != line {
			ub.summed = line
			fmt.Fprintln(c.Out, line)
		} else {
			same++
		}
	}
	if same > 0 {
		fmt.Fprintf(c.Out, "  (%d more as before)\n", same)
	}
}

// prefixed writes whole lines: with the name of a unit before them, or, of JSON, with the member unit.
type prefixed struct {
	to    io.Writer
	name  string
	lines bool
	mu    *sync.Mutex // guards to
	rest  []byte      // the beginning of a line; a view writes its texts one after the other
}

// Write implements io.Writer.
func (w *prefixed) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := bytes.TrimRight(w.rest[:i], " ")
		if len(line) > 0 {
			if _, err := w.to.Write(w.line(line)); err != nil {
				return 0, err
			}
		}
		w.rest = w.rest[i+1:]
	}
}

func (w *prefixed) line(line []byte) []byte {
	if !w.lines {
		return fmt.Appendf(nil, "[%s] %s\n", w.name, line)
	}
	body, isObject := bytes.CutSuffix(line, []byte("}"))
	if !isObject {
		return append(bytes.Clone(line), '\n')
	}
	name, err := json.Marshal(w.name)
	if err != nil {
		panic("stacks: a name that is not JSON: " + err.Error())
	}
	return fmt.Appendf(nil, "%s,\"unit\":%s}\n", body, name)
}
