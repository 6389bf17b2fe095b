package store_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// The tests in this file run a script once to count its calls to the file system, and then again with every fault at
// every call. For every crash, they run the recovery with every fault at each of its calls. After each run they compare
// the state that the next process finds with the record of the script.

// player runs a script and records which changes were requested and which were acknowledged.
type player struct {
	files   store.Files
	session state.Session
	journal state.Journal

	base    *state.Snapshot // before the script
	content []string        // content after each requested change; content[0] is before the first
	latest  *state.State
	sure    int // content up to content[sure] was acknowledged
	ops     []*op
	failed  bool // an error occurred: no new operation may begin

	// mark is called at each acknowledgement and request, for tests that cut the history at other places.
	mark func(*player)
}

type op struct {
	token    string
	begun    bool // the intent was acknowledged
	result   int  // index of the content with its result; 0 if none was requested
	resolved int  // the same for its resolution
	carried  bool // it existed before the script
}

type killed struct{}

// no reports whether the process is dead, which ends the script. It records other errors.
func (p *player) no(err error) bool {
	if errors.Is(err, faults.ErrDead) {
		panic(killed{})
	}
	if err != nil {
		p.failed = true
	}
	p.marked()
	return err != nil
}

func (p *player) marked() {
	if p.mark != nil {
		p.mark(p)
	}
}

func (p *player) ask(edits ...state.Edit) int {
	b := p.latest.Builder()
	b.Fold(edits...)
	p.latest = b.State()
	p.content = append(p.content, contentOf(p.latest))
	p.marked()
	return len(p.content) - 1
}

func contentOf(s *state.State) string {
	var c state.State
	if s != nil {
		c = *s
	}
	c.Serial, c.Lineage = 0, ""
	var b strings.Builder
	if err := c.Encode(&b); err != nil {
		panic(err)
	}
	return b.String()
}

func (p *player) lock(req state.LockRequest) bool {
	ws, err := storeOn(p.files).Workspace("default")
	if p.no(err) {
		return false
	}
	p.session, err = ws.Lock(ctx, req)
	return !p.no(err)
}

// decoded reads a state, which may be encrypted.
func decoded(b []byte) (*state.State, error) {
	if b[0] == '{' && encryption.IsSealed(b) {
		var err error
		if b, _, err = encryptiontest.Cipher().Open(ctx, b); err != nil {
			return nil, err
		}
	}
	return state.Decode(b)
}

func storeOn(files store.Files) state.Store {
	n := 0
	return store.New(store.Options{
		Path: "dir/terraform.tfstate", Rescue: []string{"rescue"}, Files: files, Who: "me@here", History: 2,
		Cipher: encryptiontest.Asked(),
		Now:    func() time.Time { return time.Unix(1_700_000_000, 0) },
		NewID:  func() string { n++; return fmt.Sprintf("id-%d", n) },
	})
}

func (p *player) begin(run string) bool {
	j, err := p.session.Begin(ctx, state.RunInfo{ID: run})
	p.journal = j
	return !p.no(err)
}

// intent begins an operation, and reports whether it may continue.
func (p *player) intent(run, id, at string) bool {
	if p.failed {
		return false
	}
	o := &op{token: run + "/" + id}
	p.ops = append(p.ops, o)
	p.no(nil)
	if p.no(p.journal.Intent(storetest.Create(id, at))) {
		return false
	}
	o.begun, p.sure = true, len(p.content)-1
	p.marked()
	return true
}

func (p *player) partial(id, at string) {
	if o := p.op(id); o != nil && o.begun {
		p.no(p.journal.Partial(id, storetest.Put(at, "early-"+id, "").Put.Object))
	}
}

func (p *player) op(id string) *op {
	for _, o := range slices.Backward(p.ops) {
		if strings.HasSuffix(o.token, "/"+id) {
			return o
		}
	}
	return nil
}

func (p *player) result(id string, edits ...state.Edit) {
	o := p.op(id)
	if o == nil || !o.begun {
		return
	}
	o.result = len(p.content)
	p.ask(edits...)
	if at := o.result; !p.no(p.journal.Result(id, edits...)) {
		p.sure = max(p.sure, at)
		p.marked()
	}
}

func (p *player) record(edits ...state.Edit) {
	if !p.failed {
		p.ask(edits...)
		p.no(p.journal.Record(edits...))
	}
}

