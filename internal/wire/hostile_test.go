package wire

import (
	"context"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// spoil changes every dynamic value in a message.
func spoil(m proto.Message, data []byte) proto.Message {
	m = proto.Clone(m)
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if v, ok := m.Interface().(*plugin6.DynamicValue); ok {
			v.Msgpack, v.Json = data, nil
			return
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.IsMap() && fd.MapValue().Message() != nil:
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { walk(v.Message()); return true })
			case fd.IsList() && fd.Message() != nil:
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			case !fd.IsMap() && !fd.IsList() && fd.Message() != nil:
				walk(v.Message())
			}
			return true
		})
	}
	walk(m.ProtoReflect())
	return m
}

// problemsOf returns the diagnostics in a response of provider.Provider.
func problemsOf(answer any) diag.List {
	switch a := answer.(type) {
	case diag.List:
		return a
	case provider.ValidateConfigResponse:
		return a.Diagnostics
	case provider.ConfigureResponse:
		return a.Diagnostics
	case provider.UpgradeStateResponse:
		return a.Diagnostics
	case provider.UpgradeIdentityResponse:
		return a.Diagnostics
	case provider.MoveStateResponse:
		return a.Diagnostics
	case provider.ImportResponse:
		return a.Diagnostics
	case provider.ReadResponse:
		return a.Diagnostics
	case provider.PlanResponse:
		return a.Diagnostics
	case provider.ApplyResponse:
		return a.Diagnostics
	case provider.ReadDataResponse:
		return a.Diagnostics
	case provider.OpenEphemeralResponse:
		return a.Diagnostics
	case provider.RenewEphemeralResponse:
		return a.Diagnostics
	case provider.GenerateConfigResponse:
		return a.Diagnostics
	case provider.ListResponse:
		return a.Diagnostics
	case provider.PlanActionResponse:
		return a.Diagnostics
	case provider.InvokeActionResponse:
		return a.Diagnostics
	case error:
		return diag.FromError("call", a)
	}
	return nil
}

// carriesValues are the exchanges whose responses contain values.
var carriesValues = []string{"upgrade", "upgrade identity", "move", "import", "read", "plan", "apply", "read data",
	"open", "call", "generate", "list"}

func TestInvalidResponsesAreProblemsThatNameThePlugin(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		r := newRandom(4)
		m := &mirror{schema: r.schema(v)}
		p, l := connect(t, m, v.number)
		if _, diags := p.Schema(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		l.answer = func(_ string, m proto.Message) proto.Message {
			return spoil(m, []byte{0xdd, 0xff, 0xff, 0xff, 0xff})
		}
		found := 0
		for _, x := range exchanges(r, m.schema) {
			m.answer = x.resp
			got := x.call(p)
			for _, name := range carriesValues {
				if name != x.name {
					continue
				}
				found++
				if err := problemsOf(got).Err(); err == nil || !strings.Contains(err.Error(), "example/mirror") ||
					!strings.Contains(err.Error(), "middle of a value") {
					t.Errorf("%s: got %v", x.name, err)
				}
			}
			if a, ok := got.(provider.ApplyResponse); ok && a.State != cty.NilVal {
				t.Errorf("apply: the state is said to be %#v", a.State)
			}
		}
		if found != len(carriesValues) {
			t.Errorf("%d calls were checked", found)
		}
	})
}

func TestEmptyAnswersAreHandled(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		r := newRandom(5)
		m := &mirror{schema: r.schema(v)}
		p, l := connect(t, m, v.number)
		if _, diags := p.Schema(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		l.answer = func(_ string, m proto.Message) proto.Message { return m.ProtoReflect().New().Interface() }
		for _, x := range exchanges(r, m.schema) {
			m.answer = x.resp
			x.call(p)
		}
		empty := l.answer
		if p, l = connect(t, m, v.number); l == nil {
			t.Fatal("no connection")
		}
		l.answer = empty
		if schema, diags := p.Schema(t.Context()); !diags.HasErrors() {
			t.Errorf("no schema at all: %v", schema)
		}
		if p, l = connect(t, m, v.number); l == nil {
			t.Fatal("no connection")
		}
		l.answer = func(_ string, m proto.Message) proto.Message {
			switch m.(type) {
			case *plugin5.SchemaResponse:
				return &plugin5.SchemaResponse{Provider: &plugin5.Schema{}}
			case *plugin6.SchemaResponse:
				return &plugin6.SchemaResponse{Provider: &plugin6.Schema{}}
			}
			return m.ProtoReflect().New().Interface()
		}
		schema, diags := p.Schema(t.Context())
		if diags.HasErrors() || len(schema.Resources) != 0 {
			t.Errorf("an empty schema: %v, %v", schema, diags)
		}
		for _, x := range exchanges(r, m.schema) { // the requests refer to no object
			if x.name != "validate config" && x.name != "configure" && !problemsOf(x.call(p)).HasErrors() &&
				!strings.HasPrefix(x.name, "close") && x.name != "renew" {
				t.Errorf("%s of a provider that has nothing succeeds", x.name)
			}
		}
	})
}

