package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

// Config is a complete configuration: the root module and every module that it calls, directly or indirectly.
type Config struct {
	Root *Module
	// Modules holds every module of the tree, with the root at the zero path.
	Modules map[addr.Module]*Module
	// Files holds the source of every file that was read, by the file name in ranges. Paths are relative to the working
	// directory with forward slashes: "main.tf", "modules/net/main.tf", "../shared/main.tf".
	Files map[string][]byte
	// Manifest holds the module manifest that was used, so that a snapshot can be loaded again; may be nil.
	Manifest []byte
}

// Module returns the module at a path, or nil.
func (c *Config) Module(path addr.Module) *Module { return c.Modules[path] }

// SortedModules returns every module, parents before their children.
func (c *Config) SortedModules() []*Module {
	return sortedBy(c.Modules, func(a, b addr.Module) int { return a.Compare(b) })
}

// Resource returns the block at an address, or nil.
func (c *Config) Resource(r addr.ConfigResource) *Resource {
	m := c.Modules[r.Module]
	if m == nil {
		return nil
	}
	return m.Resources[r.Resource]
}

// Module is one module of the tree: all files of one directory, once for each call of it.
type Module struct {
	Path   addr.Module
	Parent *Module     // nil for the root
	Call   *ModuleCall // the call in Parent; nil for the root
	// Dir is the value of path.module: "." for the root, "modules/net" for a local child, inside the data directory for
	// an installed one. It is relative to the working directory, with forward slashes.
	Dir      string
	Children map[string]*Module // by the name of the call
	// Version is the version of an installed registry module, "" for others.
	Version string

	flavor flavor.Flavor
	host   string // the registry host of providers without a source

	RequiredVersions  []VersionConstraint
	RequiredProviders map[string]*RequiredProvider // by local name; only explicit ones
	ProviderConfigs   map[addr.LocalProviderConfig]*ProviderConfig
	ProviderMeta      map[string]*ProviderMeta // by local name
	Backend           *Backend                 // nil if there is none
	Cloud             *Cloud                   // nil if there is none
	Encryption        []*Encryption            // later ones are merged over earlier ones

	Types     map[string]*NamedType
	Functions map[string]*Function
	Variables map[string]*Variable
	Locals    map[string]*Local
	Outputs   map[string]*Output
	Calls     map[string]*ModuleCall
	Resources map[addr.Resource]*Resource // all modes, including those in check blocks
	Checks    map[string]*Check
	Moved     []*Moved
	Removed   []*Removed
	Imports   []*Import

	localNames map[addr.Provider]string
	// partial means that some of its files could not be parsed, so that missing declarations are not errors.
	partial bool
	inputs  diag.List // the problems of the arguments of the call
	// faulty means that the module has parse errors.
	faulty    bool
	constants *constants // nil until they are evaluated
	declared  *Declared
	// refactorings become members of Moved and Removed when constants are evaluated.
	refactorings []*refactoring
}

// SortedVariables returns the variables by name.
func (m *Module) SortedVariables() []*Variable { return sortedBy(m.Variables, strings.Compare) }

// FromElsewhere reports whether the source of a module, or of one around it, is not a local directory.
func (m *Module) FromElsewhere() bool {
	for ; m != nil && m.Call != nil; m = m.Parent {
		if m.Call.Kind != SourceLocal {
			return true
		}
	}
	return false
}

// SortedLocals returns the local values by name.
func (m *Module) SortedLocals() []*Local { return sortedBy(m.Locals, strings.Compare) }

// SortedOutputs returns the output values by name.
func (m *Module) SortedOutputs() []*Output { return sortedBy(m.Outputs, strings.Compare) }

// SortedCalls returns the module calls by name.
func (m *Module) SortedCalls() []*ModuleCall { return sortedBy(m.Calls, strings.Compare) }

// SortedChildren returns the modules called from here by the name of the call.
func (m *Module) SortedChildren() []*Module { return sortedBy(m.Children, strings.Compare) }

// SortedChecks returns the check blocks by name.
func (m *Module) SortedChecks() []*Check { return sortedBy(m.Checks, strings.Compare) }

