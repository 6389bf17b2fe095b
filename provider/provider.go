// Package provider defines the contract between the engine and providers.
//
// A Provider works with cty values, not with messages of a protocol. Built-in providers, providers written with
// sdk/schema, programs in any language and plugins of both protocol versions implement this interface, and the engine
// treats them alike. Package providertest is the test suite for all implementations.
//
// Rules for implementers:
//   - Methods may be called concurrently once Configure has returned; Schema and the Validate methods also before.
//   - Object values conform to the implied type of the schema's block. Unknown values appear only where documented.
//   - Values arrive without marks; the engine keeps track of sensitivity.
//   - Diagnostics carry paths into the object of the call (Diagnostic.Path), never source ranges.
//   - The Object of a request is the address of what the call is about, for messages. It is the zero Object where there
//     is none; the answer must not depend on it.
//   - When the context of a call ends, return soon; an answer is still used.
//   - Embed Base: it implements every call that the provider does not have, and keeps the implementation compiling when
//     calls are added.
//
// The names follow the plugin protocol (tfplugin 5 and 6).
package provider

import (
	"context"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// Provider manages the objects of one kind of remote (or local) system.
type Provider interface {
	// Schema describes everything that the provider has. It needs no configuration and its answer never changes.
	Schema(ctx context.Context) (*Schema, diag.List)

	// ValidateConfig checks the provider block, which may hold unknown values, and returns it prepared (protocol 5
	// providers may fill in defaults).
	ValidateConfig(ctx context.Context, req ValidateConfigRequest) ValidateConfigResponse
	// ValidateResource checks the configuration of a resource, data source, ephemeral resource, list block or action;
	// it may hold unknown values.
	ValidateResource(ctx context.Context, req ValidateResourceRequest) diag.List

	// Configure passes the provider block. It is called at most once, before any call below.
	Configure(ctx context.Context, req ConfigureRequest) ConfigureResponse

	// UpgradeState upgrades a stored object to the current schema version. It is called for every stored object, even
	// at the same version.
	UpgradeState(ctx context.Context, req UpgradeStateRequest) UpgradeStateResponse
	// UpgradeIdentity does the same for a stored identity.
	UpgradeIdentity(ctx context.Context, req UpgradeIdentityRequest) UpgradeIdentityResponse
	// MoveState converts a stored object of another resource type, possibly of another provider, to one of this
	// provider.
	MoveState(ctx context.Context, req MoveStateRequest) MoveStateResponse
	// Import finds existing objects by id or identity. The engine reads each of them afterwards.
	Import(ctx context.Context, req ImportRequest) ImportResponse

	// Read returns the current object; a null object means that it is gone.
	Read(ctx context.Context, req ReadRequest) ReadResponse
	// Plan predicts the result of applying a configuration. It has no side effects.
	Plan(ctx context.Context, req PlanRequest) PlanResponse
	// Apply performs a planned change. On failure it returns the object that exists now, and the errors.
	Apply(ctx context.Context, req ApplyRequest) ApplyResponse

	// GenerateConfig writes the configuration of an object that exists. It is asked only of providers with the
	// GenerateConfig capability.
	GenerateConfig(ctx context.Context, req GenerateConfigRequest) GenerateConfigResponse

	// List finds existing objects of a managed resource type that is also in Schema.Lists.
	List(ctx context.Context, req ListRequest) ListResponse

	// PlanAction checks whether an action could be invoked. It has no side effects.
	PlanAction(ctx context.Context, req PlanActionRequest) PlanActionResponse
	// InvokeAction performs an action. Its effect is not recorded: an action has no state.
	InvokeAction(ctx context.Context, req InvokeActionRequest) InvokeActionResponse

	// ReadData reads a data source.
	ReadData(ctx context.Context, req ReadDataRequest) ReadDataResponse

	// OpenEphemeral, RenewEphemeral and CloseEphemeral manage objects that live for one run and are never stored.
	OpenEphemeral(ctx context.Context, req OpenEphemeralRequest) OpenEphemeralResponse
	RenewEphemeral(ctx context.Context, req RenewEphemeralRequest) RenewEphemeralResponse
	CloseEphemeral(ctx context.Context, req CloseEphemeralRequest) diag.List

	// CallFunction calls a function of the provider. It works without configuration. A failure of a particular argument
	// is a function.ArgError.
	CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error)

	// Stop asks running calls to end soon, for which there is Stopping; it returns at once. Close ends the provider and
	// frees what it holds.
	Stop(ctx context.Context) error
	Close() error
}

