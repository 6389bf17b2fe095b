package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Resource describes a resource type, a data source, or nested blocks. Nested blocks only have a Schema.
type Resource struct {
	Schema map[string]*Schema
	// SchemaFunc, if set, replaces Schema. It is called when the provider starts.
	SchemaFunc func() map[string]*Schema

	// The callbacks. A resource needs all except Update and Exists; a data source only needs Read, which need not call
	// SetId.

	// Create creates an object. There is no id yet; call SetId as soon as an object exists that must not be lost.
	// Without an id nothing is stored, which is a mistake unless Create returns an error.
	Create CreateFunc
	// Read sets the current attributes of the object, and changes nothing. The object has an id; SetId("") means that
	// it no longer exists. Read also completes imported objects, of which only the id may be known.
	Read ReadFunc
	// Update changes an object. It has an id, and no ForceNew attribute changes. After an error, the planned changes
	// are recorded as done, except for attributes that the callback set to other values or, in partial mode
	// (ResourceData.Partial), did not name. Without Update, every change replaces the object.
	Update UpdateFunc
	// Delete removes the object. The object has an id; SetId("") is not needed. After an error the object stays in the
	// state.
	Delete DeleteFunc
	// Exists is called before Read: false means that the object no longer exists, like SetId("") in Read.
	Exists ExistsFunc

	// The same with diagnostics and a context, which ends on an interrupt or after the time limit.
	CreateContext CreateContextFunc
	ReadContext   ReadContextFunc
	UpdateContext UpdateContextFunc
	DeleteContext DeleteContextFunc

	// The same without a time limit: Timeouts does not apply to their contexts.
	CreateWithoutTimeout CreateContextFunc
	ReadWithoutTimeout   ReadContextFunc
	UpdateWithoutTimeout UpdateContextFunc
	DeleteWithoutTimeout DeleteContextFunc

	// Importer enables imports of the type.
	Importer *ResourceImporter
	// CustomizeDiff checks or completes each plan for a create or an update.
	CustomizeDiff CustomizeDiffFunc
	// ValidateRawResourceConfigFuncs check a configuration as written, unknown and write-only values included.
	ValidateRawResourceConfigFuncs []ValidateRawResourceConfigFunc
	// Timeouts adds a block "timeouts" and limits the contexts of the callbacks. If it is nil, only an interrupt ends a
	// callback.
	Timeouts *ResourceTimeout

	// SchemaVersion and StateUpgraders upgrade stored objects of earlier schema versions, one version at a time.
	SchemaVersion  int
	StateUpgraders []StateUpgrader
	// Identity describes the permanent identity of objects.
	Identity *ResourceIdentity

	DeprecationMessage string
	Description        string
}

// ValidateRawResourceConfigFunc checks a configuration and appends problems to the response.
type ValidateRawResourceConfigFunc func(context.Context, ValidateResourceConfigFuncRequest,
	*ValidateResourceConfigFuncResponse)

// ValidateResourceConfigFuncRequest holds the configuration to check. Attributes that are not configured are null.
type ValidateResourceConfigFuncRequest struct {
	WriteOnlyAttributesAllowed bool
	RawConfig                  cty.Value
}

// ValidateResourceConfigFuncResponse collects the problems of a check.
type ValidateResourceConfigFuncResponse struct{ Diagnostics diag.List }

// ResourceImporter finds existing objects. The callback receives data with the id from the user, and returns data for
// each object found, with its id; each is read afterwards.
type ResourceImporter struct {
	State        StateFunc
	StateContext StateContextFunc
}

// The callbacks of an importer.
type (
	StateFunc        func(*ResourceData, interface{}) ([]*ResourceData, error)
	StateContextFunc func(context.Context, *ResourceData, interface{}) ([]*ResourceData, error)
)

// ImportStatePassthrough only imports the id. Read completes the object.
func ImportStatePassthrough(d *ResourceData, _ interface{}) ([]*ResourceData, error) {
	return []*ResourceData{d}, nil
}

// ImportStatePassthroughContext is like ImportStatePassthrough, with a context.
func ImportStatePassthroughContext(_ context.Context, d *ResourceData, _ interface{}) ([]*ResourceData, error) {
	return []*ResourceData{d}, nil
}

// StateUpgrader upgrades a stored object from Version to the version after it.
type StateUpgrader struct {
	Version int
	// Type is the type of objects of that version. It may be cty.NilType: then the function gets the JSON unchanged.
	Type    cty.Type
	Upgrade StateUpgradeFunc
}

// StateUpgradeFunc changes a stored object. Numbers are float64 if that is exact, otherwise json.Number.
type StateUpgradeFunc func(ctx context.Context, rawState map[string]interface{}, meta interface{}) (
	map[string]interface{}, error)

