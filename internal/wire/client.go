package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// Options configures a client.
type Options struct {
	// Name is the name of the provider in problems, which is its address.
	Name string
	// Schema is the schema that another process of the same plugin returned. It saves a request if the plugin permits
	// that.
	Schema *provider.Schema
	// Explain returns how the plugin ended, in complete sentences, for a call without a response, or "" if that is
	// unknown. It may be nil.
	Explain func() string
	// MaxAnswer is the maximum size of a response in bytes; 0 means MaxMessage.
	MaxAnswer int
	// Close ends the plugin and closes the connection.
	Close func() error
}

// Conn is a connection to a plugin. Package rpc documents its methods.
type Conn interface {
	Invoke(ctx context.Context, method string, request, answer proto.Message, limit int) (sent bool, err error)
	Stream(ctx context.Context, method string, request, answer proto.Message, limit int, each func() bool) (sent bool,
		err error)
}

// NewClient returns a provider that uses a connection to a plugin with a version of the protocol.
func NewClient(conn Conn, protocol int, o Options) (provider.Provider, error) {
	v, err := versionOf(protocol)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "of the plugin"
	}
	return &client{conn: conn, version: v, opts: o}, nil
}

type client struct {
	conn    Conn
	version *version
	opts    Options

	mu     sync.Mutex // guards the fields below; held during the request for the schema
	schema *provider.Schema

	stopping atomic.Bool // Stop was called

	closeOnce sync.Once
	closeErr  error
}

// invoke performs a call. sent reports whether the plugin may have received it.
func (c *client) invoke(ctx context.Context, method string, req, resp proto.Message) (sent bool, err error) {
	sent, err = c.conn.Invoke(ctx, c.version.path(method), req, resp, cmp.Or(c.opts.MaxAnswer, MaxMessage))
	return c.refused(req, sent, err)
}

// refused reports which side refused a message because of its size. If the plugin did, the call was not performed.
func (c *client) refused(req proto.Message, sent bool, err error) (bool, error) {
	if large := tooLarge(err); large != nil {
		large.request = large.size == proto.Size(req)
		return !large.request, large
	}
	return sent, err
}

// sizeError means that one side of a connection refused a message because of its size.
type sizeError struct {
	size, limit int
	request     bool // the plugin refused the request; otherwise we refused its response
	err         error
}

func (e *sizeError) Error() string { return e.err.Error() }
func (e *sizeError) Unwrap() error { return e.err }

// sizes matches the text of all gRPC implementations, which share it.
var sizes = regex.Lazy(`larger than max \((\d+) vs\. (\d+)\)`)

func tooLarge(err error) *sizeError {
	if status.Code(err) != codes.ResourceExhausted {
		return nil
	}
	found := sizes().FindStringSubmatch(status.Convert(err).Message())
	if found == nil {
		return nil
	}
	e := &sizeError{err: err}
	e.size, _ = strconv.Atoi(found[1])
	e.limit, _ = strconv.Atoi(found[2])
	return e
}

// problem returns the refusal as a diagnostic.
func (e *sizeError) problem(name, method string) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: diag.Error, Summary: "Object is too large for the provider"}
	if !e.request {
		d.Summary = "Answer of the provider is too large"
		d.Detail = fmt.Sprintf("Provider %s answered the call %s with %d bytes; at most %d are accepted. Keep large "+
			"contents in files or in several objects.", name, method, e.size, e.limit)
		return d
	}
	d.Detail = fmt.Sprintf("The call %s of provider %s needs a message of %d bytes, and the provider accepts at most "+
		"%d, so it was not called. A message can contain the current object, its configuration and the planned "+
		"object. Make the object smaller: keep large contents in files or in several objects. Or ask the authors of "+
		"the provider to accept larger messages.", method, name, e.size, e.limit)
	return d
}

// call performs a call and returns the problem if there is no response.
func (c *client) call(ctx context.Context, method string, req, resp proto.Message) diag.List {
	_, err := c.invoke(ctx, method, req, resp)
	return c.failed(method, err)
}