// ClientCapabilities are the optional features that the engine supports.
type ClientCapabilities struct {
	// DeferralAllowed permits Deferred answers.
	DeferralAllowed bool
	// WriteOnlyAttributesAllowed permits values for write-only attributes.
	WriteOnlyAttributesAllowed bool
	// StorePlannedPrivate: what Plan answers as private data comes back as PlannedPrivate when it is asked again.
	StorePlannedPrivate bool
	// ComputedBlocksAllowed permits nested blocks that the provider fills in; see Block.Computed.
	ComputedBlocksAllowed bool
}

// DeferredReason is why a provider cannot answer now. The zero value means that it can.
type DeferredReason uint8

// The reasons, numbered as in the protocol.
const (
	NotDeferred                DeferredReason = iota
	DeferredConfigUnknown                     // the resource's configuration holds unknown values
	DeferredProviderUnknown                   // the provider's configuration holds unknown values
	DeferredAbsentPrerequisite                // something that the object needs does not exist yet
	DeferredUnknownReason      DeferredReason = 255
)

// ValidateConfigRequest holds the provider block to check.
type ValidateConfigRequest struct{ Config cty.Value }

// ValidateConfigResponse holds the prepared block, equal to the request's unless the provider fills in defaults.
type ValidateConfigResponse struct {
	Prepared    cty.Value
	Diagnostics diag.List
}

// ResourceKind distinguishes the families of types.
type ResourceKind uint8

// The families.
const (
	ManagedResource ResourceKind = iota + 1
	DataSource
	EphemeralResource
	ListResource // a list block, which finds managed resources of the same type
	Action
)

// ValidateResourceRequest holds the configuration of a resource to check.
type ValidateResourceRequest struct {
	Object addr.Object
	Kind   ResourceKind
	Type   string
	Config cty.Value
	Client ClientCapabilities
	// IncludeObject (a bool) and Limit (a number) are those of a list block; cty.NilVal for other blocks.
	IncludeObject, Limit cty.Value
}

// ConfigureRequest holds the provider's configuration.
type ConfigureRequest struct {
	// TerraformVersion is the language version that the engine speaks.
	TerraformVersion string
	Config           cty.Value
	Client           ClientCapabilities
}

// ConfigureResponse answers ConfigureRequest.
type ConfigureResponse struct{ Diagnostics diag.List }

// StoredObject is an object as a state holds it: JSON of any schema version, or the flat map of states before format 4.
type StoredObject struct {
	JSON []byte
	Flat map[string]string
}

// UpgradeStateRequest holds a stored object.
type UpgradeStateRequest struct {
	Type    string
	Version int64
	Stored  StoredObject
}

// UpgradeStateResponse holds the object at the current version.
type UpgradeStateResponse struct {
	State       cty.Value
	Diagnostics diag.List
	// AsStored means that State is the stored object as it is, and nothing was changed: it need not be compared.
	AsStored bool
}

// UpgradeIdentityRequest holds a stored identity.
type UpgradeIdentityRequest struct {
	Type    string
	Version int64
	JSON    []byte
}

// UpgradeIdentityResponse holds the identity at the current version.
type UpgradeIdentityResponse struct {
	Identity    cty.Value
	Diagnostics diag.List
}

// MoveStateRequest holds a stored object of another type.
type MoveStateRequest struct {
	Object                addr.Object
	SourceProvider        string
	SourceType            string
	SourceVersion         int64
	Source                StoredObject
	SourcePrivate         []byte
	SourceIdentity        []byte
	SourceIdentityVersion int64
	TargetType            string
}

// MoveStateResponse holds the object as one of the target type.
type MoveStateResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Diagnostics diag.List
}

// ImportRequest names an existing object, by ID or by Identity.
type ImportRequest struct {
	Object   addr.Object
	Type     string
	ID       string
	Identity cty.Value // cty.NilVal when the id is used
	Client   ClientCapabilities
}

// ImportedObject is one object that an import found.
type ImportedObject struct {
	Type     string
	State    cty.Value
	Private  []byte
	Identity cty.Value
}

// NoSuchObject is the summary of the error with which an import says that the object does not exist. Any other error,
// of the network for instance, leaves that open.
const NoSuchObject = "Cannot import non-existent remote object"

