package engine

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/builtin"
	"github.com/tombolo-iac/tombolo/internal/external"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// externalSources are the sources of the external provider.
var externalSources = []string{"hashicorp/external", "tombolo/external"}

// factories returns the providers of the project: those of the options override the built-in ones.
func (p *Project) factories() map[addr.Provider]provider.Factory {
	out := map[addr.Provider]provider.Factory{
		addr.BuiltinProvider("terraform"): func(context.Context) (provider.Provider, error) {
			return builtin.New(builtin.Options{RemoteState: p.otherStates().read, Backends: backend.Types()}), nil
		},
	}
	ext := func(context.Context) (provider.Provider, error) {
		dir := p.opts.Dir
		if dir == "." {
			dir = ""
		}
		return external.New(external.Options{Dir: dir, Stderr: p.programOutput, MayRead: p.mayRead,
			Spool: p.answersHere}), nil
	}
	for _, f := range []flavor.Flavor{flavor.Terraform, flavor.OpenTofu} { // a state may have either of them
		for _, source := range externalSources {
			a, err := addr.ParseProviderIn(source, f.RegistryHost())
			if err != nil {
				panic("tombolo: " + err.Error())
			}
			out[a] = ext
		}
	}
	for a, f := range p.opts.Providers {
		out[a] = f
	}
	return out
}

// mayRead returns an error unless a command of the configuration may run during a plan.
func (p *Project) mayRead(words []string) error { return p.mayReadOf(addr.Provider{}, words) }

func (p *Project) mayReadOf(of addr.Provider, words []string) error {
	if p.opts.MayRead == nil {
		return nil
	}
	return p.opts.MayRead(of, words)
}

// programOutput sends the messages of a program of the external provider as events.
func (p *Project) programOutput(l external.Line) {
	p.opts.Events.Send(event.ProgramOutput{Object: l.Object, Label: l.Label, Line: p.secrets.Redact(l.Text),
		Fleeting: l.Fleeting})
}

// ProgramProvider returns the provider whose manifest is in a folder. granted are its permissions if it is sandboxed.
// Messages of its program are sent as events, and
// debug messages to the log.
func (p *Project) ProgramProvider(of addr.Provider, dir string, granted []string, log *slog.Logger) provider.Factory {
	return func(context.Context) (provider.Provider, error) {
		m, diags := manifest.Load(p.inDir(dir))
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		s := handler.Surroundings{Spool: p.answersHere, Host: "tombolo/" + Version, Granted: granted,
			Source: of.String()}
		if p.opts.Dir != "." {
			s.Dir = p.opts.Dir
		}
		cache, err := handler.CacheDir(m, s)
		if err == nil {
			cache = filepath.Join(cache, "answers")
		}
		return handler.New(m, handler.NewCaller(m, s), handler.Options{
			Cache:   cache,
			Private: func() bool { return p.answersHere().Sealed() },
			Redact:  p.secrets.Redact,
			Output:  func(o handler.Output) { p.handleOutput(log, o) },
			MayRead: func() error { return p.mayReadOf(of, nil) },

			RemoteState: p.otherStates().outputs,
		}), nil
	}
}

// handleOutput handles an output message of a program.
func (p *Project) handleOutput(log *slog.Logger, o handler.Output) {
	line, object := p.secrets.Redact(o.Line), o.Object
	log.Log(context.Background(), o.Level, line, "program", o.Label)
	switch {
	case o.Level < slog.LevelInfo:
	case o.IsProgress && object.Instance.Resource.Type != "":
		p.opts.Events.Send(event.Progress{Object: object, Message: line, Fraction: o.Fraction})
	default:
		p.opts.Events.Send(event.ProgramOutput{Object: object, Label: o.Label, Line: line, Fleeting: o.IsProgress})
	}
}

// localStore returns the store of a project without a backend.
func localStore(dir string) state.Store {
	return store.New(localOptions(dir))
}

// localOptions returns the options of the local store in a working directory.
func localOptions(dir string) store.Options {
	if dir == "." {
		return store.Options{Version: "Tombolo " + Version}
	}
	return store.Options{
		Path: filepath.Join(dir, "terraform.tfstate"), WorkspaceDir: filepath.Join(dir, "terraform.tfstate.d"),
		Version: "Tombolo " + Version,
	}
}

// inDir resolves a relative name against the working directory.
func (p *Project) inDir(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.opts.Dir, name)
}
