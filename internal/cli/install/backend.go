package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/nesting"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// backendSetup holds the flags of init for a changed backend.
type backendSetup struct {
	command.Locking
	settings                    []string // NAME=VALUE or FILE
	reconfigure, migrate, force bool
	input                       bool
	// distrusted is set if the program that stores the states is not approved.
	distrusted bool
	// refused holds the commands of the encryption block that were not run.
	refused []string
}

func (s *backendSetup) flags(c *command.Call) {
	s.LockFlags(c)
	c.StringsFlag(&s.settings, "backend-config",
		"Additional settings for the backend, as `FILE or NAME=VALUE`. May be given more than once.")
	c.Flags.BoolVar(&s.reconfigure, "reconfigure", false,
		"Use the backend block as it is, without copying existing states.")
	c.Flags.BoolVar(&s.migrate, "migrate-state", false, "If the backend has changed, copy existing states to it.")
	c.Flags.BoolVar(&s.force, "force-copy", false, "Copy states without asking. Implies -migrate-state.")
	c.Flags.BoolVar(&s.input, "input", true, "Do not ask for input. If input is needed, the command fails.")
}

// run sets up the backend of the root module. The warnings are printed at the end of init.
func (s *backendSetup) run(ctx context.Context, c *command.Call, root *config.Module) (warnings, diags diag.List) {
	configured, diags := backend.Of(root)
	if diags.HasErrors() {
		return nil, diags
	}
	recorded, err := c.RecordedBackend()
	if err != nil {
		return nil, diag.FromError("Failed to read the record of the backend", err)
	}
	if warnings, diags = s.misplaced(configured); diags.HasErrors() {
		return nil, diags
	}
	if configured != nil {
		if diags := s.complete(ctx, c, configured, root); diags.HasErrors() {
			return nil, diags
		}
	}
	more, diags := s.trust(ctx, c, configured, recorded)
	if warnings = warnings.Extend(more); diags.HasErrors() {
		return nil, diags
	}
	next, problems := s.decide(c, configured, recorded)
	if problems.HasErrors() {
		return nil, diags.Extend(problems)
	}
	if diags := s.perform(ctx, c, next, configured, recorded); diags.HasErrors() {
		return nil, diags
	}
	return warnings, nil
}

// step is the remaining work for a backend.
type step int

const (
	keepRecord step = iota // the block is the recorded one, possibly with additional settings
	recordOnly
	copyStates // and then record
)

// decide compares the backend of the configuration with the recorded one; each is nil if there is none.
func (s *backendSetup) decide(c *command.Call, configured, recorded *backend.Backend) (step, diag.List) {
	unchanged := configured.SamePlace(recorded)
	switch {
	case configured == nil && recorded == nil:
		return keepRecord, nil
	case recorded.IsRecordOf(configured) && (unchanged || len(s.settings) == 0 && !s.reconfigure):
		return keepRecord, nil
	case unchanged || s.reconfigure || s.distrusted && recorded == nil:
		return recordOnly, nil
	case configured.IsCloud() && recorded.IsCloud(): // the states are in the service in both cases
		return recordOnly, nil
	case !recorded.Readable():
		return keepRecord, backend.NoMigration(c.Title, recorded.Type)
	case recorded != nil && !s.migrate && !s.force && !configured.IsCloud():
		return keepRecord, diag.List{}.Errorf(nil, "Backend configuration changed", "The arguments of the backend "+
			"have changed since the last init. If the states are still in the same location, or if you want to use "+
			"those in the new location, use \"%[1]s init -reconfigure\". To copy the states to the new location, use "+
			"\"%[1]s init -migrate-state\".", c.Program)
	}
	return copyStates, nil
}

// perform performs the step.
func (s *backendSetup) perform(ctx context.Context, c *command.Call, next step, configured,
	recorded *backend.Backend) diag.List {
	if next == keepRecord {
		return nil
	}
	if next == copyStates {
		if recorded != nil && configured == nil {
			announce(c, "", fmt.Sprintf("%s has detected you're unconfiguring your previously set %q backend.", c.Title,
				recorded.Type))
		}
		if diags := s.copyStates(ctx, c, recorded, configured); diags.HasErrors() {
			return diags
		}
	}
	if diags := s.reach(ctx, c, configured); diags.HasErrors() {
		return diags
	}
	if err := c.RecordBackend(configured); err != nil {
		return diag.FromError("Failed to record the backend", err)
	}
	if !configured.SamePlace(recorded) {
		announceBackend(c, configured, recorded)
	}
	return nil
}

