// Package transfer moves objects from one state to another. The process may be killed at any moment: nothing is lost,
// and while an object is or may be in both states, the journals of both record that.
//
//	t := transfer.Transfer{From: from, To: to, Moves: moves, Dir: dir, Args: args}
//	err := t.Run(ctx)
//
// The caller holds the locks of both states. Run writes intents to both journals, then the objects to the target with
// its snapshot, and only then removes them from the source. A killed run leaves an operation in flight at each object's
// address, with the action state.ActionMove. Running the same transfer again completes it. Known distinguishes such
// operations from others.
package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// Side is one of the two states: its lock, and a name that always identifies the same state.
type Side struct {
	Session state.Session
	Place   string
}

// Transfer is a move of instances between two states.
type Transfer struct {
	From, To Side
	Moves    []state.MoveObject
	// Dir and Args describe how to run the same transfer again: the working directory, and the arguments of the
	// program.
	Dir  string
	Args []string
}

// Known reports whether an operation in flight, in either state, belongs to a transfer between these two.
func (t *Transfer) Known(f state.InFlight) bool {
	h, ok := f.Handover()
	return ok && h.Source == t.From.Place && h.Target == t.To.Place
}

// Arrived returns the objects that an earlier run of the transfer has added to the target and not yet removed from the
// source.
func (t *Transfer) Arrived() (out []addr.Object) {
	here, there := t.From.Session.Snapshot().State, t.To.Session.Snapshot().State
	for _, f := range t.From.Session.Snapshot().InFlight {
		if h, _ := f.Handover(); t.Known(f) {
			to, diags := addr.ParseInstance(h.To)
			at := addr.Object{Instance: to, Deposed: f.Object.Deposed}
			if !diags.HasErrors() && same(here.Object(f.Object), there.Object(at)) {
				out = append(out, at)
			}
		}
	}
	return out
}

// same reports whether two objects of the same type are the same one: their values or their IDs are equal.
func same(a, b *state.Object) bool {
	if a == nil || b == nil {
		return false
	}
	if bytes.Equal(compact(a.Attributes), compact(b.Attributes)) {
		return true
	}
	var one, other struct {
		ID *string `json:"id"`
	}
	return json.Unmarshal(a.Attributes, &one) == nil && json.Unmarshal(b.Attributes, &other) == nil &&
		one.ID != nil && other.ID != nil && *one.ID != "" && *one.ID == *other.ID
}

func compact(text json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}

// item is one object to be moved.
type item struct {
	from, to addr.Object
	put      state.Edit
	arrived  bool // the target contains it
	begun    bool // the source has an intent of this run
	handover state.Handover
	// atSource and arriving are the operations in the journals of the source and the target: those of this run, or
	// tokens of a killed one.
	atSource, atTarget operation
}

// operation is an operation of this run or, if it has a token, of an earlier one.
type operation struct{ id, token string }

// Run performs the transfer, or completes an interrupted one.
func (t *Transfer) Run(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // it takes little time, and half a transfer is useless
	items := t.items()
	run := state.RunInfo{ID: uuid.NewString(), Command: "state mv", Started: time.Now().UTC()}
	from, err := t.From.Session.Begin(ctx, run)
	if err != nil {
		return fmt.Errorf("begin the journal of the source: %w", err)
	}
	to, err := t.To.Session.Begin(ctx, run)
	if err != nil {
		return errors.Join(fmt.Errorf("begin the journal of the target: %w", err), from.Close(ctx))
	}
	if err := announce(items, from, to); err != nil {
		return errors.Join(err, withdraw(items, from), to.Close(ctx), from.Close(ctx))
	}
	err = settle(ctx, items, t.To.Session, to, func(i *item) (operation, state.Edit, bool) {
		return i.atTarget, i.put, i.arrived
	})
	// The target is closed first: an object is only removed from the source when the target's state file contains it.
	if err = errors.Join(err, to.Close(ctx)); err != nil {
		return errors.Join(fmt.Errorf("write the target: %w", err), from.Close(ctx))
	}
	err = settle(ctx, items, t.From.Session, from, func(i *item) (operation, state.Edit, bool) {
		return i.atSource, state.Edit{Drop: &state.DropObject{Addr: i.from}}, false
	})
	if err = errors.Join(err, from.Close(ctx)); err != nil {
		return fmt.Errorf("write the source: %w", err)
	}
	return nil
}

