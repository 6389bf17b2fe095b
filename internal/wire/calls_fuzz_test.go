package wire

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// echoing returns what it gets.
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

// bytesConn answers every call with the same bytes.
type bytesConn struct {
	grpc.ClientConnInterface
	answer []byte
}

func (c bytesConn) Invoke(_ context.Context, _ string, _, resp any, _ ...grpc.CallOption) error {
	if err := proto.Unmarshal(c.answer, resp.(proto.Message)); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// FuzzCalls hands bytes to one end as the message of the other: as each request to a server, and as each answer to a
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
		m := serverMethods[int(which)%len(serverMethods)]
		answer, err := m.Handler(server, context.Background(), func(in any) error {
			return proto.Unmarshal(data, in.(proto.Message))
		}, nil)
		if err == nil {
			if _, err := proto.Marshal(answer.(proto.Message)); err != nil {
				t.Fatalf("%s: the answer cannot be sent: %v", m.MethodName, err)
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