func (p *player) checkpoint() {
	if at := len(p.content) - 1; !p.no(p.journal.Checkpoint(ctx)) {
		p.sure = at
		p.marked()
	}
}

func (p *player) close() {
	at := len(p.content) - 1
	err := p.journal.Close(ctx)
	var saved *state.SavedError
	// A result that was saved elsewhere is acknowledged as well: it is not lost.
	if !p.no(err) || errors.As(err, &saved) {
		p.sure = at
		p.marked()
	}
}

func (p *player) unlock() { p.no(p.session.Unlock()) }

func (p *player) resolve(token string, edits ...state.Edit) {
	for _, o := range p.ops {
		if o.token == token && !p.failed {
			o.resolved = len(p.content)
			p.ask(edits...)
			at := o.resolved
			if !p.no(p.session.Resolve(ctx, []string{token}, edits...)) {
				p.sure = at
				p.marked()
				p.marked()
			}
		}
	}
}

func (p *player) write(edits ...state.Edit) {
	if p.failed {
		return
	}
	at := p.ask(edits...)
	s := p.session.Snapshot().State
	b := s.Builder()
	b.Fold(edits...)
	if !p.no(p.session.Write(ctx, b.State())) {
		p.sure = at
		p.marked()
	}
}

// expectation is the content that a later process may find.
type expectation struct {
	base    *state.Snapshot
	content []string
	sure    int
	ops     []op
}

func (p *player) expectation() *expectation {
	e := &expectation{base: p.base, content: p.content, sure: p.sure}
	for _, o := range p.ops {
		e.ops = append(e.ops, *o)
	}
	return e
}

// check compares the content that was found with the contents that may be there.
func (e *expectation) check(got *state.Snapshot) error {
	if got.Running != nil {
		return errors.New("a dead run is taken for a running one")
	}
	if len(got.Unfolded) > 0 {
		return fmt.Errorf("unfolded: %+v", got.Unfolded)
	}
	if e.base.State != nil {
		if got.State == nil || got.State.Lineage != e.base.State.Lineage {
			return fmt.Errorf("the lineage was lost: %+v", got.State)
		}
		if got.State.Serial < e.base.State.Serial {
			return fmt.Errorf("serial %d became %d", e.base.State.Serial, got.State.Serial)
		}
	}
	content := contentOf(got.State)
	problem := fmt.Errorf(
		"objects are %v, and neither what was acknowledged nor anything that was asked for later (of %d, %d are sure)",
		storetest.IDs(got.State), len(e.content)-1, e.sure)
	for at := e.sure; at < len(e.content); at++ {
		if e.content[at] == content {
			if problem = e.checkOps(at, got); problem == nil {
				return nil
			}
		}
	}
	return problem
}

func (e *expectation) checkOps(at int, got *state.Snapshot) error {
	var tokens []string
	for _, f := range got.InFlight {
		tokens = append(tokens, f.Token())
	}
	for _, o := range e.ops {
		listed := slices.Contains(tokens, o.token)
		tokens = slices.DeleteFunc(tokens, func(t string) bool { return t == o.token })
		ended := o.result > 0 && o.result <= at || o.resolved > 0 && o.resolved <= at
		// An operation that ends without changes leaves no trace in the content.
		unseen := o.result > 0 && e.content[o.result] == e.content[o.result-1] || o.resolved > 0 &&
			e.content[o.resolved] == e.content[o.resolved-1]
		switch {
		case ended && listed && !unseen:
			return fmt.Errorf("%s has its result in the state and is in flight", o.token)
		case !ended && !listed && (o.begun || o.carried) && !unseen:
			return fmt.Errorf("%s had begun and is neither in the state nor in flight", o.token)
		}
	}
	if len(tokens) > 0 {
		return fmt.Errorf("nobody began %v", tokens)
	}
	return nil
}

// onDisk checks the state file itself, as other programs read it.
func onDisk(files *mem.FS, hadState bool) error {
	text, ok := files.Contents()["dir/terraform.tfstate"]
	switch {
	case !ok && hadState:
		return errors.New("the state file is gone")
	case !ok || strings.HasPrefix(text, "#"):
		return nil
	}
	if _, err := decoded([]byte(text)); err != nil {
		return fmt.Errorf("the state file is unreadable, without a note: %w", err)
	}
	return nil
}

