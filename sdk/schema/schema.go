// Package schema makes a provider out of descriptions and callbacks: what a resource looks like, and how one is
// created, read, updated and deleted. The names are those that authors of providers in Go know; what is built runs in
// process in Tombolo, and as a plugin under Terraform and OpenTofu (Serve).
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
// One unit test calls InternalValidate, which finds most mistakes of a schema. Package schematest takes a provider
// through plans and applies without any program around it.
//
// # Rules
//
// What the framework promises to the engine is checked before every answer, so that a mistake is a message that names
// the attribute and the callback:
//
//   - A plan says exactly what is configured. Where DiffSuppressFunc or StateFunc say that the old value means the
//     same, it is kept. A Default stands for an argument that is not configured.
//   - On create and on any update, what is Computed and not configured is planned unknown, unless it is Stable, as id
//     is. CustomizeDiff may know better (SetNew).
//   - What was planned known is what the callback has to leave. Writing something else is reported, and stored, because
//     it is so.
//   - Get gives Go's zero value for null. On the wire the two stay apart: to set the zero value where an optional
//     argument is null changes nothing. GetOk and GetRawConfig tell them apart.
//   - In CustomizeDiff and while configuring a provider, Get of a value that is not known yet ends the callback with a
//     diagnostic at the attribute. GetKnown and IsUnknown ask first. During Create and Update all of the configuration
//     is known; what is left to the callback to compute reads as its old value or zero until it is set.
//   - Set of an unknown key or a wrong type is an error, also when the callback drops it.
//   - A panic in a callback becomes a diagnostic. What has an id by then is not lost.
//
// The values of Go that Get gives and Set takes:
//
//	TypeBool, TypeInt, TypeFloat, TypeString   bool, int, float64, string
//	TypeList                                   []interface{}
//	TypeSet                                    *Set to read; *Set or []interface{} to write
//	TypeMap                                    map[string]interface{}
//	nested *Resource                           map[string]interface{}
//
// Decode and Encode translate to and from structs with `tombolo:"name"` tags instead.
package schema

import (
	"context"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// ValueType is the type of an attribute.
type ValueType int

// The types. TypeInvalid is the zero value, of a forgotten type.
const (
	TypeInvalid ValueType = iota
	TypeBool
	TypeInt
	TypeFloat
	TypeString
	TypeList
	TypeMap
	TypeSet
	// TypeAny takes values of any type. Get returns nil, bool, float64, string, []interface{} or
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

// Zero returns what Get returns for a null value of the type.
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

// SchemaConfigMode is how an attribute of nested resources is written.
type SchemaConfigMode int

// The modes. Auto makes nested blocks, or an attribute of what is Computed. In Attr mode the values are objects in a
// list or set, all of whose members are written. In Block mode what is Computed makes blocks that the provider fills in
// where none are written; all in them is Computed, too. That needs Terraform 1.16 or Tombolo: a plan is an error in
// other engines if none are written.
const (
	SchemaConfigModeAuto SchemaConfigMode = iota
	SchemaConfigModeAttr
	SchemaConfigModeBlock
)

// The functions of a Schema.
type (
	// SchemaDefaultFunc returns a default. Nil means none.
	SchemaDefaultFunc func() (interface{}, error)
	// SchemaSetFunc returns the same number for elements of a set when they are the same element.
	SchemaSetFunc func(interface{}) int
	// SchemaDiffSuppressFunc means that an old and a new value mean the same. It is asked of values that are neither
	// collections nor nested; null is the empty string.
	SchemaDiffSuppressFunc func(key, oldValue, newValue string, d *ResourceData) bool
	// SchemaStateFunc returns the form of a value in which it is compared. See Schema.StateFunc.
	SchemaStateFunc func(interface{}) string
	// SchemaValidateFunc checks a known value, and returns warnings and errors.
	SchemaValidateFunc func(value interface{}, key string) (warnings []string, errs []error)
	// SchemaValidateDiagFunc checks a value that is known. The paths of its diagnostics begin with the given one; those
	// without a path get it.
	SchemaValidateDiagFunc func(value interface{}, path cty.Path) diag.List
)

// Schema describes an attribute or nested blocks. Exactly one of Required, Optional (perhaps with Computed) and
// Computed must be true: they say who sets the value.
type Schema struct {
	Type ValueType
	// Elem is the type of elements of lists, sets and maps: a *Schema, or a *Resource whose Schema makes nested blocks.
	Elem interface{}
	// ConfigMode is how nested resources are written.
	ConfigMode SchemaConfigMode
	// MaxItems and MinItems limit the number of elements of lists and sets. Zero is no limit.
	MaxItems, MinItems int
	// Set decides which elements of a set are the same; nil means that all of an element counts. It is for *Set values
	// in Go; the engine compares whole elements.
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

	// Sensitive values are not shown. WriteOnly ones are not stored either: they are read with Get while the object is
	// written, and null everywhere else.
	Sensitive bool
	WriteOnly bool

	// ValidateFunc and ValidateDiagFunc check a configured value, once it is known.
	ValidateFunc     SchemaValidateFunc
	ValidateDiagFunc SchemaValidateDiagFunc
	// DiffSuppressFunc decides which differences are not changes: the plan keeps the old value then.
	DiffSuppressFunc SchemaDiffSuppressFunc
	// DiffSuppressOnRefresh asks DiffSuppressFunc about what Read sets, too: the stored value stays where the new one
	// means the same.
	DiffSuppressOnRefresh bool
	// StateFunc returns the normal form of a value: values with the same form are equal. The plan keeps the stored one,
	// and Set with another spelling of it changes nothing. The stored value is always the configured one; use WriteOnly
	// for values that must not be stored.
	StateFunc SchemaStateFunc

	// ConflictsWith, ExactlyOneOf, AtLeastOneOf and RequiredWith name other attributes, with the path from the top:
	// "name", or "block.0.name" in blocks of which there is one.
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

// defaults reports whether there may be a default.
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

// EnvDefaultFunc returns a default that is the value of an environment variable, or another value if that is empty.
func EnvDefaultFunc(key string, otherwise interface{}) SchemaDefaultFunc {
	return MultiEnvDefaultFunc([]string{key}, otherwise)
}

// MultiEnvDefaultFunc returns a default that is the first non-empty value of the environment variables.
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

// The callbacks of a Resource. The last parameter is what the provider's ConfigureFunc returned.
type (
	// CreateFunc creates an object and calls SetId. Without a SetId nothing is stored.
	CreateFunc func(*ResourceData, interface{}) error
	// ReadFunc sets the current attributes of an object. SetId("") means that it is gone.
	ReadFunc func(*ResourceData, interface{}) error
	// UpdateFunc changes an object.
	UpdateFunc func(*ResourceData, interface{}) error
	// DeleteFunc deletes an object. That it is gone already is no error.
	DeleteFunc func(*ResourceData, interface{}) error
	// ExistsFunc reports whether an object exists. It is asked before it is read.
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

// onlySchema reports whether a resource has nothing that is for whole objects.
func (r *Resource) onlySchema() bool {
	calls := r.create() != nil || r.read() != nil || r.update() != nil || r.delete() != nil || r.Exists != nil
	hooks := r.Importer != nil || r.CustomizeDiff != nil || len(r.ValidateRawResourceConfigFuncs) > 0
	return !calls && !hooks && r.Timeouts == nil && r.Identity == nil && r.SchemaVersion == 0 &&
		len(r.StateUpgraders) == 0
}
