package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/state"
)

const copyStep = 1 << 20

// numbered gives the state the session's lineage and the serial behind that of what is stored.
func (s *session) numbered(st *state.State) *state.State {
	c := *st
	c.Lineage, c.Serial = s.lineage, 1
	if s.base != nil {
		c.Serial = s.base.Serial + 1
	}
	return &c
}

// write makes the state file hold this state, in the steps that the package doc lists. All records of the journal up to covers are in
// the state. After an error the old content, the new one, or a note to repair it from the image stands there, and nothing new
// may begin in this session.
func (s *session) write(st *state.State, covers uint64) (err error) {
	defer func() {
		if err != nil {
			s.wal.stop(err)
		}
	}()
	if err := s.wal.wait(covers); err != nil {
		return err
	}
	f, err := s.stateFile()
	if err != nil {
		return err
	}
	if f != s.f {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	if err := s.unchanged(f); err != nil {
		return err
	}
	if err := s.backup(f); err != nil {
		return fmt.Errorf("back up the state: %w", err)
	}
	mark, err := s.writeImage(st)
	if err != nil {
		return fmt.Errorf("write the new state to %s: %w", s.w.p.image, err)
	}
	mark.Covers = covers
	payload, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	if err := s.wal.wait(s.wal.append(kindCheckpoint, payload)); err != nil {
		return err
	}
	// From here on the journal may not be in the file that readers look at (it was given up, and goes on elsewhere).
	if err := s.wal.broken(); err != nil {
		return err
	}
	if err := s.install(f, mark); err != nil {
		return err
	}
	s.base, s.imageSize = st, mark.Size
	s.wal.append(kindDone, payload)
	s.wal.push()
	return nil
}

// repair completes the installation of an image that was cut off.
func (s *session) repair(mark checkpoint) (err error) {
	f, err := s.stateFile()
	if err != nil {
		return err
	}
	if f != s.f {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	return s.install(f, mark)
}

// stateFile is the open state file. A session without the shared lock opens it for each write.
func (s *session) stateFile() (File, error) {
	if s.f != nil {
		return s.f, nil
	}
	f, err := s.w.o.Files.Open(s.w.p.out, os.O_RDWR, 0)
	if !isMissing(err) {
		return f, err
	}
	if s.hash != "" {
		return nil, &state.ConflictError{Found: "no state file", Expected: "the one that was read", Advice: "It was removed while this program worked with it"}
	}
	if f, err = s.w.createState(); err == nil {
		s.hash = placeholderHash
	}
	return f, err
}

// unchanged makes sure that the state file is still the one that was read.
func (s *session) unchanged(f File) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := s.w.o.Files.Stat(s.w.p.out)
	if err != nil && !isMissing(err) {
		return err
	}
	replaced := isMissing(err) || !SameFile(mine, there)
	in := &hashing{f: f, sum: sha256.New()}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if !replaced && hex.EncodeToString(in.sum.Sum(nil)) == s.hash {
		return nil
	}
	now, err := readContent(f)
	if err != nil {
		return err
	}
	c := &state.ConflictError{Found: "something that is no state", Expected: "what was read when the lock was taken",
		Advice: "Another program wrote the state meanwhile, against its lock. Look at what it did, then run again: results of this run are kept and laid over the new state"}
	if now.err == nil {
		c.Found = fmt.Sprintf("serial %d of lineage %q", now.serial, lineageOf(now.state))
	}
	if s.base != nil {
		c.Expected = fmt.Sprintf("serial %d of lineage %q as it was read", s.base.Serial, s.base.Lineage)
	}
	if replaced {
		c.Found = "another file of the same name"
	}
	return c
}

func lineageOf(s *state.State) string {
	if s == nil {
		return ""
	}
	return s.Lineage
}

// backup keeps the content that is about to be replaced, once a run.
func (s *session) backup(f File) error {
	p := s.w.p
	if s.hash == placeholderHash {
		s.backedUp = true // there was nothing before this run, and what the run itself wrote meanwhile is no backup
	}
	if s.backedUp || p.backup == "" {
		return nil
	}
	files := s.w.o.Files
	to, err := files.Open(p.backup+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := copyFrom(to, f, 0); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	if err := files.Rename(p.backup+".new", p.backup); err != nil {
		return err
	}
	if err := files.SyncDir(filepath.Dir(p.backup)); err != nil {
		return err
	}
	s.backedUp = true
	return nil
}

// copyFrom copies what stands behind an offset, to the same place.
func copyFrom(to, from File, off int64) (int64, error) {
	info, err := from.Stat()
	if err != nil {
		return off, err
	}
	buf := make([]byte, min(copyStep, max(info.Size, 512)))
	for {
		n, err := from.ReadAt(buf, off)
		if n > 0 {
			if _, err := to.WriteAt(buf[:n], off); err != nil {
				return off, err
			}
			off += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return off, nil
		}
		if err != nil {
			return off, err
		}
	}
}

// imageWriter writes to a file in order and hashes what it writes.
type imageWriter struct {
	f   File
	off int64
	sum hash.Hash
}

func (w *imageWriter) Write(b []byte) (int, error) {
	n, err := w.f.WriteAt(b, w.off)
	w.off += int64(n)
	w.sum.Write(b[:n])
	return n, err
}

// writeImage makes the new content durable in the journal's folder.
func (s *session) writeImage(st *state.State) (checkpoint, error) {
	f, err := s.w.o.Files.Open(s.w.p.image, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return checkpoint{}, err
	}
	defer f.Close()
	w := &imageWriter{f: f, sum: sha256.New()}
	if err := st.Encode(w); err != nil {
		return checkpoint{}, err
	}
	if err := f.Sync(); err != nil {
		return checkpoint{}, err
	}
	return checkpoint{Serial: st.Serial, Hash: hex.EncodeToString(w.sum.Sum(nil)), Size: w.off}, s.w.o.Files.SyncDir(s.w.p.dir)
}

// install writes the image over the state file, whose inode stays.
func (s *session) install(f File, mark checkpoint) error {
	image, err := s.w.o.Files.Open(s.w.p.image, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer image.Close()
	first := make([]byte, 1)
	if _, err := image.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	steps := []func() error{
		func() error { _, err := f.WriteAt([]byte(note), 0); return err },
		f.Sync,
		func() error { _, err := copyFrom(f, image, 1); return err },
		func() error { return f.Truncate(mark.Size) },
		f.Sync,
		func() error { _, err := f.WriteAt(first, 0); return err },
		f.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("write the state %s: %w", s.w.p.out, err)
		}
	}
	s.hash = mark.Hash
	return nil
}
