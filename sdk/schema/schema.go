// Package schema builds a provider from descriptions and callbacks: the schema of each resource, and functions that
// create, read, update and delete it. The names are those of Terraform's plugin SDK. The provider runs in process in
// Tombolo, and as a plugin under Terraform and OpenTofu (Serve).
//
//	func Provider() *schema.Provider {
//		return &schema.Provider{
//			Address: "registry.terraform.io/example/demo",
//			Schema:  map[string]*schema.Schema{"endpoint": {Type: schema.TypeString, Required: true}},
//			ResourcesMap: map[string]*schema.Resource{"demo_note": {
//				Schema: map[string]*schema.Schema{"text": {Type: schema.TypeString, Required: true}},
//				Create: func(d *schema.ResourceData, meta interface{}) error {
//					id, err := meta.(*Client).Create(d.Get("text").(string))
//					if err != nil {
//						return err
//					}
//					d.SetId(id)
//					return nil
//				},
//				Read: ..., Delete: ...,
//			}},
//			ConfigureFunc: func(d *schema.ResourceData) (interface{}, error) { return Dial(d.Get("endpoint").(string)) },
//		}
//	}
//
//	func main() { schema.Serve(Provider) }
//
// One unit test calls InternalValidate, which finds most mistakes of a schema. Package schematest runs plans and
// applies with a provider, without any other program.
//
// # Rules
//
// The framework checks every response against its obligations to the engine, and reports a mistake with the attribute
// and the callback:
//
//   - A plan has exactly the configured values. If DiffSuppressFunc or StateFunc report that the old value means the
//     same, it is kept. A Default replaces an argument that is not configured.
//   - On create and update, Computed attributes that are not configured are planned as unknown, unless they are Stable
//     like id. CustomizeDiff can set a value (SetNew).
//   - The callback must not change values that were planned as known. Another value is reported, but stored, because it
//     is the real one.
//   - Get returns Go's zero value for null. On the wire the two are distinct: setting the zero value where an optional
//     argument is null changes nothing. GetOk and GetRawConfig distinguish them.
//   - In CustomizeDiff and while configuring a provider, Get of an unknown value ends the callback with a
//     diagnostic at the attribute. GetKnown and IsUnknown avoid that. During Create and Update the configuration is
//     wholly known; values that the callback has to compute are read as the old value or zero until they are set.
//   - Set of an unknown key or a wrong type is an error, even if the callback ignores it.
//   - A panic in a callback becomes a diagnostic. An object that has an id at that time is not lost.
//
// The Go values that Get returns and Set accepts:
//
//	TypeBool, TypeInt, TypeFloat, TypeString   bool, int, float64, string
//	TypeList                                   []interface{}
//	TypeSet                                    *Set to read; *Set or []interface{} to write
//	TypeMap                                    map[string]interface{}
//	nested *Resource                           map[string]interface{}
//
// Decode and Encode convert to and from structs with `tombolo:"name"` tags instead.
package schema

import (
	"context"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// ValueType is the type of an attribute.
type ValueType int

// The types. TypeInvalid is the zero value, for a forgotten type.
const (
	TypeInvalid ValueType = iota
	TypeBool
	TypeInt
	TypeFloat
	TypeString
	TypeList
	TypeMap
	TypeSet
	// TypeAny accepts values of any type. Get returns nil, bool, float64, string, []interface{} or
	// map[string]interface{}.
	TypeAny
)

var typeNames = map[ValueType]string{
	TypeInvalid: "TypeInvalid", TypeBool: "TypeBool", TypeInt: "TypeInt", TypeFloat: "TypeFloat",
	TypeString: "TypeString",
	TypeList:   "TypeList", TypeMap: "TypeMap", TypeSet: "TypeSet", TypeAny: "TypeAny",
}

// String returns the name of the constant.
func (t ValueType) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return "TypeInvalid"
}

