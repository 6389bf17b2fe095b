package stack

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Where the states of units are, and which units read those of others.

// Surroundings returns the surroundings of a unit: its directory, its workspace and its files with values.
func (s *Stack) Surroundings(base *engine.Surroundings, u *Unit) *engine.Surroundings {
	root, err := filepath.Abs(s.Root)
	if err != nil {
		root = s.Root
	}
	dir := filepath.Join(root, filepath.FromSlash(u.Dir))
	out := base.At(dir)
	out.Dir, out.StartDir, out.Keeps = dir, dir, base.Keeps
	out.Program = u.Program(base.Program)
	if u.Workspace != "" {
		out.Environ = append(append([]string(nil), base.Environ...), "TF_WORKSPACE="+u.Workspace)
	}
	for _, name := range u.VarFiles {
		out.Given = append(out.Given, config.Option{File: true, Text: name})
	}
	return out
}

// Program returns the words for the program in the directory of the unit, for advice about commands.
func (u *Unit) Program(name string) string {
	dir := u.Dir
	const plainly = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@+,:"
	if strings.Trim(dir, plainly) != "" {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return cmp.Or(name, diag.Program) + " -chdir=" + dir
}

// FindStates adds the edges of data sources that read states of other units, and returns an error if two units have the
// same state. It warns of data sources whose configuration is not constant. A unit whose configuration cannot be read
// is no error: Broken returns its problems.
func (s *Stack) FindStates(ctx context.Context, base *engine.Surroundings) (diags diag.List) {
	if diags = s.dataDirs(base); diags.HasErrors() {
		return diags
	}
	owners, likely := map[string]*Unit{}, map[string]*Unit{}
	loaded := map[*Unit]*config.Config{}
	for _, u := range s.sorted() {
		l, more := load(ctx, s.Surroundings(base, u))
		if more.HasErrors() {
			s.broken[u] = Seen(more, u)
			continue
		}
		loaded[u] = l.config
		switch other := owners[l.place]; {
		case l.place == "":
		case !l.recorded:
			if likely[l.place] == nil {
				likely[l.place] = u
			}
		case other != nil:
			at := u.Range
			diags = diags.Errorf(&at, "Two units have the same state", "The units %q and %q would write the same "+
				"state: they have the same backend settings and the same workspace. Change the backend block of one "+
				"of them, or set its workspace.", other.Name, u.Name)
		default:
			owners[l.place] = u
		}
	}
	for place, u := range likely {
		if owners[place] == nil {
			owners[place] = u
		}
	}
	for _, u := range s.sorted() {
		if loaded[u] != nil {
			diags = diags.Extend(s.readers(u, s.Surroundings(base, u), loaded[u], owners))
		}
	}
	if diags.HasErrors() {
		return diags
	}
	return diags.Extend(s.order())
}

// Broken returns the problems of a unit whose configuration cannot be read: a run fails it, and skips those that need
// it.
func (s *Stack) Broken(u *Unit) diag.List { return s.broken[u] }

// dataDirs returns an error if TF_DATA_DIR makes units of different directories share the folder of their modules and
// of the record of their backend.
func (s *Stack) dataDirs(base *engine.Surroundings) (diags diag.List) {
	users := map[string]*Unit{}
	for _, u := range s.Units {
		us := s.Surroundings(base, u)
		dir := filepath.Clean(us.In(us.DataDir()))
		other := users[dir]
		if other != nil && other.Dir != u.Dir {
			return diags.Errorf(nil, "Invalid value of an environment variable", "With the value %q of TF_DATA_DIR, "+
				"the units %q and %q would have the same folder %s, and overwrite the modules and the backend "+
				"settings that the other one has there. Expected a path inside of the directory of each unit, such as "+
				"\".data\", or no value.", us.DataDir(), other.Name, u.Name, dir)
		}
		users[dir] = u
	}
	return nil
}

// Seen returns problems of a unit with names of files relative to the root of the stack.
func Seen(diags diag.List, u *Unit) diag.List {
	out := make(diag.List, len(diags))
	for i, d := range diags {
		moved := *d
		for _, rng := range []**hcl.Range{&moved.Subject, &moved.Context} {
			if *rng != nil {
				to := **rng
				to.Filename = path.Join(u.Dir, filepath.ToSlash(to.Filename))
				*rng = &to
			}
		}
		out[i] = &moved
	}
	return out
}

// InUnit returns problems with the name of the unit in their addresses.
func InUnit(diags diag.List, u *Unit) diag.List {
	out := make(diag.List, len(diags))
	for i, d := range diags {
		moved := *d
		about := d.Address
		if about == "" && strings.Contains(d.Within, "[") {
			about = d.Within
		}
		switch {
		case about == "":
			moved.Address = inUnit + u.Name
		case !strings.Contains(about, inUnit):
			moved.Address = about + " in " + inUnit + u.Name
		}
		out[i] = &moved
	}
	return out
}

const inUnit = "the unit "

// loadedUnit is the configuration of a unit, with its modules if they are installed, and the place of its state, which
// is empty if it is not known. Before init has recorded the backend, the place is only likely: init may be given more
// settings.
type loadedUnit struct {
	config   *config.Config
	place    string
	recorded bool
}

func load(ctx context.Context, us *engine.Surroundings) (loadedUnit, diag.List) {
	root, diags := us.RootModule(ctx)
	if diags.HasErrors() {
		return loadedUnit{}, diags.OnlyErrors()
	}
	b, diags := backend.Of(root.Root)
	if diags.HasErrors() {
		return loadedUnit{}, diags
	}
	out := loadedUnit{config: root, recorded: true}
	recorded, err := us.RecordedBackend()
	switch {
	case err == nil && recorded.IsRecordOf(b) && recorded != nil:
		b = recorded.Located(b)
	case b.InService():
		out.recorded = false
	}
	workspace, _, err := us.Workspace()
	if err != nil {
		return loadedUnit{}, diag.FromError("Cannot tell which workspace is selected", err)
	}
	if out.place, err = place(us, b, workspace); err != nil {
		return loadedUnit{}, diag.FromError("Failed to load state", err)
	}
	if !out.recorded {
		return out, nil
	}
	project, more := us.Load(ctx, engine.LoadOptions{NoPlugins: true})
	if project == nil || more.HasErrors() { // modules are not installed: plans report it
		return out, nil
	}
	defer project.Close()
	out.config = project.Config()
	return out, nil
}

// place returns a text that is the same for the same state, or "" for states that only exist in memory, or if the
// settings and the environment do not say where it is. It may have secrets.
func place(us *engine.Surroundings, b *backend.Backend, workspace string) (string, error) {
	switch {
	case b.InMemory():
		return "", nil
	case !b.InService():
		return us.StatePlace(b, workspace)
	}
	return b.Location(workspace, remote.Surroundings{Getenv: us.Getenv, Dir: us.In("."), Flavor: us.Flavor()}), nil
}

// readers adds the edges of a unit to those whose states it reads.
func (s *Stack) readers(u *Unit, us *engine.Surroundings, cfg *config.Config, owners map[string]*Unit) (
	diags diag.List) {
	edges := map[*Unit]*Edge{}
	for _, e := range u.Edges {
		edges[e.To] = e
	}
	modules := cfg.Modules
	if len(modules) == 0 {
		modules = map[addr.Module]*config.Module{addr.RootModule: cfg.Root}
	}
	for _, m := range modules {
		for _, r := range m.SortedResources() {
			if r.Addr.Mode != addr.Data || r.Addr.Type != "terraform_remote_state" {
				continue
			}
			where, constant := target(us, m, r)
			to := owners[where]
			switch {
			case !constant && u.block.DependsOn == nil:
				at := r.DeclRange
				diags = diags.Extend(Seen(diag.List{}.Warnf(&at, "Unknown state", "Which state this data source reads "+
					"is not known before the plan: its arguments and the environment do not say it. If it is that of "+
					"another unit, add that unit to depends_on of the unit %q in tombolo.hcl, as its changes are not "+
					"seen otherwise.", u.Name), u))
			case constant && where != "" && to != nil && to != u:
				edge(edges, to).State = true
			}
		}
	}
	u.setEdges(edges)
	return diags
}

// target returns the place of the state that a data source reads, and whether its configuration is constant.
func target(us *engine.Surroundings, m *config.Module, r *config.Resource) (where string, constant bool) {
	attrs, problems := r.Body.JustAttributes()
	if problems.HasErrors() || r.ForEach != nil || r.Count != nil {
		return "", false
	}
	dir := m.Dir
	if dir == "" {
		dir = "."
	}
	workspace, _, err := us.Workspace()
	if err != nil {
		return "", false
	}
	ctx := &hcl.EvalContext{Functions: funcs.Table(funcs.Options{BaseDir: us.Dir, Pure: true}),
		Variables: map[string]cty.Value{
			"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(dir), "root": cty.StringVal("."),
				"cwd": cty.StringVal(us.Dir)}),
			"terraform": cty.ObjectVal(map[string]cty.Value{"workspace": cty.StringVal(workspace)}),
		}}
	value := func(name string) (v cty.Value, ok bool) {
		a := attrs[name]
		if a == nil {
			return cty.NullVal(cty.DynamicPseudoType), true
		}
		v, problems := a.Expr.Value(ctx)
		if problems.HasErrors() {
			return v, false
		}
		v, _ = v.UnmarkDeep()
		return v, v.IsWhollyKnown()
	}
	kind, ok1 := value("backend")
	settings, ok2 := value("config")
	name, ok3 := value("workspace")
	if !ok1 || !ok2 || !ok3 || kind.IsNull() || kind.Type() != cty.String ||
		!settings.IsNull() && !settings.Type().IsObjectType() && !settings.Type().IsMapType() {
		return "", false
	}
	b, diags := backend.FromValue(kind.AsString(), settings)
	if diags.HasErrors() {
		return "", true // the plan reports it
	}
	read := state.DefaultWorkspace
	if !name.IsNull() && name.Type() == cty.String {
		read = name.AsString()
	}
	where, err = place(us, b, read)
	if err != nil {
		return "", true
	}
	return where, where != "" || b.InMemory()
}