// failed returns the problem of a call without a response.
func (c *client) failed(method string, err error) diag.List {
	if err == nil {
		return nil
	}
	method = c.version.method(method)
	if large := (*sizeError)(nil); errors.As(err, &large) {
		return diag.List{large.problem(c.opts.Name, method)}
	}
	s := status.Convert(err)
	more := ""
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unimplemented, codes.ResourceExhausted: // the plugin works
	default:
		more = c.explain()
	}
	switch s.Code() {
	case codes.Unavailable:
		return diag.List{}.Errorf(nil, "Plugin did not respond",
			"Provider %s did not answer the call %s: %s. Its log may have the reason.%s",
			c.opts.Name, method, message(s),
			more)
	case codes.Canceled:
		return diag.List{}.Errorf(nil, "Request cancelled",
			"The call %s of provider %s was cancelled before it was answered: %s.", method, c.opts.Name,
			message(s)).Because(context.Canceled)
	case codes.Unimplemented:
		return diag.List{}.Errorf(nil, "Unsupported plugin method",
			"Provider %s does not support the call %s. A newer version may support it.", c.opts.Name, method)
	}
	return diag.List{}.Errorf(nil, "Plugin error",
		"Provider %s answered the call %s with an unexpected error, %s: %s.%s", c.opts.Name, method, s.Code(),
		message(s), more)
}

// explain returns how the plugin ended, as a paragraph.
func (c *client) explain() string {
	if c.opts.Explain == nil {
		return ""
	}
	explanation := c.opts.Explain()
	if explanation == "" {
		return ""
	}
	return "\n\n" + text(explanation)
}

// message returns the text of a failure, truncated to fit on a screen.
func message(s *status.Status) string {
	const most = 2000
	m := text(s.Message())
	if len(m) > most {
		m = text(m[:most]) + "..."
	}
	return m
}

// bad returns the problem of a response that cannot be decoded.
func (c *client) bad(method, field string, err error) *diag.Diagnostic {
	return &diag.Diagnostic{
		Severity: diag.Error, Summary: "Provider produced an invalid answer",
		Detail: fmt.Sprintf("Provider %s sent an invalid answer to the call %s: %s: %s. This is a bug in the provider.",
			c.opts.Name, c.version.method(method), field, err),
	}
}

// Schema implements provider.Provider. It requests the schema until the plugin has returned it once.
func (c *client) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema != nil {
		return c.schema, nil
	}
	if known := c.opts.Schema; known != nil {
		return c.adopt(ctx, known)
	}
	m := c.version.newSchema()
	if diags := c.call(ctx, methodSchema, &plugin6.Nothing{}, m); diags != nil {
		return nil, diags
	}
	answer := c.version.sixOf(m)
	diags := decodeDiagnostics(answer.GetDiagnostics())
	if diags.HasErrors() {
		return nil, diags
	}
	var identities plugin6.IdentitySchemasResponse
	if _, err := c.invoke(ctx, methodIdentities, &plugin6.Nothing{}, &identities); status.Code(
		err) != codes.Unimplemented {
		diags = diags.Extend(c.failed(methodIdentities, err)).Extend(decodeDiagnostics(identities.GetDiagnostics()))
	}
	schema, errs := decodeSchema(answer, identities.GetIdentities())
	diags = diags.Extend(schemaProblems(c.opts.Name, errs))
	if diags.HasErrors() {
		return nil, diags
	}
	c.schema = schema
	return schema, diags
}

// adopt uses a known schema. Plugins that do not declare GetProviderSchemaOptional still get the request, because they
// may initialize while they handle it; the response is not decoded.
func (c *client) adopt(ctx context.Context, known *provider.Schema) (*provider.Schema, diag.List) {
	if !known.GetProviderSchemaOptional {
		if diags := c.call(ctx, methodSchema, &plugin6.Nothing{}, &plugin6.Nothing{}); diags != nil {
			return nil, diags
		}
	}
	c.schema = known
	return known, nil
}

// typeOf returns a type of a kind from the schema.
func (c *client) typeOf(ctx context.Context, kind provider.ResourceKind, name string) (*provider.ResourceType,
	diag.List) {
	schema, diags := c.Schema(ctx)
	if schema == nil {
		return nil, diags
	}
	if rt := schema.Type(kind, name); rt != nil {
		return rt, nil
	}
	return nil, diag.List{}.Errorf(nil, "No such type", "Provider %s has no %s %q.", c.opts.Name, kindNames[kind], name)
}

