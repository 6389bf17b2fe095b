package suite

import (
	"crypto/rand"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/suite/mock"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/provider"
)

// standIns holds the mocks and overrides of one run. It implements engine.StandIns.
type standIns struct {
	project *engine.Project
	// overrides are those of the run, then those of the file. The first match is used.
	overrides []*testfile.Override
	mocks     map[addr.AbsProviderConfig]*testfile.Mock
	// origins is that of the run's state; before holds the mocked objects at the start of the run.
	origins *origins
	before  map[addr.AbsResourceInstance]bool
}

func newStandIns(f *testfile.File, run *testfile.Run, project *engine.Project, o *origins) *standIns {
	s := &standIns{project: project, mocks: map[addr.AbsProviderConfig]*testfile.Mock{}, origins: o, before: o.now()}
	s.overrides = append(append(s.overrides, run.Overrides...), f.Overrides...)
	root := project.Config().Root
	for _, p := range chosen(f, run) {
		if p.mock != nil {
			s.mocks[addr.AbsProviderConfig{Provider: root.ProviderFor(p.as.LocalName), Alias: p.as.Alias}] = p.mock
		}
	}
	return s
}

// Provider implements engine.StandIns.
func (s *standIns) Provider(a addr.AbsProviderConfig, real provider.Provider) provider.Provider {
	schema, _ := s.project.Schema(a.Provider)
	m := s.mocks[a.Block()]
	if m == nil || schema == nil {
		return real
	}
	p := mock.NewProvider(real, schema, mock.Values{}, random)
	p.Resources, p.Data = defaults(m.Resources), defaults(m.Data)
	return p
}

func defaults(from map[string]*testfile.Default) map[string]mock.Values {
	out := make(map[string]mock.Values, len(from))
	for typ, d := range from {
		out[typ] = mock.Values{Attributes: d.Values, AtPlan: d.AtPlan}
	}
	return out
}

// Instance implements engine.StandIns.
func (s *standIns) Instance(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig,
	p provider.Provider) provider.Provider {
	o, m := find(s.overrides, a), s.mocks[cfg.Block()]
	if o == nil && m != nil {
		o = find(m.Overrides, a)
	}
	w := &creationRecorder{Provider: p, instance: a, origins: s.origins, standIn: m != nil, madeUp: s.before[a]}
	if rt := s.typeOf(a, cfg); o != nil && rt != nil {
		w.Provider = mock.NewObject(p, rt, mock.Values{Attributes: o.Values, AtPlan: o.AtPlan}, random)
		w.standIn = true
		if m == nil {
			w.real = p
		}
	}
	if a.Resource.Mode != addr.Managed || !w.standIn && !w.madeUp {
		return w.Provider
	}
	return w
}

// typeOf returns the type of an instance, or nil if its provider has no such type.
func (s *standIns) typeOf(a addr.AbsResourceInstance, cfg addr.AbsProviderConfig) *provider.ResourceType {
	schema, _ := s.project.Schema(cfg.Provider)
	if schema == nil {
		return nil
	}
	kind := provider.ManagedResource
	if a.Resource.Mode == addr.Data {
		kind = provider.DataSource
	}
	return schema.Type(kind, a.Resource.Type)
}

// find returns the override of an instance. An override of the instance takes precedence over one of the whole block.
func find(list []*testfile.Override, a addr.AbsResourceInstance) *testfile.Override {
	var found *testfile.Override
	for _, o := range list {
		t := o.Target
		if t.IsModule() || t.Resource != a.Resource || !covers(t.Module, a.Module) || t.HasKey && t.Key != a.Key {
			continue
		}
		if t.HasKey && t.Module == a.Module {
			return o
		}
		if found == nil {
			found = o
		}
	}
	return found
}

// covers reports whether t selects the module instance m. A call without a key selects all its instances.
func covers(t, m addr.ModuleInstance) bool {
	if t == m {
		return true
	}
	want, have := t.Steps(), m.Steps()
	if len(want) != len(have) {
		return false
	}
	for i, step := range want {
		if step.Call != have[i].Call || step.Key != addr.NoKey && step.Key != have[i].Key {
			return false
		}
	}
	return true
}

// Outputs implements engine.StandIns.
func (s *standIns) Outputs(a addr.ModuleInstance) (map[string]cty.Value, bool) {
	var found *testfile.Override
	for _, o := range s.overrides {
		if !o.Target.IsModule() || !covers(o.Target.Module, a) {
			continue
		}
		if o.Target.Module == a {
			return o.Values, true
		}
		if found == nil {
			found = o
		}
	}
	if found == nil {
		return nil, false
	}
	return found.Values, true
}

// random returns a text of eight letters and digits.
func random() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("suite: no randomness: " + err.Error())
	}
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b[:])
}
