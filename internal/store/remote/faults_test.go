package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/internal/store/remote/unreliable"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// world holds the objects that really exist, whatever the state contains.
type world struct {
	t       *testing.T
	seed    uint64
	rand    *rand.Rand
	clocks  *rand.Rand
	service remote.Driver
	folders [3]string // of the machines, for data that does not reach the service
	runs    int
	real    map[string]string // address -> ID
	ended   map[string]bool   // addresses whose last result was acknowledged
	busy    map[string]bool   // addresses with an operation in flight
	log     []string
	keys    []int // keys of the state, newest first; nil means the default
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	// called from other goroutines than the test's as well
	panic(fmt.Sprintf("seed %d: %s\n%v", w.seed, fmt.Sprintf(format, args...), w.log))
}

func (w *world) store(machine int, n *unreliable.Network) *remote.Store {
	d := w.service
	if n != nil {
		d = unreliable.Over(d, n)
	}
	return remote.New(remote.Options{Driver: d, Rescue: []string{w.folders[machine]}, Pause: time.Microsecond,
		Cipher: w.cipher(), Beat: time.Hour, Tries: 3, Who: fmt.Sprint("machine ", machine), Now: w.clock})
}

// cipher has the newest key, and the former ones as fallbacks. In a world with keys, every third run replaces the key.
func (w *world) cipher() *encryption.Cipher {
	if w.keys == nil {
		return encryptiontest.Asked()
	}
	if w.clocks.IntN(3) == 0 {
		next := w.clocks.IntN(5) // 0 leaves the state unencrypted
		w.keys = append([]int{next}, slices.DeleteFunc(slices.Clone(w.keys), func(n int) bool { return n == next })...)
		w.note("the key is %d now", next)
	}
	return encryptiontest.Turn(w.keys[0], w.keys[1:]...)
}

// clock returns an arbitrary time, and another one each time: no decision may depend on it.
func (w *world) clock() time.Time {
	wild := contract.WrongClocks()
	return wild[w.clocks.IntN(len(wild))].Add(time.Duration(w.clocks.IntN(3600)) * -time.Second)
}

func workspaceOf(s *remote.Store) state.Workspace {
	ws, err := s.Workspace(state.DefaultWorkspace)
	if err != nil {
		panic(err)
	}
	return ws
}

// known returns a state's entries by address: an ID, or "?" for an object that is in flight or waits for a decision.
func known(s *state.Snapshot) map[string]string {
	all := map[string]string{}
	if s.State != nil {
		for _, r := range s.State.Resources() {
			for key, i := range r.Instances {
				all[r.Addr.Instance(key).String()] = idOf(i.Current)
			}
		}
	}
	for _, f := range s.InFlight {
		all[f.Object.String()] = "?"
	}
	for _, u := range s.Unfolded {
		for _, e := range u.Edits {
			if e.Put != nil {
				all[e.Put.Addr.String()] = "?"
			}
			if e.Drop != nil {
				all[e.Drop.Addr.String()] = "?"
			}
		}
	}
	return all
}

func idOf(o *state.Object) string {
	var has struct{ ID string }
	if o == nil || json.Unmarshal(o.Attributes, &has) != nil {
		return ""
	}
	return has.ID
}

