package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/callback"
	"github.com/tombolo-iac/tombolo/provider"
)

// grace is how long a call may take to return after its context has ended.
const grace = 10 * time.Second

// Patient returns a factory for a provider of the embedding program. The provider's calls always return soon after
// their context has ended: a call that does not is abandoned, that is, its goroutine continues, no run waits for it,
// and its result is dropped. calls is the context of calls that have none.
func Patient(p addr.Provider, factory provider.Factory, calls context.Context) provider.Factory {
	return func(ctx context.Context) (provider.Provider, error) {
		type answer struct {
			provider provider.Provider
			err      error
		}
		got, err := await(ctx, p, "start", func() answer {
			inst, err := factory(ctx)
			return answer{inst, err}
		})
		if err = errors.Join(err, got.err); err != nil || got.provider == nil {
			return nil, err
		}
		return &patient{inner: got.provider, name: p, calls: calls}, nil
	}
}

// patient is a provider whose calls always return. It does not embed provider.Provider, so that a new method cannot
// bypass it.
type patient struct {
	inner provider.Provider
	name  addr.Provider
	calls context.Context
}

// await calls a function in another goroutine. If the function panics or ends its goroutine, await panics.
func await[R any](ctx context.Context, of addr.Provider, call string, f func() R) (R, error) {
	got, err := callback.Await(ctx, grace, f, nil)
	switch {
	case err == nil:
		return got, nil
	case err == callback.ErrLost:
		return got, &lostCall{of, call}
	}
	problem := diag.AsPanic(err)
	problem.Provider = of.ForDisplay()
	panic(problem)
}

// lostCall means that a call was abandoned.
type lostCall struct {
	provider addr.Provider
	call     string
}

func (e *lostCall) Error() string {
	return fmt.Sprintf("the call %s of the provider %s did not return within %s after it was cancelled, so the run "+
		"no longer waits for it; a provider must return when the context of a call ends", e.call,
		e.provider.ForDisplay(), grace)
}

// Unwrap returns context.Canceled: a call is only abandoned after it was cancelled.
func (e *lostCall) Unwrap() error { return context.Canceled }

// asked performs a call whose response contains diagnostics; of returns a pointer to them. It removes nil diagnostics,
// which a provider of the embedding program may return.
func asked[R any](ctx context.Context, p *patient, call string, f func() R, of func(*R) *diag.List) R {
	got, err := await(ctx, p.name, call, f)
	diags := of(&got)
	if err != nil {
		*diags = diag.FromError("Provider does not return", err)
	} else if slices.Contains(*diags, nil) {
		*diags = diag.List(nil).Extend(*diags)
	}
	return got
}

// Schema implements provider.Provider.
func (p *patient) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	type answer struct {
		schema *provider.Schema
		diags  diag.List
	}
	got := asked(ctx, p, "Schema", func() (a answer) {
		a.schema, a.diags = p.inner.Schema(ctx)
		return a
	}, func(a *answer) *diag.List { return &a.diags })
	return got.schema, got.diags
}

// ValidateConfig implements provider.Provider.
func (p *patient) ValidateConfig(ctx context.Context,
	r provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	return asked(ctx, p, "ValidateConfig", func() provider.ValidateConfigResponse {
		return p.inner.ValidateConfig(ctx, r)
	}, func(resp *provider.ValidateConfigResponse) *diag.List { return &resp.Diagnostics })
}

// ValidateResource implements provider.Provider.
func (p *patient) ValidateResource(ctx context.Context, r provider.ValidateResourceRequest) diag.List {
	return asked(ctx, p, "ValidateResource", func() diag.List { return p.inner.ValidateResource(ctx, r) },
		func(resp *diag.List) *diag.List { return resp })
}

// Configure implements provider.Provider.
func (p *patient) Configure(ctx context.Context, r provider.ConfigureRequest) provider.ConfigureResponse {
	return asked(ctx, p, "Configure", func() provider.ConfigureResponse { return p.inner.Configure(ctx, r) },
		func(resp *provider.ConfigureResponse) *diag.List { return &resp.Diagnostics })
}

// UpgradeState implements provider.Provider.
func (p *patient) UpgradeState(ctx context.Context, r provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return asked(ctx, p, "UpgradeState", func() provider.UpgradeStateResponse { return p.inner.UpgradeState(ctx, r) },
		func(resp *provider.UpgradeStateResponse) *diag.List { return &resp.Diagnostics })
}

// UpgradeIdentity implements provider.Provider.
func (p *patient) UpgradeIdentity(ctx context.Context,
	r provider.UpgradeIdentityRequest) provider.UpgradeIdentityResponse {
	return asked(ctx, p, "UpgradeIdentity", func() provider.UpgradeIdentityResponse {
		return p.inner.UpgradeIdentity(ctx, r)
	}, func(resp *provider.UpgradeIdentityResponse) *diag.List { return &resp.Diagnostics })
}

// MoveState implements provider.Provider.
func (p *patient) MoveState(ctx context.Context, r provider.MoveStateRequest) provider.MoveStateResponse {
	return asked(ctx, p, "MoveState", func() provider.MoveStateResponse { return p.inner.MoveState(ctx, r) },
		func(resp *provider.MoveStateResponse) *diag.List { return &resp.Diagnostics })
}