// misplaced reports settings of the command line without a matching block.
func (s *backendSetup) misplaced(configured *backend.Backend) (warnings, diags diag.List) {
	switch {
	case len(s.settings) == 0:
	case configured.IsCloud():
		diags = diags.Errorf(nil, "Invalid command-line option", "The option -backend-config is for backend blocks, "+
			"and the configuration has a cloud block. Change the cloud block, or use the variables TF_CLOUD_HOSTNAME, "+
			"TF_CLOUD_ORGANIZATION, TF_CLOUD_PROJECT and TF_WORKSPACE.")
	case configured == nil:
		warnings = warnings.Warnf(nil, "Missing backend configuration", "The option -backend-config is given, but "+
			"the configuration has no backend block. To use the default location, remove the option. Otherwise add "+
			"the block: terraform { backend \"local\" {} }")
	}
	return warnings, diags
}

// complete merges the settings of the command line and of answers into those of the block, and checks all of them.
func (s *backendSetup) complete(ctx context.Context, c *command.Call, configured *backend.Backend,
	root *config.Module) diag.List {
	if diags := s.override(c, configured); diags.HasErrors() {
		return diags
	}
	if diags := s.ask(ctx, c, configured); diags.HasErrors() {
		return diags
	}
	return configured.Check(root.Backend)
}

// announceBackend prints the new location of the states.
func announceBackend(c *command.Call, configured, recorded *backend.Backend) {
	if configured == nil {
		announce(c, "", "\n\n"+fmt.Sprintf("Successfully unset the backend %q. %s will now operate locally.",
			recorded.Type, c.Title))
		return
	}
	if configured.IsCloud() {
		return // the end of init reports it
	}
	announce(c, "backend_configured_success_message", fmt.Sprintf("\nSuccessfully configured the backend %q! %s "+
		"will automatically\nuse this backend unless the backend configuration changes.", configured.Type, c.Title))
}

// reach checks, before anything is recorded, that the service with the states is reachable.
func (s *backendSetup) reach(ctx context.Context, c *command.Call, b *backend.Backend) diag.List {
	if s.distrusted {
		return nil
	}
	return c.Reach(ctx, b)
}

// override applies the backend settings of the command line.
func (s *backendSetup) override(c *command.Call, b *backend.Backend) (diags diag.List) {
	for _, text := range s.settings {
		if name, value, ok := strings.Cut(text, "="); ok {
			if !slices.Contains(b.Arguments(), name) {
				diags = diags.Errorf(nil, "Invalid backend configuration argument",
					"The option -backend-config sets %q, but the backend %q has no argument of that name.%s", name,
					b.Type, diag.DidYouMean(name, b.Arguments()))
				continue
			}
			expr, hclDiags := settingExpr(b, name, value)
			if diags = diags.AppendHCL(hclDiags); hclDiags.HasErrors() {
				continue
			}
			attr := &hcl.Attribute{Name: name, Expr: expr}
			diags = diags.Extend(b.Set(hcl.Attributes{name: attr}))
			continue
		}
		src, err := regular.Named(text, regular.Note)
		if err != nil {
			diags = diags.Errorf(nil, "Failed to read file", "The file %q of -backend-config cannot be read: %s.", text,
				errors.Unwrap(err))
			continue
		}
		c.AddSources(map[string][]byte{text: src})
		if more := nesting.Check(src, text); more.HasErrors() {
			diags = diags.Extend(more)
			continue
		}
		file, hclDiags := hclsyntax.ParseConfig(src, text, hcl.InitialPos)
		if diags = diags.AppendHCL(hclDiags); hclDiags.HasErrors() {
			continue
		}
		attrs, more := b.Body(file.Body)
		diags = diags.Extend(more).Extend(b.Set(attrs))
	}
	return diags
}

// ask prompts for required arguments that are not set. Without interactive input, the backend reports them.
func (s *backendSetup) ask(ctx context.Context, c *command.Call, b *backend.Backend) (diags diag.List) {
	if !s.input || !c.InputAllowed() || c.JSON {
		return nil
	}
	names, texts := b.Asked(c.Getenv)
	for i, name := range names {
		answer, err := c.Ask(ctx, name, texts[i], false)
		if err != nil {
			return diags.Errorf(nil, fmt.Sprintf("Error asking for input to configure backend %q: %s: %s", b.Type, name,
				err), "The backend needs the argument %s. Set it in its block, or with -backend-config=%[1]s=VALUE. "+
				"Nothing was changed.", name)
		}
		if answer != "" {
			diags = diags.Extend(b.Set(hcl.Attributes{name: {Name: name,
				Expr: hcl.StaticExpr(cty.StringVal(answer), hcl.Range{})}}))
		}
	}
	return diags
}

