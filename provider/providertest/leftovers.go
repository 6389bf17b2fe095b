package providertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// hidden replaces sensitive values.
const hidden = "(sensitive value)"

// secrets are the sensitive and write-only values in a check. All output of the check goes through hide.
type secrets struct {
	mu   sync.Mutex
	seen map[string]bool
}

// learn adds the secrets of a value. Short ones are ignored, because they are in every text.
func (s *secrets) learn(block *provider.Block, v cty.Value) {
	if v == cty.NilVal || len(value.Conforms(block, v)) > 0 {
		return
	}
	bare, _ := v.UnmarkDeep()
	writeOnly := value.Diff(bare, value.NullWriteOnly(block, bare))
	for _, path := range append(value.SchemaSensitivePaths(block, bare), writeOnly...) {
		at, err := path.Apply(bare)
		if err != nil {
			continue
		}
		_ = cty.Walk(at, func(_ cty.Path, v cty.Value) (bool, error) {
			if v.IsKnown() && !v.IsNull() {
				switch v.Type() {
				case cty.String:
					s.add(v.AsString())
				case cty.Number:
					s.add(v.AsBigFloat().Text('f', -1))
				}
			}
			return true, nil
		})
	}
}

func (s *secrets) add(text string) {
	const shortest = 4
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, form := range append(strings.Split(text, "\n"), text) {
		if len(form) >= shortest {
			quoted := strconv.Quote(form)
			s.seen[form], s.seen[quoted[1:len(quoted)-1]] = true, true
		}
	}
}

// hide replaces secrets in a text, the longest first.
func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	for _, secret := range slices.SortedFunc(maps.Keys(s.seen), longest) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// discreet is a test without secrets in its output.
type discreet struct {
	tb
	secrets *secrets
}

func (d discreet) Errorf(format string, args ...any) {
	d.Helper()
	d.tb.Errorf("%s", d.secrets.hide(fmt.Sprintf(format, args...)))
}

func (d discreet) Fatalf(format string, args ...any) {
	d.Helper()
	d.tb.Fatalf("%s", d.secrets.hide(fmt.Sprintf(format, args...)))
}

func (d discreet) Skipf(format string, args ...any) {
	d.Helper()
	d.tb.Skipf("%s", d.secrets.hide(fmt.Sprintf(format, args...)))
}

// marked returns a value with marks on its sensitive parts, for show.
func marked(block *provider.Block, v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	return value.MarkSensitive(v, value.SchemaSensitivePaths(block, v))
}

// made holds the objects of a check. Those that still exist at its end are deleted.
type made struct {
	mu   sync.Mutex
	list []*object
}

func (m *made) add(o *object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, o)
}

// newSession begins a check without secrets in its output. When the check has ended in any way, the objects that it
// left are deleted.
func newSession(ctx context.Context, t tb, o *Options, next *counter) *session {
	known := &secrets{seen: map[string]bool{}}
	s := &session{tb: discreet{t, known}, o: o, ctx: ctx, next: next, secrets: known, made: &made{}}
	s.Cleanup(s.sweep)
	return s
}

// sweep deletes the leftovers of the check, with a fresh provider, and reports those that cannot be deleted.
func (s *session) sweep() {
	for _, o := range s.made.list {
		if o.lost {
			s.Errorf("LEFT BEHIND, perhaps: %s %s. Its creation gave no usable answer, so it is not known whether it "+
				"exists.", o.r.Type, show(marked(o.rt.Block, o.config)))
		}
	}
	left := slices.DeleteFunc(s.made.list, func(o *object) bool { return o.state == cty.NilVal || o.state.IsNull() })
	if len(left) == 0 {
		return
	}
	last := *s
	ctx, cancel := s.o.limit(context.WithoutCancel(s.ctx))
	defer cancel()
	last.ctx, last.made = ctx, &made{}
	trouble := &notes{}
	last.tb = trouble
	try := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			last.safely("delete what is left", f)
		}()
		<-done
	}
	try(last.start)
	started := len(trouble.messages) == 0
	for _, o := range left {
		name := o.name()
		if len(trouble.messages) == 0 {
			o.s = &last
			try(o.destroy)
		}
		problems := strings.Join(trouble.messages, "; ")
		switch {
		case !o.state.IsNull():
			s.Errorf("LEFT BEHIND: %s. It could not be deleted: %s", name, problems)
		case problems != "":
			s.Errorf("%s was deleted when the check had ended, but: %s", name, problems)
		}
		if started {
			trouble.messages = nil
		}
	}
	for _, f := range slices.Backward(trouble.later) {
		f()
	}
}

// name identifies an object: by its import ID, or else by all its known attributes.
func (o *object) name() string {
	id := o.imported()
	if id == "" && o.state.Type().HasAttribute("id") {
		if v := o.state.GetAttr("id"); v.Type() == cty.String && !v.IsNull() {
			id = v.AsString()
		}
	}
	if id != "" {
		return fmt.Sprintf("%s with the id %q", o.r.Type, id)
	}
	return o.r.Type + " " + show(marked(o.rt.Block, o.state))
}

// imported returns the import ID. The caller's function may panic on responses of a faulty provider.
func (o *object) imported() (id string) {
	defer func() { _ = recover() }()
	if o.r.Import != nil && o.r.Import.ID != nil {
		id = o.r.Import.ID(o.state)
	}
	return id
}

// keep records the object of a response before the response is checked.
func (o *object) keep(resp provider.ApplyResponse) {
	o.s.secrets.learn(o.rt.Block, resp.State)
	if o.state.IsNull() && resp.Diagnostics.HasErrors() && (resp.State == cty.NilVal || !resp.State.IsKnown()) {
		o.lost = true
	}
	if resp.State == cty.NilVal || !resp.State.IsKnown() || resp.State.IsNull() ||
		len(value.Conforms(o.rt.Block, resp.State)) > 0 {
		return
	}
	o.state, o.private = value.UnknownAsNull(resp.State), resp.Private
	if resp.Identity != cty.NilVal && !resp.Identity.IsNull() && o.identity == cty.NilVal {
		o.identity = resp.Identity
	}
}
