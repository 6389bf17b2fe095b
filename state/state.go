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
// storetest is the test suite for all of them, and reports for each failure what was expected.
//
// A Store is a transactional database with a journal, not only a place for bytes. Implementations must keep these
// rules:
//   - The store generates the lineage of a new state, and increments the serial: writing the same content again changes
//     neither.
//   - A journal stores each record before the call returns. Reading applies the journal to the last snapshot, so that
//     readers see results at once, and never see less than before.
//   - The session after an interrupted run recovers its journal: results are folded into the state, and operations
//     without a result stay in Snapshot.InFlight until Resolve names them. Recovery is idempotent.
//   - Sessions with LockRequest.Unlocked do not take the lock, but only one of all sessions can have a journal.
//   - The context of a session ends with its lock. Afterwards Begin and Write are errors, and so is a second Unlock.
//   - Deleting the default workspace, or one that does not exist, is an error; so is a name that CheckWorkspaceName
//     refuses.
//
// To keep states in your own database, a backend "program" takes less work: it only reads, writes, locks and appends
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

// LanguageLevel is the version of the language that the engine implements: the first two numbers of LanguageVersion and
// of the engine's own version. To raise the level, begin here.
const LanguageLevel = "1.15"

// LanguageVersion is the Terraform version whose language, formats and protocols the engine implements. It is written
// to states, plans and the output of `version -json`, and compared with required_version.
const LanguageVersion = LanguageLevel + ".9"

// State holds the objects of one workspace after a run. The zero value is the empty state without a lineage.
type State struct {
	// Version that wrote the state; informational.
	TerraformVersion string
	// Serial increases with every write; Lineage never changes after the first write.
	Serial  uint64
	Lineage string

	outputs   map[string]*Output
	resources map[addr.AbsResource]*Resource
	checks    []CheckResult
}

// Output is a stored output value of the root module. Value must be wholly known.
type Output struct {
	Value     cty.Value
	Sensitive bool
}

// String returns the value as JSON, for logs, or a placeholder if it is sensitive.
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

// GoString returns String().
func (o Output) GoString() string { return o.String() }

// String returns the lineage, the serial and the size of the state, for logs. It omits values, which may be secret.
func (s State) String() string {
	return fmt.Sprintf("state %q, serial %d, with %d resources and %d outputs", s.Lineage, s.Serial, len(s.resources),
		len(s.outputs))
}

// GoString returns String().
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

// Instance holds the objects of one instance: a current one (or nil), and deposed ones that are not deleted yet.
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

// Status is the status of an object: ready or tainted.
type Status uint8

// An object is Tainted if its creation failed (or a user tainted it): the next apply replaces it.
const (
	Ready Status = iota
	Tainted
)

// Object is one remote object as last known. It is immutable; to change one, use With* or copy the exported fields to a
// new literal.
type Object struct {
	Status        Status
	SchemaVersion int64
	// Attributes is the value in cty's JSON form; nil in states of very old versions, which have Flat.
	Attributes json.RawMessage
	Flat       map[string]string
	// Sensitive lists the paths of values that are sensitive in the configuration, in a stable order.
	Sensitive []cty.Path
	// Private is data of the provider.
	Private []byte
	// Dependencies lists the resources, in configuration terms, that must outlive this object, sorted.
	Dependencies    []addr.ConfigResource
	IdentityVersion int64
	Identity        json.RawMessage
	// Provider overrides Resource.Provider if instances of one resource have different providers; usually nil.
	Provider *addr.AbsProviderConfig
	// CreateBeforeDestroy is the setting of the block when the object was written.
	CreateBeforeDestroy bool
	// SkipDestroy means that the object is forgotten instead of destroyed (found in states of other tools, and kept).
	SkipDestroy bool
	// Protected means that the block of the object set prevent_destroy in its last apply, and that the project records
	// this. Other tools can read states with this field, and remove it when they write.
	Protected bool
	// ReadAt is when the real object was last read, in seconds since 1970, in projects that configure the maximum age
	// of stored objects; 0 means unknown. Other tools remove it, too.
	ReadAt int64

	decoded *decoded
}

