// Package state defines states: the model, the file format (version 4), edits, and the contracts of stores, journals
// and locks.
//
// A State is immutable. To change it, fold Edits into a Builder, which returns a new State. A run appends the same
// Edits to its Journal before anything depends on them. Recovery after a crash therefore uses the same code: it folds
// the edits of the journal into the last snapshot.
//
// Attributes keep their stored JSON form until their type is known; see Object.
//
// The package does not access files: tombolo.LocalStore, tombolo.MemoryStore and the backends implement Store. Package
// storetest is the test suite for all of them, and says of each failure what was expected.
//
// A Store is a database with a journal, not a place for bytes. Whoever writes one keeps these promises:
//   - The store makes the lineage of a new state, and counts the serial: writing the same content again changes
//     neither.
//   - A journal stores each record before the call returns. Reading lays the journal over the last snapshot, so that
//     readers see results at once, and never see less than before.
//   - The next session after a killed run recovers its journal: results are folded into the state, and operations
//     without a result stay in Snapshot.InFlight until Resolve names them. Recovering twice is recovering once.
//   - Sessions with LockRequest.Unlocked do not take the lock, but only one of all sessions can have a journal.
//   - The context of a session ends with its lock. Afterwards Begin and Write are errors, and so is a second Unlock.
//   - Deleting the default workspace, or one that does not exist, is an error; so is a name that CheckWorkspaceName
//     refuses.
//
// To keep states in a database of one's own, a backend "program" is less work: it only reads, writes, locks and appends
// (docs/state-programs.md).
package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// LanguageLevel is the level of the language that the engine speaks: the first two numbers of LanguageVersion and of
// the engine's own version. Raising the level begins here.
const LanguageLevel = "1.15"

// LanguageVersion is the Terraform version whose language, formats and protocols the engine speaks. It is written into
// states, plans and `version -json`, and required_version is compared with it.
const LanguageVersion = LanguageLevel + ".9"

// State holds the objects of one workspace after a run. The zero value is the empty state of no lineage.
type State struct {
	// Version that wrote it, as read; informational.
	TerraformVersion string
	// Serial grows with every write; Lineage stays from the first write on.
	Serial  uint64
	Lineage string

	outputs   map[string]*Output
	resources map[addr.AbsResource]*Resource
	checks    []CheckResult
}

// Output is a stored output value of the root module. Value may be unknown-free only.
type Output struct {
	Value     cty.Value
	Sensitive bool
}

// String returns the value as JSON, for logs; a sensitive one is not shown.
func (o Output) String() string {
	if o.Sensitive {
		return "(sensitive value)"
	}
	text, err := ctyfast.MarshalJSON(o.Value, o.Value.Type())
	if err != nil {
		return "(" + o.Value.Type().FriendlyName() + ")"
	}
	return string(text)
}

// GoString returns the same.
func (o Output) GoString() string { return o.String() }

// String returns which state it is and how much it holds, for logs: its values may be secret.
func (s State) String() string {
	return fmt.Sprintf("state %q, serial %d, with %d resources and %d outputs", s.Lineage, s.Serial, len(s.resources),
		len(s.outputs))
}

// GoString returns the same.
func (s State) GoString() string { return s.String() }

// Resource holds the instances of a resource in one module instance.
type Resource struct {
	Addr      addr.AbsResource
	Provider  addr.AbsProviderConfig
	Instances map[addr.Key]*Instance
}

// Keys returns the instance keys in order: none, numbers, strings.
func (r *Resource) Keys() []addr.Key {
	keys := make([]addr.Key, 0, len(r.Instances))
	for k := range r.Instances {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, addr.Key.Compare)
	return keys
}

// Instance holds the objects of one instance: a current one (or nil), and deposed ones that wait for deletion.
type Instance struct {
	Current *Object
	Deposed map[addr.DeposedKey]*Object
}