// ImportResponse lists the objects that an import found. If there is none, it is empty, or has an error with the
// summary NoSuchObject; plugins that other engines use need that error.
type ImportResponse struct {
	Imported    []ImportedObject
	Deferred    DeferredReason
	Diagnostics diag.List
}

// ReadRequest holds the known values of an object.
type ReadRequest struct {
	Object   addr.Object
	Type     string
	Prior    cty.Value
	Private  []byte
	Meta     cty.Value // the provider_meta block of the module; cty.NilVal or null if there is none
	Identity cty.Value // cty.NilVal or null if there is none
	Client   ClientCapabilities
}

// ReadResponse holds the object as it is now; null when it is gone. cty.NilVal says nothing, and is an error.
type ReadResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Deferred    DeferredReason
	Diagnostics diag.List
}

// PlanRequest holds the object to plan. Prior is null for a create, Proposed is null for a delete (sent only to
// providers with the PlanDestroy capability).
type PlanRequest struct {
	Object       addr.Object
	Type         string
	Prior        cty.Value
	Proposed     cty.Value
	Config       cty.Value
	PriorPrivate []byte
	// PlannedPrivate is the private data of the plan that is being applied, when Plan is asked again because values
	// have become known since.
	PlannedPrivate []byte
	Meta           cty.Value
	PriorIdentity  cty.Value
	Client         ClientCapabilities
}

// PlanResponse holds the planned value: Proposed, with unknown values for the computed attributes that Apply will
// choose. What the plan has as null or known must be the same after Apply. MarkComputed does this for creations.
type PlanResponse struct {
	Planned         cty.Value
	RequiresReplace []cty.Path
	Private         []byte
	Identity        cty.Value
	// LegacyTypeSystem asks the engine to tolerate what old frameworks cannot avoid: planned values that differ from
	// the configuration. Violations become log lines then.
	LegacyTypeSystem bool
	Deferred         DeferredReason
	Diagnostics      diag.List
}

// ApplyRequest asks to make the planned change. Prior is null for a create, Planned is null for a delete.
type ApplyRequest struct {
	Object          addr.Object
	Type            string
	Prior           cty.Value
	Planned         cty.Value
	Config          cty.Value
	PlannedPrivate  []byte
	Meta            cty.Value
	PlannedIdentity cty.Value

	// Intent is the engine's token of this operation, unique in a run. A provider whose answer can outlive the engine
	// (a program whose output is spooled) files it under this token; others ignore it.
	Intent string
	// Record holds data that the engine needs back together with an answer that outlived it; only such a provider calls
	// it. It may be nil.
	Record func() []byte
	// Partial may be called, any number of times, with the known part of the object (its ID, say) during the call. The
	// engine records it durably before Partial returns. It may be nil.
	Partial func(state cty.Value, private []byte)
}

// ApplyResponse holds the object that exists after the call: null when none does. With errors, State is the object as
// far as it got: null says that nothing was created. cty.NilVal means that this is not known (the answer was lost, or
// Stop ended the call before the service answered): the engine keeps a creation on its list of open operations then. It
// does the same when State is unknown as a whole, or null although there is no error.
type ApplyResponse struct {
	State            cty.Value
	Private          []byte
	Identity         cty.Value
	LegacyTypeSystem bool
	Diagnostics      diag.List
}

// ReadDataRequest holds the data source to read.
type ReadDataRequest struct {
	Object addr.Object
	Type   string
	Config cty.Value
	Meta   cty.Value
	Client ClientCapabilities
}

// ReadDataResponse holds the data source's object, wholly known.
type ReadDataResponse struct {
	State       cty.Value
	Deferred    DeferredReason
	Diagnostics diag.List
}

// OpenEphemeralRequest holds the ephemeral object to open.
type OpenEphemeralRequest struct {
	Type   string
	Config cty.Value
	Client ClientCapabilities
}

// OpenEphemeralResponse holds the object. A non-zero RenewAt requests a renewal at that time.
type OpenEphemeralResponse struct {
	Result      cty.Value
	Private     []byte
	RenewAt     time.Time
	Deferred    DeferredReason
	Diagnostics diag.List
}

// RenewEphemeralRequest prolongs an ephemeral object.
type RenewEphemeralRequest struct {
	Type    string
	Private []byte
}

