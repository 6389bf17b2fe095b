package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// Schema and metadata.

func (s *Server) providerSchema(ctx context.Context, _ *plugin6.Nothing) proto.Message {
	c, ok := s.begin(ctx, methodSchema)
	defer c.end()
	m := &plugin6.SchemaResponse{}
	if ok {
		encoded, err := encodeSchema(c.schema, s.version)
		if err == nil {
			m = encoded
		} else {
			c.diags = schemaProblems("of this plugin", []error{err})
		}
	}
	m.Diagnostics = c.problems(nil)
	return s.version.ofSix(m)
}

func (s *Server) identities(ctx context.Context, _ *plugin6.Nothing) *plugin6.IdentitySchemasResponse {
	c, ok := s.begin(ctx, methodIdentities)
	defer c.end()
	m := &plugin6.IdentitySchemasResponse{}
	if ok {
		var err error
		if m.Identities, err = encodeIdentities(c.schema); err != nil {
			c.diags = schemaProblems("of this plugin", []error{err})
		}
	}
	m.Diagnostics = c.problems(nil)
	return m
}

func (s *Server) functions(ctx context.Context, _ *plugin6.Nothing) *plugin6.FunctionsResponse {
	c, ok := s.begin(ctx, methodFunctions)
	defer c.end()
	m := &plugin6.FunctionsResponse{}
	if ok {
		e := &schemaEncoder{version: s.version}
		if m.Functions = encodeEach(e, "function ", c.schema.Functions, e.function); e.err != nil {
			c.diags = schemaProblems("of this plugin", []error{e.err})
		}
	}
	m.Diagnostics = c.problems(nil)
	return m
}

func (s *Server) metadata(ctx context.Context, _ *plugin6.Nothing) *plugin6.MetadataResponse {
	c, ok := s.begin(ctx, methodMetadata)
	defer c.end()
	m := &plugin6.MetadataResponse{}
	if ok {
		m.ServerCapabilities = encodeCapabilities(c.schema)
		m.Resources, m.DataSources = metadataNames(c.schema.Resources), metadataNames(c.schema.Data)
		m.EphemeralResources, m.Functions = metadataNames(c.schema.Ephemeral), metadataNames(c.schema.Functions)
		m.ListResources, m.Actions = metadataNames(c.schema.Lists), metadataNames(c.schema.Actions)
	}
	m.Diagnostics = c.problems(nil)
	return m
}

func metadataNames[T any](in map[string]T) []*plugin6.MetadataResponse_Name {
	var out []*plugin6.MetadataResponse_Name
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, &plugin6.MetadataResponse_Name{Name: name})
	}
	return out
}

// The provider block.

func (s *Server) validateConfig(ctx context.Context, req *plugin6.ConfigRequest) *plugin6.ValidateProviderResponse {
	c, ok := s.begin(ctx, methodValidateConfig)
	defer c.end()
	m := &plugin6.ValidateProviderResponse{}
	if !ok {
		m.Diagnostics = c.problems(nil)
		return m
	}
	ty := c.schema.Provider.ImpliedType()
	config := c.read("config", req.GetConfig(), ty)
	if c.diags != nil {
		m.Diagnostics = c.problems(nil)
		return m
	}
	resp := c.inst.ValidateConfig(ctx, provider.ValidateConfigRequest{Config: config})
	if s.version.prepares {
		m.Prepared = c.write("prepared config", resp.Prepared, ty)
	}
	m.Diagnostics = c.problems(resp.Diagnostics)
	return m
}

func (s *Server) configure(ctx context.Context, req *plugin6.ConfigureRequest) *plugin6.DiagnosticsFirst {
	c := &session{s: s, method: methodConfigure}
	defer c.end()
	inst, err := s.forConfiguring(ctx)
	if err != nil {
		return &plugin6.DiagnosticsFirst{
			Diagnostics: encodeDiagnostics(diag.FromError("The provider cannot start", err))}
	}
	var answer diag.List
	if c.use(ctx, inst) {
		config := c.read("config", req.GetConfig(), c.schema.Provider.ImpliedType())
		if c.diags == nil {
			answer = inst.Configure(ctx, provider.ConfigureRequest{
				TerraformVersion: req.GetTerraformVersion(), Config: config,
				Client: decodeClient(req.GetClientCapabilities()),
			}).Diagnostics
		}
	}
	return &plugin6.DiagnosticsFirst{Diagnostics: c.problems(answer)}
}

func (s *Server) stop(ctx context.Context, _ *plugin6.Nothing) *plugin6.StopResponse {
	s.mu.Lock()
	inst := s.current
	if inst != nil {
		inst.users++
		inst.stopped = true
	}
	s.mu.Unlock()
	if inst == nil {
		return &plugin6.StopResponse{}
	}
	defer s.release(inst)
	if err := inst.Stop(ctx); err != nil {
		return &plugin6.StopResponse{Error: text(err.Error())}
	}
	return &plugin6.StopResponse{}
}

