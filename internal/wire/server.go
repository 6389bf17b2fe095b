package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// Server serves a provider with one version of the protocol.
//
// The protocol lets a client configure a server again, as happens to plugins that outlive one command, while a
// provider.Provider is only configured once. So every further Configure gets a new provider from the factory. Calls in
// progress keep theirs, and the last of them closes it.
type Server struct {
	version *version
	factory provider.Factory

	mu      sync.Mutex // guards the fields below
	current *instance
	schema  *provider.Schema // the same for all instances
	closed  bool
	live    int           // number of open instances
	errs    []error       // errors of closing them
	idle    chan struct{} // closed when the server is closed and no instance is open
}

// instance is a provider with the number of calls that use it.
type instance struct {
	provider.Provider
	configured bool
	users      int  // calls in progress, plus one if it is current
	stopped    bool // Stop was called
}

// NewServer returns a server for the providers that a factory starts. It starts the first provider at the first call.
func NewServer(factory provider.Factory, protocol int) (*Server, error) {
	v, err := versionOf(protocol)
	if err != nil {
		return nil, err
	}
	return &Server{version: v, factory: factory, idle: make(chan struct{})}, nil
}

// Methods returns the server's methods by path.
func (s *Server) Methods() map[string]rpc.Method {
	methods := make(map[string]rpc.Method, len(serverMethods))
	for name, bind := range serverMethods {
		methods[s.version.path(name)] = bind(s)
	}
	return methods
}

// serverMethods has the names of version 6. All other methods are unimplemented.
var serverMethods = map[string]func(*Server) rpc.Method{
	methodMetadata:          method((*Server).metadata),
	methodSchema:            method((*Server).providerSchema),
	methodIdentities:        method((*Server).identities),
	methodFunctions:         method((*Server).functions),
	methodValidateConfig:    method((*Server).validateConfig),
	methodValidateResource:  method(validateAs(provider.ManagedResource)),
	methodValidateData:      method(validateAs(provider.DataSource)),
	methodValidateEphemeral: method(validateAs(provider.EphemeralResource)),
	methodConfigure:         method((*Server).configure),
	methodStop:              method((*Server).stop),
	methodUpgradeState:      method((*Server).upgradeState),
	methodUpgradeIdentity:   method((*Server).upgradeIdentity),
	methodRead:              method((*Server).read),
	methodPlan:              method((*Server).plan),
	methodApply:             method((*Server).apply),
	methodImport:            method((*Server).importObjects),
	methodMove:              method((*Server).move),
	methodReadData:          method((*Server).readData),
	methodOpen:              method((*Server).open),
	methodRenew:             method((*Server).renew),
	methodClose:             method((*Server).closeEphemeral),
	methodCall:              method((*Server).callFunction),
	methodGenerate:          method((*Server).generateConfig),
	methodValidateList:      method((*Server).validateList),
	methodValidateAction:    method(validateAs(provider.Action)),
	methodPlanAction:        method((*Server).planAction),
	// These send several messages.
	methodList:   streamed((*Server).list),
	methodInvoke: streamed((*Server).invokeAction),
}

// method converts one of our methods.
func method[Q any, M proto.Message](f func(*Server, context.Context, *Q) M) func(*Server) rpc.Method {
	return func(s *Server) rpc.Method {
		return rpc.Method{Request: request[Q], Answer: func(ctx context.Context, req proto.Message) (proto.Message,
			error) {
			return f(s, ctx, any(req).(*Q)), nil
		}}
	}
}

// streamed converts one of our methods that sends several responses. It fails if the client is gone.
func streamed[Q any](f func(*Server, context.Context, *Q, func(proto.Message) error) error) func(*Server) rpc.Method {
	return func(s *Server) rpc.Method {
		return rpc.Method{Request: request[Q], Answers: func(ctx context.Context, req proto.Message,
			send func(proto.Message) error) error {
			return f(s, ctx, any(req).(*Q), send)
		}}
	}
}

// request returns an empty request.
func request[Q any]() proto.Message { return any(new(Q)).(proto.Message) }

// Close closes the provider when no call uses it, and waits for that until the context ends. Later calls fail.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	first, old := !s.closed, s.current
	s.closed, s.current = true, nil
	if first && s.live == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	if old != nil {
		s.release(old)
	}
	select {
	case <-s.idle:
	case <-ctx.Done():
		return fmt.Errorf("wait for calls to end: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// acquire returns the current provider for a call, which must release it.
func (s *Server) acquire(ctx context.Context) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		i, err := s.start(ctx)
		if err != nil {
			return nil, err
		}
		s.current = i
	}
	s.current.users++
	return s.current, nil
}

// start starts an instance, which has one user while it is current. The caller holds the mutex.
func (s *Server) start(ctx context.Context) (*instance, error) {
	if s.closed {
		return nil, errors.New("the provider is shutting down")
	}
	p, err := s.factory(ctx)
	if err != nil {
		return nil, err
	}
	s.live++
	return &instance{Provider: p, users: 1}, nil
}

// forConfiguring is like acquire, for Configure: it returns an instance that was not configured.
func (s *Server) forConfiguring(ctx context.Context) (*instance, error) {
	s.mu.Lock()
	var old *instance
	if s.current != nil && (s.current.configured || s.current.stopped) {
		old, s.current = s.current, nil
	}
	s.mu.Unlock()
	if old != nil {
		s.release(old)
	}
	i, err := s.acquire(ctx)
	if err == nil {
		s.mu.Lock()
		i.configured = true
		s.mu.Unlock()
	}
	return i, err
}