// SortedRequiredProviders returns the provider requirements by local name.
func (m *Module) SortedRequiredProviders() []*RequiredProvider {
	return sortedBy(m.RequiredProviders, strings.Compare)
}

// SortedResources returns the resources by mode, type and name.
func (m *Module) SortedResources() []*Resource {
	return sortedBy(m.Resources, func(a, b addr.Resource) int { return a.Compare(b) })
}

// SortedProviderConfigs returns the provider blocks by local name, then alias.
func (m *Module) SortedProviderConfigs() []*ProviderConfig {
	return sortedBy(m.ProviderConfigs, compareLocal)
}

func compareLocal(a, b addr.LocalProviderConfig) int {
	return cmp.Or(strings.Compare(a.LocalName, b.LocalName), strings.Compare(a.Alias, b.Alias))
}

// sortedBy returns the values of a map in the order of their keys.
func sortedBy[K comparable, V any](m map[K]V, compare func(a, b K) int) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
		out = append(out, m[k])
	}
	return out
}

// VersionConstraint is a version constraint, as text and parsed.
type VersionConstraint struct {
	Text   string // "" if there is none
	Parsed version.Constraints
	Range  hcl.Range
}

// RequiredProvider is one entry of a required_providers block.
type RequiredProvider struct {
	Name    string        // the local name
	Source  addr.Provider // the default address if SourceText is empty
	Version VersionConstraint
	// SourceText is the source as written, or "".
	SourceText string
	Aliases    []addr.LocalProviderConfig // configuration_aliases
	Range      hcl.Range
}

// ProviderConfig is a provider block.
type ProviderConfig struct {
	LocalName  string
	Alias      string
	AliasRange *hcl.Range        // nil if there is no alias
	ForEach    hcl.Expression    // nil if not set
	Version    VersionConstraint // deprecated argument; Text is "" if not set
	Provider   addr.Provider
	Body       hcl.Body // the rest after alias and version
	// Proxy marks an empty block of a child module that only names a configuration passed in by its caller.
	Proxy bool
	// Mock means that the provider is mocked. The block is not evaluated.
	Mock      bool
	Range     hcl.Range
	NameRange hcl.Range
}

// Addr returns the name of the configuration within its module.
func (p *ProviderConfig) Addr() addr.LocalProviderConfig {
	return addr.LocalProviderConfig{LocalName: p.LocalName, Alias: p.Alias}
}

// ProviderMeta is a provider_meta block. Its arguments are constants.
type ProviderMeta struct {
	LocalName string
	Provider  addr.Provider
	Body      hcl.Body
	Range     hcl.Range
	NameRange hcl.Range
}

// Backend is a backend block.
type Backend struct {
	Type      string
	TypeRange hcl.Range
	Body      hcl.Body
	Range     hcl.Range
}

// Cloud is a cloud block.
type Cloud struct {
	Body  hcl.Body
	Range hcl.Range
}

// Encryption is an encryption block of a terraform block, which configures the encryption of states and plans.
type Encryption struct {
	Body  hcl.Body
	Range hcl.Range
}

// ParsingMode determines how a variable's text from the environment or the command line is parsed.
type ParsingMode uint8

// The parsing modes.
const (
	// ParseLiteral uses the text itself, for variables of type string, number or bool, or without a type.
	ParseLiteral ParsingMode = iota + 1
	// ParseHCL parses the text as an expression.
	ParseHCL
)

// Variable is an input variable.
type Variable struct {
	Name        string
	Description string
	// Type is the type that values are converted to. ConstraintType is the same with optional attributes, and
	// TypeDefaults holds the defaults of these (nil if there are none).
	Type           cty.Type
	ConstraintType cty.Type
	TypeDefaults   *typeexpr.Defaults
	ParsingMode    ParsingMode

	Default   cty.Value // converted; cty.NilVal if the caller must set the variable
	Nullable  bool      // true unless the block sets it to false
	Sensitive bool
	Ephemeral bool
	Const     bool // its value is known before anything is installed
	// Deprecated is the author's advice on what to use instead; DeprecatedRange is nil if the variable is not
	// deprecated.
	Deprecated      string
	DeprecatedRange *hcl.Range

	Validations []*Condition
	Range       hcl.Range // the block's header

	named    hcl.Expression // the type, if it has names in it
	raw      cty.Value      // the default as written; cty.NilVal if there is none
	rawRange hcl.Range
	// parameter means that it is a function parameter.
	parameter bool
}

