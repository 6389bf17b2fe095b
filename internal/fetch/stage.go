package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// stage holds packages until it is certain that they are needed.
type stage struct {
	base    string // base of relative names
	modules string // folder of installed modules, as in the manifest

	mu      sync.Mutex    // guards the fields below
	temp    *replace.Work // nil until something is fetched
	folders int
	made    bool // the folder of modules did not exist before
	spent   size

	kept []keeping // used by the caller's goroutine only

	root string // links in the path of the folder must not lead out of it
	at   string // real path of the folder
}

// keeping is a package to be moved to the folder of a module.
type keeping struct {
	key string
	*fetched
}

func newStage(base, modules string) *stage { return &stage{base: base, modules: modules} }

// check resolves the real path of the folder, before anything is written there.
func (s *stage) check(root string) (err error) {
	s.root = root
	s.at, err = replace.Within(root, s.real(s.modules))
	return err
}

// target returns the real path of home.
func (s *stage) target(key string) string { return filepath.Join(s.at, key) }

// real returns the path of a name that may be relative.
func (s *stage) real(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.base, name)
}

func (s *stage) manifest() string { return s.real(s.modules + "/modules.json") }

// home returns the folder of a module that has its own package.
func (s *stage) home(key string) string { return path.Join(s.modules, key) }

// stagePrefix begins the names of stages. They are in the folder of modules, so that packages can be moved into place
// without copying.
const stagePrefix = ".new-"

// folder returns the name of a new folder in the stage.
func (s *stage) folder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temp == nil {
		if err := s.open(); err != nil {
			return "", err
		}
	}
	s.folders++
	return filepath.Join(s.temp.Dir, strconv.Itoa(s.folders)), nil
}

func (s *stage) open() error {
	if _, err := os.Stat(s.at); errors.Is(err, fs.ErrNotExist) {
		s.made = true
	}
	if err := os.MkdirAll(s.at, 0o777); err != nil {
		return err
	}
	replace.Sweep(s.at, stagePrefix)
	temp, err := replace.Unfinished(s.at, stagePrefix)
	s.temp = temp
	return err
}

// size is the size of packages: the number of files and folders, and the bytes of all files.
type size struct {
	entries int
	bytes   int64
}

// most limits all modules of a run together. Each package also has its own limits (package download).
var most = size{entries: 1_000_000, bytes: 16 << 30}

// spend measures a fetched package, and adds its size to the total.
func (s *stage) spend(ctx context.Context, dir string) (found size, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		found.entries++
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			found.bytes += info.Size()
		}
		return nil
	})
	return found, errors.Join(err, s.add(found))
}

func (s *stage) add(more size) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent.entries += more.entries
	s.spent.bytes += more.bytes
	if s.spent.entries > most.entries || s.spent.bytes > most.bytes {
		return fmt.Errorf("all modules together have more than %d files and folders, or more than %d bytes",
			most.entries, most.bytes)
	}
	return nil
}

func (s *stage) keep(key string, f *fetched) { s.kept = append(s.kept, keeping{key, f}) }