// decoded caches the value for one type. An object that has it also has attributes that are known to be valid JSON:
// the size bytes from first. (Copying an object and replacing its attributes leaves a cache that does not fit; the
// comparison with first and size detects that.) There is one for each object, so it must be small.
type decoded struct {
	first *byte
	size  int
	once  sync.Once
	ty    cty.Type
	value cty.Value // cty.NilVal if the attributes do not fit the type
}

// of sets the attributes that the cache belongs to, which must be valid JSON, and returns the cache.
func (d *decoded) of(raw json.RawMessage) *decoded {
	if d.size = len(raw); d.size > 0 {
		d.first = &raw[0]
	}
	return d
}

// NewObject returns an object from a wholly known value of the given type. Marks must have been removed; their paths
// belong in Sensitive. The value is encoded once, here. Attributes in newer are left out if they are null.
func NewObject(v cty.Value, ty cty.Type, o Object, newer ...string) (*Object, error) {
	raw, err := ctyfast.MarshalJSON(withoutNulls(v, ty, newer))
	if err != nil {
		return nil, err
	}
	o.Attributes, o.Flat = raw, nil
	o.decoded = (&decoded{ty: ty, value: v}).of(raw)
	o.decoded.once.Do(func() {})
	return &o, nil
}

// withoutNulls removes the named attributes that are null from an object and its type.
func withoutNulls(v cty.Value, ty cty.Type, names []string) (cty.Value, cty.Type) {
	absent := func(name string) bool { return ty.HasAttribute(name) && ctyfast.Attr(v, name).IsNull() }
	if v.IsNull() || !slices.ContainsFunc(names, absent) {
		return v, ty
	}
	vals, atys := v.AsValueMap(), maps.Clone(ty.AttributeTypes())
	for _, name := range names {
		if absent(name) {
			delete(vals, name)
			delete(atys, name)
		}
	}
	return cty.ObjectVal(vals), cty.Object(atys)
}

// Value decodes the attributes as a value of the type. The first result is cached.
func (o *Object) Value(ty cty.Type) (cty.Value, error) {
	d := o.cache()
	if d == nil {
		return unmarshal(o.Attributes, ty, ctyfast.UnmarshalKeptJSON)
	}
	d.once.Do(func() {
		if v, err := unmarshal(o.Attributes, ty, ctyfast.UnmarshalKeptJSON); err == nil {
			d.ty, d.value = ty, v
		}
	})
	if d.value == cty.NilVal || !d.ty.Equals(ty) {
		return unmarshal(o.Attributes, ty, ctyfast.UnmarshalKeptJSON)
	}
	return d.value, nil
}

// unmarshal decodes a value. Package cty/json panics on some values that do not fit their type (an empty list for a
// tuple).
func unmarshal(raw []byte, ty cty.Type, decode func([]byte, cty.Type) (cty.Value, error)) (v cty.Value, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			v, err = cty.NilVal, fmt.Errorf("the value does not fit its type")
		}
	}()
	return decode(raw, ty)
}

// cache returns the object's own cache, or nil if it does not have one.
func (o *Object) cache() *decoded {
	d := o.decoded
	if d == nil || d.size == 0 || d.size != len(o.Attributes) || d.first != &o.Attributes[0] {
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

// CheckResult holds the results of checks for one object of the configuration.
type CheckResult struct {
	Kind       string // resource, output, check, var
	ConfigAddr string
	Status     string // pass, fail, error, unknown
	Objects    []CheckedObject
}

// CheckedObject is the result for one instance.
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

// ProviderOf returns the provider configuration that last managed an object.
func (s *State) ProviderOf(a addr.Object) addr.AbsProviderConfig {
	if o := s.Object(a); o != nil && o.Provider != nil {
		return *o.Provider
	}
	if r := s.Resource(a.Instance.AbsResource()); r != nil {
		return r.Provider
	}
	return addr.AbsProviderConfig{}
}

// Resources returns all resources in the order of their addresses. (The state file is sorted by text.)
func (s *State) Resources() []*Resource {
	if s == nil {
		return nil
	}
	// Module paths are strings that each comparison parses, so group by module first.
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
