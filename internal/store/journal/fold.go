package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// Overlay is a state with a journal applied over it.
type Overlay struct {
	State    *state.State
	InFlight []state.InFlight
	Unfolded []state.Unfolded
	Changed  bool // the journal has results that are not in the state file
	Run      state.RunInfo
}

// folder applies records to a state, one at a time.
type folder struct {
	builder *state.Builder
	covers  uint64 // records up to this one are in the state
	foreign string // why results need checks before they are applied; "" if they need none
	other   string // why nothing can be applied; "" if it can

	run  state.RunInfo
	open map[string]*opened
	out  Overlay
}

type opened struct {
	seq     uint64
	run     state.RunInfo
	intent  json.RawMessage
	partial json.RawMessage
}

// Lay applies the journal to the state that the file had at the mark. With foreign set, another program has written the
// state since.
func (p *Parsed) Lay(base *state.State, at Mark, foreign bool) (*Overlay, error) {
	f := &folder{builder: base.Builder(), covers: at.Covers, open: map[string]*opened{}}
	if foreign {
		f.foreign = "another program wrote the state after the run"
		if base != nil && base.Lineage != "" && p.Header.Lineage != "" && base.Lineage != p.Header.Lineage {
			f.other = "the state now has another lineage"
		}
	}
	return p.lay(f, base)
}

// Keep leaves all operations after the mark open, because their state cannot be read.
func (p *Parsed) Keep(at Mark) (*Overlay, error) {
	const why = "the state could not be read, and was to be replaced"
	var none *state.State
	return p.lay(&folder{builder: none.Builder(), covers: at.Covers, open: map[string]*opened{}, foreign: why,
		other: why}, none)
}