var kindNames = map[provider.ResourceKind]string{
	provider.ManagedResource: "resource type", provider.DataSource: "data source",
	provider.EphemeralResource: "ephemeral resource type", provider.ListResource: "list resource type",
	provider.Action: "action type",
}

// Stop implements provider.Provider.
func (c *client) Stop(ctx context.Context) error {
	c.stopping.Store(true)
	var m plugin6.StopResponse
	if _, err := c.invoke(ctx, methodStop, &plugin6.Nothing{}, &m); err != nil {
		return fmt.Errorf("stop provider %s: %w", c.opts.Name, err)
	}
	if m.GetError() != "" {
		return fmt.Errorf("stop provider %s: %s", c.opts.Name, m.GetError())
	}
	return nil
}

// Close implements provider.Provider.
func (c *client) Close() error {
	c.closeOnce.Do(func() {
		if c.opts.Close != nil {
			c.closeErr = c.opts.Close()
		}
	})
	return c.closeErr
}

// writer encodes the values of a request. It keeps the first error of each value.
type writer struct {
	c      *client
	method string
	diags  diag.List
}

func (w *writer) value(field string, v cty.Value, ty cty.Type) *plugin6.DynamicValue {
	m, err := encodeValue(v, ty)
	if err != nil {
		w.diags = w.diags.Errorf(nil, "Value cannot be sent", "The call %s of provider %s cannot be made: %s: %s.",
			w.c.version.method(w.method), w.c.opts.Name, field, err)
	}
	return m
}

// meta encodes the provider_meta block, or nil if the plugin has none.
func (w *writer) meta(v cty.Value) *plugin6.DynamicValue {
	if w.c.schema.Meta == nil {
		return nil
	}
	return w.value("provider_meta", v, w.c.schema.Meta.ImpliedType())
}

// identity encodes an identity, or returns nil if there is none.
func (w *writer) identity(v cty.Value, rt *provider.ResourceType) *plugin6.IdentityValue {
	if rt.Identity == nil || v == cty.NilVal || v.IsNull() {
		return nil
	}
	return &plugin6.IdentityValue{Value: w.value("identity", v, rt.Identity.ImpliedType())}
}

// reader decodes the values of a response.
type reader struct {
	c      *client
	method string
	diags  diag.List
}

func (c *client) reader(method string, diags []*plugin6.Diagnostic) *reader {
	return &reader{c: c, method: method, diags: decodeDiagnostics(diags)}
}

// value decodes a value. It returns the fallback if that fails.
func (r *reader) value(field string, m *plugin6.DynamicValue, ty cty.Type, fallback cty.Value) cty.Value {
	v, err := decodeValue(m, ty)
	if err != nil {
		r.diags = r.diags.Append(r.c.bad(r.method, field, err))
		return fallback
	}
	return v
}

func (r *reader) identity(m *plugin6.IdentityValue, rt *provider.ResourceType) cty.Value {
	if m == nil || rt.Identity == nil {
		return cty.NilVal
	}
	return r.value("identity", m.GetValue(), rt.Identity.ImpliedType(), cty.NilVal)
}

func (r *reader) paths(in []*plugin6.Path) []cty.Path {
	var out []cty.Path
	for _, m := range in {
		path := decodePath(m)
		if len(path) == 0 {
			r.diags = r.diags.Append(r.c.bad(r.method, "requires_replace", fmt.Errorf("a path is empty")))
			continue
		}
		out = append(out, path)
	}
	return out
}

func encodeClient(c provider.ClientCapabilities) *plugin6.ClientCapabilities {
	return &plugin6.ClientCapabilities{DeferralAllowed: c.DeferralAllowed,
		WriteOnlyAttributesAllowed: c.WriteOnlyAttributesAllowed, StorePlannedPrivate: c.StorePlannedPrivate,
		ComputedBlocksAllowed: c.ComputedBlocksAllowed}
}

func decodeDeferred(m *plugin6.Deferred) provider.DeferredReason {
	switch {
	case m == nil:
		return provider.NotDeferred
	case m.Reason > plugin6.Deferred_UNKNOWN && m.Reason <= plugin6.Deferred_ABSENT_PREREQUISITE:
		return provider.DeferredReason(m.Reason)
	}
	return provider.DeferredUnknownReason
}

func encodeStored(s provider.StoredObject) *plugin6.StoredValue {
	return &plugin6.StoredValue{Json: s.JSON, Flat: s.Flat}
}