// survey checks what the next processes find: a reader, the recovering session and the session after it.
func (e *expectation) survey(files *mem.FS) error {
	if err := onDisk(files, e.base.State != nil); err != nil {
		return err
	}
	ws, _ := storeOn(files).Workspace("default")
	read, err := ws.Read(ctx)
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	if err := e.check(read); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	var first *state.Snapshot
	for _, who := range []string{"recovery", "second recovery"} {
		session, err := ws.Lock(ctx, state.LockRequest{})
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		got := session.Snapshot()
		if err := e.check(got); err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		if contentOf(got.State) != contentOf(read.State) || len(got.InFlight) != len(read.InFlight) {
			return fmt.Errorf("%s found something other than the reader", who)
		}
		if first == nil {
			first = got
		} else if first.State != nil && (first.State.Serial != got.State.Serial ||
			first.State.Lineage != got.State.Lineage) {
			return fmt.Errorf("serial %d of the recovery became %d", first.State.Serial, got.State.Serial)
		}
		if err := session.Unlock(); err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
	}
	for name := range files.Contents() {
		if strings.Contains(name, ".journal") && (len(first.InFlight) == 0 || !strings.HasSuffix(name, ".journal")) {
			if !strings.HasSuffix(name, ".journal.new") && !strings.HasSuffix(name, ".journal.fresh") {
				return fmt.Errorf("%s stays behind", name)
			}
		}
	}
	return nil
}

func spared(name string) bool { return strings.HasPrefix(name, "rescue") }

func TestEveryFaultAtEveryCallLosesNothing(t *testing.T) {
	cases, deep := 0, 0
	stride, deepStride := 5, 199 // test every n-th pair of a call and a fault
	switch {
	case testing.Short():
		stride, deepStride = 13, 101
	case os.Getenv("TOMBOLO_CRASH_FULL") != "":
		stride, deepStride = 1, 7
	}
	pair := 0
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			calls := s.calls(t)
			for n := 1; n <= calls; n++ {
				for _, mode := range faults.Modes {
					if pair++; pair%stride != 0 {
						continue
					}
					disk := mem.NewFS()
					p := s.play(disk, func(inner store.Files) store.Files {
						f := faults.Wrap(inner, faults.Plan{Call: n, Mode: mode})
						f.Spare = spared
						return f
					})
					cases++
					want := p.expectation()
					if err := want.survey(disk.Clone()); err != nil {
						t.Fatalf("%s at call %d of %d: %v\n%s", mode, n, calls, err, trace(s, n))
					}
					deep += recoveries(t, want, disk, deepStride, fmt.Sprintf("%s:%d", mode, n))
				}
			}
		})
	}
	t.Logf("%d faults in runs, %d faults in recoveries", cases, deep)
	if os.Getenv("TOMBOLO_CRASH_FULL") != "" && cases+deep < 5000 {
		t.Errorf("only %d cases", cases+deep)
	}
}

var deepCount int

// recoveries makes the recovery fail at every stride-th call, and then lets it succeed.
func recoveries(t *testing.T, want *expectation, crashed *mem.FS, stride int, first string) (cases int) {
	counting := faults.Wrap(crashed.Clone(), faults.Plan{})
	recoverOn(counting)
	for n := 1; n <= counting.Calls(); n++ {
		for _, mode := range faults.Modes {
			if deepCount++; deepCount%stride != 0 {
				continue
			}
			disk := crashed.Clone()
			f := faults.Wrap(disk, faults.Plan{Call: n, Mode: mode})
			f.Spare = spared
			recoverOn(f)
			cases++
			if err := want.survey(disk.Clone()); err != nil {
				t.Fatalf("%s, then %s at call %d of the recovery: %v", first, mode, n, err)
			}
		}
	}
	return cases
}

func recoverOn(files store.Files) {
	ws, err := storeOn(files).Workspace("default")
	if err != nil {
		return
	}
	if session, err := ws.Lock(ctx, state.LockRequest{}); err == nil {
		session.Unlock()
	}
}

// trace lists the calls around one, for failure messages.
func trace(s scenario, at int) string {
	var b strings.Builder
	s.play(mem.NewFS(), func(inner store.Files) store.Files {
		f := faults.Wrap(inner, faults.Plan{})
		f.Seen = func(n int, call, name string) {
			if n > at-12 && n < at+6 {
				fmt.Fprintf(&b, "%d %s %s\n", n, call, name)
			}
		}
		return f
	})
	return b.String()
}
