package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/state"
)

// paths holds the file names of one workspace. All files are beside the target of the state's name, so that two links
// to one state share one journal and renames never cross file systems.
type paths struct {
	in, out             string // links are resolved; equal if they are one file
	dir                 string // of out
	linked              bool   // the configured name is a link
	backup              string // "" if there is none
	backupNamed         bool   // the user has set its name
	stamp               string // prefix of the name of a stamped backup, or ""
	lockInfo            string
	journal, journalNew string
	image               string
	fresh               string // for new content, which is renamed when it is complete
}

func (l *Local) paths(name string) (paths, error) {
	in := l.o.ReadFrom
	switch {
	case in != "":
	case name == state.DefaultWorkspace:
		in = l.o.Path
	default:
		in = filepath.Join(l.o.WorkspaceDir, name, "terraform.tfstate")
	}
	out := l.o.WriteTo
	if out == "" {
		out = in
	}
	files := l.o.Files
	realIn, err := files.Resolve(in)
	if err != nil {
		return paths{}, err
	}
	realOut, err := files.Resolve(out)
	if err != nil {
		return paths{}, err
	}
	linked := realOut != out
	if oneFile(files, realIn, realOut) {
		realIn = realOut
	}
	p := pathsOf(realIn, realOut, l.o.BackupTo)
	p.linked = linked
	if p.backupNamed {
		if p.backup, err = files.Resolve(p.backup); err != nil {
			return paths{}, err
		}
	}
	if l.o.StampBackup && l.o.BackupTo == "" {
		p.backup, p.stamp = out+".backup", out
	}
	if p.in == p.out {
		return p, nil
	}
	from := pathsOf(p.in, p.in, "")
	for _, side := range append(p.sides(), from.sides()...) {
		if oneFile(files, side, p.out) || oneFile(files, side, p.in) {
			return p, fmt.Errorf("%s cannot be written from %s: %s would be stored next to the first for the second. "+
				"Choose another name",
				p.out, p.in, side)
		}
	}
	return p, nil
}

func pathsOf(in, out, backup string) paths {
	dir, base := filepath.Split(out)
	p := paths{
		in: in, out: out, dir: filepath.Clean(dir), backup: out + ".backup",
		lockInfo: filepath.Join(dir, "."+base+".lock.info"),
		journal:  out + ".journal", journalNew: out + ".journal.new", image: out + ".journal.image", fresh: out +
			".journal.fresh",
	}
	switch backup {
	case "":
	case "-":
		p.backup = ""
	default:
		p.backup, p.backupNamed = backup, true
	}
	return p
}

// sides returns the files that the store creates and removes beside a state, except for the backup, which stays.
func (p *paths) sides() []string {
	return []string{p.journal, p.journalNew, p.image, p.fresh, p.lockInfo}
}

// oneFile reports whether two names denote, or would denote, the same file. The files need not exist. The names must
// not be links.
func oneFile(files Files, a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := files.Stat(a)
	infoB, errB := files.Stat(b)
	if errA == nil && errB == nil {
		return SameFile(infoA, infoB)
	}
	if !isMissing(errA) || !isMissing(errB) || filepath.Base(a) != filepath.Base(b) {
		return false
	}
	// A folder may be named through links: the folder itself is compared.
	infoA, errA = files.Stat(filepath.Dir(a) + string(filepath.Separator) + ".")
	infoB, errB = files.Stat(filepath.Dir(b) + string(filepath.Separator) + ".")
	return errA == nil && errB == nil && SameFile(infoA, infoB)
}