func (p *Parsed) lay(f *folder, base *state.State) (*Overlay, error) {
	for _, r := range p.Records {
		if err := f.record(r); err != nil {
			return nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	f.out.State, f.out.Run = base, f.run
	if f.builder.Dirty() {
		f.out.State, f.out.Changed = f.builder.State(), true
		if base == nil {
			c := *f.out.State
			c.Lineage = p.Header.Lineage
			f.out.State = &c
		}
	}
	left := make([]*opened, 0, len(f.open))
	for _, o := range f.open {
		left = append(left, o)
	}
	slices.SortFunc(left, func(a, b *opened) int { return int(a.seq) - int(b.seq) })
	for _, o := range left {
		i, err := o.inFlight()
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", o.seq, err)
		}
		f.out.InFlight = append(f.out.InFlight, i)
	}
	return &f.out, nil
}

func (o *opened) inFlight() (i state.InFlight, err error) {
	i.Run = o.run
	if i.Intent, err = state.DecodeIntent(o.intent); err != nil {
		return i, err
	}
	if o.partial != nil {
		i.Partial, err = state.DecodeObject(o.partial)
	}
	return i, err
}

func (f *folder) record(r Record) error {
	switch r.Kind {
	case KindRun:
		f.run = state.RunInfo{}
		return json.Unmarshal(r.Payload, &f.run)
	case KindIntent:
		var i IntentRecord
		if err := json.Unmarshal(r.Payload, &i); err != nil {
			return err
		}
		run := f.runOf(i.Run)
		f.open[state.Token(run, i.Op)] = &opened{seq: r.Seq, run: run, intent: i.Intent}
	case KindPartial, KindResult, KindEdits:
		var res ResultRecord
		if err := json.Unmarshal(r.Payload, &res); err != nil {
			return err
		}
		return f.result(r, res)
	case KindResolve:
		return f.resolve(r)
	case KindUnfolded:
		var u UnfoldedRecord
		if err := json.Unmarshal(r.Payload, &u); err != nil {
			return err
		}
		edits, err := state.DecodeEdits(u.Edits)
		f.out.Unfolded = append(f.out.Unfolded, state.Unfolded{Op: u.Op, Run: u.Run, Edits: edits, Why: u.Why})
		return err
	}
	return nil
}

func (f *folder) runOf(carried *state.RunInfo) state.RunInfo {
	if carried != nil {
		return *carried
	}
	return f.run
}

func (f *folder) result(r Record, res ResultRecord) error {
	token := state.Token(f.runOf(res.Run), res.Op)
	if r.Kind == KindPartial {
		if o := f.open[token]; o != nil {
			o.partial = res.Object
		}
		return nil
	}
	if r.Kind == KindResult {
		delete(f.open, token)
	}
	if r.Seq <= f.covers || len(res.Edits) == 0 {
		return nil
	}
	edits, err := state.DecodeEdits(res.Edits)
	if err != nil {
		return err
	}
	op := res.Op
	if op == "" {
		op = fmt.Sprintf("record-%d", r.Seq)
	}
	f.fold(op, res.Was, edits)
	return nil
}

func (f *folder) resolve(r Record) error {
	var res ResolveRecord
	if err := json.Unmarshal(r.Payload, &res); err != nil {
		return err
	}
	for _, token := range res.Tokens {
		delete(f.open, token)
		f.out.Unfolded = slices.DeleteFunc(f.out.Unfolded, func(u state.Unfolded) bool { return u.Token() == token })
	}
	if r.Seq <= f.covers {
		return nil
	}
	edits, err := state.DecodeEdits(res.Edits)
	if err != nil {
		return err
	}
	f.fold(fmt.Sprintf("record-%d", r.Seq), nil, edits)
	return nil
}

// fold applies edits to the state. If another program has written it since, edits that fit are applied, and others are
// kept.
func (f *folder) fold(op string, was map[string]string, edits []state.Edit) {
	if f.foreign == "" {
		f.builder.Fold(edits...)
		return
	}
	var left []state.Edit
	why := f.foreign
	for _, e := range edits {
		switch fits, reason := f.fits(was, e); fits {
		case foldIt:
			f.builder.Fold(e)
		case keepIt:
			left, why = append(left, e), reason
		}
	}
	if len(left) > 0 {
		f.out.Unfolded = append(f.out.Unfolded, state.Unfolded{Op: op, Run: f.run, Edits: left, Why: why})
	}
}

type fit uint8

const (
	foldIt fit = iota
	keepIt     // it does not fit: a person must decide
	skipIt     // there is nothing to do
)

// fits checks an edit against a state that another program has written since.
func (f *folder) fits(was map[string]string, e state.Edit) (fit, string) {
	if e.Output != nil || e.Checks != nil || e.Seen != nil {
		return skipIt, "" // every run computes these again or reads the object again
	}
	if f.other != "" {
		return keepIt, f.other
	}
	switch {
	case e.Put != nil:
		there, id := f.builder.Object(e.Put.Addr), identity(e.Put.Object)
		if there == nil || identity(there) == id || identity(there) == was[e.Put.Addr.String()] {
			return foldIt, ""
		}
		return keepIt, fmt.Sprintf("%s, and it now has a different object at %s", f.foreign, e.Put.Addr)
	case e.Drop != nil:
		return f.still(was, e.Drop.Addr), ""
	case e.Depose != nil && e.Depose.Reverse:
		return f.still(was, addr.Object{Instance: e.Depose.Instance, Deposed: e.Depose.Key}), ""
	case e.Depose != nil:
		return f.still(was, addr.Object{Instance: e.Depose.Instance}), ""
	case e.Move != nil && f.builder.Object(addr.Object{Instance: e.Move.From}) == nil:
		return skipIt, ""
	case e.Move != nil && f.builder.Object(addr.Object{Instance: e.Move.To}) != nil:
		return keepIt, fmt.Sprintf("%s, and it now has an object at %s, the target of a move",
			f.foreign, e.Move.To)
	}
	return foldIt, ""
}

// still applies a result to an object that is still the same. If it is not, there is nothing to do.
func (f *folder) still(was map[string]string, a addr.Object) fit {
	there := f.builder.Object(a)
	if there == nil || identity(there) != was[a.String()] {
		return skipIt
	}
	return foldIt
}

// identity distinguishes objects at one address: by ID, or by all attributes if there is no ID.
func identity(o *state.Object) string {
	if o == nil {
		return ""
	}
	if id, ok := o.Flat["id"]; ok {
		return "id " + id
	}
	var has struct{ ID *string }
	if json.Unmarshal(o.Attributes, &has) == nil && has.ID != nil {
		return "id " + *has.ID
	}
	sum := sha256.Sum256(o.Attributes)
	return "sum " + hex.EncodeToString(sum[:])
}

// FormerIdentities returns the identities of the objects that edits change or remove.
func FormerIdentities(b *state.Builder, edits []state.Edit) map[string]string {
	var was map[string]string
	note := func(a addr.Object) {
		if o := b.Object(a); o != nil {
			if was == nil {
				was = map[string]string{}
			}
			was[a.String()] = identity(o)
		}
	}
	for _, e := range edits {
		switch {
		case e.Put != nil:
			note(e.Put.Addr)
		case e.Drop != nil:
			note(e.Drop.Addr)
		case e.Depose != nil && e.Depose.Reverse:
			note(addr.Object{Instance: e.Depose.Instance, Deposed: e.Depose.Key})
		case e.Depose != nil:
			note(addr.Object{Instance: e.Depose.Instance})
		}
	}
	return was
}

// Carry returns the records of the operations that stay open.
func Carry(inFlight []state.InFlight, unfolded []state.Unfolded) (records []Record, err error) {
	add := func(k Kind, v any) {
		b, e := json.Marshal(v)
		err = errors.Join(err, e)
		records = append(records, Record{Kind: k, Payload: b})
	}
	for _, f := range inFlight {
		intent, e := state.EncodeIntent(f.Intent)
		err = errors.Join(err, e)
		add(KindIntent, IntentRecord{Op: f.ID, Run: &f.Run, Intent: intent})
		if f.Partial != nil {
			object, e := state.EncodeObject(f.Partial)
			err = errors.Join(err, e)
			add(KindPartial, ResultRecord{Op: f.ID, Run: &f.Run, Object: object})
		}
	}
	for _, u := range unfolded {
		edits, e := state.EncodeEdits(u.Edits)
		err = errors.Join(err, e)
		add(KindUnfolded, UnfoldedRecord{Op: u.Op, Run: u.Run, Edits: edits, Why: u.Why})
	}
	return records, err
}