// Import implements provider.Provider.
func (p *patient) Import(ctx context.Context, r provider.ImportRequest) provider.ImportResponse {
	return asked(ctx, p, "Import", func() provider.ImportResponse { return p.inner.Import(ctx, r) },
		func(resp *provider.ImportResponse) *diag.List { return &resp.Diagnostics })
}

// Read implements provider.Provider.
func (p *patient) Read(ctx context.Context, r provider.ReadRequest) provider.ReadResponse {
	return asked(ctx, p, "Read", func() provider.ReadResponse { return p.inner.Read(ctx, r) },
		func(resp *provider.ReadResponse) *diag.List { return &resp.Diagnostics })
}

// Plan implements provider.Provider.
func (p *patient) Plan(ctx context.Context, r provider.PlanRequest) provider.PlanResponse {
	return asked(ctx, p, "Plan", func() provider.PlanResponse { return p.inner.Plan(ctx, r) },
		func(resp *provider.PlanResponse) *diag.List { return &resp.Diagnostics })
}

// Apply implements provider.Provider. The response of an abandoned call contains no object, because it is unknown
// whether the object exists.
func (p *patient) Apply(ctx context.Context, r provider.ApplyRequest) provider.ApplyResponse {
	return asked(ctx, p, "Apply", func() provider.ApplyResponse { return p.inner.Apply(ctx, r) },
		func(resp *provider.ApplyResponse) *diag.List { return &resp.Diagnostics })
}

// GenerateConfig implements provider.Provider.
func (p *patient) GenerateConfig(ctx context.Context,
	r provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	return asked(ctx, p, "GenerateConfig", func() provider.GenerateConfigResponse {
		return p.inner.GenerateConfig(ctx, r)
	}, func(resp *provider.GenerateConfigResponse) *diag.List { return &resp.Diagnostics })
}

// List implements provider.Provider.
func (p *patient) List(ctx context.Context, r provider.ListRequest) provider.ListResponse {
	return asked(ctx, p, "List", func() provider.ListResponse { return p.inner.List(ctx, r) },
		func(resp *provider.ListResponse) *diag.List { return &resp.Diagnostics })
}

// PlanAction implements provider.Provider.
func (p *patient) PlanAction(ctx context.Context, r provider.PlanActionRequest) provider.PlanActionResponse {
	return asked(ctx, p, "PlanAction", func() provider.PlanActionResponse { return p.inner.PlanAction(ctx, r) },
		func(resp *provider.PlanActionResponse) *diag.List { return &resp.Diagnostics })
}

// InvokeAction implements provider.Provider.
func (p *patient) InvokeAction(ctx context.Context, r provider.InvokeActionRequest) provider.InvokeActionResponse {
	got, err := await(ctx, p.name, "InvokeAction", func() provider.InvokeActionResponse {
		return p.inner.InvokeAction(ctx, r)
	})
	if err != nil {
		return provider.InvokeActionResponse{Lost: true, Diagnostics: diag.FromError("Provider does not return", err)}
	}
	got.Diagnostics = diag.List(nil).Extend(got.Diagnostics)
	return got
}

// ReadData implements provider.Provider.
func (p *patient) ReadData(ctx context.Context, r provider.ReadDataRequest) provider.ReadDataResponse {
	return asked(ctx, p, "ReadData", func() provider.ReadDataResponse { return p.inner.ReadData(ctx, r) },
		func(resp *provider.ReadDataResponse) *diag.List { return &resp.Diagnostics })
}

// OpenEphemeral implements provider.Provider.
func (p *patient) OpenEphemeral(ctx context.Context, r provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return asked(ctx, p, "OpenEphemeral", func() provider.OpenEphemeralResponse {
		return p.inner.OpenEphemeral(ctx, r)
	}, func(resp *provider.OpenEphemeralResponse) *diag.List { return &resp.Diagnostics })
}

// RenewEphemeral implements provider.Provider.
func (p *patient) RenewEphemeral(ctx context.Context,
	r provider.RenewEphemeralRequest) provider.RenewEphemeralResponse {
	return asked(ctx, p, "RenewEphemeral", func() provider.RenewEphemeralResponse {
		return p.inner.RenewEphemeral(ctx, r)
	}, func(resp *provider.RenewEphemeralResponse) *diag.List { return &resp.Diagnostics })
}

// CloseEphemeral implements provider.Provider.
func (p *patient) CloseEphemeral(ctx context.Context, r provider.CloseEphemeralRequest) diag.List {
	return asked(ctx, p, "CloseEphemeral", func() diag.List { return p.inner.CloseEphemeral(ctx, r) },
		func(resp *diag.List) *diag.List { return resp })
}

// CallFunction implements provider.Provider.
func (p *patient) CallFunction(ctx context.Context, name string, args []cty.Value) (cty.Value, error) {
	type answer struct {
		value cty.Value
		err   error
	}
	got, err := await(ctx, p.name, "CallFunction", func() (a answer) {
		a.value, a.err = p.inner.CallFunction(ctx, name, args)
		return a
	})
	if err != nil {
		return cty.NilVal, err
	}
	return got.value, got.err
}

// Stop implements provider.Provider.
func (p *patient) Stop(ctx context.Context) error {
	err, lost := await(ctx, p.name, "Stop", func() error { return p.inner.Stop(ctx) })
	return errors.Join(err, lost)
}

// Close implements provider.Provider.
func (p *patient) Close() error {
	err, lost := await(p.calls, p.name, "Close", p.inner.Close)
	return errors.Join(err, lost)
}