// RenewEphemeralResponse holds the time of the next renewal.
type RenewEphemeralResponse struct {
	Private     []byte
	RenewAt     time.Time
	Diagnostics diag.List
}

// CloseEphemeralRequest ends an ephemeral object.
type CloseEphemeralRequest struct {
	Type    string
	Private []byte
}

// Function describes a function of a provider. Its Impl, if set, may be called in process; otherwise
// Provider.CallFunction is.
type Function struct {
	Params          []FunctionParam
	VarParam        *FunctionParam
	Return          cty.Type
	Summary         string
	Description     string
	DescriptionKind DescriptionKind
	Deprecated      string
}

// FunctionParam describes one parameter.
type FunctionParam struct {
	Name            string
	Type            cty.Type
	AllowNull       bool
	AllowUnknown    bool
	Description     string
	DescriptionKind DescriptionKind
}

// Spec returns the function in the form of package function; call is usually Provider.CallFunction bound to a name.
func (f *Function) Spec(call func(args []cty.Value) (cty.Value, error)) function.Function {
	param := func(p FunctionParam) function.Parameter {
		return function.Parameter{
			Name: p.Name, Type: p.Type, AllowNull: p.AllowNull, AllowUnknown: p.AllowUnknown,
			AllowDynamicType: true, // a bare null has no type
			Description:      p.Description,
		}
	}
	spec := &function.Spec{
		Description: f.Description,
		Type:        function.StaticReturnType(f.Return),
		Impl: func(args []cty.Value, ret cty.Type) (cty.Value, error) {
			// An argument that is unknown anywhere inside is not sent unless its parameter takes unknown values.
			for i, a := range args {
				p := f.param(i)
				if p != nil && !p.AllowUnknown && !ctyfast.WhollyKnown(a) {
					return cty.UnknownVal(ret), nil
				}
			}
			return call(args)
		},
	}
	for _, p := range f.Params {
		spec.Params = append(spec.Params, param(p))
	}
	if f.VarParam != nil {
		p := param(*f.VarParam)
		spec.VarParam = &p
	}
	return function.New(spec)
}

func (f *Function) param(i int) *FunctionParam {
	if i < len(f.Params) {
		return &f.Params[i]
	}
	return f.VarParam
}

// Factory starts a provider. It is called at most once for each provider configuration, and once more for schemas and
// functions.
type Factory func(ctx context.Context) (Provider, error)

// ListRequest is a query for objects of a managed resource type.
type ListRequest struct {
	Type string
	// Config describes the objects to find, as an object of the schema in Schema.Lists. Providers that list types
	// without a schema take an object whose attributes they choose; null and cty.NilVal mean everything then.
	Config cty.Value
	// IncludeObject requests whole objects in addition to their identities.
	IncludeObject bool
	// Limit is how many objects are wanted at most; at least 1.
	Limit int
}

// ListResponse has the objects that were found, in the order of the provider.
type ListResponse struct {
	Results     []Listed
	Diagnostics diag.List
}

// Listed is one object that exists.
type Listed struct {
	Identity cty.Value // the ID for an import
	// DisplayName is for people; it may be empty.
	DisplayName string
	// Object is the object of the managed resource type, if it was asked for; else cty.NilVal.
	Object cty.Value
}

// GenerateConfigRequest holds an object.
type GenerateConfigRequest struct {
	Type  string
	State cty.Value
}

// GenerateConfigResponse holds a configuration, of the type of the object, from which the object would be made.
type GenerateConfigResponse struct {
	Config      cty.Value
	Diagnostics diag.List
}

// PlanActionRequest holds the configuration of an action to check, which may have unknown values.
type PlanActionRequest struct {
	Type   string
	Config cty.Value
	Client ClientCapabilities
}

// PlanActionResponse holds the reasons why it cannot.
type PlanActionResponse struct {
	Deferred    DeferredReason
	Diagnostics diag.List
}

// InvokeActionRequest asks to perform an action. Its configuration is wholly known.
type InvokeActionRequest struct {
	Type   string
	Config cty.Value
	Client ClientCapabilities
	// Progress may be called, any number of times and concurrently, with a message for people. It may be nil.
	Progress func(message string)
}

// InvokeActionResponse is the result of an action.
type InvokeActionResponse struct {
	// Lost means that the provider may have begun and its answer is not known.
	Lost        bool
	Diagnostics diag.List
}
