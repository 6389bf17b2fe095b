package handler

import (
	"context"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/web"
)

// NewAPI returns the caller for a manifest without a program: its calls are HTTP requests.
func NewAPI(m *manifest.Manifest, s Surroundings) Caller {
	return &api{name: m.Name, client: web.New(m, web.Surroundings{Env: s.Env})}
}

type api struct {
	name   string
	client *web.Client
}

// Call implements Caller.
func (c *api) Call(ctx context.Context, call Call) (*Answer, error) {
	got := c.client.Call(ctx, web.Call{Action: call.Action, Type: call.Type, Params: call.Params, Intent: call.Intent,
		Progress: func(message string) { call.Progress(message, -1) }})
	a := &Answer{Result: got.Result, Program: got.Request}
	f := got.Failure
	switch {
	case f == nil:
	case f.Unsent && got.Result == nil:
		detail := "Provider " + c.name + " could not " + strings.TrimSpace(call.Action+" "+call.Type) + ": " + f.State +
			"."
		if f.Message != "" {
			detail += "\n\n" + f.Message
		}
		return nil, &NotReadyError{Summary: sumRequest, Detail: detail}
	default:
		a.Failure = &Failure{State: f.State, Message: f.Message, Advice: f.Advice, Killed: f.Lost}
	}
	return a, nil
}

// Prepare implements Caller. There is nothing to prepare.
func (c *api) Prepare(context.Context, func(string)) error { return nil }

// Close implements Caller.
func (c *api) Close() error { return c.client.Close() }
