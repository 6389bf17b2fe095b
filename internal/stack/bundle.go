package stack

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// The plan file of a stack: a ZIP archive with a manifest and the plan file of each unit, as the command "plan -out" of
// the unit would write it. docs/extensions/stacks.md describes it.

// FileVersion is the version of the format.
const FileVersion = "1.0"

// The limits of what is read from a file.
const (
	maxManifest = 16 << 20
	maxPlan     = 1 << 30
)

// Manifest is the document manifest.json.
type Manifest struct {
	FormatVersion string          `json:"format_version"`
	Created       time.Time       `json:"created"`
	Destroy       bool            `json:"destroy,omitempty"`
	Units         []ManifestUnit  `json:"units"`
	Deferred      []ManifestLater `json:"deferred,omitempty"`
	Outside       []ManifestState `json:"outside,omitempty"`
}

// ManifestUnit is a unit with a plan, in the order of the stack.
type ManifestUnit struct {
	Name      string   `json:"name"`
	Dir       string   `json:"dir"`
	Workspace string   `json:"workspace,omitempty"`
	Changes   bool     `json:"changes"`
	File      string   `json:"file"`
	SHA256    string   `json:"sha256"`
	Needs     []string `json:"needs,omitempty"`
	Uses      []Use    `json:"uses,omitempty"`
	Sensitive []string `json:"sensitive,omitempty"`
}

// ManifestLater is a unit without a plan.
type ManifestLater struct {
	Unit   string `json:"unit"`
	Reason string `json:"reason"`
}

// ManifestState is the state of a unit that is not in the file, and whose outputs plans in it use.
type ManifestState struct {
	Unit    string `json:"unit"`
	Lineage string `json:"lineage"`
	Serial  uint64 `json:"serial"`
}

// Write writes the plans of a run to a file.
func (r *Run) Write(ctx context.Context, to io.Writer) error {
	m := Manifest{FormatVersion: FileVersion, Created: time.Now().UTC().Truncate(time.Second),
		Destroy: r.o.Plan.Mode == plan.Destroy}
	var files [][]byte
	outside := map[string]bool{}
	for _, u := range r.o.Units {
		ur := r.units[u]
		switch {
		case ur.Phase == Deferred:
			m.Deferred = append(m.Deferred, ManifestLater{u.Name, ur.Reason})
			continue
		case ur.Plan == nil:
			continue
		case ur.Phase != Planned && ur.Phase != Unchanged:
			return fmt.Errorf("the unit %s has no plan: %s", u.Name, ur.Reason)
		}
		var b bytes.Buffer
		if err := r.o.Stack.Surroundings(r.o.Base, u).WritePlan(ctx, &b, ur.Config, ur.Plan); err != nil {
			return fmt.Errorf("unit %s: %w", u.Name, err)
		}
		one := ManifestUnit{Name: u.Name, Dir: u.Dir, Workspace: u.Workspace, Changes: ur.Phase == Planned,
			File: fmt.Sprintf("units/%d.plan", len(files)+1), SHA256: fmt.Sprintf("%x", sha256.Sum256(b.Bytes())),
			Needs: u.needed(), Uses: ur.uses, Sensitive: ur.Sensitive}
		m.Units, files = append(m.Units, one), append(files, b.Bytes())
		for _, use := range ur.uses {
			if of := r.o.Stack.Unit(use.Unit); (r.units[of] == nil || m.Destroy) && !outside[use.Unit] {
				outside[use.Unit] = true
				s, err := r.stateOf(ctx, of)
				if err != nil {
					return err
				}
				m.Outside = append(m.Outside, s)
			}
		}
	}
	document, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	archive := zip.NewWriter(to)
	add := func(name string, content []byte) error {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: m.Created})
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}
	err = add("manifest.json", document)
	for i, content := range files {
		err = errors.Join(err, add(m.Units[i].File, content))
	}
	return errors.Join(err, archive.Close())
}

// needed returns the names of the units that a unit depends on.
func (u *Unit) needed() (list []string) {
	for _, e := range u.Edges {
		list = append(list, e.To.Name)
	}
	return list
}

