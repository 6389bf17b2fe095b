package serving

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/pages"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// place is a directory with a backend. It implements pages.Place.
type place struct {
	name string
	view view.Options

	mu       sync.Mutex // guards the fields below: surroundings are used by one caller at a time
	sur      *engine.Surroundings
	store    state.Store // nil before it was opened
	where    string
	schemas  tfjson.Schemas
	problem  string    // of the schemas
	loaded   time.Time // when they were loaded
	selected func() string
}

// viewOptions returns the options for texts on pages. Sensitive values are hidden even if they may be shown, because
// pages are for several people.
func viewOptions(c *command.Call) view.Options {
	o := c.ViewOptions()
	o.Out, o.Err, o.Into, o.JSON, o.Size, o.Secrets = io.Discard, io.Discard, nil, false, nil, nil
	o.ShowSensitive = false
	sources := maps.Clone(c.Sources())
	o.Sources = func() map[string][]byte { return sources }
	return o
}

// open returns the working directory, if it has a configuration, and the units of its stack.
func open(ctx context.Context, c *command.Call) (all []pages.Place, diags diag.List) {
	file, diags := c.ProjectFile()
	if diags.HasErrors() {
		return nil, diags
	}
	base := c.Surroundings.At("")
	base.Given, base.Keeps = c.Surroundings.Given, c.Surroundings.Keeps
	root, diags := base.RootModule(ctx)
	if diags.HasErrors() {
		return nil, diags.OnlyErrors()
	}
	c.AddSources(root.Files)
	options := viewOptions(c)
	if len(file.Units) == 0 || !root.IsEmpty() {
		p := newPlace("", base, options)
		if diags := p.open(ctx); diags.HasErrors() {
			return nil, diags
		}
		all = append(all, p)
	}
	if len(file.Units) == 0 {
		return all, nil
	}
	units, diags := stack.Load(".", file)
	if diags.HasErrors() {
		return nil, diags.OnlyErrors()
	}
	for _, u := range units.Units {
		all = append(all, newPlace(u.Name, units.Surroundings(&c.Surroundings, u), options))
	}
	return all, nil
}

func newPlace(name string, sur *engine.Surroundings, options view.Options) *place {
	selected := func() string {
		if name, _, err := sur.Workspace(); err == nil {
			return name
		}
		return state.DefaultWorkspace
	}
	return &place{name: name, sur: sur, view: options, selected: selected, where: "not opened yet"}
}

// open opens the store. The mutex must be held, or the place not be shared yet.
func (p *place) open(ctx context.Context) diag.List {
	if p.store != nil {
		return nil
	}
	root, diags := p.sur.RootModule(ctx)
	if diags.HasErrors() {
		return diags.OnlyErrors()
	}
	b, diags := p.sur.Backend(root.Root)
	if diags.HasErrors() {
		return diags
	}
	st, diags := p.sur.StoreOf(ctx, root.Root, engine.StateFiles{})
	if diags.HasErrors() {
		return diags
	}
	p.store, p.where = st, "local files"
	switch {
	case b.InService():
		p.where = "backend " + b.Type
	case b.InMemory():
		p.where = "in memory"
	}
	return nil
}

// opened returns the store.
func (p *place) opened(ctx context.Context) (state.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store, asError(p.open(ctx))
}

// asError returns the first error of problems, in one line.
func asError(diags diag.List) error {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return errors.New(strings.TrimSpace(d.Summary + ". " + d.Detail))
		}
	}
	return nil
}

// Name implements pages.Place.
func (p *place) Name() string { return p.name }

// Where implements pages.Place.
func (p *place) Where() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.where
}

// Selected implements pages.Place.
func (p *place) Selected() string { return p.selected() }

// View implements pages.Place.
func (p *place) View() view.Options { return p.view }

// Workspaces implements pages.Place. A backend without workspaces has one state.
func (p *place) Workspaces(ctx context.Context) ([]string, error) {
	st, err := p.opened(ctx)
	if err != nil {
		return nil, err
	}
	all, err := st.Workspaces(ctx)
	if errors.Is(err, state.ErrNoWorkspaces) {
		return []string{p.Selected()}, nil
	}
	return all, err
}

// Read implements pages.Place.
func (p *place) Read(ctx context.Context, workspace string) (r pages.Reading, err error) {
	st, err := p.opened(ctx)
	if err != nil {
		return r, err
	}
	ws, err := st.Workspace(workspace)
	if err != nil {
		return r, err
	}
	if r.Snapshot, err = ws.Read(ctx); err != nil {
		return r, err
	}
	asks, ok := ws.(interface {
		Holder(context.Context) (*state.LockInfo, error)
	})
	if !ok {
		r.Unknown = "unknown"
		return r, nil
	}
	r.Holder, err = asks.Holder(ctx)
	switch {
	case errors.Is(err, remote.ErrHolderUnknown):
		r.Unknown = "unknown: the backend can only be asked by taking the lock"
	case err != nil:
		r.Unknown = "unknown: " + err.Error()
	}
	return r, nil
}

// History implements pages.Place.
func (p *place) History(ctx context.Context, workspace string) (history.Historian, error) {
	st, err := p.opened(ctx)
	if err != nil {
		return nil, err
	}
	ws, err := st.Workspace(workspace)
	if err != nil {
		return nil, err
	}
	h, ok := ws.(history.Historian)
	if !ok {
		return nil, history.ErrNoHistory
	}
	return h, nil
}

// How long schemas are used. Providers may be installed or changed while the server runs.
const (
	schemaAge  = 10 * time.Minute
	missingAge = 10 * time.Second
)

// Schemas implements pages.Place. It starts the providers only if schemas are missing or old.
func (p *place) Schemas(ctx context.Context, s *state.State) (tfjson.Schemas, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := schemaAge
	if p.problem != "" || !covers(p.schemas, s) {
		age = missingAge
	}
	if !p.loaded.IsZero() && time.Since(p.loaded) < age {
		return maps.Clone(p.schemas), p.problem
	}
	project, diags := p.sur.Project(context.WithoutCancel(ctx), engine.LoadOptions{Terse: true,
		Secrets: &view.Secrets{}})
	p.loaded, p.problem = time.Now(), ""
	if err := asError(diags); err != nil {
		p.problem = "The schemas of the providers are not available, so objects are not shown: " + err.Error()
		return maps.Clone(p.schemas), p.problem
	}
	p.schemas = project.Schemas(s)
	if err := project.Close(); err != nil {
		p.problem = "A provider did not stop cleanly: " + err.Error()
	}
	return maps.Clone(p.schemas), p.problem
}

// covers reports whether there are schemas for all objects of a state.
func covers(schemas tfjson.Schemas, s *state.State) bool {
	for _, r := range s.Resources() {
		if schemas[r.Provider.Provider] == nil {
			return false
		}
	}
	return true
}