// items lists the objects, with the operations of an earlier run.
func (t *Transfer) items() (items []*item) {
	s, names := t.From.Session.Snapshot().State, t.From.Session.Snapshot().State.Moves(t.Moves)
	atSource, atTarget := t.tokens(t.From.Session), t.tokens(t.To.Session)
	arrived := map[addr.Object]bool{}
	for _, a := range t.Arrived() {
		arrived[a] = true
	}
	for _, move := range t.Moves {
		instance, r := s.Instance(move.From), s.Resource(move.From.AbsResource())
		add := func(o *state.Object, key addr.DeposedKey) {
			i := &item{from: addr.Object{Instance: move.From, Deposed: key},
				to: addr.Object{Instance: move.To, Deposed: key}}
			i.arrived = arrived[i.to]
			i.put = state.Edit{Put: &state.PutObject{Addr: i.to, Provider: r.Manager(o), Object: names.Object(o)}}
			i.handover = state.Handover{From: move.From.String(), To: move.To.String(), Source: t.From.Place,
				Target: t.To.Place, Dir: t.Dir, Args: t.Args}
			i.atSource, i.atTarget = operation{token: atSource[i.from]}, operation{token: atTarget[i.to]}
			items = append(items, i)
		}
		if instance.Current != nil {
			add(instance.Current, "")
		}
		for _, key := range instance.DeposedKeys() {
			add(instance.Deposed[key], key)
		}
	}
	for n, i := range items {
		for _, op := range []*operation{&i.atSource, &i.atTarget} {
			if op.token == "" {
				op.id = strconv.Itoa(n + 1)
			}
		}
	}
	return items
}

// tokens returns the tokens of operations that an earlier run began in a state, by object.
func (t *Transfer) tokens(session state.Session) map[addr.Object]string {
	out := map[addr.Object]string{}
	for _, f := range session.Snapshot().InFlight {
		if t.Known(f) {
			out[f.Object] = f.Token()
		}
	}
	return out
}

// announce writes the intents, those of the source first, so that every intent in the target has one in the source.
func announce(items []*item, from, to state.Journal) error {
	intent := func(j state.Journal, op operation, at addr.Object, i *item) error {
		if op.token != "" {
			return nil
		}
		err := j.Intent(state.Intent{ID: op.id, Object: at, Action: state.ActionMove, Provider: i.put.Put.Provider,
			Planned: i.handover.Encode(), Started: time.Now().UTC()})
		if err != nil {
			return fmt.Errorf("announce the move of %s: %w", i.from, err)
		}
		return nil
	}
	for _, i := range items {
		if err := intent(from, i.atSource, i.from, i); err != nil {
			return err
		}
		i.begun = i.atSource.token == ""
	}
	for _, i := range items {
		if i.arrived {
			i.atTarget = operation{token: i.atTarget.token}
			continue
		}
		if err := intent(to, i.atTarget, i.to, i); err != nil {
			return err
		}
	}
	return nil
}

// withdraw ends the operations that this run has announced in the source, when nothing was moved.
func withdraw(items []*item, from state.Journal) (err error) {
	for _, i := range items {
		if i.begun && from.Err() == nil {
			err = errors.Join(err, from.Result(i.atSource.id))
		}
	}
	return err
}

// settle ends the operations of one side with their edits.
func settle(ctx context.Context, items []*item, session state.Session, j state.Journal,
	of func(*item) (op operation, edit state.Edit, done bool)) error {
	for _, i := range items {
		op, edit, done := of(i)
		var edits []state.Edit
		if !done {
			edits = append(edits, edit)
		}
		var err error
		switch {
		case op.token != "":
			err = session.Resolve(ctx, []string{op.token}, edits...)
		case op.id != "":
			err = j.Result(op.id, edits...)
		}
		if err != nil {
			return fmt.Errorf("move %s: %w", i.from, err)
		}
	}
	return nil
}
