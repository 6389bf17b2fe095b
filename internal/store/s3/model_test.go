package s3_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

const (
	statePath = "/b/some/state"
	lockPath  = "/b/some/state.tflock"
	headPath  = "/b/some/state.tombolo/journal"
)

// Runs on three machines take turns over a network with faults. Some end without releasing their lock, and some lose
// their lock without noticing. In all cases, a state replaces the one that was read, a lock is only acquired if it is
// free, versions of journals are never reused, and an acknowledged chunk remains in its position, exactly once, until
// its journal ends.
func TestFaultsLoseAndDuplicateNothing(t *testing.T) {
	seeds := uint64(15)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newModel(t, seed).play(200) })
	}
}

// holder returns the ID of a lock.
func holder(lock string) string {
	var info state.LockInfo
	json.Unmarshal([]byte(lock), &info)
	return info.ID
}

// model checks the rules that must hold.
type model struct {
	t      *testing.T
	rand   *rand.Rand
	net    *faulty
	clean  remote.Place // without faults
	runs   []*run
	count  int
	states map[string]string // each state to be written -> the one to be replaced
	acked  map[int]string    // acknowledged chunks of the current journal, by number
	during string            // version of the current journal
	former map[string]bool   // versions of former journals
	given  map[string]bool   // IDs of locks that were to be released

	lock, content, version string // as stored
}

// run is a run on one machine.
type run struct {
	m       *model
	place   remote.Place
	step    func(context.Context) // next step; nil if idle
	id      string
	hold    remote.Hold
	content remote.Content
	journal remote.Journal
	n       int
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 1)), states: map[string]string{}, acked: map[int]string{},
		former: map[string]bool{}, given: map[string]bool{}}
	m.net = &faulty{t: t, next: serve(t), rand: m.rand, rate: m.rand.Float64() / 2}
	server := httptest.NewServer(m.net)
	direct := httptest.NewServer(m.net.next)
	t.Cleanup(func() { server.Close(); direct.Close() })
	place := func(address string) remote.Place {
		d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(address, map[string]cty.Value{
			"max_retries": cty.NumberIntVal(3)})))
		must(t, err)
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		return p
	}
	m.clean = place(direct.URL)
	for range 3 {
		m.runs = append(m.runs, &run{m: m, place: place(server.URL)})
	}
	m.net.seen = m.look
	return m
}

func (m *model) wrong(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), m.net.log.String())
}

func (m *model) say(format string, args ...any) { fmt.Fprintf(&m.net.log, format+"\n", args...) }

// look compares the stored data with that before a request.
func (m *model) look(*wire) {
	if now := m.net.text(lockPath); now != m.lock {
		if now != "" && m.lock != "" {
			m.t.Errorf("a lock that was held became another one: %s, then %s", m.lock, now)
		}
		if id := holder(m.lock); id != "" && !m.given[id] {
			m.t.Errorf("the lock of %s is gone, and nobody has given it back", id)
		}
		m.lock = now
	}
	if now := m.net.text(statePath); now != m.content {
		if was, ok := m.states[now]; !ok || was != m.content {
			m.t.Errorf("the state %q replaced %q, it was to replace %q", now, m.content, was)
		}
		m.content = now
	}
	var head struct {
		Epoch int
		ID    string
	}
	if first := line(m.net.text(headPath)); first != "" {
		if err := json.Unmarshal([]byte(first), &head); err != nil {
			m.t.Errorf("the head: %v", err)
		}
	}
	if now := fmt.Sprintf("%d-%s", head.Epoch, head.ID); head.Epoch > 0 && now != m.version {
		if m.former[now] {
			m.t.Errorf("the version %s of the journal has come again", now)
		}
		m.former[m.version], m.version = true, now
	}
}

// journal checks that acknowledged chunks are stored.
func (m *model) journal() {
	j, err := m.clean.ReadJournal(m.t.Context())
	if err != nil {
		m.wrong("the journal cannot be read: %v", err)
	}
	if j.Version != m.during {
		m.during, m.acked = j.Version, map[int]string{}
	}
	for n, chunk := range m.acked {
		if n >= len(j.Chunks) || string(j.Chunks[n]) != chunk {
			m.wrong("chunk %d of %s is not %.40q, which was acknowledged", n, j.Version, chunk)
		}
	}
	once := map[string]bool{}
	for n, chunk := range j.Chunks {
		if once[string(chunk)] {
			m.wrong("chunk %d of %s stands there twice: %.40q", n, j.Version, chunk)
		}
		once[string(chunk)] = true
	}
}

func (m *model) fresh(what string) string {
	m.count++
	return fmt.Sprintf("%s %d", what, m.count)
}

// play makes the machines perform steps in turn.
func (m *model) play(steps int) {
	for range steps {
		r := m.runs[m.rand.IntN(len(m.runs))]
		switch x := m.rand.IntN(40); {
		case x == 0 && r.step != nil:
			m.say("%s ends without a word", r.id)
			r.step = nil
		case x < 3, x < 20 && m.orphaned():
			m.free()
		case r.step == nil && m.lock != "" && x > 5: // it would only wait
			continue
		case r.step == nil:
			r.lock(m.t.Context())
		default:
			r.step(m.t.Context())
		}
		if m.t.Failed() {
			m.wrong("after that")
		}
		m.journal()
	}
}