// DeposedKeys returns the keys of deposed objects in order.
func (i *Instance) DeposedKeys() []addr.DeposedKey {
	keys := make([]addr.DeposedKey, 0, len(i.Deposed))
	for k := range i.Deposed {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Status reports whether an object is whole.
type Status uint8

// An object is Tainted when its creation did not end well (or a person said so): it is replaced by the next apply.
const (
	Ready Status = iota
	Tainted
)

// Object is one remote object as last known. It is immutable; make changed ones with With* or by copying the exported
// fields into a new literal.
type Object struct {
	Status        Status
	SchemaVersion int64
	// Attributes is the value in the JSON form of the type system; nil for states of very old versions, which have
	// Flat.
	Attributes json.RawMessage
	Flat       map[string]string
	// Sensitive lists the paths of values that the configuration made sensitive, in a stable order.
	Sensitive []cty.Path
	// Private belongs to the provider.
	Private []byte
	// Dependencies lists the resources, in configuration terms, that must outlive this object, sorted.
	Dependencies        []addr.ConfigResource
	CreateBeforeDestroy bool
	IdentityVersion     int64
	Identity            json.RawMessage
	// Provider overrides Resource.Provider where instances of one resource have different ones; usually nil.
	Provider *addr.AbsProviderConfig
	// SkipDestroy: the object is forgotten instead of destroyed (read from states of other tools, kept).
	SkipDestroy bool
	// Protected: the block of the object said prevent_destroy when it was last applied, and the project remembers that.
	// Other tools read states with it, and drop it when they write.
	Protected bool
	// ReadAt is when the real object was last looked at, in seconds since 1970, in projects where the age of stored
	// objects counts; 0 is unknown. Other tools drop it, too.
	ReadAt int64

	decoded *decoded
}

// decoded caches the value for one type. An object that has it also has attributes that are known to be valid JSON:
// raw. (Copying an object and replacing its attributes leaves a cache behind that is not its own; comparing with raw
// finds that out.)
type decoded struct {
	raw   json.RawMessage
	once  sync.Once
	ty    cty.Type
	value cty.Value
	err   error
}

// NewObject returns an object from a wholly known value of the given type. Marks must have been taken off; their paths
// belong in Sensitive. The encoding happens here, once.
func NewObject(v cty.Value, ty cty.Type, o Object) (*Object, error) {
	raw, err := marshal(v, ty)
	if err != nil {
		return nil, err
	}
	o.Attributes, o.Flat = raw, nil
	o.decoded = &decoded{raw: raw, ty: ty, value: v}
	o.decoded.once.Do(func() {})
	return &o, nil
}

// newerData is the type of terraform_data with the block store, olderData that of versions before 1.16: they refuse an
// object that has the block, even if it is null.
var (
	olderData = map[string]cty.Type{"id": cty.String, "input": cty.DynamicPseudoType, "output": cty.DynamicPseudoType,
		"triggers_replace": cty.DynamicPseudoType}
	olderType = cty.Object(olderData)
)

const newerBlock = "store"

// marshal encodes a value so that older versions read it, too.
func marshal(v cty.Value, ty cty.Type) ([]byte, error) {
	if ty.IsObjectType() && ty.HasAttribute(newerBlock) && !v.IsNull() && v.GetAttr(newerBlock).IsNull() {
		older := v.AsValueMap()
		delete(older, newerBlock)
		fits := len(older) == len(olderData)
		for name, aty := range olderData {
			fits = fits && ty.HasAttribute(name) && ty.AttributeType(name) == aty
		}
		if fits {
			v, ty = cty.ObjectVal(older), olderType
		}
	}
	return ctyfast.MarshalJSON(v, ty)
}

// Value decodes the attributes as a value of the type. The first result is kept, so asking again costs nothing.
func (o *Object) Value(ty cty.Type) (cty.Value, error) {
	d := o.cache()
	if d == nil {
		return unmarshal(o.Attributes, ty)
	}
	d.once.Do(func() {
		d.ty = ty
		d.value, d.err = unmarshal(o.Attributes, ty)
	})
	if !d.ty.Equals(ty) {
		return unmarshal(o.Attributes, ty)
	}
	return d.value, d.err
}

// unmarshal is that of package cty/json, which panics on some values that do not fit their type (an empty list for a
// tuple).
func unmarshal(raw []byte, ty cty.Type) (v cty.Value, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			v, err = cty.NilVal, fmt.Errorf("the value does not fit its type")
		}
	}()
	return ctyfast.UnmarshalJSON(raw, ty)
}

