package tombolo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// check reports options that no project can be loaded with.
func (o Options) check() (diags diag.List) {
	if o.Dir != "" {
		// The engine names files relative to the directory, so its problems would not name the directory itself.
		switch info, err := os.Stat(o.Dir); {
		case err != nil:
			diags = diags.AppendError("Unreadable directory", err)
		case !info.IsDir():
			diags = diags.Errorf(nil, "Unreadable directory", "Options.Dir is %q, which is a file. Set it to the "+
				"directory of the root module.", o.Dir)
		}
	}
	if o.Workspace != "" {
		if err := state.CheckWorkspaceName(o.Workspace); err != nil {
			diags = diags.AppendError("Invalid workspace name", err)
		}
	}
	if o.Flavor > flavor.OpenTofu {
		diags = diags.Errorf(nil, "Invalid flavor", "Options.Flavor is %d. Set it to flavor.Terraform or "+
			"flavor.OpenTofu, or leave it out.", uint8(o.Flavor))
	}
	if o.Parallelism < 0 {
		diags = diags.Errorf(nil, "Invalid parallelism value", "Options.Parallelism is %d. Set it to a positive "+
			"number, or to 0 for the default.", o.Parallelism)
	}
	for _, names := range []struct {
		option string
		empty  bool
	}{{"Variables", mapHasEmpty(o.Variables)}, {"VarFiles", slices.Contains(o.VarFiles, "")}} {
		if names.empty {
			diags = diags.Errorf(nil, "Invalid options", "Options.%s has an entry without a name. Remove it.",
				names.option)
		}
	}
	if o.Saved != nil && len(o.Variables)+len(o.VarFiles) > 0 {
		diags = diags.Errorf(nil, "Can't set variables when applying a saved plan", "Options.Saved has the values of "+
			"variables that the plan was made with. Leave Variables and VarFiles out; ApplyOptions.Ephemeral takes "+
			"values of ephemeral variables.")
	}
	return diags
}

func mapHasEmpty(values map[string]any) bool {
	_, has := values[""]
	return has
}

// usable returns an error if the project was closed.
func (p *Project) usable() (diags diag.List) {
	if p.closed.Load() {
		diags = diags.Errorf(nil, "Project is closed", "Project.Close was called. Close a project when its last use "+
			"has ended.")
	}
	return diags
}

// renders returns an error for a plan that cannot be shown.
func (p *Project) renders(pl *plan.Plan) error {
	if pl == nil {
		return errors.New("the plan is nil: Run.Plan reported errors, or was not called")
	}
	return p.usable().Err()
}

// usable returns an error if the lock or the providers were released.
func (r *Run) usable() (diags diag.List) {
	if r.closed {
		diags = diags.Errorf(nil, "Run is closed", "Run.Close was called, so it no longer holds the lock on the "+
			"state. Open another run with Project.Open.")
	}
	return diags.Extend(r.project.usable())
}

// plans returns an error for a project that was loaded to apply a saved plan.
func (r *Run) plans() diag.List {
	diags := r.usable()
	if r.project.saved != nil {
		diags = diags.Errorf(nil, "Project is for a saved plan", "The project was loaded with Options.Saved, to apply "+
			"that plan. To make another plan, load the project without it.")
	}
	return diags
}

// opens reports options that no run can be opened with.
func (p *Project) opens(ctx context.Context, o OpenOptions) diag.List {
	diags := p.usable()
	if o.Timeout < 0 {
		diags = diags.Errorf(nil, "Invalid time to wait", "OpenOptions.Timeout is %s. Set it to how long to wait for "+
			"the lock, or to 0 not to wait.", o.Timeout)
	}
	if ctx.Err() != nil {
		diags = diags.AppendError("Opening the state was interrupted", context.Cause(ctx))
	}
	if diags.HasErrors() || p.workspace == "" || p.workspace == state.DefaultWorkspace || o.CreateWorkspace {
		return diags
	}
	names, err := p.engine.Store().Workspaces(ctx)
	switch {
	case err != nil:
		diags = diags.AppendError("Failed to list the workspaces", fmt.Errorf("%w. Options.Workspace is %q: whether "+
			"that workspace exists is not known. OpenOptions.CreateWorkspace opens it in either case", err,
			p.workspace))
	case !slices.Contains(names, p.workspace):
		diags = diags.Errorf(nil, "Workspace does not exist", "Options.Workspace is %q, and the store has no "+
			"workspace of that name.%s Set OpenOptions.CreateWorkspace to make a new one.", p.workspace,
			diag.DidYouMean(p.workspace, names))
	}
	return diags
}

// check reports an error unless exactly one field is set.
func (how Recovery) check() (diags diag.List) {
	set := 0
	for _, is := range []bool{how.Adopt != "", how.Retry, how.Forget} {
		if is {
			set++
		}
	}
	if set != 1 {
		diags = diags.Errorf(nil, "How to recover?", "%d fields of Recovery are set. Set exactly one field: Adopt, if "+
			"the object exists, Retry, if it does not exist, or Forget.", set)
	}
	return diags
}

