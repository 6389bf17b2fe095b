package handler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// request is one call of the program.
type request struct {
	h       *handler
	ctx     context.Context
	action  string
	typ     string
	about   addr.Object     // object of the call; zero if there is none
	block   *provider.Block // block to which paths in diagnostics refer; may be nil
	hidden  *provider.Block // block of other objects in the answer, for their secrets; may be nil
	t       *manifest.Type  // nil for calls of the provider as a whole
	params  bytes.Buffer
	secrets *value.Secrets // of this call, in addition to those of the provider block
	// reads means that the call changes nothing, so that it may be cancelled and repeated.
	reads bool
	// silent means that the program need not answer.
	silent bool
	// progress, if set, is called with reports of progress, instead of Options.Output.
	progress func(message string)
	theirs   []string // parts of the program's output that were shown, without secrets
	intent   string
	record   func() []byte
	cache    time.Duration // how long the answer may be reused
}

// request returns a request for the provider as a whole.
func (h *handler) request(ctx context.Context, action, typ string) *request {
	r := &request{h: h, ctx: ctx, action: action, typ: typ, secrets: &value.Secrets{}}
	if typ != "" && action != "call" {
		r.raw("type", message.Text(typ))
	}
	if action != "schema" && action != "call" {
		c := h.config.Load()
		r.raw("provider", c.values)
		if string(c.unknown) != "{}" || action == "configure" {
			r.raw("provider_unknown", c.unknown)
		}
	}
	return r
}

// requestFor returns a request for a type.
func (h *handler) requestFor(ctx context.Context, action string, rt *provider.ResourceType, t *manifest.Type,
	typ string, about addr.Object) *request {
	r := h.request(ctx, action, typ)
	r.block, r.t, r.about = rt.Block, t, about
	return r
}

// raw adds a member in JSON.
func (r *request) raw(name string, text json.RawMessage) {
	if r.params.Len() == 0 {
		r.params.WriteByte('{')
	} else {
		r.params.WriteByte(',')
	}
	r.params.Write(message.Text(name))
	r.params.WriteByte(':')
	r.params.Write(text)
}

// object adds an object of a block and, with withUnknown set, the tree of its unknown values.
func (r *request) object(name string, b *provider.Block, v cty.Value, withUnknown bool) {
	values, unknown := r.h.codec(b).Encode(v)
	r.raw(name, values)
	if withUnknown {
		r.raw(name+"_unknown", unknown)
	}
	addSecrets(r.secrets, b, v)
}

// private adds the private data of an object.
func (r *request) private(data []byte) {
	if len(data) == 0 || !json.Valid(data) {
		data = []byte("null")
	}
	r.raw("private", data)
}

// identity adds the identity of an object, if its type has one.
func (r *request) identity(rt *provider.ResourceType, v cty.Value) {
	if rt.Identity == nil {
		return
	}
	if v == cty.NilVal {
		v = cty.NullVal(rt.Identity.ImpliedType())
	}
	text, _ := message.EncodeValue(rt.Identity.ImpliedType(), v)
	r.raw("identity", text)
}

// addSecrets records every string and number of an object that its schema marks as secret, both unquoted and as JSON.
func addSecrets(s *value.Secrets, b *provider.Block, v cty.Value) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return
	}
	paths := value.SchemaSensitivePaths(b, v)
	for _, given := range value.CheckWriteOnly(b, v) {
		paths = append(paths, given.Path)
	}
	for _, path := range paths {
		part, err := path.Apply(v)
		if err != nil {
			continue
		}
		s.Add(part, []cty.Path{{}})
		_ = cty.Walk(part, func(_ cty.Path, leaf cty.Value) (bool, error) {
			if leaf.IsKnown() && !leaf.IsNull() && leaf.Type() == cty.String {
				plain := leaf.AsString()
				if quoted := message.Text(plain); len(quoted) > len(plain)+2 {
					s.Add(cty.StringVal(string(quoted[1:len(quoted)-1])), []cty.Path{{}})
				}
			}
			return true, nil
		})
	}
}

// redact removes the secrets from the program's output. It is not for our own sentences, because a secret may be an
// ordinary word.
func (r *request) redact(text string) string {
	text = r.h.recent.redact(r.h.secrets.Redact(r.secrets.Redact(text)))
	if r.h.opts.Redact != nil {
		text = r.h.opts.Redact(text)
	}
	return text
}

// quote is redact for text that is shown in a diagnostic.
func (r *request) quote(text string) string {
	text = r.redact(text)
	r.theirs = append(r.theirs, text)
	return text
}

// redactIn removes the secrets from the program's parts of a sentence, which appear unchanged or in quotes.
func (r *request) redactIn(sentence string, theirs ...string) string {
	for _, part := range theirs {
		if clean := r.quote(part); clean != part {
			sentence = strings.ReplaceAll(strings.ReplaceAll(sentence, strconv.Quote(part), strconv.Quote(clean)), part,
				clean)
		}
	}
	return sentence
}

// problem returns a diagnostic with texts from which secrets were removed.
func (r *request) problem(summary, detail string) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: detail, Clean: r.h.opts.Redact != nil}
}

// recent holds the secrets of the latest calls of a session, whose program may write late.
type recent struct {
	mu   sync.Mutex
	ring [32]*value.Secrets
	next int
}

func (r *recent) add(s *value.Secrets) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring[r.next%len(r.ring)] = s
	r.next++
}

func (r *recent) redact(text string) string {
	r.mu.Lock()
	list := r.ring
	r.mu.Unlock()
	for _, s := range list {
		text = s.Redact(text)
	}
	return text
}