// run performs one run on a machine: it creates and deletes objects until it ends or is killed.
func (w *world) run(machine int, n *unreliable.Network) {
	s := w.store(machine, n)
	session, err := workspaceOf(s).Lock(context.Background(), state.LockRequest{})
	if err != nil {
		w.note("machine %d gets no lock: %v", machine, err)
		return
	}
	w.check(session.Snapshot())
	w.runs++
	j, err := session.Begin(context.Background(), state.RunInfo{ID: fmt.Sprint("run", w.runs), Command: "apply"})
	if err != nil {
		w.note("no journal: %v", err)
		_ = session.Unlock()
		return
	}
	for op := range 1 + w.rand.IntN(8) {
		// Another run takes the lock and works; this run does not notice and continues.
		robbed := func() {
			w.steal(machine, func() {
				if w.rand.IntN(4) == 0 {
					w.operate(session, j, 200+w.rand.IntN(1000), nil)
				}
				n.Arrive(false)
			})
		}
		between := robbed
		if w.rand.IntN(8) > 0 {
			between = nil
		}
		w.operate(session, j, op, between)
		switch w.rand.IntN(12) {
		case 0:
			_ = j.Checkpoint(context.Background())
		case 1: // the machine is lost
			n.Kill()
			w.note("machine %d is gone", machine)
			_ = session.Unlock()
			return
		case 2:
			robbed()
		case 3:
			n.Arrive(false)
		case 4: // another program writes the state, ignoring the lock
			w.foreign()
		}
	}
	w.note("closed: %v", j.Close(context.Background()))
	w.note("unlocked: %v", session.Unlock())
}

// operate creates or deletes one object, as a provider would: only after its intent is durable.
func (w *world) operate(session state.Session, j state.Journal, op int, between func()) {
	at := fmt.Sprintf("t.o%d", w.rand.IntN(6))
	id := fmt.Sprintf("%d-%d", w.runs, op)
	there := known(session.Snapshot())[at]
	if o := j.Working().Object(storetest.Addr(at)); o != nil && there != "?" {
		there = idOf(o)
	} else if there != "?" {
		there = ""
	}
	if there == "?" || w.busy[at] {
		return // a person must decide first
	}
	w.busy[at] = true
	defer delete(w.busy, at)
	intent := storetest.Create(fmt.Sprint(op), at)
	if there != "" {
		intent.Action = state.ActionDelete
	}
	if err := j.Intent(intent); err != nil {
		w.note("no intent for %s: %v", at, err)
		return
	}
	edit := storetest.Put(at, id, "")
	if there == "" {
		if w.real[at] != "" {
			w.fail("%s exists as %s and is created again", at, w.real[at])
		}
		w.real[at] = id
	} else {
		delete(w.real, at)
		edit = storetest.Drop(at)
	}
	if between != nil {
		between()
	}
	err := j.Result(fmt.Sprint(op), edit)
	w.ended[at] = err == nil && j.Err() == nil
	w.note("%s is %q (%v, %v)", at, w.real[at], err, j.Err())
}

// steal forces the unlock and locks on another machine, where nothing fails. Meanwhile the former holder continues.
func (w *world) steal(machine int, meanwhile func()) {
	calm := unreliable.NewNetwork(0, 0)
	calm.Before = meanwhile
	s := w.store((machine+1)%2, calm)
	w.free()
	w.note("the lock is taken by machine %d", (machine+1)%2)
	session, err := workspaceOf(s).Lock(context.Background(), state.LockRequest{})
	if errors.Is(err, remote.ErrChanged) {
		return // the former holder writes all the time
	}
	if err != nil {
		w.fail("nobody has the lock, and it cannot be taken: %v", err)
	}
	w.check(session.Snapshot())
	w.runs++
	j, err := session.Begin(context.Background(), state.RunInfo{ID: fmt.Sprint("run", w.runs), Command: "apply"})
	if err != nil {
		w.fail("begin: %v", err)
	}
	w.operate(session, j, 100, nil)
	w.note("closed: %v", j.Close(context.Background()))
	w.note("unlocked: %v", session.Unlock())
}

// free forces the unlock, whoever holds the lock.
func (w *world) free() {
	p, err := w.service.Place(state.DefaultWorkspace)
	if err != nil {
		w.t.Fatal(err)
	}
	if info, _ := p.Holder(context.Background()); info != nil {
		if err := p.ForceUnlock(context.Background(), info.ID); err != nil {
			w.fail("force-unlock: %v", err)
		}
	}
}