// writes returns an error if the run was opened for reading.
func (r *Run) writes() (diags diag.List) {
	if r.reading {
		diags = diags.Errorf(nil, "Run is read-only", "The run was opened with OpenOptions.Reading, so it cannot "+
			"change anything. Open another run without it.")
	}
	return diags
}

// accepts reports arguments that Apply cannot work with.
func (r *Run) accepts(ctx context.Context, pl *plan.Plan) diag.List {
	diags := r.usable().Extend(r.writes())
	config := r.project.engine.Config()
	switch {
	case diags.HasErrors():
	case pl == nil:
		diags = diags.Errorf(nil, "No plan to apply", "The plan is nil: Run.Plan reported errors, or was not called.")
	case r.project.saved != nil && pl != r.project.saved:
		diags = diags.Errorf(nil, "Plan is not the saved one", "The project was loaded with Options.Saved, so it can "+
			"apply that plan alone.")
	case r.project.saved == nil && !maps.EqualFunc(pl.Config, config.Snapshot(), bytes.Equal):
		diags = diags.Errorf(nil, "Plan of another configuration", "The plan was made from other files than those "+
			"that the project was loaded from. Make a new plan, or load the project with Options.Saved to apply "+
			"this one.")
	case pl == r.last:
		diags = diags.Errorf(nil, "Saved plan is stale", "This run has applied the plan already. Make a new plan.")
	case ctx.Err() != nil:
		diags = diags.AppendError("Apply was interrupted", context.Cause(ctx))
	}
	return diags
}

// engine returns the options in the engine's form, merged into out.
func (o PlanOptions) engine(out engine.PlanOptions) (engine.PlanOptions, diag.List) {
	out.Mode, out.SkipRefresh, out.GenerateConfig = o.Mode, o.SkipRefresh, o.GenerateConfig
	out.AllowDeferral, out.ForbidDeferral = o.AllowDeferral, o.ForbidDeferral
	out.MinimalRefresh, out.FullRefresh = o.MinimalRefresh, o.FullRefresh
	var diags, more diag.List
	out.Targets, diags = targets(addr.ParseSelector, o.Targets)
	out.Except, more = targets(addr.ParseSelector, o.Exclude)
	diags = diags.Extend(more)
	for _, text := range o.Replace {
		instance, more := addr.ParseInstance(text)
		diags = diags.Extend(more)
		out.ForceReplace = append(out.ForceReplace, instance)
	}
	if o.Mode > plan.RefreshOnly {
		diags = diags.Errorf(nil, "Unsupported plan mode", "PlanOptions.Mode is %d. Set it to plan.Normal, "+
			"plan.Destroy or plan.RefreshOnly.", uint8(o.Mode))
	}
	if o.SkipRefresh && o.Mode == plan.RefreshOnly {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.SkipRefresh and the mode "+
			"plan.RefreshOnly conflict: remove one of them.")
	}
	if o.FullRefresh && (o.SkipRefresh || o.MinimalRefresh) {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.FullRefresh conflicts with "+
			"SkipRefresh and MinimalRefresh: remove one of them.")
	}
	if o.AllowDeferral && o.ForbidDeferral {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.AllowDeferral and "+
			"PlanOptions.ForbidDeferral conflict: remove one of them.")
	}
	if o.MinimalRefresh && (o.SkipRefresh || o.Mode != plan.Normal) {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.MinimalRefresh is for plan.Normal "+
			"without SkipRefresh: remove one of them.")
	}
	if len(o.Replace) > 0 && o.Mode != plan.Normal {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.Replace is for plan.Normal: remove "+
			"it, or plan in that mode.")
	}
	if len(o.Targets) > 0 && len(o.Exclude) > 0 {
		diags = diags.Errorf(nil, "Invalid combination of options", "PlanOptions.Targets and PlanOptions.Exclude "+
			"conflict: remove one of them.")
	}
	if o.Invoke != "" {
		out.Invoke, more = targets(addr.ParseTarget, []string{o.Invoke})
		diags = diags.Extend(more).Extend(o.checkInvoke(out.Invoke))
		out.Mode = plan.RefreshOnly
	}
	return out, diags
}

// checkInvoke reports an Invoke that is not an action, and options that conflict with it.
func (o PlanOptions) checkInvoke(list []addr.Target) (diags diag.List) {
	for _, t := range list {
		if t.IsModule() || t.Resource.Mode != addr.Action {
			diags = diags.Errorf(nil, "Invalid action to invoke", "PlanOptions.Invoke is %q. Set it to the address of "+
				"an action: action.TYPE.NAME, after the path of its module if it has one.", o.Invoke)
		}
	}
	if o.Mode != plan.Normal || len(o.Targets)+len(o.Exclude)+len(o.Replace) > 0 {
		diags = diags.Errorf(nil, "Invalid combination of options", "With PlanOptions.Invoke only an action is "+
			"planned: leave Mode, Targets, Exclude and Replace out.")
	}
	return diags
}

// targets parses addresses with the given function.
func targets(parse func(string) (addr.Target, diag.List), texts []string) (list []addr.Target, diags diag.List) {
	for _, text := range texts {
		target, more := parse(text)
		diags = diags.Extend(more)
		list = append(list, target)
	}
	return list, diags
}