func (r *Run) stateOf(ctx context.Context, u *Unit) (ManifestState, error) {
	snapshot, diags := r.o.Stack.Stored(ctx, r.o.Base, u)
	if diags.HasErrors() {
		return ManifestState{}, diags.Err()
	}
	s := ManifestState{Unit: u.Name}
	if snapshot.State != nil {
		s.Lineage, s.Serial = snapshot.State.Lineage, snapshot.State.Serial
	}
	return s, nil
}

// File is an opened plan file of a stack.
type File struct {
	Manifest Manifest

	archive *zip.Reader
}

// OpenFile reads the manifest of a plan file.
func OpenFile(from io.ReaderAt, size int64) (*File, error) {
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return nil, fmt.Errorf("it is not a plan file of a stack: %w", err)
	}
	f := &File{archive: archive}
	document, err := f.read("manifest.json", maxManifest)
	if err != nil {
		return nil, fmt.Errorf("it is not a plan file of a stack: %w", err)
	}
	if err := json.Unmarshal(document, &f.Manifest); err != nil {
		return nil, fmt.Errorf("its manifest is not valid: %w", err)
	}
	if f.Manifest.FormatVersion != FileVersion {
		return nil, fmt.Errorf("its format is %q, and this version reads %q", f.Manifest.FormatVersion, FileVersion)
	}
	return f, nil
}

func (f *File) read(name string, limit int64) ([]byte, error) {
	i := slices.IndexFunc(f.archive.File, func(e *zip.File) bool { return e.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("it has no entry %s", name)
	}
	from, err := f.archive.File[i].Open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("its entry %s has more than %d MiB", name, limit>>20)
	}
	return content, err
}

