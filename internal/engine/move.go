package engine

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/state"
)

// Moves between states: opening the other working directory, and reporting interrupted moves.

// At returns the surroundings of another working directory, in the same environment. Options of the command line do not
// apply to it.
func (s *Surroundings) At(dir string) *Surroundings {
	return &Surroundings{Dir: s.In(dir), StartDir: s.StartDir, Environ: s.Environ, PluginEnviron: s.PluginEnviron,
		Program: s.Program, Title: s.Title, ChosenFlavor: s.ChosenFlavor, CalledAs: s.CalledAs,
		ProviderLog: s.ProviderLog, CoreLog: s.CoreLog, Agree: s.Agree}
}

// StatePlace returns a name for the state of a workspace of a backend, without secrets: the same state always has the
// same name.
func (s *Surroundings) StatePlace(b *backend.Backend, workspace string) (string, error) {
	if b.InService() {
		return fmt.Sprintf("%s, workspace %q", b.Settings(), workspace), nil
	}
	if b.InMemory() {
		return "memory", nil
	}
	full, err := filepath.Abs(s.In(stateFile(b, workspace)))
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil { // it may not exist yet
		full = filepath.Join(dir, filepath.Base(full))
	}
	return full, nil
}

// stateFile returns the file of the state of a workspace, according to the settings of the backend.
func stateFile(b *backend.Backend, workspace string) string {
	o := b.Options()
	if workspace == state.DefaultWorkspace {
		return cmp.Or(o.Path, "terraform.tfstate")
	}
	return filepath.Join(cmp.Or(o.WorkspaceDir, "terraform.tfstate.d"), workspace, "terraform.tfstate")
}

// StateName returns a readable name for the state of a workspace: a file, or the type of a backend with the workspace.
func StateName(b *backend.Backend, workspace string) string {
	switch {
	case b.InService():
		return fmt.Sprintf("backend %q, workspace %q", b.Type, workspace)
	case b.InMemory():
		return "in memory, until this run ends"
	}
	return stateFile(b, workspace)
}

// openMoves returns errors for unfinished moves to and from other states. Until it is known which of the two states has
// an object, neither plans it.
func (r *Run) openMoves() (diags diag.List) {
	var reported []state.Handover
	for _, f := range r.Snapshot().InFlight {
		h, ok := f.Handover()
		if !ok || slices.ContainsFunc(reported, func(t state.Handover) bool {
			return t.Dir == h.Dir && slices.Equal(t.Args, h.Args)
		}) {
			continue
		}
		reported = append(reported, h)
		diags = append(diags, describeInFlight(diag.Error, "Interrupted move is not resolved", f))
	}
	return diags
}

// describeMove describes the move of an object between two states.
func describeMove(d *diag.Diagnostic, f state.InFlight, h state.Handover) {
	d.Detail = fmt.Sprintf("A run (%s) ended while it moved %s in the state %s to %s in the state %s. The object may "+
		"be in one of them or in both. Nothing is planned in either until the move is resolved.",
		f.Run.Started.Format(time.RFC3339), h.From, h.Source, h.To, h.Target)
	o := f.Object.Instance
	d.Advice = diag.Advise("To finish the move, run it again in %s:\n  %s\nTo resolve it by hand, check both states, "+
		"then run one of these in each:\n  %s       (leave this state as it is)\n  %s      (remove the object from "+
		"this state)",
		h.Dir, diag.Run(h.Args...), diag.Recover(o, "--retry"), diag.Recover(o, "--forget"))
}