// The keys of timeouts.
const (
	TimeoutCreate  = "create"
	TimeoutRead    = "read"
	TimeoutUpdate  = "update"
	TimeoutDelete  = "delete"
	TimeoutDefault = "default"
)

// ResourceTimeout holds the time limits of operations. Users cannot set those that are nil.
type ResourceTimeout struct {
	Create, Read, Update, Delete, Default *time.Duration
}

// DefaultTimeout returns a pointer to a duration, for a time.Duration or a number of nanoseconds.
func DefaultTimeout(d interface{}) *time.Duration {
	var t time.Duration
	switch d := d.(type) {
	case time.Duration:
		t = d
	case int:
		t = time.Duration(d)
	case int64:
		t = time.Duration(d)
	case float64:
		t = time.Duration(int64(d))
	default:
		panic(fmt.Sprintf("schema: a default timeout is a duration, not %T", d))
	}
	return &t
}

// otherwise is the default time limit of an operation.
const otherwise = 20 * time.Minute

func (t *ResourceTimeout) all() map[string]*time.Duration {
	if t == nil {
		return nil
	}
	return map[string]*time.Duration{
		TimeoutCreate: t.Create, TimeoutRead: t.Read, TimeoutUpdate: t.Update, TimeoutDelete: t.Delete,
		TimeoutDefault: t.Default,
	}
}

// operation is a callback in the form that the framework calls.
type operation func(context.Context, *ResourceData, interface{}) diag.List

func plain(f func(*ResourceData, interface{}) error) operation {
	return func(_ context.Context, d *ResourceData, meta interface{}) diag.List { return diag.FromErr(f(d, meta)) }
}

// SchemaMap returns the schema of the resource.
func (r *Resource) SchemaMap() map[string]*Schema {
	if r.SchemaFunc != nil {
		return r.SchemaFunc()
	}
	return r.Schema
}

// untimed reports whether a callback has no time limit.
func (r *Resource) untimed(key string) bool {
	switch key {
	case TimeoutCreate:
		return r.CreateWithoutTimeout != nil
	case TimeoutRead:
		return r.ReadWithoutTimeout != nil
	case TimeoutUpdate:
		return r.UpdateWithoutTimeout != nil
	}
	return r.DeleteWithoutTimeout != nil
}

func (r *Resource) create() operation {
	switch {
	case r.CreateWithoutTimeout != nil:
		return operation(r.CreateWithoutTimeout)
	case r.CreateContext != nil:
		return operation(r.CreateContext)
	case r.Create != nil:
		return plain(r.Create)
	}
	return nil
}

func (r *Resource) read() operation {
	switch {
	case r.ReadWithoutTimeout != nil:
		return operation(r.ReadWithoutTimeout)
	case r.ReadContext != nil:
		return operation(r.ReadContext)
	case r.Read != nil:
		return plain(r.Read)
	}
	return nil
}

func (r *Resource) update() operation {
	switch {
	case r.UpdateWithoutTimeout != nil:
		return operation(r.UpdateWithoutTimeout)
	case r.UpdateContext != nil:
		return operation(r.UpdateContext)
	case r.Update != nil:
		return plain(r.Update)
	}
	return nil
}

func (r *Resource) delete() operation {
	switch {
	case r.DeleteWithoutTimeout != nil:
		return operation(r.DeleteWithoutTimeout)
	case r.DeleteContext != nil:
		return operation(r.DeleteContext)
	case r.Delete != nil:
		return plain(r.Delete)
	}
	return nil
}

// Data returns data of the type with the given attributes, which may be nil, for importers that find several objects:
// SetType and SetId complete it.
func (r *Resource) Data(attributes map[string]interface{}) *ResourceData {
	t := compile("", r, managed)
	d := newData(t, reader{object: t.object, old: cty.NullVal(t.object.ty), now: t.block().EmptyValue()})
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		_ = d.Set(name, attributes[name]) // the import fails with the error
	}
	return d
}

// TestResourceData returns empty data of the type, for a unit test of a callback.
func (r *Resource) TestResourceData() *ResourceData { return r.Data(nil) }

// CoreConfigSchema returns the block that the resource describes. The type of stored objects of an earlier version is
// CoreConfigSchema().ImpliedType() of a Resource with the attributes of that version.
func (r *Resource) CoreConfigSchema() *provider.Block { return compile("", r, managed).block() }

// Noop does nothing: use it as Delete of objects that end by themselves, or as Update of objects that only exist in the
// state.
func Noop(*ResourceData, interface{}) error { return nil }

// NoopContext is Noop for callbacks with a context.
func NoopContext(context.Context, *ResourceData, interface{}) diag.List { return nil }

// RemoveFromState is a Delete for objects that cannot be deleted: it only removes the object from the state, as after
// every successful Delete.
func RemoveFromState(d *ResourceData, _ interface{}) error {
	d.SetId("")
	return nil
}