// Required reports whether the caller must set the variable.
func (v *Variable) Required() bool { return v.Default == cty.NilVal }

// Local is a local value.
type Local struct {
	Name  string
	Expr  hcl.Expression
	Range hcl.Range
}

// Output is an output value.
type Output struct {
	Name          string
	Description   string
	Expr          hcl.Expression
	Type          *OutputType // nil if not declared
	Sensitive     bool
	Ephemeral     bool
	DependsOn     []hcl.Traversal
	Preconditions []*Condition
	Range         hcl.Range
	// Deprecated is the author's advice on what to use instead; DeprecatedRange is nil if the output value is not
	// deprecated.
	Deprecated      string
	DeprecatedRange *hcl.Range
}

// OutputType is the type that an output value declares, with optional attributes and their defaults.
type OutputType struct {
	Constraint cty.Type
	Defaults   *typeexpr.Defaults

	named hcl.Expression // the type as written, if it has names in it
}

// SourceKind is the kind of source of a called module.
type SourceKind uint8

// The kinds of module sources.
const (
	SourceLocal    SourceKind = iota + 1 // a path that starts with ./ or ../
	SourceRegistry                       // [HOST/]NAMESPACE/NAME/SYSTEM
	SourceRemote                         // anything else: git, archives over HTTP, ...
)

// ModuleCall is a module block.
type ModuleCall struct {
	Name string
	// Source is the normalised text of the source, as in the module manifest; SourceRaw is the source as written.
	Source      string
	SourceRaw   string
	Kind        SourceKind
	SourceRange hcl.Range
	Version     VersionConstraint

	Count        hcl.Expression // nil if not set
	ForEach      hcl.Expression // nil if not set
	Enabled      hcl.Expression // nil if not set
	DependsOn    []hcl.Traversal
	Providers    []PassedProvider // the providers argument; HasProviders distinguishes an empty one from none
	HasProviders bool

	// Body only holds the values of the input variables. Inputs are its arguments that the called module declares, by
	// name; nil if that module could not be loaded.
	Body   hcl.Body
	Inputs hcl.Attributes
	Range  hcl.Range // the block's header
	// IgnoreNestedDeprecations suppresses warnings about deprecated values that the called module itself uses.
	IgnoreNestedDeprecations bool

	sourceExpr, versionExpr hcl.Expression // if they are not literals
	hasVersion              bool
	host                    string // the registry host of sources without one
}

// PassedProvider is one entry of the providers argument of a module call.
type PassedProvider struct {
	InChild       addr.LocalProviderConfig
	InParent      addr.LocalProviderConfig
	Key           hcl.Expression // key of one of several instances of InParent; nil if not set
	InChildRange  hcl.Range
	InParentRange hcl.Range
}

// Resource is a resource, data, ephemeral, list or action block. The Body of an action block is that of its config
// block.
type Resource struct {
	Addr   addr.Resource
	Module *Module
	// Check is the check block around a data block, usually nil.
	Check *Check

	Count   hcl.Expression // nil if not set
	ForEach hcl.Expression // nil if not set
	Enabled hcl.Expression // nil if not set
	// ProviderRef is the provider argument; nil means the default configuration of the provider in the type's prefix.
	ProviderRef *addr.LocalProviderConfig
	// ProviderKey is the key of one of several instances of that configuration; may be nil.
	ProviderKey      hcl.Expression
	ProviderRefRange hcl.Range
	Provider         addr.Provider
	DependsOn        []hcl.Traversal

	CreateBeforeDestroy    bool
	CreateBeforeDestroySet bool
	// PreventDestroy and Destroy are nil if the block does not set them.
	PreventDestroy, Destroy *Guard
	Ignored                 Ignored // ignore_changes
	ReplaceTriggeredBy      []hcl.Expression
	Preconditions           []*Condition
	Postconditions          []*Condition
	ActionTriggers          []*ActionTrigger

	Connection   *Connection // nil if there is none
	Provisioners []*Provisioner

	// Body is the part of the block that the provider's schema describes, including the content of a "_" block.
	Body      hcl.Body
	DeclRange hcl.Range // the block's header
	TypeRange hcl.Range // the type label

}