func TestInvalidRequestsAreProblems(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		r := newRandom(6)
		m := &mirror{schema: r.schema(v)}
		p, l := connect(t, m, v.number)
		if _, diags := p.Schema(t.Context()); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		bad := map[string]string{"apply": methodApply, "plan": methodPlan, "read": methodRead,
			"read data": methodReadData, "configure": methodConfigure, "call": methodCall, "generate": methodGenerate,
			"validate list": methodValidateList, "list": methodList, "plan action": methodPlanAction,
			"invoke": methodInvoke}
		for _, x := range exchanges(r, m.schema) {
			method, ok := bad[x.name]
			if !ok {
				continue
			}
			m.asked, m.answer = nil, x.resp
			spoiling := &loop{methods: l.methods, request: func(m proto.Message) proto.Message {
				return spoil(m, []byte{0xc1})
			}}
			q := must(NewClient(spoiling, v.number, Options{Schema: m.schema}))
			if err := problemsOf(x.call(q)).Err(); err == nil || !strings.Contains(err.Error(), "0xc1") {
				t.Errorf("%s: got %v", method, err)
			}
			if m.asked != nil {
				t.Errorf("%s: the provider was asked", method)
			}
		}
	})
}

func TestMissingResponsesAreExplained(t *testing.T) {
	m := &mirror{schema: newRandom(1).schema(versions[6])}
	_, l := connect(t, m, 6)
	var refusal error
	refusing := &refusingConn{loop: l, err: &refusal}
	p := must(NewClient(refusing, 6, Options{Name: "example/mirror", Schema: m.schema, Explain: func() string {
		return "It was killed."
	}}))
	req := provider.ApplyRequest{Type: "t", Prior: cty.NullVal(m.schema.Resources["t"].Block.ImpliedType())}
	for _, tt := range []struct {
		code    codes.Code
		message string
		says    string
		state   bool // it is certain that the call had no effect
		dead    bool // the plugin may have ended
	}{
		{codes.Unavailable, "connection refused", "Plugin did not respond", true, true},
		{codes.Canceled, "by the host", "cancelled before it was answered: by the host", false, false},
		{codes.DeadlineExceeded, "the service is slow", "an unexpected error, DeadlineExceeded: the service is slow",
			false, false},
		{codes.Unimplemented, "x", "Unsupported plugin method", false, false},
		{codes.ResourceExhausted, "too large " + strings.Repeat("x", 10000) + "\xff", "too large", false, false},
		{codes.Internal, "", "Plugin error", false, true},
	} {
		refusal = status.Error(tt.code, tt.message)
		resp := p.Apply(t.Context(), req)
		err := resp.Diagnostics.Err()
		if err == nil {
			t.Fatalf("%v: no error", tt.code)
		}
		for _, want := range []string{tt.says, "example/mirror", "ApplyResourceChange"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q is not in: %v", tt.code, want, err)
			}
		}
		if strings.Contains(err.Error(), "It was killed.") != tt.dead {
			t.Errorf("%v: %v", tt.code, err)
		}
		if len(err.Error()) > 3000 {
			t.Errorf("%v: %d bytes of error", tt.code, len(err.Error()))
		}
		if (resp.State != cty.NilVal) != tt.state {
			t.Errorf("%v: the state is %#v", tt.code, resp.State)
		}
	}
}

type refusingConn struct {
	*loop
	err *error
}

func (r *refusingConn) Invoke(ctx context.Context, method string, req, resp proto.Message, limit int) (bool, error) {
	if strings.HasSuffix(method, methodApply) {
		return status.Code(*r.err) != codes.Unavailable, *r.err
	}
	return r.loop.Invoke(ctx, method, req, resp, limit)
}

func TestAKnownSchemaIsNotReadAgain(t *testing.T) {
	for _, optional := range []bool{true, false} {
		schema := newRandom(1).schema(versions[5])
		schema.GetProviderSchemaOptional = optional
		asked := 0
		_, l := connect(t, &mirror{schema: schema}, 5)
		l.answer = func(method string, m proto.Message) proto.Message {
			if strings.HasSuffix(method, "/GetSchema") {
				asked++
			}
			return m
		}
		p := must(NewClient(l, 5, Options{Schema: schema}))
		for range 2 {
			got, diags := p.Schema(t.Context())
			if got != schema || diags != nil {
				t.Errorf("got another schema, %v", diags)
			}
		}
		if want := map[bool]int{true: 0, false: 1}[optional]; asked != want {
			t.Errorf("optional %v: asked %d times, want %d", optional, asked, want)
		}
	}
}

func TestUnknownApplyResultsAreNotDeletions(t *testing.T) {
	schema := newRandom(1).schema(versions[6])
	ty := schema.Resources["t"].Block.ImpliedType()
	prior, early := schema.Resources["t"].Block.EmptyValue(), newRandom(8).value(ty)
	for _, reported := range []bool{false, true} {
		m := &mirror{schema: schema, answer: provider.ApplyResponse{
			Diagnostics: diag.FromError("lost", context.Canceled)}}
		p, _ := connect(t, &tellingMirror{mirror: m, reported: reported, early: early}, 6)
		resp := p.Apply(t.Context(), provider.ApplyRequest{Type: "t", Prior: prior, Planned: early, Config: early})
		want := prior
		if reported {
			want = early
		}
		if !resp.Diagnostics.HasErrors() || !resp.State.RawEquals(want) {
			t.Errorf("told %v: got %#v, %v", reported, resp.State, resp.Diagnostics)
		}
	}
}

type tellingMirror struct {
	*mirror
	reported bool
	early    cty.Value
}

func (m *tellingMirror) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if m.reported {
		req.Partial(m.early, nil)
	}
	return m.mirror.Apply(ctx, req)
}