// orphaned reports whether no continuing run owns the lock.
func (m *model) orphaned() bool {
	for _, r := range m.runs {
		if r.step != nil && holder(m.lock) == r.id {
			return false
		}
	}
	return m.lock != ""
}

// free forces the unlock as a person does. The run that held the lock continues.
func (m *model) free() {
	info, err := m.clean.Holder(m.t.Context())
	if err != nil || info == nil {
		return
	}
	m.say("the lock of %s is broken", info.ID)
	m.given[info.ID] = true
	if err := m.clean.ForceUnlock(m.t.Context(), info.ID); err != nil {
		m.wrong("force-unlock: %v", err)
	}
	m.lock = m.net.text(lockPath)
}

// ended logs the result of a call, and ends the run if it cannot continue.
func (r *run) ended(what string, err error) bool {
	r.m.say("%s: %s: %v", r.id, what, err)
	if err != nil {
		r.step = nil
	}
	return err != nil
}

func (r *run) lock(ctx context.Context) {
	r.id = r.m.fresh("run")
	r.m.given[r.id] = true // a partly acquired lock is released
	hold, err := r.place.Lock(ctx, drivertest.Info(r.id))
	r.m.net.rest()
	r.m.given[r.id] = err != nil
	var locked *state.LockedError
	if errors.As(err, &locked) && (locked.Info == nil || locked.Info.ID == r.id) {
		r.m.wrong("%s waits for itself, or for nobody: %v", r.id, err)
	}
	if r.ended("lock", err) {
		return
	}
	if holder(r.m.lock) != r.id {
		r.m.wrong("%s has the lock, and there stands %s", r.id, r.m.lock)
	}
	r.hold, r.step = hold, r.load
}

func (r *run) load(ctx context.Context) {
	content, err := r.place.Read(ctx)
	r.m.net.rest()
	if r.content = content; r.ended("read", err) {
		return
	}
	if string(r.content.Data) != r.m.content {
		r.m.wrong("%s reads %q where %q stands", r.id, r.content.Data, r.m.content)
	}
	journal, err := r.place.ReadJournal(ctx)
	r.m.net.rest()
	if r.journal = journal; r.ended("read journal", err) {
		return
	}
	r.n, r.step = len(r.journal.Chunks), r.begin
	if r.n > 0 {
		r.step = r.append // append the seal
	}
}

func (r *run) begin(ctx context.Context) {
	r.start(ctx, []byte(r.m.fresh("first chunk of "+r.id)))
	if r.step != nil {
		r.step = r.append
	}
}

func (r *run) start(ctx context.Context, first []byte) {
	version, err := r.hold.StartJournal(ctx, r.journal.Version, first)
	r.m.net.rest()
	if r.ended("start the journal", err) {
		return
	}
	if version != r.m.version {
		r.m.wrong("%s has begun the journal %s, and there stands %s", r.id, version, r.m.version)
	}
	r.journal, r.n = remote.Journal{Version: version}, 0
	r.m.during, r.m.acked = version, map[int]string{}
	if first != nil {
		r.m.acked[0], r.n = string(first), 1
	}
}

func (r *run) append(ctx context.Context) {
	chunk := []byte(r.m.fresh("chunk of " + r.id))
	if r.m.rand.IntN(4) == 0 {
		chunk = append(chunk, bytes.Repeat([]byte("x"), objects.InHead/3)...)
	}
	err := r.hold.Append(ctx, r.journal.Version, r.n, chunk)
	r.m.net.rest()
	there, readErr := r.m.clean.ReadJournal(ctx)
	if readErr != nil {
		r.m.wrong("the journal cannot be read: %v", readErr)
	}
	stands := there.Version == r.journal.Version && r.n < len(there.Chunks) && bytes.Equal(there.Chunks[r.n], chunk)
	if err == nil != stands && (err == nil || errors.Is(err, remote.ErrChanged)) {
		r.m.wrong("%s: chunk %d of %s: %v, and that it stands there is %t", r.id, r.n, r.journal.Version, err, stands)
	}
	if r.ended(fmt.Sprintf("append %d to %s", r.n, r.journal.Version), err) {
		return
	}
	r.m.acked[r.n] = string(chunk)
	r.n++
	switch r.m.rand.IntN(6) {
	case 0:
		r.step = r.write
	case 1:
		r.step = r.begin
	default:
		r.step = r.append
	}
}

func (r *run) write(ctx context.Context) {
	data := r.m.fresh("state of " + r.id)
	r.m.states[data] = string(r.content.Data)
	version, err := r.hold.Write(ctx, remote.Write{Data: []byte(data), Was: r.content.Version})
	r.m.net.rest()
	if stands := r.m.content == data; err == nil && !stands || errors.Is(err, remote.ErrChanged) && stands {
		r.m.wrong("%s writes: %v, and there stands %q", r.id, err, r.m.content)
	}
	if r.ended("write", err) {
		return
	}
	r.content = remote.Content{Data: []byte(data), Version: version}
	r.step = r.end
}

func (r *run) end(ctx context.Context) {
	r.start(ctx, nil)
	if r.step != nil {
		r.step = r.unlock
	}
}

func (r *run) unlock(ctx context.Context) {
	r.m.given[r.id] = true
	err := r.hold.Unlock(ctx)
	r.m.net.rest()
	if err == nil && holder(r.m.lock) == r.id {
		r.m.wrong("%s has given back its lock, and it stands there", r.id)
	}
	r.ended("unlock", err)
	r.step = nil
}
