package applying

import (
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
	"github.com/tombolo-iac/tombolo/internal/provision"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// provisioned reports whether provisioners belong to the change, which are those of a new object.
func (w *writing) provisioned() bool {
	return w.action == plan.Create && len(w.b.Slot.When(config.WhenCreate)) > 0
}

// provision runs the provisioners of a new object in the turn that created it, so that no other object is created while
// they wait. The object is tainted in the state until the last of them has ended; the intent makes that durable before
// the first one begins.
func (w *writing) provision(v cty.Value) error {
	if !w.provisioned() {
		return nil
	}
	if err := w.a.Stopped(); err != nil {
		return err
	}
	self := w.marked(v)
	list := w.b.Slot.When(config.WhenCreate)
	configOf := func(p *linking.Provisioner) (eval.Provisioning, diag.List) {
		return w.b.Provisioner(p, w.inst.Key, self)
	}
	return w.a.provisioning(w.c.Object, *w.c.Provider, list, configOf, func() ([]state.Edit, error) {
		o, err := w.object(v, w.private, state.Ready)
		if err != nil {
			return nil, err
		}
		return []state.Edit{{Put: &state.PutObject{Addr: w.c.Object, Provider: *w.c.Provider, Object: o}}}, nil
	})
}

// unprovision runs the provisioners for the destruction of an object. A tainted object was never complete, and the
// successor of a deposed one uses the resources that they would remove.
func (a *applier) unprovision(o addr.Object, c *plan.Change, stored *state.Object) error {
	if o.Deposed != "" || stored.Status == state.Tainted {
		return nil
	}
	var list []*linking.Provisioner
	var unit *linking.Unit
	if slot := a.prog.ResourceSlot(o.Instance.Config()); slot != nil {
		list, unit = slot.When(config.WhenDestroy), slot.Unit()
	} else if r := a.prog.Removal(o.Instance.Config()); r != nil {
		list, unit = r.Provisioners, r.Unit
	}
	if len(list) == 0 {
		return nil
	}
	self := value.MarkAt(c.Before.Value, value.Sensitive, c.Before.Sensitive)
	return a.provisioning(o, *c.Provider, list, func(p *linking.Provisioner) (eval.Provisioning, diag.List) {
		return a.walk.DestroyProvisioner(unit, p, o.Instance, self)
	}, func() ([]state.Edit, error) { return nil, nil })
}

// provisioning runs provisioners one after another as one operation of the journal, which ends with the edits of done
// if there is no error.
func (a *applier) provisioning(o addr.Object, cfg addr.AbsProviderConfig, list []*linking.Provisioner,
	configOf func(*linking.Provisioner) (eval.Provisioning, diag.List), done func() ([]state.Edit, error)) error {
	op := a.operationID()
	if err := a.journal.Intent(state.Intent{ID: op, Object: o, Action: state.ActionProvision, Provider: cfg,
		Started: time.Now().UTC()}); err != nil {
		return a.breakdown(err)
	}
	for _, p := range list {
		config, diags := configOf(p)
		err := a.walk.Report(diags)
		if err == nil {
			err = a.runProvisioner(o, p, config)
		}
		if err != nil {
			if broken := a.result(op); broken != nil {
				return broken
			}
			return err
		}
	}
	edits, err := done()
	if err != nil {
		_ = a.result(op)
		return a.walk.Report(diag.FromError("Cannot store "+o.String(), err))
	}
	return a.result(op, edits...)
}

// runProvisioner runs one provisioner; config has marks.
func (a *applier) runProvisioner(o addr.Object, p *linking.Provisioner, config eval.Provisioning) error {
	typ, at := p.Config.Type, p.At()
	unmarked, marks := a.open(config.Config)
	connection := config.Connection
	if connection != cty.NilVal {
		connection, _ = a.open(connection)
		for _, name := range provision.Secrets {
			a.opts.Secrets.Add(connection.GetAttr(name), []cty.Path{nil})
		}
	}
	if !ctyfast.WhollyKnown(unmarked) || connection != cty.NilVal && !ctyfast.WhollyKnown(connection) {
		return a.walk.Report(diag.List{}.Errorf(&at, "Unknown value in a provisioner", "An argument of the %s "+
			"provisioner of %s, or of its connection, is unknown, although everything it depends on has been applied. "+
			"This is a bug in a provider or in the engine.", typ, o))
	}
	if d := p.Check(unmarked, connection); d.HasErrors() {
		return a.walk.Report(d.InAddress(o.Instance.String()))
	}
	a.opts.Events.Send(event.ProvisionStart{Object: o, Type: typ})
	err := provision.Run(a.Calls, typ, provision.Request{
		Config: unmarked, Connection: connection, Dir: a.opts.Dir,
		Instead: provision.Suppressed(len(marks.Sensitive) > 0, len(marks.Ephemeral) > 0),
		Output: func(line string) {
			a.opts.Events.Send(event.ProvisionOutput{Object: o, Type: typ, Line: a.opts.Secrets.Redact(line)})
		},
	})
	a.opts.Events.Send(event.ProvisionDone{Object: o, Type: typ, Failed: err != nil})
	if err == nil || p.Config.Continue && a.Calls.Err() == nil {
		return nil
	}
	d := &diag.Diagnostic{Severity: diag.Error, Summary: typ + " provisioner error", Subject: &at,
		Address: o.Instance.String(), Detail: err.Error()}
	var wrong *provision.ArgumentError
	if errors.As(err, &wrong) {
		d.Summary = fmt.Sprintf("Invalid %s provisioner %s", typ, wrong.Name)
		d.Detail = fmt.Sprintf("The argument %q cannot be used: %s.", wrong.Name, wrong.Problem)
	}
	return a.walk.Report(diag.List{d})
}

// open returns a value without its marks, and adds its secrets to Secrets.
func (a *applier) open(v cty.Value) (cty.Value, value.MarkedPaths) {
	unmarked, marks := value.UnmarkDeep(v)
	a.opts.Secrets.Add(unmarked, marks.Sensitive)
	a.opts.Secrets.Add(unmarked, marks.Ephemeral)
	return unmarked, marks
}