// checkPaths returns an error if other programs' files have the names of a state's files. It is called before anything
// is changed.
func (w *workspace) checkPaths(sides ...string) error {
	for _, name := range sides {
		info, err := w.o.Files.Stat(name)
		if isMissing(err) || err == nil && info.Mode.IsRegular() {
			continue
		}
		if err == nil {
			_, err = w.o.Files.Open(name, os.O_RDONLY, 0)
		}
		if strange := (*IrregularError)(nil); errors.As(err, &strange) {
			return fmt.Errorf("%w. The state needs this path for its own file. Find out what created it, and remove it",
				err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fresh creates an empty, locked file that no other process has open. It first removes the file of an interrupted run.
// It returns ErrLocked if another process is creating the file.
func fresh(files Files, name string, lax bool) (File, error) {
	for range 100 {
		f, err := openLocked(files, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600, lax)
		if !errors.Is(err, fs.ErrExist) {
			if !isMissing(err) {
				return f, err
			}
			// Another process has removed it before we had the lock, or the folder was removed.
			if _, statErr := files.Stat(filepath.Dir(name)); statErr != nil {
				return nil, err
			}
			continue
		}
		old, err := openLocked(files, name, os.O_RDWR, 0, lax)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = removeAny(files, name)
		old.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is repeatedly created and removed by another program", name)
}

// anewFile replaces a file that a dead process left with an empty one. It is for names that only the lock holder
// writes: an existing file is removed and not truncated, because it may have other names.
func anewFile(files Files, name string) (File, error) {
	for range 100 {
		if err := removeAny(files, name); err != nil {
			return nil, err
		}
		f, err := files.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s is repeatedly created by another program", name)
}

// besideFile creates a file for the new content of another, under a random name. If a run is interrupted, sweep
// recognizes the file by its name.
func besideFile(files Files, name string) (_ File, temp string, err error) {
	var random [8]byte
	rand.Read(random[:])
	temp = fmt.Sprintf("%s.%x.new", name, random[:])
	f, err := files.Open(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return f, temp, err
}

var besideName = regex.Lazy(`^\.[0-9a-f]{16}\.new$`)

// sweep removes the files that interrupted runs left beside the backup: regular files whose names besideFile could have
// chosen.
func (w *workspace) sweep() {
	if w.p.backup == "" {
		return
	}
	dir, base := filepath.Dir(w.p.backup), filepath.Base(w.p.backup)
	infos, err := w.o.Files.List(dir)
	if err != nil {
		return // it is missing or not accessible
	}
	for _, i := range infos {
		if len(i.Name) > len(base) && i.Name[:len(base)] == base && besideName().MatchString(i.Name[len(base):]) {
			_ = removeAny(w.o.Files, filepath.Join(dir, i.Name)) // the next recovery tries again
		}
	}
}

// backups handles the backup of the state's former content.
type backups struct {
	ready   bool
	through io.WriteCloser // a device or pipe that serves as the backup
}

// prepareBackup checks, before anything begins, that the backup can be written and does not replace a file of the
// state.
func (s *session) prepareBackup() error {
	w := s.w
	if s.backups.ready || w.p.backup == "" {
		return nil
	}
	if w.p.stamp == "" {
		if err := s.judgeBackup(); err != nil || s.backups.ready {
			return err
		}
	}
	name := w.p.backup
	f, temp, err := besideFile(w.o.Files, name)
	if err == nil && !saysNothing(s.hash) && w.p.stamp == "" {
		if err = w.o.Files.Replaceable(name); err != nil {
			err = errors.Join(err, f.Close(), removeAny(w.o.Files, temp))
		}
	}
	if err != nil {
		return fmt.Errorf("the backup cannot be created at %s: %w. Use a file that can be written, or - for no "+
			"backup", name,
			err)
	}
	if err := errors.Join(f.Close(), removeAny(w.o.Files, temp)); err != nil {
		return fmt.Errorf("the backup cannot be created at %s: %w", name, err)
	}
	s.backups.ready = true
	return nil
}

// judgeBackup checks the entry at the backup's name, and opens a device or pipe.
func (s *session) judgeBackup() error {
	w := s.w
	name := w.p.backup
	avoid := append(w.p.sides(), w.p.out, w.p.in)
	for _, other := range w.o.Apart {
		real, err := w.o.Files.Resolve(other)
		if err != nil {
			return err
		}
		p := pathsOf(real, real, "")
		avoid = append(append(avoid, real), p.sides()...)
	}
	for _, ours := range avoid {
		if oneFile(w.o.Files, name, ours) {
			return fmt.Errorf("the backup %s would overwrite %s. Use another file, or - for no backup", name, ours)
		}
	}
	info, err := w.o.Files.Stat(name)
	switch {
	case err != nil && !isMissing(err):
		return fmt.Errorf("the backup: %w", err)
	case err == nil && info.Mode.IsDir():
		return fmt.Errorf("the backup %s is a folder. Use a file, or - for no backup", name)
	case err == nil && !info.Mode.IsRegular() && !w.p.backupNamed:
		return fmt.Errorf("the backup: %w", w.checkPaths(name))
	case err == nil && !info.Mode.IsRegular():
		to, err := w.o.Files.Through(name)
		if err != nil {
			return fmt.Errorf("the backup %s cannot be written to: %w", name, err)
		}
		s.backups = backups{ready: true, through: to}
	}
	return nil
}

// backup saves the content that is about to be replaced, once per run.
func (s *session) backup(f File) error {
	if s.hash == placeholderHash || s.hash == emptyHash {
		s.backedUp = true // there was no state before this run; its own writes are not backed up
	}
	if s.backedUp || s.w.p.backup == "" {
		return nil
	}
	if err := s.prepareBackup(); err != nil {
		return err
	}
	if s.backups.through != nil {
		done, err := s.sealAnew(s.backups.through)
		if !done && err == nil {
			_, err = io.Copy(s.backups.through, io.NewSectionReader(f, 0, math.MaxInt64))
		}
		s.backedUp = err == nil
		return err
	}
	files, name := s.w.o.Files, s.w.p.backup
	to, temp, err := besideFile(files, name)
	if err != nil {
		return err
	}
	err = s.fill(to, f)
	if err = errors.Join(err, to.Close()); err == nil {
		err = s.w.nameBackup(temp)
	}
	if err != nil {
		return errors.Join(err, removeAny(files, temp))
	}
	if err := files.SyncDir(filepath.Dir(name)); err != nil {
		return err
	}
	s.backedUp = true
	return nil
}

// nameBackup renames a finished backup. A stamped backup gets the first free name: two edits may happen within a
// second, the clock may have been set back, and without a lock other processes may do the same at the same time.
func (w *workspace) nameBackup(temp string) error {
	if w.p.stamp == "" {
		return w.o.Files.Rename(temp, w.p.backup)
	}
	for n := w.o.Now().Unix(); ; n++ {
		err := w.o.Files.RenameNew(temp, fmt.Sprintf("%s.%d.backup", w.p.stamp, n))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// fill durably copies the content of the state file to a new file, with the permissions of the state.
func (s *session) fill(to, from File) error {
	if err := s.share(to); err != nil {
		return err
	}
	done, err := s.sealAnew(io.NewOffsetWriter(to, 0))
	if !done && err == nil {
		_, err = copyFrom(to, from, 0)
	}
	if err != nil {
		return err
	}
	return to.Sync()
}

// sealAnew writes the former state, newly encrypted, if a fallback key has decrypted it, or if it is unencrypted and
// states are encrypted. A plain copy would be unreadable once the fallback is removed, or readable by everyone.
func (s *session) sealAnew(to io.Writer) (done bool, err error) {
	if !s.outdated || !s.w.o.Cipher.Seals() || s.base == nil {
		return false, nil
	}
	return true, s.w.encode(s.base, to)
}

// share sets the owner and permissions of a file to those of the state.
func (s *session) share(f File) error { return s.w.share(f) }

func (w *workspace) share(f File) error {
	like, err := w.o.Files.Stat(w.p.out)
	if isGone(err) || err == nil && !like.Mode.IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Share(like)
}

// Fresh creates a file under its lock, if the file system supports locks. It removes an existing file, unless that is
// locked: then it returns ErrLocked.
func Fresh(files Files, name string) (File, error) { return fresh(files, name, true) }

// OpenLocked opens an existing file for reading and writing, under its lock if the file system supports locks.
func OpenLocked(files Files, name string) (File, error) {
	return openLocked(files, name, os.O_RDWR, 0, true)
}
