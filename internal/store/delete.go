package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
)

// Delete implements state.Deleter. It removes everything while the lock is held, the state last, so that a waiting run
// finds nothing left to lock. If the folder of a workspace is a link, the link is removed, as in Terraform.
func (s *session) Delete() error {
	err := s.delete()
	unlocked := s.Unlock()
	if errors.Is(err, errHeld) {
		err = errors.Join(s.w.removeState(), unlocked)
	} else if err == nil {
		err = unlocked
	}
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w", s.w.name, err)
	}
	return s.w.o.Files.SyncDir(filepath.Dir(s.w.folder))
}

// errHeld means that the system does not remove open files: the state is removed after the lock is released.
var errHeld = errors.New("the state is open")

func (s *session) delete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, dir := s.w.o.Files, s.w.folder
	if err := s.usable(); err != nil {
		return err
	}
	if dir == "" {
		return errors.New("the default workspace cannot be deleted")
	}
	if n := s.open.Len(); n > 0 {
		return journal.ErrOpen(n, "")
	}
	info, err := files.Stat(dir)
	if err != nil {
		return err
	}
	if !info.Mode.IsDir() { // keep the target of the link, with its content from before the lock
		if err := s.withdraw(); err != nil {
			return err
		}
		return files.RemoveDir(dir)
	}
	infos, err := files.List(dir)
	if err != nil {
		return err
	}
	if err := s.w.foreignFiles(infos); err != nil {
		return err
	}
	if err := s.w.dropHistory(); err != nil {
		return err
	}
	for _, i := range infos {
		if name := filepath.Join(dir, i.Name); !oneFile(files, name, s.w.p.out) {
			if err := removeName(files, name); err != nil {
				return err
			}
		}
	}
	if err := s.w.removeState(); err != nil {
		return errors.Join(errHeld, err)
	}
	return nil
}

// foreignFiles returns an error for folders that are not empty, which would stop a deletion half way.
func (w *workspace) foreignFiles(infos []Info) error {
	files := w.o.Files
	for _, i := range infos {
		name := filepath.Join(w.folder, i.Name)
		there, err := files.Stat(name)
		if err == nil && !there.Mode.IsDir() {
			continue
		}
		ours := func(string) bool { return false } // allowed names in the folder
		if name == filepath.Clean(w.history()) {
			ours = func(name string) bool { return historyName().MatchString(name) || historyTemp().MatchString(name) }
		}
		if err == nil && (name == filepath.Clean(w.answers()) || name == filepath.Clean(w.history())) {
			var inside []Info
			inside, err = files.List(name)
			inside = slices.DeleteFunc(inside, func(i Info) bool { return ours(i.Name) })
			if err == nil && len(inside) == 0 {
				continue
			}
			if err == nil {
				name = filepath.Join(name, inside[0].Name)
			}
		}
		return errors.Join(fmt.Errorf("its folder contains %s, which does not belong to a state. Move that file "+
			"elsewhere first", name),
			err)
	}
	return nil
}

// removeState removes the folder and, unless it is reached through a link, the state.
func (w *workspace) removeState() error {
	if filepath.Clean(w.p.dir) == filepath.Clean(w.folder) {
		if err := removeAny(w.o.Files, w.p.out); err != nil {
			return err
		}
	}
	return w.o.Files.RemoveDir(w.folder)
}

// removeName removes a file, a link (not its target) or an empty folder.
func removeName(files Files, name string) error {
	err := files.Remove(name)
	if strange := (*IrregularError)(nil); errors.As(err, &strange) {
		err = files.RemoveDir(name)
	}
	if isMissing(err) {
		return nil
	}
	return err
}
