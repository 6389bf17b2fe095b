package plugins

import (
	"context"
	"sync"

	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// filled holds the packages that this process has put into caches, by path. A process that installs the providers of
// several projects side by side fetches each package once: the others wait for the first one.
var filled sync.Map

// filling is a package in a cache. Its mutex is held while the package is fetched.
type filling struct {
	mu      sync.Mutex
	hash    lockfile.Hash // "" until the package is in the cache
	archive lockfile.Hash // of the archive, or ""
	proof   packages.Proof
}

func (in *installer) filling(e lockfile.Entry) *filling {
	f, _ := filled.LoadOrStore(in.Cache.Path(e.Provider, e.Version), &filling{})
	return f.(*filling)
}

// reuse installs the package from the cache if this process has put it there, and if nobody has changed it since. The
// caller holds the mutex.
func (f *filling) reuse(ctx context.Context, in *installer, t *task) (lockfile.Hash, bool) {
	if f.hash == "" {
		return "", false
	}
	if _, h, err := in.Cache.Installed(ctx, t.Provider, t.version); err != nil || h != f.hash {
		return "", false
	}
	if accepts(t.entry.Hashes, f.archive)(f.hash) != nil {
		return "", false // fetching it again reports the problem
	}
	h, err := in.Folder.Install(ctx, in.cached(t.entry), accepts([]lockfile.Hash{f.hash}, ""))
	if err != nil {
		return "", false
	}
	t.proof = f.proof
	return h, true
}
