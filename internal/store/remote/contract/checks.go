package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Info describes a lock for tests.
func Info(id string) state.LockInfo {
	return state.LockInfo{ID: id, Operation: state.OperationApply, Info: "some note", Who: "me@here", Version: "1.11.4",
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Path: "some/path"}
}

// id returns the ID of a lock in the form that commands use.
func id(n int) string { return fmt.Sprintf("0b5c8e7e-6c1f-4d9e-9d6d-%012d", n) }

func document(serial int, note string) []byte {
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{},`+
		`"resources":[],"check_results":null,"note":%q}`, serial, note)
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func place(t T, d remote.Driver, workspace string) remote.Place {
	t.Helper()
	p, err := d.Place(workspace)
	must(t, err)
	return p
}

func lock(t T, d remote.Driver, n int) (remote.Place, remote.Hold) {
	t.Helper()
	p := place(t, d, state.DefaultWorkspace)
	h, err := p.Lock(t.Context(), Info(id(n)))
	must(t, err)
	return p, h
}

// held returns the information of a lock with the ID under which it is held.
func held(h remote.Hold, info state.LockInfo) state.LockInfo {
	if n, ok := h.(remote.Named); ok {
		info.ID = n.ID()
	}
	return info
}

func write(t T, h remote.Hold, was string, serial int, note string) string {
	t.Helper()
	version, err := h.Write(t.Context(), remote.Write{Data: document(serial, note), Was: was, Lineage: "l",
		Serial: uint64(serial)})
	must(t, err)
	if version == "" || version == was {
		t.Fatalf("version %q became %q", was, version)
	}
	return version
}

func reads(t T, p remote.Place, version string, data []byte) {
	t.Helper()
	c, err := p.Read(t.Context())
	must(t, err)
	if c.Version != version || !bytes.Equal(c.Data, data) {
		t.Errorf("version %q, %.200q; want version %q, %.200q", c.Version, c.Data, version, data)
	}
}

func journal(t T, p remote.Place, version string, chunks ...string) {
	t.Helper()
	j, err := p.ReadJournal(t.Context())
	must(t, err)
	var got []string
	for _, c := range j.Chunks {
		got = append(got, string(c))
	}
	if j.Version != version || !slices.Equal(got, chunks) {
		t.Errorf("journal %q, %q; want %q, %q", j.Version, got, version, chunks)
	}
}

// answer returns the result of a call for messages.
func answer(err error) string {
	if err == nil {
		return "it succeeded"
	}
	return err.Error()
}

func changed(t T, what string, err error) {
	t.Helper()
	if !errors.Is(err, remote.ErrChanged) {
		t.Errorf("%s: %s; want the error that it was changed", what, answer(err))
	}
}

func nothing(t T, o Options, a, b remote.Driver) {
	p := place(t, a, state.DefaultWorkspace)
	reads(t, p, "", nil)
	switch _, err := p.ReadJournal(t.Context()); {
	case o.NoJournal && !errors.Is(err, remote.ErrNoJournal):
		t.Errorf("reading a journal where there is no room for one: %s", answer(err))
	case !o.NoJournal:
		journal(t, p, "")
	}
	if info, err := p.Holder(t.Context()); info != nil || err != nil {
		t.Errorf("the holder of a free lock is %+v, %s", info, answer(err))
	}
	_, h := lock(t, b, 1)
	reads(t, p, "", nil)
	must(t, h.Check(t.Context()))
	must(t, h.Unlock(t.Context()))
	reads(t, p, "", nil)
}

func writes(t T, _ Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	other := place(t, b, state.DefaultWorkspace)
	one := write(t, h, "", 1, "one")
	reads(t, other, one, document(1, "one"))
	two := write(t, h, one, 2, "two")
	reads(t, other, two, document(2, "two"))
	must(t, h.Unlock(t.Context()))
	_, h = lock(t, b, 2)
	reads(t, other, two, document(2, "two"))
	write(t, h, two, 3, "three")
	must(t, h.Unlock(t.Context()))
}

func conditional(t T, _ Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	free, err := place(t, b, state.DefaultWorkspace).Unlocked(t.Context())
	must(t, err)
	one := write(t, h, "", 1, "one")
	w := remote.Write{Data: document(1, "foreign"), Lineage: "l", Serial: 1}
	_, err = free.Write(t.Context(), w)
	changed(t, "a first state where one is", err)
	two := write(t, h, one, 2, "two")
	w.Was = one
	_, err = free.Write(t.Context(), w)
	changed(t, "over a state that is gone", err)
	must(t, h.Unlock(t.Context()))
	p := place(t, b, state.DefaultWorkspace)
	reads(t, p, two, document(2, "two"))
	w.Was = two
	three, err := free.Write(t.Context(), w)
	must(t, err)
	reads(t, p, three, w.Data)
	must(t, free.Unlock(t.Context()))
}

func oneHolder(t T, _ Options, a, b remote.Driver) {
	const tries = 8
	for round := range 4 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var holds []remote.Hold
		for n := range tries {
			wg.Go(func() {
				d := a
				if n%2 == 1 {
					d = b
				}
				p, err := d.Place(state.DefaultWorkspace)
				if err != nil {
					t.Error(err)
					return
				}
				h, err := p.Lock(t.Context(), Info(id(round*tries+n)))
				var locked *state.LockedError
				if err != nil {
					if !errors.As(err, &locked) {
						t.Errorf("taking a lock: %s", answer(err))
					}
					return
				}
				mu.Lock()
				holds = append(holds, h)
				mu.Unlock()
			})
		}
		wg.Wait()
		if len(holds) > 1 {
			t.Errorf("%d hold the lock at the same time", len(holds))
		}
		for _, h := range holds {
			must(t, h.Check(t.Context()))
			must(t, h.Unlock(t.Context()))
			if err := h.Unlock(t.Context()); !errors.Is(err, remote.ErrLost) {
				t.Errorf("a lock is given back twice: %s; want the error that it is lost", answer(err))
			}
		}
	}
}

func named(t T, _ Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	p := place(t, b, state.DefaultWorkspace)
	_, err := p.Lock(t.Context(), Info(id(2)))
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil {
		t.Fatalf("a lock that another holds is taken: %s; want the error that says who holds it", answer(err))
	}
	if !strings.HasPrefix(err.Error(), "the state is locked by me@here") {
		t.Errorf("taking a lock: %s", answer(err))
	}
	info, err := p.Holder(t.Context())
	must(t, err)
	for _, got := range []*state.LockInfo{locked.Info, info} {
		want := held(h, Info(id(1)))
		if got == nil || got.ID != want.ID || got.Who != want.Who || got.Operation != want.Operation ||
			got.Info != want.Info || !got.Created.Equal(want.Created) {
			t.Errorf("the holder is %+v; want %+v", got, want)
		}
	}
	must(t, h.Unlock(t.Context()))
	if info, err := p.Holder(t.Context()); info != nil || err != nil {
		t.Errorf("the holder of a free lock is %+v, %s", info, answer(err))
	}
}

// times checks holders with wrong clocks. A lock ends when it is released, forced or not renewed. The times that its
// holder reports are only for display.
func times(t T, _ Options, a, b remote.Driver) {
	p, other := place(t, a, state.DefaultWorkspace), place(t, b, state.DefaultWorkspace)
	for n, created := range WrongClocks() {
		info := Info(id(2 * n))
		info.Created = created
		h, err := p.Lock(t.Context(), info)
		must(t, err)
		info = held(h, info)
		var locked *state.LockedError
		if _, err := other.Lock(t.Context(), Info(id(2*n+1))); !errors.As(err, &locked) || locked.Info == nil ||
			locked.Info.ID != info.ID || !locked.Info.Created.Equal(created) {
			t.Errorf("taking a lock that is held since %s: %s; want the error that says who holds it, and since when",
				created.Format(time.RFC3339), answer(err))
		}
		must(t, h.Check(t.Context()))
		must(t, h.Unlock(t.Context()))
	}
}

// WrongClocks returns times of clocks that are wrong by hours or ages.
func WrongClocks() []time.Time {
	at := Info("").Created
	return []time.Time{{}, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), at.Add(-13 * time.Hour), at.AddDate(100, 0, 0),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
}

func forced(t T, o Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	p := place(t, b, state.DefaultWorkspace)
	if err := p.ForceUnlock(t.Context(), id(7)); err == nil {
		t.Error("another id frees the lock")
	}
	must(t, h.Check(t.Context()))
	must(t, p.ForceUnlock(t.Context(), held(h, Info(id(1))).ID))
	if err := p.ForceUnlock(t.Context(), held(h, Info(id(1))).ID); err == nil {
		t.Error("a lock can be freed twice")
	}
	if err := h.Check(t.Context()); !errors.Is(err, remote.ErrLost) {
		t.Errorf("looking after a lock that was freed: %s; want the error that it is lost", answer(err))
	}
	next, err := p.Lock(t.Context(), Info(id(2)))
	must(t, err)
	if err := h.Unlock(t.Context()); !errors.Is(err, remote.ErrLost) {
		t.Errorf("giving back a lock that was freed: %s; want the error that it is lost", answer(err))
	}
	must(t, next.Check(t.Context()))
	if !o.LastWriterWins {
		one := write(t, next, "", 1, "one")
		if _, err := h.Write(t.Context(), remote.Write{Data: document(1, "late"), Lineage: "l",
			Serial: 1}); err == nil {
			t.Error("who lost the lock writes the state")
		}
		reads(t, p, one, document(1, "one"))
	}
	must(t, next.Unlock(t.Context()))
}

func journals(t T, _ Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	other := place(t, b, state.DefaultWorkspace)
	v1, err := h.StartJournal(t.Context(), "", []byte("first\x00\xff"))
	must(t, err)
	journal(t, other, v1, "first\x00\xff")
	want := []string{"first\x00\xff"}
	for n := 1; n <= 12; n++ {
		chunk := fmt.Sprintf("chunk %d\x00", n)
		must(t, h.Append(t.Context(), v1, n, []byte(chunk)))
		want = append(want, chunk)
	}
	journal(t, other, v1, want...)
	changed(t, "the same number again", h.Append(t.Context(), v1, 12, []byte("again")))
	changed(t, "a number is left out", h.Append(t.Context(), v1, 14, []byte("later")))
	changed(t, "another version", h.Append(t.Context(), "1"+v1, 13, []byte("other")))
	journal(t, other, v1, want...)
	v2, err := h.StartJournal(t.Context(), v1, nil)
	must(t, err)
	journal(t, other, v2)
	must(t, h.Unlock(t.Context()))
	_, h = lock(t, b, 2)
	v3, err := h.StartJournal(t.Context(), v2, []byte("next"))
	must(t, err)
	must(t, h.Append(t.Context(), v3, 1, []byte("more")))
	journal(t, place(t, a, state.DefaultWorkspace), v3, "next", "more")
	if v1 == v2 || v2 == v3 || v1 == v3 {
		t.Errorf("versions %q, %q, %q", v1, v2, v3)
	}
	must(t, h.Unlock(t.Context()))
}

func replaced(t T, _ Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	p := place(t, b, state.DefaultWorkspace)
	free, err := p.Unlocked(t.Context())
	must(t, err)
	v1, err := h.StartJournal(t.Context(), "", []byte("one"))
	must(t, err)
	_, err = free.StartJournal(t.Context(), "", []byte("foreign"))
	changed(t, "a first journal where one is", err)
	v2, err := free.StartJournal(t.Context(), v1, []byte("two"))
	must(t, err)
	changed(t, "to a journal that is gone", h.Append(t.Context(), v1, 1, []byte("late")))
	_, err = h.StartJournal(t.Context(), v1, nil)
	changed(t, "the end of a journal that is gone", err)
	journal(t, p, v2, "two")
	must(t, h.Unlock(t.Context()))
}

func race(t T, _ Options, a, b remote.Driver) {
	p := place(t, a, state.DefaultWorkspace)
	one, err := p.Unlocked(t.Context())
	must(t, err)
	two, err := place(t, b, state.DefaultWorkspace).Unlocked(t.Context())
	must(t, err)
	version, err := one.StartJournal(t.Context(), "", []byte("0"))
	must(t, err)
	want := []string{"0"}
	for n := 1; n < 8; n++ {
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, h := range []remote.Hold{one, two} {
			wg.Go(func() { errs[i] = h.Append(t.Context(), version, n, fmt.Appendf(nil, "%d of %d", n, i)) })
		}
		wg.Wait()
		won := slices.Index(errs, nil)
		if won < 0 {
			t.Fatalf("nobody added chunk %d: %v", n, errs)
		}
		changed(t, "the other", errs[1-won])
		want = append(want, fmt.Sprintf("%d of %d", n, won))
	}
	journal(t, p, version, want...)
}

func large(t T, o Options, a, b remote.Driver) {
	_, h := lock(t, a, 1)
	other := place(t, b, state.DefaultWorkspace)
	data := document(1, string(bytes.Repeat([]byte("0123456789äöü\u2028\n\"'\\"), 40_000)))
	version, err := h.Write(t.Context(), remote.Write{Data: data, Lineage: "l", Serial: 1})
	must(t, err)
	reads(t, other, version, data)
	if !o.NoJournal {
		all := make([]byte, 256<<12)
		for i := range all {
			all[i] = byte(i * 31 >> 3)
		}
		v, err := h.StartJournal(t.Context(), "", all)
		must(t, err)
		must(t, h.Append(t.Context(), v, 1, all))
		j, err := other.ReadJournal(t.Context())
		must(t, err)
		if len(j.Chunks) != 2 || !bytes.Equal(j.Chunks[0], all) || !bytes.Equal(j.Chunks[1], all) {
			t.Error("a large chunk was not kept as it is")
		}
	}
	must(t, h.Unlock(t.Context()))
}

func workspaces(t T, o Options, a, b remote.Driver) {
	all := []string{"a-b.c_d", "blue", "v1.2~x"}
	if o.PlainNames {
		all = []string{"a-b", "blue", "v12"}
	}
	for n, name := range all {
		p := place(t, a, name)
		h, err := p.Lock(t.Context(), Info(id(n)))
		must(t, err)
		version := write(t, h, "", 1, name)
		must(t, h.Unlock(t.Context()))
		reads(t, place(t, b, name), version, document(1, name))
	}
	names, err := b.Workspaces(t.Context())
	must(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return name == state.DefaultWorkspace })
	slices.Sort(names)
	if !slices.Equal(names, all) {
		t.Errorf("workspaces %q", names)
	}
	reads(t, place(t, b, state.DefaultWorkspace), "", nil)
}

func deletes(t T, o Options, a, b remote.Driver) {
	p := place(t, a, "blue")
	h, err := p.Lock(t.Context(), Info(id(1)))
	must(t, err)
	write(t, h, "", 1, "x")
	if !o.NoJournal {
		v, err := h.StartJournal(t.Context(), "", []byte("journal"))
		must(t, err)
		must(t, h.Append(t.Context(), v, 1, []byte("more")))
	}
	must(t, h.Delete(t.Context()))
	must(t, h.Delete(t.Context()))
	must(t, h.Unlock(t.Context()))
	p = place(t, b, "blue")
	reads(t, p, "", nil)
	if !o.NoJournal {
		if j, err := p.ReadJournal(t.Context()); err != nil || len(j.Chunks) > 0 {
			t.Errorf("journal %+v, %v", j, err)
		}
	}
	names, err := b.Workspaces(t.Context())
	must(t, err)
	if slices.Contains(names, "blue") {
		t.Errorf("workspaces %q", names)
	}
	h, err = p.Lock(t.Context(), Info(id(2)))
	must(t, err)
	write(t, h, "", 1, "again")
	must(t, h.Unlock(t.Context()))
}

func ended(t T, _ Options, a, _ remote.Driver) {
	p, h := lock(t, a, 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Read(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that nobody waits for: %s", answer(err))
	}
	if _, err := h.Write(over, remote.Write{Data: document(1, "x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that nobody waits for: %s", answer(err))
	}
	reads(t, p, "", nil)
	must(t, h.Check(t.Context()))
	must(t, h.Unlock(t.Context()))
}
