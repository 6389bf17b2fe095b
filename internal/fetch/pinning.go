package fetch

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
)

// If a project pins its modules, a module whose call is unchanged stays the same: the same version, the same commit,
// the same files. A changed call gets a new pin, and so does every call with Upgrade. An installed module is used if it
// matches its pin; otherwise it is fetched again and must then match.

// readPins reads the lock file of modules.
func (w *walk) readPins(dir string) diag.List {
	if w.opts.Pins == Unpinned {
		return nil
	}
	var diags diag.List
	w.locked, diags = pins.Load(dir)
	if w.pins = w.locked; w.opts.Upgrade {
		w.pins = w.locked.WithoutModules()
	}
	return diags
}

// pinOf returns the pin of a call, or false if it has none. A module that was installed before modules were pinned
// keeps its version and commit, but has no hash yet: the published files are pinned, not the installed ones.
func (w *walk) pinOf(n *node) (pins.Entry, bool) {
	if w.opts.Pins == Unpinned || w.opts.Upgrade || w.stage == nil {
		return pins.Entry{}, false
	}
	pin, ok := w.locked.Entry(n.entry.Key)
	if recorded, installed := w.old[n.entry.Key]; !ok && installed && !n.from.fresh {
		pin, ok = pins.Entry{Key: n.entry.Key, Source: config.ShownSource(recorded.Source),
			Version: recorded.Version, Commit: pins.Commit(w.stage.target(n.entry.Key))}, true
	}
	if !ok || pin.Source != config.ShownSource(n.call.Source) ||
		n.call.Kind == config.SourceRegistry && !allows(n.call, pin.Version) {
		return pins.Entry{}, false
	}
	return pin, true
}

// hash returns the hash of a package if modules are pinned. A folder on this machine has none, because its files are
// expected to change.
func (w *walk) hash(ctx context.Context, dir string) (string, error) {
	if w.opts.Pins == Unpinned {
		return "", nil
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return "", err
	}
	return pins.Hash(ctx, dir)
}

// pinInstalled reports whether an installed module matches its pin.
func (w *walk) pinInstalled(ctx context.Context, n *node) bool {
	if w.opts.Pins == Unpinned || w.stage == nil {
		return true
	}
	if home := w.stage.home(n.entry.Key); n.entry.Dir != home && !strings.HasPrefix(n.entry.Dir, home+"/") {
		return true // a folder on this machine
	}
	pin, ok := w.pinOf(n)
	hash, err := once(ctx, w, "hash "+n.entry.Key, func() (string, error) {
		return w.hash(ctx, w.stage.target(n.entry.Key))
	})
	if !ok || err != nil || hash != pin.Hash {
		n.entry = config.ManifestModule{Key: n.entry.Key, Source: n.call.Source}
		return false
	}
	n.pin = &pin
	return true
}

// pinFetched pins a fetched module, or refuses one that does not match its pin.
func (w *walk) pinFetched(n *node, got *fetched) bool {
	if got.hash == "" {
		return true
	}
	pin, ok := w.pinOf(n)
	if !ok || pin.Hash == "" {
		pin = pins.Entry{Key: n.entry.Key, Source: config.ShownSource(n.call.Source), Version: n.entry.Version,
			Commit: pins.Commit(got.dir), Hash: got.hash}
	}
	n.pin = &pin
	if pin.Hash == got.hash {
		return true
	}
	what := config.ShownSource(n.call.Source)
	if pin.Version != "" {
		what += " " + pin.Version
	}
	n.fail(n.call.SourcePlace(), "Module package has changed", "The files of %s (%s) are not those that %s "+
		"has: their hash is %s, and expected was %s. The publisher of the module, or an "+
		"attacker, has replaced them. Nothing was installed.", n.path, what, pins.Name, got.hash, pin.Hash)
	n.diags.Advise("Find out what changed. To accept the changes, run \"%s\", which installs and locks all modules "+
		"again.", diag.Run("init", "-upgrade"))
	return false
}

// pinsInOrder returns an error if the lock file would have to be changed but must not be.
func (w *walk) pinsInOrder() (diags diag.List) {
	if w.opts.Pins != PinnedReadOnly {
		return nil
	}
	for _, e := range w.pins.Entries() {
		if was, ok := w.locked.Entry(e.Key); !ok || was != e {
			diags = diags.Errorf(nil, "Lock file of modules is not up to date", "The module %s is not in %s as it is "+
				"called now, and -lockfile=readonly does not let init write the file. Run init without that option, "+
				"and commit the file.", e.Key, pins.Name)
		}
	}
	return diags
}