// settingExpr returns the value of an argument on the command line: text, or an expression if the argument does not
// accept text.
func settingExpr(b *backend.Backend, name, value string) (hcl.Expression, hcl.Diagnostics) {
	at := "<value for -backend-config=" + name + ">"
	if b.Simple(name) {
		return hcl.StaticExpr(cty.StringVal(value), hcl.Range{Filename: at}), nil
	}
	if diags := nesting.Check([]byte(value), at); diags.HasErrors() {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Invalid expression",
			Detail: "The value of -backend-config=" + name + " is nested too deeply."}}
	}
	return hclsyntax.ParseExpression([]byte(value), at, hcl.InitialPos)
}

// copyStates copies all states that are not empty from one location to another, after asking. The old ones stay as
// backups.
func (s *backendSetup) copyStates(ctx context.Context, c *command.Call, from, to *backend.Backend) diag.List {
	old, diags := c.Store(ctx, from, from.Options().Store())
	if diags.HasErrors() {
		return diags
	}
	new, diags := c.Store(ctx, to, to.Options().Store())
	if diags.HasErrors() {
		return diags
	}
	moves, diags := s.moves(ctx, c, old, new)
	if diags.HasErrors() {
		return diags
	}
	for _, m := range moves {
		here, err := m.from.Read(ctx)
		if err != nil {
			return diag.FromError("Failed to load state", err)
		}
		if isEmpty(here.State) && !leftOpen(here) {
			// all states at the new location are kept, including those left by an interrupted run
		} else if refused, diags := s.copyState(ctx, c, m); diags.HasErrors() || refused {
			return diags
		}
		if m.selects {
			if err := c.SelectWorkspace(m.to.Name()); err != nil {
				return diag.FromError("Failed to select the workspace", err)
			}
		}
	}
	return nil
}

// move is a state to copy.
type move struct {
	from, to state.Workspace
	// selects means that the workspaces have different names.
	selects bool
	// single means that the new location can hold only one state.
	single bool
}

// moves returns the states of one location with their new locations. Without workspaces, only the selected one is
// moved.
func (s *backendSetup) moves(ctx context.Context, c *command.Call, old, new state.Store) (moves []move,
	diags diag.List) {
	names, err := old.Workspaces(ctx)
	if errors.Is(err, remote.ErrNoWorkspaces) {
		names, err = []string{state.DefaultWorkspace}, nil
	}
	if err != nil {
		return nil, diag.FromError("Failed to list the workspaces", err)
	}
	target := func(name string) string { return name }
	oldOnly, _ := remote.NoDefault(old)
	newOnly, named := remote.NoDefault(new)
	_, err = new.Workspaces(ctx)
	single := errors.Is(err, remote.ErrNoWorkspaces)
	if err != nil && !single {
		return nil, diag.FromError("Failed to list the workspaces", err)
	}
	switch {
	case single || newOnly != "":
		selected, _, err := c.Workspace()
		if err != nil {
			return nil, diag.FromError("Cannot tell which workspace is selected", err)
		}
		if oldOnly != "" {
			selected = oldOnly
		}
		names, target = []string{selected}, func(string) string { return cmp.Or(newOnly, state.DefaultWorkspace) }
	case oldOnly != "" && !named: // its name is that of its location, unrelated to the configuration
		target = func(string) string { return state.DefaultWorkspace }
	case named && slices.Contains(names, state.DefaultWorkspace):
		if names, target, diags = s.without(ctx, c, old, names); diags.HasErrors() {
			return nil, diags
		}
	}
	for _, name := range names {
		from, err := old.Workspace(name)
		to, toErr := new.Workspace(target(name))
		if err := errors.Join(err, toErr); err != nil {
			return nil, diag.FromError("Invalid workspace name", err)
		}
		moves = append(moves, move{from, to, name != target(name), single || newOnly != ""})
	}
	return moves, nil
}

// without returns the workspaces to copy to a location without a default workspace, with their new names.
func (s *backendSetup) without(ctx context.Context, c *command.Call, old state.Store, names []string) ([]string,
	func(string) string, diag.List) {
	same := func(name string) string { return name }
	ws, err := old.Workspace(state.DefaultWorkspace)
	if err != nil {
		return nil, nil, diag.FromError("Invalid workspace name", err)
	}
	here, err := ws.Read(ctx)
	if err != nil {
		return nil, nil, diag.FromError("Failed to load state", err)
	}
	if isEmpty(here.State) && !leftOpen(here) {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == ws.Name() }), same, nil
	}
	name, diags := s.renamed(ctx, c, names)
	return names, func(n string) string {
		if n == ws.Name() {
			return name
		}
		return n
	}, diags
}

// leftOpen reports whether a run has left operations or results only in the journal, which a copy of the state would
// lack.
func leftOpen(snapshot *state.Snapshot) bool {
	return len(snapshot.InFlight)+len(snapshot.Unfolded) > 0
}

