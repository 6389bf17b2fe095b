package store_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// scenario is a script with the initial content of its disk.
type scenario struct {
	name    string
	prepare func(*player)
	script  func(*player)
}

func put(at, id string) state.Edit { return storetest.Put(at, id, "") }

var scenarios = []scenario{
	{"first run", nil, func(p *player) {
		if !p.lock(state.LockRequest{}) {
			return
		}
		if p.begin("r") {
			p.intent("r", "1", "t.a")
			p.result("1", put("t.a", "1"))
			p.record(put("t.local", "2"))
			p.intent("r", "3", "t.b")
			p.intent("r", "4", "t.c")
			p.partial("4", "t.c")
			p.result("3", put("t.b", "3"))
			p.close()
		}
		p.unlock()
	}},
	{"run with checkpoints", aState, func(p *player) {
		if !p.lock(state.LockRequest{}) {
			return
		}
		if p.begin("r") {
			p.intent("r", "1", "t.old")
			p.result("1", storetest.Drop("t.old"))
			p.intent("r", "2", "t.a")
			p.checkpoint()
			p.result("2", state.Edit{Depose: &state.DeposeObject{Instance: storetest.Addr("t.a").Instance,
				Key: "0000aaaa"}}, put("t.a", "new"))
			p.record(put("t.local", "2"))
			p.intent("r", "3", "t.b")
			p.checkpoint()
			p.result("3")
			p.intent("r", "4", "t.c")
			p.result("4", put("t.c", "4"))
			p.close()
		}
		p.unlock()
	}},
	{"after a killed run", aKilledRun, func(p *player) {
		if !p.lock(state.LockRequest{}) {
			return
		}
		if p.begin("r2") {
			p.intent("r2", "1", "t.e")
			p.resolve("r1/x", put("t.x", "adopted"))
			p.result("1", put("t.e", "1"))
			p.close()
		}
		p.resolve("r1/y")
		p.unlock()
	}},
	{"writing the state", aKilledRun, func(p *player) {
		if !p.lock(state.LockRequest{}) {
			return
		}
		p.write(put("t.new", "1"))
		p.write(storetest.Drop("t.new"), storetest.Drop("t.a"))
		p.resolve("r1/x", put("t.x", "adopted"))
		p.resolve("r1/y")
		p.write(put("t.last", "1"))
		p.unlock()
	}},
	{"without the lock", aState, func(p *player) {
		if !p.lock(state.LockRequest{Unlocked: true}) {
			return
		}
		if p.begin("r") {
			p.intent("r", "1", "t.b")
			p.result("1", put("t.b", "1"))
			p.intent("r", "2", "t.c")
			p.close()
		}
		p.unlock()
	}},
}

func aState(p *player) {
	p.lock(state.LockRequest{})
	p.begin("seed")
	p.journal.Record(put("t.a", "0"), put("t.old", "0"), put("t.big", strings.Repeat("x", 300)))
	p.journal.Close(ctx)
	p.session.Unlock()
}

func aKilledRun(p *player) {
	aState(p)
	p.lock(state.LockRequest{})
	p.begin("r1")
	p.journal.Intent(storetest.Create("x", "t.x"))
	p.journal.Intent(storetest.Create("y", "t.y"))
	p.journal.Close(ctx)
	p.session.Unlock()
}

// play prepares a scenario without faults and runs its script over the given files.
func (s scenario) play(disk *mem.FS, wrap func(store.Files) store.Files) (p *player) {
	return s.playMarked(disk, wrap, nil)
}

func (s scenario) playMarked(disk *mem.FS, wrap func(store.Files) store.Files, mark func(*player)) (p *player) {
	disk.MkdirAll("dir", 0o755)
	disk.MkdirAll("rescue", 0o755)
	if s.prepare != nil {
		s.prepare(&player{files: disk})
	}
	p = newPlayer(disk, wrap(disk), mark)
	defer func() {
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	p.marked()
	s.script(p)
	return p
}

// newPlayer returns a player that starts from the content of the disk.
func newPlayer(disk, files store.Files, mark func(*player)) *player {
	ws, _ := storeOn(disk).Workspace("default")
	base, err := ws.Read(ctx)
	if err != nil {
		panic(err)
	}
	p := &player{mark: mark, files: files, base: base, latest: base.State, content: []string{contentOf(base.State)}}
	for _, f := range base.InFlight {
		p.ops = append(p.ops, &op{token: f.Token(), carried: true})
	}
	return p
}

// calls returns the number of calls of a run without faults, and checks its result.
func (s scenario) calls(t *testing.T) int {
	disk := mem.NewFS()
	var f *faults.Files
	p := s.play(disk, func(inner store.Files) store.Files {
		f = faults.Wrap(inner, faults.Plan{})
		return f
	})
	if p.failed {
		t.Fatal("the script fails without any fault")
	}
	if err := p.expectation().survey(disk.Clone()); err != nil {
		t.Fatal(err)
	}
	return f.Calls()
}