// place moves the packages into place and writes the manifest. In between, the manifest does not contain the replaced
// modules: after a crash they are installed again, and no module differs from its record.
//
// After the context has ended, no package is moved; an operation that has begun by then is completed, which takes
// little time.
func (s *stage) place(ctx context.Context, old, wanted *config.Manifest, waiting func()) error {
	if err := s.multiply(ctx); err != nil {
		return fmt.Errorf("copy a module: %w", err)
	}
	if len(s.kept) > 0 {
		unlock, err := lockFolder(ctx, s.at, waiting)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := readManifest(s.manifest())
		if err != nil {
			return err
		}
		s.leave(old, now, wanted)
		old = now
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(s.kept) > 0 {
		if err := s.write(s.without(old)); err != nil {
			return err
		}
	}
	for i, k := range s.kept {
		former := filepath.Join(s.temp.Dir, "former"+strconv.Itoa(i))
		if err := replaceFolder(k.dir, s.target(k.key), former); err != nil {
			return fmt.Errorf("install the module %s: %w", k.key, err)
		}
	}
	return s.write(wanted)
}

// leave keeps a package that another process has installed since this one began, if it is the same, because that
// process may be reading it.
func (s *stage) leave(old, now, wanted *config.Manifest) {
	before, there, want := byKey(old), byKey(now), byKey(wanted)
	s.kept = slices.DeleteFunc(s.kept, func(k keeping) bool {
		entry := want[k.key]
		info, err := os.Stat(s.real(entry.Dir))
		return there[k.key] == entry && before[k.key] != entry && err == nil && info.IsDir()
	})
}

func byKey(m *config.Manifest) map[string]config.ManifestModule {
	entries := make(map[string]config.ManifestModule, len(m.Modules))
	for _, entry := range m.Modules {
		entries[entry.Key] = entry
	}
	return entries
}

// multiply copies the packages that several modules use, so that all of them exist, and fit on the disk, before any
// module is replaced.
func (s *stage) multiply(ctx context.Context) error {
	taken := map[*fetched]bool{}
	for i, k := range s.kept {
		if !taken[k.fetched] {
			taken[k.fetched] = true
			continue
		}
		if err := s.add(size{entries: k.size.entries}); err != nil {
			return err
		}
		to, err := s.folder()
		if err != nil {
			return err
		}
		if err := copyPackage(ctx, k.dir, to, func(bytes int64) error {
			return s.add(size{bytes: bytes})
		}); err != nil {
			return err
		}
		s.kept[i].fetched = &fetched{k.pkg, to, k.size, k.hash}
	}
	return nil
}

// replaceAttempts limits the tries to move to a location that another process uses concurrently.
const replaceAttempts = 10

// replaceFolder replaces a folder with another one, and moves the previous one to former. Readers see one of them
// completely, or none for a moment. If several processes do this concurrently, the last one wins.
func replaceFolder(from, to, former string) (err error) {
	for i := range replaceAttempts {
		if err = os.Rename(to, former+"."+strconv.Itoa(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// another process has just created it
		if err = os.Rename(from, to); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}

// without returns a manifest without the modules that are about to be replaced, and without modules inside of them.
func (s *stage) without(m *config.Manifest) *config.Manifest {
	gone := map[string]bool{}
	for _, k := range s.kept {
		gone[k.key] = true
	}
	out := &config.Manifest{}
	for _, entry := range m.Modules {
		inside := gone[entry.Key]
		for i, deep := 0, 0; i < len(entry.Key) && deep <= maxDepth && !inside; i++ {
			if entry.Key[i] == '.' {
				inside = gone[entry.Key[:i]]
				deep++
			}
		}
		if !inside {
			out.Modules = append(out.Modules, entry)
		}
	}
	return out
}

// clean removes the rest of the stage.
func (s *stage) clean() error {
	if s.temp == nil {
		return nil
	}
	err := s.temp.Remove()
	if s.made { // if there were no modules before, remove the folders; this does not remove folders with content
		dir := filepath.Dir(s.temp.Dir)
		if os.Remove(dir) == nil {
			_ = os.Remove(filepath.Dir(dir))
		}
	}
	return err
}

// copyPackage copies a package for another module that calls it, without the history of a repository. Files are hard
// links if the file system supports that, so that a package uses its space only once. Otherwise, spend is called with
// the size of a copy before it is made.
func copyPackage(ctx context.Context, from, to string, spend func(bytes int64) error) error {
	top, err := os.Lstat(from)
	if err != nil {
		return err
	}
	ours := top.IsDir() // a linked folder on this machine contains files of the user
	from, err = filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, name)
		if err := errors.Join(err, relErr, context.Cause(ctx)); err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.Name() == ".git" && rel != ".":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.Mkdir(target, 0o755)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case ours && os.Link(name, target) == nil:
			return nil
		}
		if info, err := d.Info(); err == nil {
			if err := spend(info.Size()); err != nil {
				return err
			}
		}
		return copyFile(ctx, name, target)
	})
}

// follow returns a place with the real path of its directory if that is a link, as in the manifest.
func (s *stage) follow(p place, files config.Files) place {
	o, staged := p.files.(overlay)
	if !staged {
		base, err := filepath.EvalSymlinks(s.base)
		real, realErr := filepath.EvalSymlinks(s.real(p.dir))
		if err == nil && realErr == nil && !filepath.IsAbs(filepath.FromSlash(p.dir)) &&
			filepath.IsAbs(real) == filepath.IsAbs(base) {
			real, err = filepath.Rel(base, real)
		}
		if err == nil && realErr == nil {
			p.dir = filepath.ToSlash(real)
		}
		return p
	}
	rel, _ := o.inside(p.dir)
	real, err := filepath.EvalSymlinks(filepath.Join(o.dir, filepath.FromSlash(rel)))
	if err != nil {
		return p
	}
	top, err := filepath.EvalSymlinks(o.dir)
	if err != nil {
		return p
	}
	if info, err := os.Lstat(o.dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		p.dir, p.files = filepath.ToSlash(real), files // a folder on this machine, which is not a copy
	} else if inside, err := filepath.Rel(top, real); err == nil {
		p.dir = path.Join(o.at, filepath.ToSlash(inside))
	}
	return p
}

// overlay shows a package under its future path.
type overlay struct {
	config.Files
	at, dir string
}

func (o overlay) ReadDir(dir string) ([]string, error) {
	if rel, ok := o.inside(dir); ok {
		return config.OSFiles(o.dir).ReadDir(rel)
	}
	return o.Files.ReadDir(dir)
}

func (o overlay) ReadFile(name string) ([]byte, error) {
	if rel, ok := o.inside(name); ok {
		return config.OSFiles(o.dir).ReadFile(rel)
	}
	return o.Files.ReadFile(name)
}

func (o overlay) inside(name string) (string, bool) {
	if name == o.at {
		return ".", true
	}
	return strings.CutPrefix(name, o.at+"/")
}