// Chosen returns the units of a file, or an error if the stack has changed since.
func (s *Stack) Chosen(f *File) (list []*Unit, diags diag.List) {
	for _, m := range f.Manifest.Units {
		u := s.byName[m.Name]
		switch {
		case slices.Contains(list, u):
			diags = diags.Errorf(nil, "Plan file does not match the stack", "The file has two plans for the unit %q, "+
				"so it was changed. Make a new plan.", m.Name)
		case u == nil:
			diags = diags.Errorf(nil, "Plan file does not match the stack", "The file has a plan for the unit %q, "+
				"which the stack no longer has. Make a new plan.", m.Name)
		case u.Dir != m.Dir || u.Workspace != m.Workspace || !slices.Equal(u.needed(), m.Needs):
			at := u.Range
			diags = diags.Errorf(&at, "Plan file does not match the stack", "The directory, the workspace or the "+
				"dependencies of the unit %q have changed since the plan was made. Make a new plan.", m.Name)
		default:
			list = append(list, u)
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	slices.SortFunc(list, func(a, b *Unit) int { return slices.Index(s.Units, a) - slices.Index(s.Units, b) })
	return list, nil
}

// Restore loads the plans of a file and takes the locks of all its units. If any plan is stale, it returns errors, and
// nothing can be applied.
func (r *Run) Restore(ctx context.Context, f *File) (diags diag.List) {
	r.saved = true
	of := map[*Unit]ManifestUnit{}
	for _, m := range f.Manifest.Units {
		of[r.o.Stack.Unit(m.Name)] = m
	}
	for _, u := range r.o.Units { // in the order of the stack, as two runs may wait for locks of each other otherwise
		diags = diags.Extend(InUnit(Seen(r.restore(ctx, r.units[u], of[u], f), u), u))
	}
	if diags.HasErrors() {
		return diags
	}
	for _, m := range f.Manifest.Units {
		diags = diags.Extend(r.restoreUses(r.units[r.o.Stack.Unit(m.Name)], m))
	}
	for _, s := range f.Manifest.Outside {
		u := r.o.Stack.Unit(s.Unit)
		if u == nil {
			return diags.Errorf(nil, "Plan file does not match the stack", "The plans use outputs of the unit %q, "+
				"which the stack no longer has. Make a new plan.", s.Unit)
		}
		now, err := r.stateOf(ctx, u)
		if err != nil {
			diags = diags.AppendError("Failed to load state", err)
		} else if now != s {
			diags = diags.Errorf(nil, "Saved plan is stale", "The state of the unit %q, whose outputs plans in the "+
				"file use, has changed since they were made. Make a new plan.", s.Unit)
		}
	}
	return diags
}

func (r *Run) restore(ctx context.Context, ur *unitRun, m ManifestUnit, f *File) (diags diag.List) {
	content, err := f.read(m.File, maxPlan)
	if err == nil && fmt.Sprintf("%x", sha256.Sum256(content)) != m.SHA256 {
		err = errors.New("its content is not the one that the manifest names")
	}
	us := r.o.Stack.Surroundings(r.o.Base, ur.Unit)
	if err == nil {
		ur.Plan, diags, err = us.ReadPlan(ctx, bytes.NewReader(content), int64(len(content)))
	}
	if err != nil {
		return diags.Errorf(nil, "Plan file does not match the stack", "The plan of the unit %q in the file cannot be "+
			"used: %s. Make a new plan.", m.Name, err)
	}
	project, more := us.Project(ctx, engine.LoadOptions{Saved: ur.Plan, Parallelism: r.o.Parallelism,
		Events: r.sink(ur.Unit), Abort: r.o.Abort})
	if more.HasErrors() { // its warnings were shown with the plan
		return diags.Extend(more)
	}
	ur.project, ur.Secrets, ur.Config, ur.Sensitive = project, project.Secrets(), project.Config().Root, m.Sensitive
	for _, name := range m.Sensitive {
		if v := ur.Config.Variables[name]; v != nil {
			v.Sensitive = true
		}
	}
	if values, more := us.Variables(ur.Config, engine.VariableOptions{Given: us.Given}); !more.HasErrors() {
		ur.values = ephemeral(ur.Plan, ur.Config.RawValues(values))
	}
	run, more := project.Open(ctx, r.o.Open)
	if more.HasErrors() {
		return diags.Extend(more)
	}
	ur.run, ur.State = run, run.State()
	ur.Schemas = project.Schemas(ur.Plan.Base, ur.Plan.Changes...)
	if diags = diags.Extend(run.Accepts(ur.Plan).OnlyErrors()); diags.HasErrors() {
		return diags.Errorf(nil, "Plan file was not applied", "The plan of the unit %q cannot be applied, so no unit "+
			"of the file was changed.", m.Name)
	}
	if ur.Phase = Unchanged; m.Changes {
		ur.Phase = Planned
	}
	return diags
}

// restoreUses sets the values with which a plan was made: those of the other plans in the file. It returns an error if
// a value that its plan does not change is no longer the stored one.
func (r *Run) restoreUses(ur *unitRun, m ManifestUnit) (diags diag.List) {
	for _, use := range m.Uses {
		dep := r.units[r.o.Stack.Unit(use.Unit)]
		if dep == nil || dep.Plan == nil || r.o.Plan.Mode == plan.Destroy {
			continue // its state was compared
		}
		v, ok := plannedOutputs(dep.Plan)[use.Output]
		if !ok {
			return diags.Errorf(nil, "Plan file does not match the stack", "The plan of the unit %q uses the output "+
				"%q of %q, which that plan does not have. Make a new plan.", m.Name, use.Output, use.Unit)
		}
		use.value, _ = v.UnmarkDeep()
		ur.uses = append(ur.uses, use)
		if changesOutput(dep.Plan, use.Output) {
			continue
		}
		if now := output(dep.State, use.Output); now == nil || !same(now.Value, use.value) {
			diags = diags.Errorf(nil, "Saved plan is stale", "The plan of the unit %q uses the output %q of the unit "+
				"%q, which has changed since. Make a new plan.", m.Name, use.Output, use.Unit)
		}
	}
	return diags
}

func output(s *state.State, name string) *state.Output {
	if s == nil {
		return nil
	}
	return s.Output(name)
}
