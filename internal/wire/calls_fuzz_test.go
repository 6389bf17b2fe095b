package wire

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// echoing returns its input.
type echoing struct {
	provider.Base
	schema *provider.Schema
}

func (e echoing) Schema(context.Context) (*provider.Schema, diag.List) { return e.schema, nil }
func (e echoing) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
}
func (e echoing) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	return provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity}
}
func (e echoing) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	return provider.ApplyResponse{State: req.Planned, Private: req.PlannedPrivate, Identity: req.PlannedIdentity}
}
func (e echoing) ReadData(_ context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	return provider.ReadDataResponse{State: req.Config}
}
func (e echoing) OpenEphemeral(_ context.Context, req provider.OpenEphemeralRequest) provider.OpenEphemeralResponse {
	return provider.OpenEphemeralResponse{Result: req.Config}
}

func (e echoing) GenerateConfig(_ context.Context, req provider.GenerateConfigRequest) provider.GenerateConfigResponse {
	return provider.GenerateConfigResponse{Config: req.State}
}
func (e echoing) List(_ context.Context, req provider.ListRequest) provider.ListResponse {
	return provider.ListResponse{Results: []provider.Listed{{DisplayName: "one", Identity: cty.NullVal(
		e.schema.Resources["t"].Identity.ImpliedType())}}}
}
func (e echoing) InvokeAction(_ context.Context, req provider.InvokeActionRequest) provider.InvokeActionResponse {
	req.Progress("begun")
	return provider.InvokeActionResponse{}
}

// bytesConn returns the same bytes as every response, and twice for a stream.
type bytesConn struct{ answer []byte }

func (c bytesConn) Invoke(_ context.Context, _ string, _, resp proto.Message, _ int) (bool, error) {
	if err := proto.Unmarshal(c.answer, resp); err != nil {
		return true, status.Error(codes.Internal, err.Error())
	}
	return true, nil
}

func (c bytesConn) Stream(_ context.Context, _ string, _, event proto.Message, _ int, each func() bool) (bool, error) {
	for range 2 {
		proto.Reset(event)
		if err := proto.Unmarshal(c.answer, event); err != nil || !each() {
			return true, err
		}
	}
	return true, nil
}

// FuzzCalls uses bytes as the message from the other side: as each request to a server, and as each response to a
// client.
func FuzzCalls(f *testing.F) {
	for seed := range uint64(4) {
		r := newRandom(seed)
		e := echoing{schema: r.schema(versions[6])}
		client, l := connect(f, e, 6)
		l.answer = func(_ string, m proto.Message) proto.Message {
			if b := must(proto.Marshal(m)); len(b) < 5000 {
				f.Add(b, byte(seed), false)
			}
			return m
		}
		for i, x := range exchanges(r, e.schema) {
			if i < len(serverMethods) {
				x.call(client)
			}
		}
	}
	r := newRandom(3)
	schema := r.schema(versions[6])
	calls := exchanges(r, schema)
	f.Fuzz(func(t *testing.T, data []byte, which byte, five bool) {
		protocol := 6
		if five {
			protocol = 5
		}
		server := must(NewServer(func(context.Context) (provider.Provider, error) {
			return echoing{schema: schema},
				nil
		}, protocol))
		methods := server.Methods()
		path := slices.Sorted(maps.Keys(methods))[int(which)%len(methods)]
		m := methods[path]
		in := m.Request()
		switch err := proto.Unmarshal(data, in); {
		case err != nil: // the request never reaches the method
		case m.Answers != nil:
			if err := m.Answers(context.Background(), in, func(answer proto.Message) error {
				_, err := proto.Marshal(answer)
				return err
			}); err != nil {
				t.Fatalf("%s: an answer cannot be sent: %v", path, err)
			}
		default:
			answer, err := m.Answer(context.Background(), in)
			if err == nil {
				_, err = proto.Marshal(answer)
			}
			if err != nil {
				t.Fatalf("%s: the answer cannot be sent: %v", path, err)
			}
		}
		client := must(NewClient(bytesConn{answer: data}, protocol, Options{Name: "example/fuzz", Schema: schema}))
		for _, d := range problemsOf(calls[int(which)%len(calls)].call(client)) {
			if d == nil || d.Summary == "" {
				t.Fatalf("a problem without a summary: %v", d)
			}
		}
	})
}