// Zero returns the result of Get for a null value of the type.
func (t ValueType) Zero() interface{} {
	switch t {
	case TypeBool:
		return false
	case TypeInt:
		return 0
	case TypeFloat:
		return 0.0
	case TypeString:
		return ""
	case TypeList:
		return []interface{}{}
	case TypeMap:
		return map[string]interface{}{}
	case TypeSet:
		return NewSet(nil, nil)
	}
	return nil
}

func (t ValueType) primitive() bool {
	return t == TypeBool || t == TypeInt || t == TypeFloat || t == TypeString
}

// SchemaConfigMode is the syntax of nested resources in a configuration.
type SchemaConfigMode int

// The modes. Auto means nested blocks, or an attribute if it is Computed. In Attr mode the values are objects in a list
// or set, and all of their attributes are written. In Block mode, Computed blocks are filled in by the provider if none
// are written; everything in them is Computed, too. That needs Terraform 1.16 or Tombolo: in other engines, a plan
// without such blocks is an error.
const (
	SchemaConfigModeAuto SchemaConfigMode = iota
	SchemaConfigModeAttr
	SchemaConfigModeBlock
)

// The functions of a Schema.
type (
	// SchemaDefaultFunc returns a default. Nil means no default.
	SchemaDefaultFunc func() (interface{}, error)
	// SchemaSetFunc returns a hash of an element of a set: elements with the same hash are equal.
	SchemaSetFunc func(interface{}) int
	// SchemaDiffSuppressFunc reports whether an old and a new value have the same meaning. It is called for primitive
	// values; null is the empty string.
	SchemaDiffSuppressFunc func(key, oldValue, newValue string, d *ResourceData) bool
	// SchemaStateFunc returns the normal form of a value, for comparison. See Schema.StateFunc.
	SchemaStateFunc func(interface{}) string
	// SchemaValidateFunc checks a known value, and returns warnings and errors.
	SchemaValidateFunc func(value interface{}, key string) (warnings []string, errs []error)
	// SchemaValidateDiagFunc checks a known value. The paths of its diagnostics begin with path, which is added to
	// those without one.
	SchemaValidateDiagFunc func(value interface{}, path cty.Path) diag.List
)

// Schema describes an attribute or nested blocks. Exactly one of Required, Optional (perhaps with Computed) and
// Computed must be true: they determine who sets the value.
type Schema struct {
	Type ValueType
	// Elem is the type of elements of lists, sets and maps: a *Schema, or a *Resource whose Schema describes nested
	// blocks.
	Elem interface{}
	// ConfigMode is the syntax of nested resources.
	ConfigMode SchemaConfigMode
	// MaxItems and MinItems limit the number of elements of lists and sets. Zero means no limit.
	MaxItems, MinItems int
	// Set returns the hash that determines whether elements of a set are equal; nil means that whole elements are
	// compared. It only applies to *Set values in Go; the engine compares whole elements.
	Set SchemaSetFunc

	Required bool
	Optional bool
	Computed bool
	// Stable, for a Computed attribute, means that an update does not change it, so that plans of updates know its
	// value.
	Stable bool
	// ForceNew means that a change replaces the object.
	ForceNew bool

	// Default is the value of an optional argument that is not configured; DefaultFunc computes it. With a DefaultFunc,
	// a Required argument need not be configured if the function returns a value.
	Default     interface{}
	DefaultFunc SchemaDefaultFunc

	// Sensitive values are not shown. WriteOnly values are not stored either: Get returns them during Create and
	// Update, and null at other times.
	Sensitive bool
	WriteOnly bool

	// ValidateFunc and ValidateDiagFunc check a configured value when it is known.
	ValidateFunc     SchemaValidateFunc
	ValidateDiagFunc SchemaValidateDiagFunc
	// DiffSuppressFunc decides which differences are not changes: then the plan keeps the old value.
	DiffSuppressFunc SchemaDiffSuppressFunc
	// DiffSuppressOnRefresh also calls DiffSuppressFunc for values that Read sets: the stored value is kept if the new
	// one means the same.
	DiffSuppressOnRefresh bool
	// StateFunc returns the normal form of a value: values with the same form are equal. The plan keeps the stored
	// value if the configured one is equal, and Set with an equal value changes nothing. The stored value is always the
	// configured one; use WriteOnly for values that must not be stored.
	StateFunc SchemaStateFunc

	// ConflictsWith, ExactlyOneOf, AtLeastOneOf and RequiredWith name other attributes, with the path from the top:
	// "name", or "block.0.name" in blocks that occur once.
	ConflictsWith []string
	ExactlyOneOf  []string
	AtLeastOneOf  []string
	RequiredWith  []string

	// RequiredForImport and OptionalForImport define whether an import must or may set an attribute of an identity.
	RequiredForImport bool
	OptionalForImport bool

	// Deprecated names the replacement, in a message for users.
	Deprecated  string
	Description string
}