// label returns the name of the call for the program's messages.
func (r *request) label() string {
	if r.typ == "" {
		return r.h.m().Name + " " + r.action
	}
	return r.typ + " " + r.action
}

// moduleTimeout limits a call of a module for which the manifest sets no time limit, because a module may be hostile.
const moduleTimeout = 10 * time.Minute

// timeout returns a context with the time limit in the manifest. Programs in a debugger have none.
func (r *request) timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	var limit time.Duration
	if r.t != nil {
		limit = r.t.Timeouts[r.action]
	}
	if limit == 0 && r.h.m().Wasm != "" {
		return context.WithTimeoutCause(ctx, moduleTimeout, &TimeoutError{Action: r.action, Timeout: moduleTimeout,
			Usual: true})
	}
	if limit == 0 {
		return ctx, func() {}
	}
	if c, ok := r.h.caller.(interface{ Debugged() bool }); ok && c.Debugged() {
		return ctx, func() {}
	}
	deadline := time.Now().Add(limit)
	r.raw("deadline", message.Text(deadline.UTC().Format(time.RFC3339)))
	return context.WithDeadlineCause(ctx, deadline, &TimeoutError{Action: r.action, Timeout: limit})
}

// call performs the call and decodes the answer. expected describes a valid answer, for messages. If there are errors,
// the answer contains what is known; it is never nil.
func (r *request) call(expected string) (*answer, diag.List) {
	ctx, done := r.stoppable()
	defer done()
	if problem := r.forbidden(); problem != nil {
		return &answer{}, diag.List{problem}
	}
	kept := r.kept()
	if a := kept.read(r, expected); a != nil {
		return a, nil
	}
	if problem := r.prepare(); problem != nil {
		return &answer{}, diag.List{problem}
	}
	if err := r.slot(ctx); err != nil {
		return &answer{}, diag.List{r.notCalled(err)}
	}
	defer r.release()
	ctx, cancel := r.timeout(ctx)
	defer cancel()
	if r.h.m().Mode == manifest.Session {
		r.h.recent.add(r.secrets)
	}
	out := &output{request: r, expected: expected}
	call := Call{
		Action: r.action, Type: r.typ, Params: r.closed(), Silent: r.silent, Intent: r.intent, Record: r.record,
		Line: out.line, Progress: out.progress,
		Hide: func(text []byte) string { return r.redact(string(r.conceal(text))) },
	}
	for attempt, rounds := 1, 0; ; attempt++ {
		got, err := r.h.caller.Call(ctx, call)
		if err != nil {
			a := &answer{}
			if got != nil {
				a = r.salvage(got)
				a.lost = true
			}
			return a, diag.List{r.unanswered(err)}
		}
		if f := got.Failure; f != nil && f.Temporary && r.reads && r.t != nil && attempt < r.t.Retry.Attempts {
			select {
			case <-time.After(r.t.Retry.Delay):
				continue
			case <-ctx.Done():
			}
		}
		a, diags := r.read(got, expected)
		if asked := a.asksFor(); asked != nil && !diags.HasErrors() {
			params, more := r.withStates(ctx, a, asked, rounds)
			if diags = diags.Extend(more); diags.HasErrors() {
				return a, diags
			}
			call.Params, rounds, attempt = params, rounds+1, 0
			continue
		}
		if len(diags) == 0 && rounds == 0 { // states change, and may be secret
			kept.write(got.Result)
		}
		return a, diags
	}
}

// closed returns the parameters as a complete object.
func (r *request) closed() []byte {
	if r.params.Len() == 0 {
		r.params.WriteByte('{')
	}
	r.params.WriteByte('}')
	return r.params.Bytes()
}

// stoppable returns the context of the call. A call that only reads is cancelled when the handler stops, unless it
// allowedDuringInterrupt that.
func (r *request) stoppable() (ctx context.Context, done func()) {
	if !r.reads || r.allowedDuringInterrupt() {
		return r.ctx, func() {}
	}
	return r.h.stopping.Interruptible(r.ctx)
}

// forbidden returns the problem if the program must not run for a call that only reads, or nil.
func (r *request) forbidden() *diag.Diagnostic {
	if may := r.h.opts.MayRead; may != nil && r.reads {
		if err := may(); err != nil {
			return r.unanswered(&NotReadyError{Summary: "Program is not allowed", Detail: fmt.Sprintf("%s, since %s.",
				r.was("not asked"), err), Ours: true})
		}
	}
	return nil
}

// prepare waits until the program can be called. The preparation changes no managed object, so an interrupt cancels it
// for every call.
func (r *request) prepare() *diag.Diagnostic {
	ctx, done := r.h.stopping.Interruptible(r.ctx)
	defer done()
	out := &output{request: r.h.request(r.ctx, "prepare", "")}
	out.request.about = r.about
	err := r.h.caller.Prepare(ctx, out.line)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return r.notCalled(context.Cause(ctx))
	}
	return r.unanswered(err)
}

// slot waits until the call may be made. A call that would change something does not begin after an interrupt, however
// long it has waited.
func (r *request) slot(ctx context.Context) error {
	stopping := r.h.stopping.Context()
	if r.allowedDuringInterrupt() {
		stopping = ctx
	}
	if err := cmp.Or(context.Cause(ctx), context.Cause(stopping)); err != nil || r.h.slots == nil {
		return err
	}
	select {
	case r.h.slots <- struct{}{}:
		return nil
	case <-stopping.Done():
		return context.Cause(stopping)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// allowedDuringInterrupt reports whether the call is made even during an interrupt, because operations in flight need
// it or because it cleans up.
func (r *request) allowedDuringInterrupt() bool { return r.action == "renew" || r.action == "close" }

func (r *request) release() {
	if r.h.slots != nil {
		<-r.h.slots
	}
}