func validateAs(kind provider.ResourceKind) func(*Server, context.Context,
	*plugin6.ValidateRequest) *plugin6.DiagnosticsFirst {
	return func(s *Server, ctx context.Context, req *plugin6.ValidateRequest) *plugin6.DiagnosticsFirst {
		c, ok := s.begin(ctx, validateMethods[kind])
		defer c.end()
		var answer diag.List
		if ok {
			if rt := c.typeOf(kind, req.GetType()); rt != nil {
				config := c.read("config", req.GetConfig(), rt.Block.ImpliedType())
				if c.diags == nil {
					answer = c.inst.ValidateResource(ctx, provider.ValidateResourceRequest{
						Kind: kind, Type: req.GetType(), Config: config,
						Client: decodeClient(req.GetClientCapabilities()),
					})
				}
			}
		}
		return &plugin6.DiagnosticsFirst{Diagnostics: c.problems(answer)}
	}
}

// Functions.

func (s *Server) callFunction(ctx context.Context, req *plugin6.CallRequest) *plugin6.CallResponse {
	c, ok := s.begin(ctx, methodCall)
	defer c.end()
	if !ok {
		return callFailed(c.diags.Err())
	}
	f := c.schema.Functions[req.GetName()]
	if f == nil {
		return callFailed(fmt.Errorf("the provider has no function %q", req.GetName()))
	}
	if n := len(req.GetArguments()); n < len(f.Params) || n > len(f.Params) && f.VarParam == nil {
		return callFailed(fmt.Errorf("the function takes %d arguments, not %d", len(f.Params), n))
	}
	args := make([]cty.Value, len(req.GetArguments()))
	for i, m := range req.GetArguments() {
		p := f.VarParam
		if i < len(f.Params) {
			p = &f.Params[i]
		}
		var err error
		if args[i], err = decodeValue(m, p.Type); err != nil {
			return callFailed(function.NewArgError(i, err))
		}
	}
	v, err := c.inst.CallFunction(ctx, req.GetName(), args)
	if err != nil {
		return callFailed(err)
	}
	m, err := encodeValue(v, f.Return)
	if err != nil {
		return callFailed(fmt.Errorf("the result cannot be sent: %w", err))
	}
	return &plugin6.CallResponse{Result: m}
}

func callFailed(err error) *plugin6.CallResponse {
	m := &plugin6.FunctionError{Text: text(err.Error())}
	var arg function.ArgError
	if errors.As(err, &arg) {
		m.Argument = proto.Int64(int64(arg.Index))
	}
	return &plugin6.CallResponse{Error: m}
}

// Data sources and ephemeral resources.

func (s *Server) readData(ctx context.Context, req *plugin6.ReadDataRequest) *plugin6.ReadDataResponse {
	c, ok := s.begin(ctx, methodReadData)
	defer c.end()
	m := &plugin6.ReadDataResponse{}
	var answer diag.List
	if ok {
		if rt := c.typeOf(provider.DataSource, req.GetType()); rt != nil {
			ty := rt.Block.ImpliedType()
			in := provider.ReadDataRequest{
				Type: req.GetType(), Config: c.read("config", req.GetConfig(), ty),
				Meta: c.readMeta(req.GetProviderMeta()), Client: decodeClient(req.GetClientCapabilities()),
			}
			if c.diags == nil {
				resp := c.inst.ReadData(ctx, in)
				m.State, m.Deferred, answer = c.write("state", resp.State, ty), encodeDeferred(resp.Deferred),
					resp.Diagnostics
			}
		}
	}
	m.Diagnostics = c.problems(answer)
	return m
}

func (s *Server) open(ctx context.Context, req *plugin6.OpenRequest) *plugin6.OpenResponse {
	c, ok := s.begin(ctx, methodOpen)
	defer c.end()
	m := &plugin6.OpenResponse{}
	var answer diag.List
	if ok {
		if rt := c.typeOf(provider.EphemeralResource, req.GetType()); rt != nil {
			ty := rt.Block.ImpliedType()
			config := c.read("config", req.GetConfig(), ty)
			if c.diags == nil {
				resp := c.inst.OpenEphemeral(ctx, provider.OpenEphemeralRequest{Type: req.GetType(), Config: config,
					Client: decodeClient(req.GetClientCapabilities())})
				m.Result, m.Private, m.RenewAt = c.write("result", resp.Result, ty), resp.Private,
					encodeTime(resp.RenewAt)
				m.Deferred, answer = encodeDeferred(resp.Deferred), resp.Diagnostics
			}
		}
	}
	m.Diagnostics = c.problems(answer)
	return m
}

func (s *Server) renew(ctx context.Context, req *plugin6.RenewRequest) *plugin6.RenewResponse {
	c, ok := s.begin(ctx, methodRenew)
	defer c.end()
	if !ok {
		return &plugin6.RenewResponse{Diagnostics: c.problems(nil)}
	}
	resp := c.inst.RenewEphemeral(ctx, provider.RenewEphemeralRequest{Type: req.GetType(), Private: req.GetPrivate()})
	return &plugin6.RenewResponse{Private: resp.Private, RenewAt: encodeTime(resp.RenewAt),
		Diagnostics: c.problems(resp.Diagnostics)}
}

func (s *Server) closeEphemeral(ctx context.Context, req *plugin6.CloseRequest) *plugin6.DiagnosticsFirst {
	c, ok := s.begin(ctx, methodClose)
	defer c.end()
	if !ok {
		return &plugin6.DiagnosticsFirst{Diagnostics: c.problems(nil)}
	}
	return &plugin6.DiagnosticsFirst{
		Diagnostics: c.problems(c.inst.CloseEphemeral(ctx, provider.CloseEphemeralRequest{
			Type: req.GetType(), Private: req.GetPrivate()}))}
}

func encodeTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
