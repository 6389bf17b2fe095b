package remote

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
)

// Runs without a lock of the service may use one folder concurrently. Whatever two of them do to a journal there,
// acknowledged records remain, or the journal is replaced and its writer gets an error.
func TestWritersOfOneLocalJournalLoseNothing(t *testing.T) {
	const writers, rounds = 4, 50
	path := journalFile{store.OS{}, filepath.Join(t.TempDir(), "j")}
	nonce := journal.Nonce{1}
	header := append([]byte(journal.Magic), nonce[:]...)
	header = journal.Append(header, nonce, 0, journal.KindHeader, []byte(`{"format":1}`))
	begun := make([]string, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			l := &localJournal{path: path}
			version, err := l.StartJournal(t.Context(), "", header)
			if err != nil && !errors.Is(err, ErrChanged) {
				t.Error(err)
			}
			begun[i] = version
		})
	}
	wg.Wait()
	if n := len(bytes.Join(bytesOf(begun), nil)); n != len(versionOf(header)) {
		t.Fatalf("a journal was begun by more than one, or by none: %q", begun)
	}
	confirmed := make([][]string, writers)
	for i := range writers {
		wg.Go(func() {
			for round := range rounds {
				there, err := path.read()
				if err != nil {
					t.Error(err)
					return
				}
				p, err := journal.Parse(there.Chunks[0], nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				payload := fmt.Sprintf(`"%d of %d"`, round, i)
				l := &localJournal{path: path, end: p.End}
				err = l.Append(t.Context(), there.Version, 1,
					journal.Append(nil, nonce, p.Next, journal.KindRun, []byte(payload)))
				if err == nil {
					confirmed[i] = append(confirmed[i], payload)
				} else if !errors.Is(err, ErrChanged) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	there, err := path.read()
	if err != nil {
		t.Fatal(err)
	}
	for _, payloads := range confirmed {
		for _, payload := range payloads {
			if !bytes.Contains(there.Chunks[0], []byte(payload)) {
				t.Errorf("%s was confirmed, and is lost", payload)
			}
		}
	}
	old, late := &localJournal{path: path, end: int64(len(there.Chunks[0]))}, &localJournal{path: path}
	if _, err := late.StartJournal(t.Context(), there.Version, nil); err != nil {
		t.Fatal(err)
	}
	if err := old.Append(t.Context(), there.Version, 1, []byte("x")); !errors.Is(err, ErrChanged) {
		t.Errorf("a journal that has ended is continued: %v", err)
	}
	if _, err := old.StartJournal(t.Context(), there.Version, header); !errors.Is(err, ErrChanged) {
		t.Errorf("a journal that has ended is replaced: %v", err)
	}
}

func bytesOf(texts []string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
