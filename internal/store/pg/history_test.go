//go:build unix

package pg

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Every run has a revision with its last state, and so has a state that another program wrote. The oldest revisions are
// removed.
func TestHistory(t *testing.T) {
	dsn := pgtest.Database(t)
	d := opened(t, dsn, history.Variable, "4")
	p := placed(t, d, "default")
	var h history.Historian = p
	if all, err := h.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("history %v, %v", all, err)
	}
	hold := lock(t, p, "mine")
	version, revision := "", history.Revision{}
	write := func(serial int, run string) {
		t.Helper()
		revision = history.Revision{Run: state.RunInfo{ID: run, Command: "apply", Started: time.Unix(1, 0).UTC()},
			Who: "me@here", Commit: "abc", Created: serial, Addresses: []string{"a.b"}}
		var err error
		if version, err = hold.Write(t.Context(), remote.Write{Data: document(serial), Was: version,
			Serial:  uint64(serial),
			Lineage: "l", Revision: revision}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(want string) []history.Former {
		t.Helper()
		all, err := h.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range all {
			data, err := h.Snapshot(t.Context(), f.ID)
			if err != nil {
				t.Fatal(err)
			}
			if f.Foreign {
				got = append(got, string(data))
				continue
			}
			if !bytes.Equal(data, document(int(f.Serial))) || f.Size != int64(len(data)) || f.Lineage != "l" {
				t.Errorf("revision %+v: %q", f, data)
			}
			got = append(got, fmt.Sprint(f.Serial))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("kept %q, want %q", got, want)
		}
		return all
	}
	write(1, "one")
	write(2, "one")
	write(3, "two")
	all := kept("3 2")
	if !reflect.DeepEqual(all[0].Revision, revision) || time.Since(all[0].Written).Abs() > time.Hour {
		t.Errorf("revision %+v, want %+v", all[0], revision)
	}
	if err := pgtest.Execute(dsn, "UPDATE terraform_remote_state.states SET data = 'theirs'"); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Write(t.Context(), remote.Write{Data: document(9), Was: version}); !errors.Is(err,
		remote.ErrChanged) {
		t.Errorf("write: %v", err)
	}
	kept("3 2")
	version = digest([]byte("theirs"))
	write(4, "three")
	kept("4 theirs 3 2")
	write(5, "four")
	write(6, "")
	write(7, "")
	kept("7 6 5 4")
	d.o.keepBytes = 1
	write(8, "five")
	kept("8")
	if _, err := h.Snapshot(t.Context(), all[0].ID); !errors.Is(err, history.ErrNoRevision) {
		t.Errorf("a revision that is gone: %v", err)
	}
	if _, err := h.Snapshot(t.Context(), "x"); !errors.Is(err, history.ErrNoRevision) {
		t.Errorf("no revision: %v", err)
	}
	d.o.keep = 0
	write(9, "six")
	kept("8")
	if err := pgtest.Execute(dsn, "UPDATE terraform_remote_state.tombolo_history SET digest = 'x'"); err != nil {
		t.Fatal(err)
	}
	all, err := h.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Snapshot(t.Context(), all[0].ID); !contains(err, "damaged") {
		t.Errorf("a damaged revision: %v", err)
	}
}

func document(serial int) []byte {
	return fmt.Appendf(nil, `{"serial":%d,"text":%q}`, serial, strings.Repeat("äöü", 1000))
}
