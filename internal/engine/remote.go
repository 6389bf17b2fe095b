package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/state"
)

// otherStates reads states of other configurations.
type otherStates struct {
	dir string // base of relative file names
	// open opens the store of a backend in a service; may be nil.
	open func(ctx context.Context, b *backend.Backend, c *encryption.Cipher) (state.Store, diag.List)
	// encryption returns the encryption of the states; may be nil.
	encryption func() (*encryption.Encryption, diag.List)
}

func (p *Project) otherStates() otherStates {
	o := otherStates{dir: p.opts.Dir, open: p.opts.OtherStates}
	if p.opts.Encryption != nil {
		o.encryption = func() (*encryption.Encryption, diag.List) { return p.opts.Encryption(p.config.Root) }
	}
	return o
}

// RemoteState reads states for program providers without a project: served as plugins, or under test.
func (s *Surroundings) RemoteState() handler.RemoteState {
	return otherStates{dir: s.In("."), open: s.otherStore}.outputs
}

// cipher returns the cipher for the state that a data source reads, or for another object if the settings have none.
func (o otherStates) cipher(of addr.Object) (*encryption.Cipher, diag.List) {
	if o.encryption == nil {
		return nil, nil
	}
	e, diags := o.encryption()
	name := of.Instance.Resource.Name
	if m := of.Instance.Module.Config().String(); m != "" {
		name = m + "." + name
	}
	return e.Remote(name), diags
}

// read returns the state of a workspace, or nil if there is none. It is for programs, and for terraform_remote_state,
// whose configuration the provider has checked. of is the object that reads it.
func (o otherStates) read(ctx context.Context, of addr.Object, name, workspace string, config cty.Value) (*state.State,
	diag.List) {
	cipher, diags := o.cipher(of)
	if diags.HasErrors() {
		return nil, diags
	}
	b, diags := backend.FromValue(name, config)
	switch {
	case diags.HasErrors():
		return nil, diags
	case b.InMemory():
		return nil, nil // the backend keeps its states in this process
	case b.InService() && o.open == nil:
		return nil, diags.Errorf(nil, "Remote states are not available", "The embedding program does not allow "+
			"access to states in %s.", b.Place())
	}
	var st state.Store
	if b.InService() {
		if st, diags = o.open(ctx, b, cipher); diags.HasErrors() {
			return nil, diags
		}
	} else {
		options := localOptions(o.dir)
		options.Cipher = cipher
		if path := b.Config.GetAttr("path"); !path.IsNull() {
			if path.AsString() == "" {
				return nil, diags.Errorf(nil, "Invalid local state file path", `The argument "path" must not be `+
					`empty. Omit it to read terraform.tfstate in the working directory.`)
			}
			options.Path = o.inDir(path.AsString())
		}
		if dir := b.Config.GetAttr("workspace_dir"); !dir.IsNull() {
			options.WorkspaceDir = o.inDir(dir.AsString())
		}
		st = store.New(options)
	}
	ws, err := st.Workspace(workspace)
	if err != nil {
		return nil, diag.FromError("Cannot open the remote state", err)
	}
	snapshot, err := ws.Read(ctx)
	if err != nil && !os.IsNotExist(err) {
		return nil, diag.FromError("Cannot read the remote state", err)
	}
	if snapshot == nil {
		return nil, nil
	}
	return snapshot.State, nil
}

// inDir resolves a relative name against the directory.
func (o otherStates) inDir(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.dir, name)
}

// outputs implements handler.RemoteState.
func (o otherStates) outputs(ctx context.Context, name, workspace string, config cty.Value) (cty.Value, diag.List) {
	st, diags := o.read(ctx, addr.Object{}, name, workspace, config)
	if diags.HasErrors() || st == nil {
		return cty.NilVal, diags
	}
	all := map[string]cty.Value{}
	for _, output := range st.OutputNames() {
		out := st.Output(output)
		if all[output] = out.Value; out.Sensitive {
			all[output] = out.Value.Mark(value.Sensitive)
		}
	}
	return cty.ObjectVal(all), diags
}