// foreign is a program that writes the state and does not support journals.
func (w *world) foreign() {
	ctx := context.Background()
	p, _ := w.service.Place(state.DefaultWorkspace)
	c, err := p.Read(ctx)
	if err != nil || c.Data == nil {
		return
	}
	cipher := w.cipher()
	plain, _, err := cipher.Open(ctx, c.Data)
	if err != nil {
		w.fail("the state cannot be opened: %v", err)
	}
	st, err := state.Read(bytes.NewReader(plain))
	if err != nil {
		w.fail("the state is damaged: %v", err)
	}
	b := st.Builder()
	b.Fold(state.Edit{Output: &state.SetOutput{Name: "foreign", Value: &state.Output{
		Value: cty.NumberIntVal(int64(w.runs))}}})
	next := *b.State()
	next.Serial++
	var text bytes.Buffer
	if err := next.Encode(&text); err != nil {
		w.t.Fatal(err)
	}
	h, _ := p.Unlocked(ctx)
	data, err := cipher.Seal(ctx, text.Bytes(), &next.Lineage, next.Serial)
	if err != nil {
		w.fail("seal the state: %v", err)
	}
	if _, err := h.Write(ctx, remote.Write{Data: data, Was: c.Version}); err != nil {
		if info, unread := p.Holder(ctx); unread == nil && info != nil {
			w.note("the service refused a foreign write under the lock: %v", err) // not all services do
			return
		}
		w.fail("foreign write: %v", err)
	}
	w.note("another program wrote serial %d", next.Serial)
}

// check compares a state with the existing objects: every existing object is known, and acknowledged results are
// unchanged.
func (w *world) check(s *state.Snapshot) {
	w.t.Helper()
	have := known(s)
	for _, at := range slices.Sorted(maps.Keys(w.real)) {
		if have[at] == "" {
			w.fail("%s exists as %s, and nothing knows of it: %v", at, w.real[at], have)
		}
		if have[at] != "?" && have[at] != w.real[at] && w.ended[at] {
			w.fail("%s exists as %s, and is known as %s", at, w.real[at], have[at])
		}
	}
	for at, id := range have {
		if id != "?" && w.real[at] == "" && w.ended[at] {
			w.fail("%s was deleted, and is known as %s", at, id)
		}
	}
}

// settle acts as a person who checks the open operations and resolves them.
func (w *world) settle() {
	s := w.store(2, nil)
	session, err := workspaceOf(s).Lock(context.Background(), state.LockRequest{})
	if err != nil {
		w.fail("lock at the end: %v", err)
	}
	snapshot := session.Snapshot()
	w.check(snapshot)
	var tokens []string
	edits := map[string]state.Edit{}
	settle := func(token string, at addr.Object) {
		if tokens = append(tokens, token); w.real[at.String()] != "" {
			edits[at.String()] = storetest.Put(at.String(), w.real[at.String()], "")
		} else {
			edits[at.String()] = state.Edit{Drop: &state.DropObject{Addr: at}}
		}
	}
	for _, f := range snapshot.InFlight {
		settle(f.Token(), f.Object)
	}
	for _, u := range snapshot.Unfolded {
		for _, e := range u.Edits {
			if e.Put != nil {
				settle(u.Token(), e.Put.Addr)
			} else if e.Drop != nil {
				settle(u.Token(), e.Drop.Addr)
			}
		}
	}
	slices.Sort(tokens)
	if tokens = slices.Compact(tokens); len(tokens) > 0 {
		if err := session.Resolve(context.Background(), tokens, slices.Collect(maps.Values(edits))...); err != nil {
			w.fail("resolve %v: %v", tokens, err)
		}
	}
	if err := session.Unlock(); err != nil {
		w.fail("unlock: %v", err)
	}
	for at := range w.ended {
		w.ended[at] = true
	}
}

