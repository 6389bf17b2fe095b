package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
)

const (
	// maxModules and maxDepth limit a tree whose packages call further ones endlessly.
	maxModules = 20_000
	maxDepth   = 100
	// together is the number of concurrent fetches and requests.
	together = 8
)

// walk is one installation.
type walk struct {
	files    config.Files
	opts     Options
	old      map[string]config.ManifestModule
	manifest map[string]config.ManifestModule
	below    map[string][]string // keys of modules that were recorded below each module
	report   *Report
	diags    diag.List
	locked   pins.File // current lock file of modules
	pins     pins.File // new lock file of modules
	judging  bool      // only read existing modules, with a root module that was already checked
	stage    *stage    // nil for a walk without side effects

	slots   chan struct{} // one for each concurrent operation
	started atomic.Int64
	mu      sync.Mutex // guards the fields below
	results map[string]func() (any, error)
}

func newWalk(files config.Files, old *config.Manifest, opts Options) *walk {
	w := &walk{files: files, opts: opts, old: map[string]config.ManifestModule{},
		manifest: map[string]config.ManifestModule{}, report: &Report{}, below: map[string][]string{},
		slots: make(chan struct{}, together), results: map[string]func() (any, error){}}
	for _, entry := range old.Modules {
		w.old[entry.Key], w.manifest[entry.Key] = entry, entry
		if i := strings.LastIndexByte(entry.Key, '.'); i >= 0 {
			w.below[entry.Key[:i]] = append(w.below[entry.Key[:i]], entry.Key)
		}
	}
	if opts.Progress == nil {
		w.opts.Progress = func(string) {}
	}
	return w
}

// place is the location of a module. A module in a package has its folder in the package, and must not call modules
// outside of it.
type place struct {
	dir   string // as in the manifest
	pkg   string // identifies the package; "" for the project itself
	inPkg string // folder in the package
	files config.Files
	fresh bool // it differs from the recorded one, so records of the modules that it calls do not apply
}

func (p place) identity() string { return p.pkg + "//" + p.inPkg }

// node is one call. The walking goroutine owns it until done is closed, and then the reporting one.
type node struct {
	call     *config.ModuleCall
	caller   *config.Module // nil for a call that is not in a module
	path     addr.Module
	from     place
	outer    []string // identities of the enclosing modules
	place    place
	entry    config.ManifestModule
	diags    diag.List
	children []*node
	asking   string        // line about a download, or ""
	asked    chan struct{} // closed when asking is set
	done     chan struct{}
	pin      *pins.Entry // entry for the lock file, or nil
	fetched  *fetched    // package that was fetched for it, and perhaps for others
}

// run walks and returns the new manifest.
func (w *walk) run(ctx context.Context) (*config.Manifest, diag.List) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	root := place{dir: ".", inPkg: ".", files: w.files}
	w.manifest[""] = config.ManifestModule{Dir: "."}
	children, diags := w.read(ctx, &wait, root, addr.RootModule, nil, nil)
	if !w.judging {
		w.diags = w.diags.Extend(diags)
	}
	for _, c := range w.opts.Calls {
		children = append(children, w.begin(ctx, &wait, &node{call: c.Call, path: c.Path, from: root}))
	}
	for _, n := range children {
		w.tell(n)
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, diag.FromError("Operation canceled", err)
	}
	return sorted(w.manifest), w.diags
}

// read loads a module and visits its calls. by is the call of this module, or nil for the root module.
func (w *walk) read(ctx context.Context, wait *sync.WaitGroup, at place, p addr.Module, outer []string, by *node) (
	[]*node, diag.List) {
	o := config.Options{Files: at.files, LanguageVersion: w.opts.LanguageVersion, Flavor: w.opts.Flavor,
		Constants: w.opts.Constants, Workspace: w.opts.Workspace}
	if by != nil {
		o.Caller, o.Call = by.caller, by.call
	}
	m, diags := config.LoadModule(ctx, o, at.dir, p)
	if m == nil || ctx.Err() != nil {
		return nil, diags
	}
	var nodes []*node
	for _, call := range m.SortedCalls() {
		if call.Kind == 0 {
			continue // loading the caller has reported that the source is invalid
		}
		n := &node{call: call, caller: m, path: m.Path.Child(call.Name), from: at,
			outer: append(outer[:len(outer):len(outer)], at.identity())}
		if w.started.Add(1) > maxModules || len(n.outer) > maxDepth {
			return nil, diags.Errorf(&call.Range, "Too many modules", "The tree of modules has more than %d modules, "+
				"or is more than %d deep. A possible reason is that modules call each other in a cycle.", maxModules,
				maxDepth)
		}
		nodes = append(nodes, w.begin(ctx, wait, n))
	}
	return nodes, diags
}

// begin starts processing a call.
func (w *walk) begin(ctx context.Context, wait *sync.WaitGroup, n *node) *node {
	n.asked, n.done = make(chan struct{}), make(chan struct{})
	wait.Go(func() {
		defer close(n.done)
		w.visit(ctx, wait, n)
	})
	return n
}

