package schematest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	eng "github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// library is the engine within the process of the test.
type library struct {
	source addr.Provider
	make   provider.Factory
	dir    string
	ready  string // the configuration whose modules are installed
	warned diag.List
}

func newLibrary(source addr.Provider, make provider.Factory) *library {
	return &library{source: source, make: make}
}

func (l *library) name() string  { return "in process" }
func (l *library) in(dir string) { l.dir = dir }
func (l *library) elsewhere(dir string) engine {
	return &library{source: l.source, make: l.make, dir: dir}
}
func (l *library) header() string { return header(l.source) }

// header returns the terraform block that requires the provider, named by the last part of its address.
func header(source addr.Provider) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %q }\n  }\n}\n", source.Type, source)
}

// opened is a project with its lock.
type opened struct {
	project *eng.Project
	run     *eng.Run
}

func (o opened) close() {
	if o.run != nil {
		o.run.Close(context.Background())
	}
	o.project.Close()
}

func (l *library) open(ctx context.Context) (opened, error) {
	return l.openFor(ctx, eng.Options{}, eng.OpenOptions{})
}

// openFor opens the project with additional options.
func (l *library) openFor(ctx context.Context, o eng.Options, how eng.OpenOptions) (opened, error) {
	if text, err := os.ReadFile(filepath.Join(l.dir, mainFile)); err != nil {
		return opened{}, err
	} else if string(text) != l.ready {
		if _, diags := fetch.InstallModules(ctx, l.dir, ".terraform", fetch.Options{
			LanguageVersion: state.LanguageVersion}); diags.HasErrors() {
			return opened{}, l.failure(nil, diags)
		}
		l.ready = string(text)
	}
	o.Dir, o.OriginalDir, o.Abort = l.dir, l.dir, ctx
	o.Providers = map[addr.Provider]provider.Factory{l.source: l.make}
	project, diags := eng.Load(ctx, o)
	if diags.HasErrors() {
		return opened{}, l.failure(nil, diags)
	}
	run, diags := project.Open(ctx, how)
	if diags.HasErrors() {
		project.Close()
		return opened{}, l.failure(project, diags)
	}
	return opened{project, run}, nil
}

func (l *library) warnings() string {
	text := view.Diagnostics(view.Options{Width: 120}, l.warned)
	l.warned = nil
	return strings.TrimSpace(text)
}

// warn records the warnings among problems.
func (l *library) warn(diags diag.List) {
	for _, d := range diags {
		if d.Severity == diag.Warning {
			l.warned = append(l.warned, d)
		}
	}
}

// failure returns an error with the text of problems.
func (l *library) failure(p *eng.Project, diags diag.List) error {
	return &failed{view.Diagnostics(view.Options{Width: 120, Sources: func() map[string][]byte {
		if p != nil {
			return p.Config().Files
		}
		text, err := os.ReadFile(filepath.Join(l.dir, mainFile))
		if err != nil {
			return nil // problems are then shown without source lines
		}
		return map[string][]byte{mainFile: text}
	}}, diags)}
}

func (l *library) plan(ctx context.Context, m mode) (*planned, error) {
	options := eng.PlanOptions{}
	switch m {
	case refreshing:
		options.Mode = plan.RefreshOnly
	case destroying:
		options.Mode = plan.Destroy
	}
	o, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	pl, diags := o.run.Plan(ctx, options)
	l.warn(diags)
	if diags.HasErrors() {
		defer o.close()
		return nil, l.failure(o.project, diags)
	}
	schemas := l.schemas(o.project, pl.Prior(), pl.Changes)
	var shown, doc bytes.Buffer
	v := view.New(view.Options{Out: &shown, Width: 100, Automation: true})
	v.Plan(pl, schemas)
	v.Close()
	if err := tfjson.Plan(&doc, pl, pl.Prior(), nil, schemas); err != nil {
		o.close()
		return nil, err
	}
	parsed, err := parsePlan(doc.Bytes(), shown.String())
	if err != nil {
		o.close()
		return nil, err
	}
	return &planned{plan: parsed, close: o.close, apply: func(ctx context.Context) error {
		_, diags := o.run.Apply(ctx, pl, nil)
		l.warn(diags)
		if diags.HasErrors() {
			return l.failure(o.project, diags)
		}
		return nil
	}}, nil
}

// schemas returns the schemas of all providers that documents use.
func (l *library) schemas(p *eng.Project, s *state.State, changes []*plan.Change) tfjson.Schemas {
	out := tfjson.Schemas{}
	add := func(a addr.Provider) {
		if out[a] == nil {
			if schema, diags := p.Schema(a); !diags.HasErrors() {
				out[a] = schema
			}
		}
	}
	add(l.source)
	if s != nil {
		for _, r := range s.Resources() {
			add(r.Provider.Provider)
		}
	}
	for _, c := range changes {
		add(c.Provider.Provider)
	}
	return out
}

func (l *library) state(ctx context.Context) (*State, error) {
	o, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	defer o.close()
	var doc bytes.Buffer
	if err := tfjson.State(&doc, o.run.State(), l.schemas(o.project, o.run.State(), nil)); err != nil {
		return nil, err
	}
	return parseState(doc.Bytes())
}

func (l *library) query(ctx context.Context) (map[string][]string, error) {
	o, err := l.openFor(ctx, eng.Options{Query: true}, eng.OpenOptions{NoLock: true, Reading: true})
	if err != nil {
		return nil, err
	}
	defer o.close()
	lists, diags := o.run.Query(ctx, eng.QueryOptions{})
	l.warn(diags)
	if diags.HasErrors() {
		return nil, l.failure(o.project, diags)
	}
	found := map[string][]string{}
	for _, list := range lists {
		for _, one := range list.Found {
			found[list.Addr.String()] = append(found[list.Addr.String()], one.DisplayName)
		}
	}
	return found, nil
}

func (l *library) importObject(ctx context.Context, address, id string) error {
	target, diags := addr.ParseInstance(address)
	if diags.HasErrors() {
		return fmt.Errorf("the address %q: %w", address, diags.Err())
	}
	o, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	pl, diags := o.run.Plan(ctx, eng.PlanOptions{Mode: plan.RefreshOnly, SkipRefresh: true, Import: &eng.Import{
		Target: target, ID: id}})
	if !diags.HasErrors() {
		_, diags = o.run.Apply(ctx, pl, nil)
	}
	if diags.HasErrors() {
		return l.failure(o.project, diags)
	}
	return nil
}
