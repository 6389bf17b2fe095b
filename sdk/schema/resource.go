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

// Resource describes a resource type, a data source, or nested blocks, which have a Schema only.
type Resource struct {
	Schema map[string]*Schema
	// SchemaFunc returns the Schema when the provider starts, in its place.
	SchemaFunc func() map[string]*Schema

	// The callbacks. A resource has all but Update and Exists, which may be nil; a data source has Read, which need not
	// call SetId.

	// Create creates a new object: there is no id yet, and it calls SetId as soon as there is something that must not
	// be lost. Without an id nothing is stored; that is a mistake unless there is an error, too.
	Create CreateFunc
	// Read sets the current attributes of the object, and changes nothing. There is an ID; SetId("") means that the
	// object is gone. It also completes imported objects, of which only the ID may be known.
	Read ReadFunc
	// Update changes an object. There is an ID, and no ForceNew attribute changes. After an error, the planned changes
	// count as made, except for attributes that the callback set otherwise or, in partial mode (ResourceData.Partial),
	// did not name. Without Update every change replaces the object.
	Update UpdateFunc
	// Delete removes the object. There is an id; SetId("") is not needed. After an error the object stays in the state.
	Delete DeleteFunc
	// Exists is called before Read, which can then rely on it: false means that the object is gone, as SetId("") does
	// in Read.
	Exists ExistsFunc

	// The same with a context, which ends when the user interrupts or the time is over, and diagnostics.
	CreateContext CreateContextFunc
	ReadContext   ReadContextFunc
	UpdateContext UpdateContextFunc
	DeleteContext DeleteContextFunc

	// The same, for what keeps time by itself: Timeouts does not limit their contexts.
	CreateWithoutTimeout CreateContextFunc
	ReadWithoutTimeout   ReadContextFunc
	UpdateWithoutTimeout UpdateContextFunc
	DeleteWithoutTimeout DeleteContextFunc

	// Importer makes the type importable.
	Importer *ResourceImporter
	// CustomizeDiff checks or completes each plan for a create or an update.
	CustomizeDiff CustomizeDiffFunc
	// ValidateRawResourceConfigFuncs check a configuration as it was written, unknown and write-only values included.
	ValidateRawResourceConfigFuncs []ValidateRawResourceConfigFunc
	// Timeouts adds a block "timeouts" and limits the contexts of the callbacks. Without, nothing but the user ends a
	// callback.
	Timeouts *ResourceTimeout

	// SchemaVersion and StateUpgraders bring stored objects of earlier versions of the schema to this one, version by
	// version.
	SchemaVersion  int
	StateUpgraders []StateUpgrader
	// Identity describes what names an object for ever.
	Identity *ResourceIdentity

	DeprecationMessage string
	Description        string
}

// ValidateRawResourceConfigFunc checks a configuration and appends what it finds to the response.
type ValidateRawResourceConfigFunc func(context.Context, ValidateResourceConfigFuncRequest,
	*ValidateResourceConfigFuncResponse)

// ValidateResourceConfigFuncRequest holds the configuration to check. Attributes that are not configured are null.
type ValidateResourceConfigFuncRequest struct {
	WriteOnlyAttributesAllowed bool
	RawConfig                  cty.Value
}

// ValidateResourceConfigFuncResponse collects the problems that a check finds.
type ValidateResourceConfigFuncResponse struct{ Diagnostics diag.List }

// ResourceImporter finds existing objects. The callback gets data with the id that the user gave, and returns the data
// of what it found, with ids; each is read afterwards.
type ResourceImporter struct {
	State        StateFunc
	StateContext StateContextFunc
}

// The callbacks of an importer.
type (
	StateFunc        func(*ResourceData, interface{}) ([]*ResourceData, error)
	StateContextFunc func(context.Context, *ResourceData, interface{}) ([]*ResourceData, error)
)

// ImportStatePassthrough imports only by the id, which Read completes.
func ImportStatePassthrough(d *ResourceData, _ interface{}) ([]*ResourceData, error) {
	return []*ResourceData{d}, nil
}

// ImportStatePassthroughContext is ImportStatePassthrough with a context.
func ImportStatePassthroughContext(_ context.Context, d *ResourceData, _ interface{}) ([]*ResourceData, error) {
	return []*ResourceData{d}, nil
}

// StateUpgrader upgrades a stored object from Version to the version after it.
type StateUpgrader struct {
	Version int
	// Type is the type of objects of that version. It may be cty.NilType: the function deals with the JSON as it is.
	Type    cty.Type
	Upgrade StateUpgradeFunc
}

// StateUpgradeFunc changes a stored object. Numbers are float64 where that is exact, and json.Number otherwise.
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

// ResourceTimeout holds the time limits of operations. Those that are nil cannot be set by the user.
type ResourceTimeout struct {
	Create, Read, Update, Delete, Default *time.Duration
}

// DefaultTimeout returns a pointer to a duration, which may be given as a number of nanoseconds.
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

// operation is a callback in the one form that the framework calls.
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

// untimed reports whether a callback keeps its time by itself.
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
		_ = d.Set(name, attributes[name]) // the import fails with it
	}
	return d
}

// TestResourceData returns empty data of the type, for a test of a callback by itself.
func (r *Resource) TestResourceData() *ResourceData { return r.Data(nil) }

// CoreConfigSchema returns the block that the resource describes. The type of stored objects of an earlier version is
// CoreConfigSchema().ImpliedType() of a Resource with the attributes of that time.
func (r *Resource) CoreConfigSchema() *provider.Block { return compile("", r, managed).block() }

// Noop does nothing: a Delete of what goes away by itself, or an Update of what only the state knows.
func Noop(*ResourceData, interface{}) error { return nil }

// NoopContext is Noop for the callbacks with a context.
func NoopContext(context.Context, *ResourceData, interface{}) diag.List { return nil }

// RemoveFromState is a Delete for objects that cannot be deleted: the object is removed from the state, as after every
// Delete that ends well.
func RemoveFromState(d *ResourceData, _ interface{}) error {
	d.SetId("")
	return nil
}