// visit finds the module of a call, and visits its calls.
func (w *walk) visit(ctx context.Context, wait *sync.WaitGroup, n *node) {
	ok := w.find(ctx, n)
	if n.asking == "" {
		close(n.asked)
	}
	if !ok {
		return
	}
	if slices.Contains(n.outer, n.place.identity()) {
		around := n.outer[slices.Index(n.outer, n.place.identity()):]
		n.entry.Dir = ""
		n.fail(&n.call.Range, "Module calls itself",
			"The module in %s calls itself, directly or through other modules: %s. Remove one of the calls.",
			n.place.shown(),
			shownAll(around, n.place))
		return
	}
	children, diags := w.read(ctx, wait, n.place, n.path, n.outer, n)
	n.children, n.diags = children, n.diags.Extend(diags)
}

func (p place) shown() string {
	if p.pkg == "" {
		return p.inPkg
	}
	return p.identity()
}

func shownAll(around []string, end place) string {
	var names []string
	for _, id := range around {
		names = append(names, strings.TrimPrefix(id, "//"))
	}
	return strings.Join(append(names, end.shown()), " calls ")
}

// find finds the module of a call, and reports whether it exists.
func (w *walk) find(ctx context.Context, n *node) bool {
	n.entry = config.ManifestModule{Key: config.ManifestKey(n.path), Source: n.call.Source}
	if n.call.Kind == config.SourceLocal {
		return w.findLocal(n)
	}
	if w.reuse(n) && w.pinInstalled(ctx, n) {
		return true
	}
	if w.judging {
		return false
	}
	if w.opts.Packages == nil || w.stage == nil {
		n.fail(n.call.SourcePlace(), "Module source not supported", "The module %s must be downloaded (%s), which "+
			"this command does not do. Copy the module into a directory of the project and call it by a local path "+
			"such as "+
			"\"./modules/%s\".", n.path, config.ShownSource(n.call.Source), n.call.Name)
		return false
	}
	return w.findPackage(ctx, n)
}

func (w *walk) findLocal(n *node) bool {
	n.place = n.from
	n.place.dir = config.LocalDir(n.from.dir, n.call.Source)
	n.place.inPkg = path.Join(n.from.inPkg, n.call.Source)
	if n.from.pkg != "" && (n.place.inPkg == ".." || strings.HasPrefix(n.place.inPkg, "../")) {
		n.fail(n.call.SourcePlace(), "Local module path escapes module package", "The source %q of the module %s "+
			"is outside of the package %s of its caller. Local paths in a package must stay within the package.",
			n.call.SourceRaw, n.path, n.from.pkg)
		return false
	}
	if err := checkDir(n.place.files, n.place.dir); err != nil {
		n.fail(n.call.SourcePlace(), "Unreadable module directory", "The module %s should be in the directory %s, "+
			"but that %s. Correct the source %q, which is relative to the directory of the calling module.", n.path,
			n.place.dir, err, n.call.SourceRaw)
		return false
	}
	if w.stage != nil {
		n.place = w.stage.follow(n.place, w.files)
	}
	n.entry.Dir = n.place.dir
	n.place.fresh = n.from.fresh || w.opts.Upgrade || w.old[n.entry.Key] != n.entry
	return true
}

// checkDir returns the problem with a module's directory, or nil.
func checkDir(files config.Files, dir string) error {
	_, err := files.ReadDir(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

func (n *node) fail(at *hcl.Range, summary, format string, args ...any) {
	n.diags = n.diags.Errorf(at, summary, format, args...)
}

// tell waits for a call, adds it to manifest and report, and then does the same for its calls.
func (w *walk) tell(n *node) {
	<-n.asked
	if n.asking != "" {
		w.opts.Progress(n.asking)
	}
	<-n.done
	w.diags = w.diags.Extend(n.diags)
	if n.entry.Dir == "" {
		return
	}
	if n.place.fresh {
		w.replace(n)
	}
	if n.pin != nil {
		w.pins = w.pins.With(*n.pin)
	}
	w.report.Modules = append(w.report.Modules, Installed{Path: n.path, Source: n.entry.Source,
		Version: n.entry.Version, Dir: n.entry.Dir, New: n.place.fresh})
	for _, child := range n.children {
		w.tell(child)
	}
}

// replace sets an entry of the manifest. A new module also replaces the entries below it.
func (w *walk) replace(n *node) {
	w.drop(n.entry.Key)
	w.manifest[n.entry.Key] = n.entry
	w.opts.Progress("- " + n.entry.Key + " in " + n.entry.Dir)
	if n.fetched != nil {
		w.stage.keep(n.entry.Key, n.fetched)
	}
}

// drop removes the recorded entries below a module.
func (w *walk) drop(key string) {
	below := w.below[key]
	delete(w.below, key)
	for _, child := range below {
		delete(w.manifest, child)
		w.drop(child)
	}
}