// defaults reports whether the field may have a default.
func (s *Schema) defaults() bool { return s.Default != nil || s.DefaultFunc != nil }

// DefaultValue returns the default, or nil if there is none.
func (s *Schema) DefaultValue() (interface{}, error) {
	if s.Default != nil {
		return s.Default, nil
	}
	if s.DefaultFunc != nil {
		return s.DefaultFunc()
	}
	return nil, nil
}

// EnvDefaultFunc returns a default: the value of an environment variable, or another value if that is empty.
func EnvDefaultFunc(key string, otherwise interface{}) SchemaDefaultFunc {
	return MultiEnvDefaultFunc([]string{key}, otherwise)
}

// MultiEnvDefaultFunc returns a default: the first non-empty value of the environment variables, or another value.
func MultiEnvDefaultFunc(keys []string, otherwise interface{}) SchemaDefaultFunc {
	return func() (interface{}, error) {
		for _, key := range keys {
			if v := os.Getenv(key); v != "" {
				return v, nil
			}
		}
		return otherwise, nil
	}
}

// The callbacks of a Resource. The last parameter is the result of the provider's ConfigureFunc.
type (
	// CreateFunc creates an object and calls SetId. Without a SetId nothing is stored.
	CreateFunc func(*ResourceData, interface{}) error
	// ReadFunc sets the current attributes of an object. SetId("") means that it no longer exists.
	ReadFunc func(*ResourceData, interface{}) error
	// UpdateFunc changes an object.
	UpdateFunc func(*ResourceData, interface{}) error
	// DeleteFunc deletes an object. It is not an error if the object no longer exists.
	DeleteFunc func(*ResourceData, interface{}) error
	// ExistsFunc reports whether an object exists. It is called before the object is read.
	ExistsFunc func(*ResourceData, interface{}) (bool, error)

	// CreateContextFunc and the following are the same with a context and diagnostics.
	CreateContextFunc func(context.Context, *ResourceData, interface{}) diag.List
	ReadContextFunc   func(context.Context, *ResourceData, interface{}) diag.List
	UpdateContextFunc func(context.Context, *ResourceData, interface{}) diag.List
	DeleteContextFunc func(context.Context, *ResourceData, interface{}) diag.List

	// CustomizeDiffFunc can complete or refuse a plan for a create or an update.
	CustomizeDiffFunc func(context.Context, *ResourceDiff, interface{}) error
)

// collection reports whether values of the type have elements.
func (t ValueType) collection() bool { return t == TypeList || t == TypeSet || t == TypeMap }

// holdsResource reports whether the elements of a field are nested resources.
func (s *Schema) holdsResource() bool {
	_, ok := s.Elem.(*Resource)
	return ok
}

// onlySchema reports whether a resource sets no fields that are for whole objects.
func (r *Resource) onlySchema() bool {
	calls := r.create() != nil || r.read() != nil || r.update() != nil || r.delete() != nil || r.Exists != nil
	hooks := r.Importer != nil || r.CustomizeDiff != nil || len(r.ValidateRawResourceConfigFuncs) > 0
	return !calls && !hooks && r.Timeouts == nil && r.Identity == nil && r.SchemaVersion == 0 &&
		len(r.StateUpgraders) == 0
}