// settled returns the state of a snapshot, or an error if leftOpen.
func settled(ws state.Workspace, snapshot *state.Snapshot) (*state.State, error) {
	switch {
	case len(snapshot.InFlight) > 0:
		return nil, fmt.Errorf("operations of the workspace %q were interrupted, and their outcome is unknown; "+
			"resolve them before its state is copied", ws.Name())
	case leftOpen(snapshot):
		return nil, fmt.Errorf("results of a run in the workspace %q conflict with its state, and are only in its "+
			"journal; resolve them before its state is copied", ws.Name())
	}
	return snapshot.State, nil
}

func isEmpty(s *state.State) bool {
	return s == nil || len(s.Resources()) == 0 && len(s.OutputNames()) == 0
}

// same reports whether a copy would change nothing. Serials are not sufficient: two copies of a state that were changed
// independently have the same serial.
func same(a, b *state.State) bool {
	return a != nil && b != nil && a.Lineage == b.Lineage && a.Serial == b.Serial && a.SameContent(b)
}

func (s *backendSetup) approve(ctx context.Context, c *command.Call, m move, overwrite bool) (bool, diag.List) {
	if !s.input || !c.InputAllowed() || c.JSON {
		return false,
			diag.List{}.Errorf(nil, "Can't ask approval for state migration when interactive input is disabled.",
				"Without interactive input, use -force-copy to copy the states, or -reconfigure not to.")
	}
	text := "There are states in the old location, and none in the new one.\nEnter \"yes\" to copy them and \"no\" " +
		"to start with an empty state."
	if overwrite {
		text = "There are states in both locations.\nEnter \"yes\" to replace those in the new location, and \"no\" " +
			"to use them."
	}
	if m.selects {
		text += fmt.Sprintf("\nThe state of the workspace %q becomes that of %q", m.from.Name(), m.to.Name())
		if m.single {
			text += ": the new location can store only one state, and all others stay\nin the old location"
		}
		text += "."
	}
	answer, err := c.Ask(ctx, "Do you want to copy existing state to the new backend?", text, false)
	if err != nil {
		return false, diag.List{}.Errorf(nil, "Error asking for confirmation: "+err.Error(), "Nothing was changed. "+
			"Without interactive input, use -force-copy to copy the states, or -reconfigure not to.")
	}
	return answer == "yes", nil
}

// copyState copies a state while both locations are locked. It reports whether the user has refused the copy.
func (s *backendSetup) copyState(ctx context.Context, c *command.Call, m move) (refused bool, diags diag.List) {
	request := state.LockRequest{Unlocked: !s.Lock, Info: state.LockInfo{Operation: state.OperationInit}}
	var sessions [2]state.Session
	for i, ws := range []state.Workspace{m.from, m.to} {
		session, err := state.Acquire(ctx, ws, request, s.Timeout, func(*state.LockedError) {})
		if err != nil {
			return false, engine.LockProblem(err)
		}
		defer func() { diags = diags.Extend(diag.FromError("Error releasing the state lock", session.Unlock())) }()
		sessions[i] = session
	}
	what, err := settled(m.from, sessions[0].Snapshot())
	if err == nil {
		_, err = settled(m.to, sessions[1].Snapshot())
	}
	there := sessions[1].Snapshot().State
	if err != nil || same(what, there) {
		return false, diag.FromError("Failed to load state", err)
	}
	if !s.force {
		approved, diags := s.approve(ctx, c, m, !isEmpty(there))
		if diags.HasErrors() || !approved {
			return true, diags
		}
		s.force = true
	}
	return false, diag.FromError("Error saving the state", sessions[1].Replace(ctx, what))
}

// makeWorkspace creates the workspace that the environment selects, so that it can be listed and selected later:
// TF_WORKSPACE may be set only for init.
func (s *backendSetup) makeWorkspace(ctx context.Context, c *command.Call, root *config.Module) diag.List {
	if _, overridden, err := c.Workspace(); err != nil || !overridden || s.distrusted {
		return diag.FromError("Cannot tell which workspace is selected", err)
	}
	st, diags := c.StoreOf(ctx, root, command.StateFiles{})
	if diags.HasErrors() {
		return diags
	}
	ws, diags := c.Selected(st)
	if diags.HasErrors() {
		return diags
	}
	names, err := st.Workspaces(ctx)
	if errors.Is(err, remote.ErrNoWorkspaces) {
		return nil
	}
	if err != nil {
		return diag.FromError("Failed to list the workspaces", err)
	}
	if slices.Contains(names, ws.Name()) {
		return nil
	}
	return s.create(ctx, ws)
}
