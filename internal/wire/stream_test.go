package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

// endless responds to every stream with the results of next, without end.
type endless struct {
	Conn
	next func(n int) (proto.Message, error)
	read *int
}

func (e endless) Stream(_ context.Context, _ string, _, event proto.Message, _ int, each func() bool) (bool, error) {
	for {
		next, err := e.next(*e.read)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return status.Code(err) != codes.Unavailable, err
		}
		*e.read++
		proto.Reset(event)
		if err := proto.Unmarshal(must(proto.Marshal(next)), event); err != nil {
			return true, err
		}
		if !each() {
			return true, nil
		}
	}
}

// The stream of a plugin that never stops sending is closed when it has sent the requested number, or more bytes than a
// response may have.
func TestListsThatNeverEndAreBounded(t *testing.T) {
	schema := newRandom(3).schema(versions[6])
	identity := must(encodeValue(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i"),
		"more": cty.ListValEmpty(cty.Number)}), schema.Resources["t"].Identity.ImpliedType()))
	found := &plugin6.ListEvent{Identity: &plugin6.IdentityValue{Value: identity}, DisplayName: strings.Repeat("x",
		100)}
	warning := &plugin6.ListEvent{Diagnostics: []*plugin6.Diagnostic{{Severity: plugin6.Diagnostic_WARNING,
		Summary: strings.Repeat("w", 100)}}}
	list := func(next func(n int) (proto.Message, error)) (resp provider.ListResponse, read int) {
		p := must(NewClient(endless{next: next, read: &read}, 6, Options{
			Name: "example/endless", Schema: &provider.Schema{
				Resources: schema.Resources, Lists: schema.Lists, GetProviderSchemaOptional: true}, MaxAnswer: 5000}))
		return p.List(t.Context(), provider.ListRequest{Type: "t", Limit: 4,
			Config: cty.NullVal(schema.Lists["t"].Block.ImpliedType())}), read
	}
	resp, read := list(func(int) (proto.Message, error) { return found, nil })
	if len(resp.Results) != 4 || read != 4 || resp.Diagnostics.HasErrors() {
		t.Errorf("%d results of %d messages: %v", len(resp.Results), read, resp.Diagnostics)
	}
	resp, read = list(func(int) (proto.Message, error) { return warning, nil })
	if read > 100 || !resp.Diagnostics.HasErrors() ||
		!strings.Contains(resp.Diagnostics.Err().Error(), "larger than the limit for answers") {
		t.Errorf("%d messages: %v", read, resp.Diagnostics)
	}
	resp, _ = list(func(int) (proto.Message, error) { return &plugin6.ListEvent{}, nil })
	if !resp.Diagnostics.HasErrors() || len(resp.Results) != 0 {
		t.Errorf("events that say nothing: %v", resp)
	}
	resp, _ = list(func(n int) (proto.Message, error) {
		if n == 2 {
			return nil, status.Error(codes.Unavailable, "gone")
		}
		return found, nil
	})
	if len(resp.Results) != 2 || !resp.Diagnostics.HasErrors() {
		t.Errorf("a plugin that dies: %v", resp)
	}
}

// If an action begins but its result is not reported, it may have been performed.
func TestActionsWithoutAnEndAreLost(t *testing.T) {
	schema := newRandom(3).schema(versions[6])
	progress := &plugin6.ActionEvent{Event: &plugin6.ActionEvent_Progress_{
		Progress: &plugin6.ActionEvent_Progress{Message: "working"}}}
	done := &plugin6.ActionEvent{Event: &plugin6.ActionEvent_Completed{Completed: &plugin6.DiagnosticsFirst{}}}
	for _, tt := range []struct {
		name   string
		next   func(n int) (proto.Message, error)
		lost   bool
		failed bool
	}{
		{"it ends", func(n int) (proto.Message, error) { return []proto.Message{progress, done}[n], nil }, false,
			false},
		{"no end", func(n int) (proto.Message, error) {
			if n == 3 {
				return nil, io.EOF
			}
			return progress, nil
		}, true, true},
		{"it dies", func(int) (proto.Message, error) { return nil, status.Error(codes.Internal, "panic") }, true, true},
		{"nobody is there", func(int) (proto.Message, error) {
			return nil, status.Error(codes.Unavailable, "connection refused")
		}, false, true},
	} {
		read := 0
		p := must(NewClient(endless{next: tt.next, read: &read}, 6, Options{Name: "example/endless",
			Schema: &provider.Schema{Actions: schema.Actions, GetProviderSchemaOptional: true}}))
		resp := p.InvokeAction(t.Context(), provider.InvokeActionRequest{Type: "t",
			Config: cty.NullVal(schema.Actions["t"].Block.ImpliedType())})
		if resp.Lost != tt.lost || resp.Diagnostics.HasErrors() != tt.failed {
			t.Errorf("%s: lost %v, %v", tt.name, resp.Lost, resp.Diagnostics)
		}
	}
}
