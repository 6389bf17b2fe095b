// Package provider defines the contract between the engine and providers.
//
// A Provider works with cty values, not with messages of a protocol. Built-in providers, providers written with
// sdk/schema, programs in any language and plugins of both protocol versions implement this interface, and the engine
// treats them alike. Package providertest is the test suite for all implementations.
//
// Rules for implementers:
//   - Methods may be called concurrently once Configure has returned; Schema and the Validate methods even before.
//   - Object values conform to the implied type of the schema's block. Unknown values appear only where documented.
//   - Values arrive without marks; the engine keeps track of sensitivity.
//   - Diagnostics carry paths into the object of the call (Diagnostic.Path), never source ranges.
//   - The Object of a request is the address of the object of the call, for messages. It is the zero Object if there
//     is none; the response must not depend on it.
//   - When the context of a call ends, return soon; the response is still used.
//   - Embed Base: it implements every call that the provider does not support, so that the code still compiles when
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
	// Schema returns the description of the provider. It needs no configuration, and always returns the same.
	Schema(ctx context.Context) (*Schema, diag.List)

	// ValidateConfig checks the provider block, which may hold unknown values, and returns it (providers of protocol 5
	// may fill in defaults).
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
	// MoveState converts a stored object of another resource type, possibly of another provider, to a type of this
	// provider.
	MoveState(ctx context.Context, req MoveStateRequest) MoveStateResponse
	// Import finds existing objects by id or identity. The engine reads each of them afterwards.
	Import(ctx context.Context, req ImportRequest) ImportResponse

	// Read returns the current object; a null object means that it no longer exists.
	Read(ctx context.Context, req ReadRequest) ReadResponse
	// Plan returns the planned result of a configuration. It has no side effects.
	Plan(ctx context.Context, req PlanRequest) PlanResponse
	// Apply performs a planned change. On failure it returns the object that exists now, and the errors.
	Apply(ctx context.Context, req ApplyRequest) ApplyResponse

	// GenerateConfig returns a configuration for an existing object. It is only called for providers with the
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

	// OpenEphemeral, RenewEphemeral and CloseEphemeral manage objects that exist for one run and are never stored.
	OpenEphemeral(ctx context.Context, req OpenEphemeralRequest) OpenEphemeralResponse
	RenewEphemeral(ctx context.Context, req RenewEphemeralRequest) RenewEphemeralResponse
	CloseEphemeral(ctx context.Context, req CloseEphemeralRequest) diag.List

	// CallFunction calls a function of the provider. It works without Configure. An error about a particular argument
	// is a function.ArgError.
	CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error)

	// Stop asks running calls to end soon, and returns immediately; see Stopping. Close ends the provider and releases
	// its resources.
	Stop(ctx context.Context) error
	Close() error
}

// ClientCapabilities are the optional features that the engine supports.
type ClientCapabilities struct {
	// DeferralAllowed permits Deferred responses.
	DeferralAllowed bool
	// WriteOnlyAttributesAllowed permits values for write-only attributes.
	WriteOnlyAttributesAllowed bool
	// StorePlannedPrivate means that the private data in the response of Plan is passed back as PlannedPrivate when
	// Plan is called again.
	StorePlannedPrivate bool
	// ComputedBlocksAllowed permits nested blocks that the provider fills in; see Block.Computed.
	ComputedBlocksAllowed bool
}

// DeferredReason is the reason why a provider cannot answer yet. The zero value means that it can.
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

// ResourceKind distinguishes the kinds of types.
type ResourceKind uint8

// The kinds.
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
	// IncludeObject (a bool) and Limit (a number) are the arguments of a list block, and cty.NilVal for other blocks.
	IncludeObject, Limit cty.Value
}

// ConfigureRequest holds the provider's configuration.
type ConfigureRequest struct {
	// TerraformVersion is the language version that the engine implements.
	TerraformVersion string
	Config           cty.Value
	Client           ClientCapabilities
}

// ConfigureResponse answers ConfigureRequest.
type ConfigureResponse struct{ Diagnostics diag.List }

// StoredObject is an object in the form of a state: JSON of any schema version, or the flat map of states before format
// 4. Neither may be modified: values may share the memory of the JSON.
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
	// AsStored means that State is the stored object unchanged, so that the engine does not have to compare it.
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

// MoveStateResponse holds the object in the target type.
type MoveStateResponse struct {
	State       cty.Value
	Private     []byte
	Identity    cty.Value
	Diagnostics diag.List
}

// ImportRequest identifies an existing object by ID or by Identity.
type ImportRequest struct {
	Object   addr.Object
	Type     string
	ID       string
	Identity cty.Value // cty.NilVal if the id is used
	Client   ClientCapabilities
	// Config, if set, evaluates the configuration of the object, without marks; cty.NilVal after an error. It is not
	// part of the protocol: mocks of tests make up the object from it.
	Config func() cty.Value
}