// cache returns the object's own cache; nil when it has none.
func (o *Object) cache() *decoded {
	d := o.decoded
	if d == nil || len(d.raw) == 0 || len(d.raw) != len(o.Attributes) || &d.raw[0] != &o.Attributes[0] {
		return nil
	}
	return d
}

// WithStatus returns the same object with another status.
func (o *Object) WithStatus(s Status) *Object {
	c := *o
	c.Status = s
	return &c
}

// CheckResult holds the results of the checkable objects of one configuration object.
type CheckResult struct {
	Kind       string // resource, output, check, var
	ConfigAddr string
	Status     string // pass, fail, error, unknown
	Objects    []CheckedObject
}

// CheckedObject is the outcome for one instance.
type CheckedObject struct {
	Addr     string
	Status   string
	Failures []string
}

// IsEmpty reports whether the state holds no objects, outputs or check results.
func (s *State) IsEmpty() bool {
	return s == nil || len(s.resources) == 0 && len(s.outputs) == 0
}

// Resource returns the instances of a resource, or nil if there are none.
func (s *State) Resource(a addr.AbsResource) *Resource {
	if s == nil {
		return nil
	}
	return s.resources[a]
}

// Instance returns the objects of an instance, or nil if there are none.
func (s *State) Instance(a addr.AbsResourceInstance) *Instance {
	if r := s.Resource(a.AbsResource()); r != nil {
		return r.Instances[a.Key]
	}
	return nil
}

// Object returns a current or deposed object, or nil if there is none.
func (s *State) Object(a addr.Object) *Object {
	i := s.Instance(a.Instance)
	switch {
	case i == nil:
		return nil
	case a.Deposed != "":
		return i.Deposed[a.Deposed]
	}
	return i.Current
}

// ProviderOf returns the provider configuration that an object was last managed with.
func (s *State) ProviderOf(a addr.Object) addr.AbsProviderConfig {
	if o := s.Object(a); o != nil && o.Provider != nil {
		return *o.Provider
	}
	if r := s.Resource(a.Instance.AbsResource()); r != nil {
		return r.Provider
	}
	return addr.AbsProviderConfig{}
}

// Resources returns all resources in the order of their addresses. (The state file has its own order, by text.)
func (s *State) Resources() []*Resource {
	if s == nil {
		return nil
	}
	// Module paths are texts; comparing takes them apart, so group by module first.
	byModule := map[addr.ModuleInstance][]*Resource{}
	for _, r := range s.resources {
		byModule[r.Addr.Module] = append(byModule[r.Addr.Module], r)
	}
	out := make([]*Resource, 0, len(s.resources))
	for _, m := range addr.SortModules(slices.Collect(maps.Keys(byModule))) {
		group := byModule[m]
		slices.SortFunc(group, func(a, b *Resource) int { return a.Addr.Resource.Compare(b.Addr.Resource) })
		out = append(out, group...)
	}
	return out
}

// Output returns a root output value, or nil if there is none.
func (s *State) Output(name string) *Output {
	if s == nil {
		return nil
	}
	return s.outputs[name]
}

// OutputNames returns the names of the root output values in order.
func (s *State) OutputNames() []string {
	if s == nil {
		return nil
	}
	names := make([]string, 0, len(s.outputs))
	for n := range s.outputs {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Checks returns the stored results of checks.
func (s *State) Checks() []CheckResult {
	if s == nil {
		return nil
	}
	return s.checks
}