// TestNothingIsLostInAnUnreliableNetwork performs runs on two machines. Their calls get lost, arrive twice or late;
// they are killed; their locks are taken from them while they continue; another program writes despite the lock; and
// their clocks show arbitrary times. In a third of the worlds, the key of the state is replaced between runs, or during
// a run. After each run every existing object must be known, and no object is created twice.
func TestNothingIsLostInAnUnreliableNetwork(t *testing.T) {
	first, seeds := uint64(1), uint64(400)
	if testing.Short() {
		seeds = 60
	}
	first, seeds = asked(t, first, seeds)
	for seed := first; seed <= seeds; seed++ {
		service := memory.New()
		if seed%2 == 0 {
			service = memory.NewUnfenced()
		}
		play(t, seed, service)
	}
}

// asked returns the range of seeds in TOMBOLO_REMOTE_SEEDS, such as 1000-5000, or the default.
func asked(t *testing.T, first, last uint64) (uint64, uint64) {
	t.Helper()
	if text := os.Getenv("TOMBOLO_REMOTE_SEEDS"); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err != nil {
			t.Fatal(err)
		}
	}
	return first, last
}

// play performs runs over an empty service.
func play(t *testing.T, seed uint64, service remote.Driver) {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 2)), service: service,
		clocks: rand.New(rand.NewPCG(seed, 3)), real: map[string]string{}, ended: map[string]bool{},
		busy: map[string]bool{}}
	if seed%3 == 0 {
		w.keys = []int{0}
	}
	for i := range w.folders {
		w.folders[i] = dir + "/" + strconv.Itoa(i)
		if err := os.Mkdir(w.folders[i], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 6 {
		n := unreliable.NewNetwork(seed*100+uint64(round), w.rand.Float64()/2)
		w.run(w.rand.IntN(2), n)
		n.Arrive(true)
		w.free()
		if w.rand.IntN(3) == 0 {
			w.settle()
		}
	}
	w.settle()
	s := w.store(2, nil)
	snapshot, err := workspaceOf(s).Read(context.Background())
	if err != nil {
		w.fail("read at the end: %v", err)
	}
	if have := known(snapshot); !maps.Equal(have, w.real) {
		w.fail("there is %v, and the state has %v", w.real, have)
	}
}

// TestLostResponsesHaveNoEffect: a run whose calls get lost, arrive twice or late, but succeed in the end, has the same
// result as a run without faults.
func TestLostResponsesHaveNoEffect(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(60) {
		w := &world{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 2)), service: memory.New(),
			clocks: rand.New(rand.NewPCG(seed, 3))}
		n := unreliable.NewNetwork(seed, 0.3)
		rescue := t.TempDir()
		s := remote.New(remote.Options{Driver: unreliable.Over(w.service, n), Rescue: []string{rescue},
			Pause: time.Microsecond, Beat: time.Hour, Tries: 40})
		var session state.Session
		var err error
		for range 100 {
			if session, err = workspaceOf(s).Lock(ctx, state.LockRequest{}); err == nil {
				break
			}
			w.free() // a delayed request acquired it
			n.Arrive(true)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		j, err := session.Begin(ctx, state.RunInfo{ID: "run", Command: "apply"})
		if err != nil {
			t.Fatal(err)
		}
		for op := range 10 {
			at := fmt.Sprintf("t.o%d", op)
			err := errors.Join(j.Intent(storetest.Create(fmt.Sprint(op), at)),
				j.Result(fmt.Sprint(op), storetest.Put(at, "x", "")))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if err := j.Close(ctx); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := session.Unlock(); err != nil && !errors.Is(err, remote.ErrLost) { // the request arrived twice
			t.Fatalf("seed %d: %v", seed, err)
		}
		n.Arrive(true)
		if left, _ := os.ReadDir(rescue); len(left) > 0 {
			t.Errorf("seed %d: results went to %v", seed, left)
		}
		snapshot, err := workspaceOf(w.store(2, nil)).Read(ctx)
		if err != nil || len(known(snapshot)) != 10 || len(snapshot.InFlight) > 0 {
			t.Errorf("seed %d: %v, %v", seed, known(snapshot), err)
		}
	}
}