// release ends the use of an instance; the last user closes it.
func (s *Server) release(i *instance) {
	s.mu.Lock()
	i.users--
	last := i.users == 0
	s.mu.Unlock()
	if !last {
		return
	}
	err := i.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, err)
	}
	if s.live--; s.live == 0 && s.closed {
		close(s.idle)
	}
}

// session is one call: its provider, the schema, and the problems in decoding the request and encoding the response.
type session struct {
	s      *Server
	inst   *instance
	schema *provider.Schema
	method string
	diags  diag.List
}

// begin starts a call. The session is usable, and must be ended, even if there are problems; ok reports that there are
// none.
func (s *Server) begin(ctx context.Context, method string) (c *session, ok bool) {
	c = &session{s: s, method: method}
	inst, err := s.acquire(ctx)
	if err != nil {
		c.diags = diag.FromError("The provider cannot start", err)
		return c, false
	}
	return c, c.use(ctx, inst)
}

// use sets the instance and its schema.
func (c *session) use(ctx context.Context, inst *instance) bool {
	c.inst = inst
	c.s.mu.Lock()
	c.schema = c.s.schema
	c.s.mu.Unlock()
	if c.schema != nil {
		return true
	}
	var diags diag.List
	if c.schema, diags = inst.Schema(ctx); diags.HasErrors() || c.schema == nil {
		c.diags = diags
		if !diags.HasErrors() {
			c.diags = c.diags.Errorf(nil, "No provider schema", "The provider did not return a schema.")
		}
		return false
	}
	c.s.mu.Lock()
	c.s.schema = c.schema
	c.s.mu.Unlock()
	return true
}

func (c *session) end() {
	if c.inst != nil {
		c.s.release(c.inst)
	}
}

// fail adds a problem that the client has caused.
func (c *session) fail(field string, err error) {
	c.diags = c.diags.Errorf(nil, "Invalid request", "The call %s cannot be served: %s: %s.",
		c.s.version.method(c.method), field, err)
}

// typeOf returns a type.
func (c *session) typeOf(kind provider.ResourceKind, name string) *provider.ResourceType {
	rt := c.schema.Type(kind, name)
	if rt == nil {
		c.fail("type", fmt.Errorf("there is no %s %q", kindNames[kind], name))
	}
	return rt
}

// read decodes a value, and records problems.
func (c *session) read(field string, m *plugin6.DynamicValue, ty cty.Type) cty.Value {
	v, err := decodeValue(m, ty)
	if err != nil {
		c.fail(field, err)
	}
	return v
}

// write encodes a value, and records problems. It returns nil for a value that the provider does not return.
func (c *session) write(field string, v cty.Value, ty cty.Type) *plugin6.DynamicValue {
	if v == cty.NilVal {
		return nil
	}
	m, err := encodeValue(v, ty)
	if err != nil {
		c.diags = c.diags.Errorf(nil, "Invalid answer of the provider",
			"The answer to the call %s cannot be sent: %s: %s. This is a bug in the provider.",
			c.s.version.method(c.method), field, err)
		return nil
	}
	return m
}

func (c *session) readMeta(m *plugin6.DynamicValue) cty.Value {
	if c.schema.Meta == nil {
		return cty.NilVal
	}
	return c.read("provider_meta", m, c.schema.Meta.ImpliedType())
}

func (c *session) readIdentity(m *plugin6.IdentityValue, rt *provider.ResourceType) cty.Value {
	if m == nil || rt.Identity == nil {
		return cty.NilVal
	}
	return c.read("identity", m.GetValue(), rt.Identity.ImpliedType())
}

func (c *session) writeIdentity(v cty.Value, rt *provider.ResourceType) *plugin6.IdentityValue {
	if rt.Identity == nil || v == cty.NilVal || v.IsNull() {
		return nil
	}
	return &plugin6.IdentityValue{Value: c.write("identity", v, rt.Identity.ImpliedType())}
}

// problems returns the diagnostics of the session and of the provider's response.
func (c *session) problems(more diag.List) []*plugin6.Diagnostic {
	return encodeDiagnostics(append(more[:len(more):len(more)], c.diags...))
}

func decodeClient(m *plugin6.ClientCapabilities) provider.ClientCapabilities {
	return provider.ClientCapabilities{DeferralAllowed: m.GetDeferralAllowed(),
		WriteOnlyAttributesAllowed: m.GetWriteOnlyAttributesAllowed(),
		StorePlannedPrivate:        m.GetStorePlannedPrivate(), ComputedBlocksAllowed: m.GetComputedBlocksAllowed()}
}

func encodeDeferred(r provider.DeferredReason) *plugin6.Deferred {
	switch {
	case r == provider.NotDeferred:
		return nil
	case r <= provider.DeferredAbsentPrerequisite:
		return &plugin6.Deferred{Reason: plugin6.Deferred_Reason(r)}
	}
	return &plugin6.Deferred{Reason: plugin6.Deferred_UNKNOWN}
}

func decodeStored(m *plugin6.StoredValue) provider.StoredObject {
	s := provider.StoredObject{JSON: m.GetJson(), Flat: m.GetFlat()}
	if len(s.JSON) == 0 {
		s.JSON = nil
	}
	return s
}