// ImportedObject is one object that an import found.
type ImportedObject struct {
	Type     string
	State    cty.Value
	Private  []byte
	Identity cty.Value
}

// NoSuchObject is the summary of an import error that means that the object does not exist. After any other error, such
// as a network error, that is unknown.
const NoSuchObject = "Cannot import non-existent remote object"

// ImportResponse lists the objects that an import found. If there are none, it is empty, or has an error with the
// summary NoSuchObject. Plugins for other engines must return that error.
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

// ReadResponse holds the current object, or null if it no longer exists. cty.NilVal is an error.
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
	// PlannedPrivate is the private data of the plan that is being applied. It is set when Plan is called again because
	// unknown values have become known.
	PlannedPrivate []byte
	Meta           cty.Value
	PriorIdentity  cty.Value
	Client         ClientCapabilities
}

// PlanResponse holds the planned value: Proposed, with unknown values for the computed attributes that Apply will
// choose. Null and known values must be the same after Apply. MarkComputed marks computed attributes for creations.
type PlanResponse struct {
	Planned         cty.Value
	RequiresReplace []cty.Path
	Private         []byte
	Identity        cty.Value
	// LegacyTypeSystem asks the engine to tolerate planned values that differ from the configuration, which old
	// frameworks cannot avoid. The engine then only logs violations.
	LegacyTypeSystem bool
	Deferred         DeferredReason
	Diagnostics      diag.List
}

// ApplyRequest requests the planned change. Prior is null for a create, Planned is null for a delete.
type ApplyRequest struct {
	Object          addr.Object
	Type            string
	Prior           cty.Value
	Planned         cty.Value
	Config          cty.Value
	PlannedPrivate  []byte
	Meta            cty.Value
	PlannedIdentity cty.Value

	// Intent is the engine's token of this operation, unique in a run. A provider whose response can outlive the engine
	// (a program whose output is spooled) stores the response under this token; others ignore it.
	Intent string
	// Record returns data that the engine needs back together with a response that outlived it; only such a provider
	// calls it. It may be nil.
	Record func() []byte
	// Partial may be called repeatedly during the call with the known part of the object, such as its ID. It returns
	// once the engine has durably recorded it. It may be nil.
	Partial func(state cty.Value, private []byte)
}

// ApplyResponse holds the object that exists after the call, or null if there is none. After an error, State is the
// object as far as it was created: null means that nothing was created. cty.NilVal means that this is unknown (the
// response was lost, or Stop ended the call before the service answered): the engine then keeps a creation as an open
// operation. It does the same if State as a whole is unknown, or null without an error.
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

// RenewEphemeralRequest renews an ephemeral object.
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

// CloseEphemeralRequest closes an ephemeral object.
type CloseEphemeralRequest struct {
	Type    string
	Private []byte
}

// Function describes a function of a provider. Its Impl, if set, may be called in process; otherwise
// Provider.CallFunction is called.
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

// Spec returns the function as a function.Function; call is usually Provider.CallFunction bound to the function's name.
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
			// An argument with unknown parts is only passed if its parameter accepts unknown values.
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

// Factory starts a provider. It is called at most once for each provider configuration, and once for schemas and
// functions.
type Factory func(ctx context.Context) (Provider, error)

// ListRequest holds a query for objects of a managed resource type.
type ListRequest struct {
	Type string
	// Config describes the objects to find, and conforms to the schema in Schema.Lists. Providers without a schema for
	// a list accept any object; then null and cty.NilVal mean everything.
	Config cty.Value
	// IncludeObject requests whole objects in addition to their identities.
	IncludeObject bool
	// Limit is the maximum number of objects to return, at least 1.
	Limit int
}

// ListResponse holds the found objects, in the order of the provider.
type ListResponse struct {
	Results     []Listed
	Diagnostics diag.List
}

// Listed is one existing object.
type Listed struct {
	Identity cty.Value // the id for an import
	// DisplayName is a name for people; it may be empty.
	DisplayName string
	// Object is the object of the managed resource type, if it was requested, otherwise cty.NilVal.
	Object cty.Value
}

// GenerateConfigRequest holds an existing object.
type GenerateConfigRequest struct {
	Type  string
	State cty.Value
}

// GenerateConfigResponse holds a configuration of the object's type that would create the object.
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

// PlanActionResponse holds errors if the action cannot be invoked.
type PlanActionResponse struct {
	Deferred    DeferredReason
	Diagnostics diag.List
}

// InvokeActionRequest requests an action. Its configuration is wholly known.
type InvokeActionRequest struct {
	Type   string
	Config cty.Value
	Client ClientCapabilities
	// Progress may be called repeatedly and concurrently with a message for the user. It may be nil.
	Progress func(message string)
}

// InvokeActionResponse is the result of an action.
type InvokeActionResponse struct {
	// Lost means that the action may have begun, and that its result is unknown.
	Lost        bool
	Diagnostics diag.List
}
