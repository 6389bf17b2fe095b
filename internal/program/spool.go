package program

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Spool says where the answer of a program survives the death of this process. The program's outputs are files then, its input is one without a
// name, and it is in a session of its own: when we are killed it ends its work as if nothing had happened. It holds a lock on its answer, by
// which its end is told.
//
// The files are for the eyes of the user alone. Whoever has stored the answer elsewhere calls RemoveSpooled.
type Spool struct {
	Dir   string // made when it is missing; empty: no spool
	Token string // names the call
	// Record is kept beside the answer, for whoever finds it.
	Record []byte
}

// Spooled is what was found of a call.
type Spooled struct {
	Record []byte
	Stdout []byte
	// Known tells that the program was seen to end, with ExitCode.
	Known    bool
	ExitCode int
}

// ErrRunning says that a program has not ended yet.
var ErrRunning = errors.New("the program is still running")

const (
	spoolOut    = ".out"
	spoolErr    = ".err"
	spoolRecord = ".record"
	spoolStatus = ".status"
)

// file names a file of a call. Tokens have slashes.
func (s Spool) file(kind string) string {
	return filepath.Join(s.Dir, strings.ReplaceAll(s.Token, "/", ".")+kind)
}

// ReadSpooled gives what is there of a call; nil when nothing is, ErrRunning while its program lives.
func ReadSpooled(dir, token string) (*Spooled, error) {
	s := Spool{Dir: dir, Token: token}
	running, err := lockedFile(s.file(spoolOut))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	found := &Spooled{}
	if found.Stdout, err = os.ReadFile(s.file(spoolOut)); err != nil {
		return nil, err
	}
	if found.Record, err = os.ReadFile(s.file(spoolRecord)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, err := os.ReadFile(s.file(spoolStatus)); err == nil {
		found.Known = json.Unmarshal(text, &found.ExitCode) == nil
	}
	if running && !found.Known { // with a status it is something that the program left behind
		return nil, ErrRunning
	}
	return found, nil
}

// RemoveSpooled removes what is there of a call, and the folder with the last.
func RemoveSpooled(dir, token string) error {
	s := Spool{Dir: dir, Token: token}
	for _, kind := range []string{spoolOut, spoolErr, spoolRecord, spoolStatus} {
		if err := os.Remove(s.file(kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(dir) // fails while there is another
	return nil
}

// SweepSpool removes everything of calls that are not among the tokens, and the folder when nothing is left.
func SweepSpool(dir string, tokens []string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, token := range tokens {
		s := Spool{Dir: dir, Token: token}
		for _, kind := range []string{spoolOut, spoolErr, spoolRecord, spoolStatus} {
			keep[filepath.Base(s.file(kind))] = true
		}
	}
	for _, e := range entries {
		if !keep[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	_ = os.Remove(dir) // fails while something is kept
	return nil
}
