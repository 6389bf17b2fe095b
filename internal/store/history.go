package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// A history is a folder beside the state. Each former state is an immutable file in it: a line that describes the
// state, and the compressed state.

// historyLine is the line that describes a former state.
type historyLine struct {
	Written  time.Time        `json:"written"`
	Serial   uint64           `json:"serial"`
	Lineage  string           `json:"lineage"`
	Size     int64            `json:"size"`
	Hash     string           `json:"hash"`
	Foreign  bool             `json:"foreign,omitempty"`
	Revision history.Revision `json:"revision"`
}

// Limits for reading a history, in bytes: a line, and a state.
const (
	maxHistoryLine = 1 << 20
	maxFormerState = regular.State
)

var historyName = regex.Lazy(`^([0-9]{6,18})\.gz$`)

func (w *workspace) history() string { return w.p.out + ".history" }

// formers returns the numbers of the former states, oldest first.
func (w *workspace) formers() (all []int64, err error) {
	dir := w.history()
	info, err := w.o.Files.Stat(dir)
	if isMissing(err) {
		return nil, nil
	}
	if err == nil && !info.Mode.IsDir() {
		err = fmt.Errorf("%s is %s, not a folder for former states, so it was not changed. Find out what created it, "+
			"and remove it", dir, (&IrregularError{Mode: info.Mode}).what())
	}
	if err != nil {
		return nil, err
	}
	infos, err := w.o.Files.List(dir)
	for _, i := range infos {
		if m := historyName().FindStringSubmatch(i.Name); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

func (w *workspace) former(n int64) string {
	return filepath.Join(w.history(), fmt.Sprintf("%06d.gz", n))
}

// keep adds the session's state to the history, after any state that another program wrote. It removes the oldest
// former states. It is called with mu held.
func (s *session) keep() (err error) {
	if s.w.o.History == 0 || s.base == nil || s.base == s.kept {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the state is up to date, but it could not be added to the history %s: %w", s.w.history(),
				err)
		}
	}()
	all, err := s.w.formers()
	if err == nil {
		err = s.w.sweepHistory()
	}
	if err != nil {
		return err
	}
	last := int64(0)
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	add := func(st *state.State, line historyLine) error {
		number, err := s.w.addFormer(last+1, st, line)
		if err == nil {
			all, last = append(all, number), number
		}
		return err
	}
	if s.kept != nil && !isNothing(s.kept) {
		known, err := s.w.isFormer(last, s.kept)
		if err == nil && !known {
			err = add(s.kept, historyLine{Foreign: true})
		}
		if err != nil {
			return err
		}
	}
	r := history.Revision{Run: s.run, Who: s.w.o.Who, Version: s.w.o.Version, Commit: s.w.o.Commit}
	if err := add(s.base, historyLine{Revision: r.Made(s.operation, s.kept, s.base)}); err != nil {
		return err
	}
	s.kept = s.base
	for len(all) > s.w.o.History {
		if err := removeAny(s.w.o.Files, s.w.former(all[0])); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}

var historyTemp = regex.Lazy(`^[0-9]{6,18}\.gz\.[0-9a-f]{16}\.new$`)

// sweepHistory removes the files that interrupted runs left in the history.
func (w *workspace) sweepHistory() error {
	infos, err := w.o.Files.List(w.history())
	if isMissing(err) {
		return nil
	}
	for _, i := range infos {
		if err == nil && historyTemp().MatchString(i.Name) {
			err = removeAny(w.o.Files, filepath.Join(w.history(), i.Name))
		}
	}
	return err
}

// dropHistory removes the history of a workspace that is being deleted. The caller has checked the folder for other
// files.
func (w *workspace) dropHistory() error {
	all, err := w.formers()
	for _, n := range all {
		if err == nil {
			err = removeAny(w.o.Files, w.former(n))
		}
	}
	if err == nil {
		err = w.sweepHistory()
	}
	return err
}

// isFormer reports whether the newest former state equals this one.
func (w *workspace) isFormer(newest int64, st *state.State) (bool, error) {
	if newest == 0 {
		return false, nil
	}
	var b bytes.Buffer
	if err := st.Encode(&b); err != nil {
		return false, err
	}
	_, data, err := w.readFormer(newest, true)
	if err == nil {
		data, _, err = w.o.Cipher.Open(context.Background(), data)
	}
	return err == nil && bytes.Equal(data, b.Bytes()), nil // a damaged former state must not stop the history
}

// addFormer creates the file of a former state, with the number n or a greater one, and returns the number.
func (w *workspace) addFormer(n int64, st *state.State, line historyLine) (int64, error) {
	var data, packed bytes.Buffer
	if err := w.encode(st, &data); err != nil {
		return 0, err
	}
	line.Written, line.Serial, line.Lineage = w.o.Now().UTC(), st.Serial, st.Lineage
	line.Size, line.Hash = int64(data.Len()), hashOf(data.Bytes())
	head, err := json.Marshal(line)
	if err != nil {
		return 0, err
	}
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	for _, part := range [][]byte{head, []byte("\n"), data.Bytes()} {
		if _, err := z.Write(part); err != nil {
			return 0, err
		}
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	files, dir := w.o.Files, w.history()
	if err := files.MkdirAll(dir, w.historyMode()); err != nil {
		return 0, err
	}
	f, temp, err := besideFile(files, w.former(n))
	if err != nil {
		return 0, err
	}
	steps := []func() error{
		func() error { return w.share(f) },
		func() error { _, err := f.WriteAt(packed.Bytes(), 0); return err },
		f.Sync,
	}
	for _, step := range steps {
		if err == nil {
			err = step()
		}
	}
	err = errors.Join(err, f.Close())
	for try := 0; err == nil; try++ { // a run without a lock may store states as well
		if err = files.RenameNew(temp, w.former(n)); !errors.Is(err, fs.ErrExist) || try == 100 {
			break
		}
		n, err = n+1, nil
	}
	if err != nil {
		return 0, errors.Join(err, removeAny(files, temp))
	}
	return n, files.SyncDir(dir)
}

// historyMode returns the permissions of the folder: those who may read or write the state have access.
func (w *workspace) historyMode() fs.FileMode {
	mode := fs.FileMode(0o700)
	if info, err := w.o.Files.Stat(w.p.out); err == nil {
		mode |= info.Mode.Perm() & 0o066
		mode |= (mode & 0o044) >> 2
	}
	return mode
}

// readFormer reads the line of a former state and, with whole set, the state.
func (w *workspace) readFormer(n int64, whole bool) (line historyLine, data []byte, err error) {
	name := w.former(n)
	f, err := w.o.Files.Open(name, 0, 0)
	if err != nil {
		return line, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return line, nil, err
	}
	z, err := gzip.NewReader(io.NewSectionReader(f, 0, info.Size))
	if err != nil {
		return line, nil, fmt.Errorf("the former state %s is damaged: %w", name, err)
	}
	r := bufio.NewReader(io.LimitReader(z, maxHistoryLine))
	head, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(head, &line)
	}
	if err == nil && (line.Size < 0 || line.Size > maxFormerState) {
		err = fmt.Errorf("its size is %d", line.Size)
	}
	if err == nil && whole {
		if data, err = io.ReadAll(io.LimitReader(io.MultiReader(r, z), line.Size+1)); err == nil &&
			hashOf(data) != line.Hash {
			err = errors.New("its content has changed since it was written")
		}
	}
	if err != nil {
		return line, nil, fmt.Errorf("the former state %s is damaged: %w", name, err)
	}
	return line, data, nil
}

// List implements history.Historian.
func (w *workspace) List(context.Context) ([]history.Former, error) {
	numbers, err := w.formers()
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 && w.o.History == 0 {
		return nil, history.ErrNoHistory
	}
	var all []history.Former
	for _, n := range slices.Backward(numbers) {
		line, _, err := w.readFormer(n, false)
		if isMissing(err) {
			continue // it was removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		all = append(all, history.Former{ID: strconv.FormatInt(n, 10), Written: line.Written, Serial: line.Serial,
			Lineage: line.Lineage, Size: line.Size, Foreign: line.Foreign, Revision: line.Revision})
	}
	return all, nil
}

// Snapshot implements history.Historian.
func (w *workspace) Snapshot(ctx context.Context, id string) ([]byte, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return nil, history.ErrNoRevision
	}
	if _, err := w.formers(); err != nil {
		return nil, err
	}
	_, data, err := w.readFormer(n, true)
	if isMissing(err) {
		return nil, history.ErrNoRevision
	}
	if err != nil {
		return nil, err
	}
	if data, _, err = w.o.Cipher.Open(ctx, data); err != nil {
		return nil, fmt.Errorf("the former state %s cannot be used: %w", w.former(n), err)
	}
	return data, nil
}