// ConfigAddr returns the address of the block in the whole configuration.
func (r *Resource) ConfigAddr() addr.ConfigResource {
	return addr.ConfigResource{Module: r.Module.Path, Resource: r.Addr}
}

// ProviderConfig returns the name, within the module, of the provider configuration that manages the resource.
func (r *Resource) ProviderConfig() addr.LocalProviderConfig {
	if r.ProviderRef != nil {
		return *r.ProviderRef
	}
	return addr.LocalProviderConfig{LocalName: impliedProvider(r.Addr.Type)}
}

// impliedProvider returns the local name of the provider in the prefix of a resource type.
func impliedProvider(resourceType string) string {
	name, _, _ := strings.Cut(resourceType, "_")
	return name
}

// Condition is a validation, precondition, postcondition or assert block.
type Condition struct {
	Condition    hcl.Expression
	ErrorMessage hcl.Expression
	Range        hcl.Range // the block's header
}

// Connection is a connection block.
type Connection struct {
	Body  hcl.Body
	Range hcl.Range
}

// ProvisionerWhen determines when a provisioner runs.
type ProvisionerWhen uint8

// The times at which provisioners run.
const (
	WhenCreate ProvisionerWhen = iota + 1
	WhenDestroy
)

// Provisioner is a provisioner block.
type Provisioner struct {
	Type       string
	When       ProvisionerWhen
	Continue   bool        // on_failure = continue
	Connection *Connection // nil if there is none: then the resource's is used
	Body       hcl.Body    // the rest after the meta-arguments
	Range      hcl.Range   // the block's header
	TypeRange  hcl.Range
}

// Check is a check block.
type Check struct {
	Name    string
	Data    *Resource // the nested data block, or nil; also a member of Module.Resources
	Asserts []*Condition
	Range   hcl.Range // the block's header
}

// Endpoint is one side of a moved block: a module or resource, with or without keys, relative to the module of the
// block.
type Endpoint struct {
	addr.Target
	Range hcl.Range
}

// Moved is a moved block. Both sides are modules or both are resources.
type Moved struct {
	From, To Endpoint
	Range    hcl.Range // the block's header
}

// Removed is a removed block: From names a module or resource, relative to the module of the block. Only files of
// Tombolo can have instance keys in it.
type Removed struct {
	Module   addr.Module   // the full path from the root
	Resource addr.Resource // zero if all of Module is removed
	// Keyed means that some instances are removed: those in Steps, the last steps of Module, where a step without key
	// stands for all instances of a call; and of the resource the instance Key, if HasKey is set.
	Keyed  bool
	Steps  []addr.Step
	Key    addr.Key
	HasKey bool
	// Destroy is false if the objects are forgotten without being destroyed.
	Destroy      bool
	Connection   *Connection    // nil if there is none
	Provisioners []*Provisioner // only those that run before a destroy
	FromRange    hcl.Range
	Range        hcl.Range // the block's header
}

// Import is an import block.
type Import struct {
	// To is the resource without keys; ToExpr is the whole expression, relative to the module of the block, whose keys
	// may depend on each.key.
	To     addr.ConfigResource
	ToExpr hcl.Expression
	// ID or Identity identifies the object; the other is nil.
	ID, Identity hcl.Expression
	ForEach      hcl.Expression // nil if not set
	// Optional means that the object is created if it does not exist.
	Optional bool
	// ProviderRef is the provider argument; nil if not set.
	ProviderRef      *addr.LocalProviderConfig
	ProviderKey      hcl.Expression // key of one of several instances of that configuration; nil if not set
	ProviderRefRange hcl.Range
	Provider         addr.Provider
	Range            hcl.Range // the block's header
}
