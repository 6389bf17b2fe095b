package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

const copyStep = 1 << 20

// numbered returns the state with the session's lineage and the serial that follows the stored one.
func (s *session) numbered(st *state.State) *state.State {
	c := *st
	c.Lineage, c.Serial = s.lineage, 1
	if s.base != nil {
		c.Serial = s.base.Serial + 1
	}
	return &c
}

// write writes this state to the state file, in the steps that the package doc lists. The state contains all records of
// the journal up to covers. After an error the file contains the old content, the new one, or a note that makes the
// next run repair it from the image, and no operation may begin in this session.
func (s *session) write(st *state.State, covers uint64) (err error) {
	defer func() {
		if err != nil {
			s.wal.stop(err)
		}
	}()
	if err := s.wal.Wait(covers); err != nil {
		return err
	}
	f, err := s.stateFile()
	if err != nil {
		return err
	}
	if f != nil && f != s.f {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	gone := f == nil
	if !gone {
		if gone, err = s.unchanged(f); err != nil {
			return err
		}
		if err := s.backup(f); err != nil {
			return fmt.Errorf("back up the state: %w", err)
		}
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
	if err := s.wal.Wait(s.wal.Append(journal.KindCheckpoint, payload)); err != nil {
		return err
	}
	// The journal may now continue in another file than the one that readers read, because that one failed.
	if err := s.wal.Broken(); err != nil {
		return err
	}
	if gone {
		err = s.reinstate(mark)
	} else {
		err = s.install(f, mark)
	}
	if err != nil {
		return err
	}
	s.base, s.imageSize, s.outdated = st, mark.Size, false
	s.wal.Append(journal.KindDone, payload)
	s.wal.push()
	return nil
}

// reinstate restores the state file from the image after another program has removed it during the run.
func (s *session) reinstate(mark journal.Checkpoint) error {
	files, p := s.w.o.Files, s.w.p
	f, err := fresh(files, p.fresh, s.lax)
	if err != nil {
		return err
	}
	image, err := files.Open(p.image, os.O_RDONLY, 0)
	if err == nil {
		_, err = copyFrom(f, image, 0)
		err = errors.Join(err, image.Close())
	}
	if err == nil && s.f != nil {
		var old Info
		if old, err = s.f.Stat(); err == nil {
			err = f.Share(old)
		}
	}
	for _, step := range []func() error{
		f.Sync, func() error { return files.RenameNew(p.fresh, p.out) }, func() error { return files.SyncDir(p.dir) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the state %s again, which another program removed: %w", p.out, err),
			f.Close())
	}
	s.hash = mark.Hash
	if s.f == nil {
		return f.Close()
	}
	old := s.f
	s.f = f
	return old.Close()
}

// repair completes an interrupted installation of an image.
func (s *session) repair(mark journal.Checkpoint) (err error) {
	f, err := s.stateFile()
	if err != nil {
		return err
	}
	if f == nil {
		return s.reinstate(mark)
	}
	if f != s.f {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	return s.install(f, mark)
}

// stateFile returns the open state file, or nil if it was removed since it was read. A session without the shared lock
// opens it for each write.
func (s *session) stateFile() (File, error) {
	if s.f != nil {
		return s.f, nil
	}
	f, err := s.w.o.Files.Open(s.w.p.out, os.O_RDWR, 0)
	if !isMissing(err) {
		return f, err
	}
	if s.hash != "" {
		return nil, nil
	}
	if f, err = s.w.createState(s.lax); err == nil {
		s.hash = placeholderHash
	}
	return f, err
}

// unchanged checks that the state file is still the one that was read. gone reports that it was removed and not
// replaced.
func (s *session) unchanged(f File) (gone bool, err error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := s.w.o.Files.Stat(s.w.p.out)
	if err != nil && !isMissing(err) {
		return false, err
	}
	gone = isMissing(err)
	replaced := !gone && !SameFile(mine, there)
	in, _, err := newHashing(f, s.w.p.out)
	if err != nil {
		return gone, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return gone, err
	}
	if !replaced && hex.EncodeToString(in.sum.Sum(nil)) == s.hash {
		return gone, nil
	}
	now, err := s.w.readContent(f, s.w.p.out)
	if err != nil {
		return gone, err
	}
	c := &state.ConflictError{Found: "content that is not a state", Expected: "the content from when the lock was " +
		"acquired",
		Advice: "Another program wrote the state during this run, despite the lock. Check what it changed, then run " +
			"again: the results of this run are kept, and will be merged into the new state"}
	if now.err == nil {
		c.Found = fmt.Sprintf("serial %d of lineage %q", now.serial, lineageOf(now.state))
	}
	if s.base != nil {
		c.Expected = fmt.Sprintf("serial %d of lineage %q as it was read", s.base.Serial, s.base.Lineage)
	}
	if replaced {
		c.Found = "another file of the same name"
	}
	return gone, c
}

func lineageOf(s *state.State) string {
	if s == nil {
		return ""
	}
	return s.Lineage
}

// copyFrom copies the bytes after an offset to the same offset.
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

// imageWriter writes a file sequentially and computes the hash of its content. It refuses content that is too large to
// be read again.
type imageWriter struct {
	f   File
	off int64
	sum hash.Hash
}

func (w *imageWriter) Write(b []byte) (int, error) {
	if w.off+int64(len(b)) > regular.State {
		return 0, errTooLarge
	}
	n, err := w.f.WriteAt(b, w.off)
	w.off += int64(n)
	w.sum.Write(b[:n])
	return n, err
}

// errTooLarge is the error for a state that exceeds the limit for reading.
var errTooLarge = fmt.Errorf("the state has more than %d GiB, the limit when a state is read. Divide the "+
	"configuration into several, each with its own state", regular.State>>30)

// writeImage durably writes the new content to the journal's folder.
func (s *session) writeImage(st *state.State) (journal.Checkpoint, error) {
	f, err := anewFile(s.w.o.Files, s.w.p.image)
	if err != nil {
		return journal.Checkpoint{}, err
	}
	defer f.Close()
	if err := s.share(f); err != nil {
		return journal.Checkpoint{}, err
	}
	w := &imageWriter{f: f, sum: sha256.New()}
	if err := s.w.encode(st, w); err != nil {
		return journal.Checkpoint{}, err
	}
	if err := f.Sync(); err != nil {
		return journal.Checkpoint{}, err
	}
	return journal.Checkpoint{Serial: st.Serial, Hash: hex.EncodeToString(w.sum.Sum(nil)), Size: w.off},
		s.w.o.Files.SyncDir(s.w.p.dir)
}

// encode writes a state in its stored form.
func (w *workspace) encode(st *state.State, to io.Writer) error {
	if !w.o.Cipher.Seals() {
		return st.Encode(to)
	}
	var plain bytes.Buffer
	if err := st.Encode(&plain); err != nil {
		return err
	}
	sealed, err := w.o.Cipher.Seal(context.Background(), plain.Bytes(), &st.Lineage, st.Serial)
	if err != nil {
		return err
	}
	_, err = to.Write(sealed)
	return err
}

// install overwrites the state file with the image. The file keeps its inode.
func (s *session) install(f File, mark journal.Checkpoint) error {
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
