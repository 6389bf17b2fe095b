package handler

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

const (
	sumNotReady   = "Provider program cannot be run"
	sumFailed     = "Provider program failed"
	sumRequest    = "Provider request failed"
	sumUnprepared = "Provider program cannot be prepared"
	sumNotCalled  = "Provider program was not called"
	sumStopped    = "Provider program was stopped"
	sumAnswer     = "Invalid answer of a provider program"
)

// answer is the decoded response to a call.
type answer struct {
	root    *strictjson.Value // nil if nothing could be decoded
	text    []byte            // text from which root was decoded
	program string
	started bool // the program ran, so it may have changed something
	lost    bool // the program ran, and its result is unknown
	failed  bool // the program itself reported a failure, with its status or in diagnostics, so its result is known
}

// get returns a member of the answer, or nil if it does not exist.
func (a *answer) get(name string) *strictjson.Value { return a.root.Get(name) }

// gone reports whether the answer means that the object does not exist.
func (a *answer) gone() bool {
	if a.root == nil {
		return false
	}
	state := a.get("state")
	return a.root.Kind == strictjson.Null || state != nil && state.Kind == strictjson.Null
}

// read decodes the output of a program.
func (r *request) read(got *Answer, expected string) (*answer, diag.List) {
	r.conceal(got.Result)
	if got.Failure != nil {
		if got.Failure.withoutProgram(r.action) {
			return &answer{program: got.Program}, nil
		}
		a := r.salvage(got)
		diags := r.diagnostics(a)
		a.failed, a.lost = !got.Failure.Killed, got.Failure.Killed
		if !diags.HasErrors() {
			diags = diags.Append(r.failure(got))
		}
		return a, diags
	}
	a := &answer{text: got.Result, program: got.Program, started: true}
	if r.silent && len(bytes.TrimSpace(got.Result)) == 0 {
		return a, nil
	}
	root, err := strictjson.Parse(got.Result)
	if err == nil && root.Kind != strictjson.Object && root.Kind != strictjson.Null {
		err = fmt.Errorf("%s was expected, not %s", strictjson.Object, root.Kind)
	}
	if err != nil {
		d := r.unreadable(got, err, expected)
		if r.silent {
			// The action was performed, even if the answer cannot be read.
			d.Severity = diag.Warning
			return a, diag.List{d}
		}
		return r.salvage(got), diag.List{d}
	}
	a.root = root
	diags := r.diagnostics(a)
	if root.Kind == strictjson.Null && !r.silent && r.action != "read" && r.action != "import" {
		diags = diags.Append(
			r.badAnswer(a, "null means that the object does not exist, which only read and import can return; "+
				"expected: "+
				expected))
	}
	return a, diags
}

// salvage returns the valid part of invalid output: an object, perhaps between lines of other text.
func (r *request) salvage(got *Answer) *answer {
	a := &answer{text: got.Result, program: got.Program, started: true}
	if root, err := strictjson.Parse(got.Result); err == nil {
		if root.Kind == strictjson.Object {
			a.root = root
		}
		return a
	}
	const most = 64 // lines that look like the beginning of an object
	rest, tries := got.Result, 0
	for len(rest) > 0 && tries < most {
		if bytes.HasPrefix(rest, []byte("{")) {
			tries++
			if root, err := strictjson.ParsePrefix(rest); err == nil &&
				(root.Get("state") != nil || root.Get("diagnostics") != nil) {
				a.root, a.text = root, rest
			}
		}
		_, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			break
		}
		rest = after
	}
	return a
}

// asked returns a clause that names the action for which the program was called.
func (r *request) asked() string { return r.was("asked") }

func (r *request) was(asked string) string {
	what := "The " + r.responder() + " of provider " + r.h.m().Name + " was " + asked + " "
	switch r.action {
	case "data":
		what += "to read the data source"
	case "schema":
		what += "for its schema"
	default:
		what += "to " + r.action
	}
	if r.typ != "" {
		what += " " + r.typ
	}
	return what
}

// responder names the party that responds: the program, or the server if there is no program.
func (r *request) responder() string {
	if r.h.m().HTTP != nil {
		return "server"
	}
	return "program"
}

// failed returns the summary for a failed call.
func (r *request) failed() string {
	if r.h.m().HTTP != nil {
		return sumRequest
	}
	return sumFailed
}

// called returns the name of the call, for the end of a message.
func (r *request) called(name string) string {
	if r.h.m().HTTP != nil {
		return "Request: " + r.quote(name)
	}
	return "Program: " + name
}

// unreadable returns the problem with output that is not JSON, or not only JSON.
func (r *request) unreadable(got *Answer, err error, expected string) *diag.Diagnostic {
	problem := err.Error()
	var bad *strictjson.Error
	if errors.As(err, &bad) && bad.Name != "" {
		problem = r.redactIn(problem, bad.Name)
	}
	if len(bytes.TrimSpace(got.Result)) == 0 {
		problem = "it printed nothing on standard output"
		if got.Held {
			problem += ", which is still open in a background process that it started: redirect the output of such " +
				"processes"
		}
	} else {
		if bad != nil {
			line, column := strictjson.Position(got.Result, bad.Offset)
			problem = fmt.Sprintf("standard output, line %d, column %d: %s", line, column, problem)
		}
		problem += ". Print only the answer on standard output, and messages on standard error"
	}
	return r.invalid(got.Program, problem+". Expected: "+expected, got.Result)
}

// badAnswer returns the problem with an answer that was decoded but is invalid.
func (r *request) badAnswer(a *answer, problem string) *diag.Diagnostic {
	return r.invalid(a.program, problem, a.text)
}

func (r *request) invalid(name, problem string, output []byte) *diag.Diagnostic {
	detail := fmt.Sprintf("%s and answered with something that cannot be used: %s", r.asked(),
		strings.TrimSuffix(problem, "."))
	if !strings.HasSuffix(detail, "?") {
		detail += "."
	}
	if !r.reads && !r.silent {
		detail += " The " + r.responder() + " may already have changed something."
	}
	return r.problem(sumAnswer, fmt.Sprintf("%s\n\n%s\nOutput: %s", detail, r.called(name),
		r.quote(program.Excerpt([]byte(r.redact(string(r.conceal(output))))))))
}

// problems returns diagnostics for the invalid values of an answer.
func (r *request) problems(a *answer, where string, list []value.PathError) diag.List {
	var diags diag.List
	for _, p := range list {
		d := r.badAnswer(a, r.placed(where, p))
		d.Path = r.valid(p.Path)
		diags = diags.Append(d)
	}
	return diags
}

// placed formats a problem with its path, in which map keys may come from the program.
func (r *request) placed(where string, p value.PathError) string {
	for _, step := range p.Path {
		if at, ok := step.(cty.IndexStep); ok && at.Key.Type() == cty.String {
			where += "[" + strconv.Quote(r.quote(at.Key.AsString())) + "]"
		} else {
			where += value.FormatPath(cty.Path{step})
		}
	}
	return where + ": " + r.redactIn(p.Problem, p.Quoted...)
}

// valid returns the part of a path that exists in the schema. A path in an answer may not exist or may lead into a set.
// The result ends before a secret key.
func (r *request) valid(path cty.Path) cty.Path {
	if r.block == nil {
		return nil
	}
	path = reachable(r.block, path)
	for i, step := range path {
		if at, ok := step.(cty.IndexStep); ok && at.Key.Type() == cty.String &&
			r.redact(at.Key.AsString()) != at.Key.AsString() {
			return path[:i]
		}
	}
	return path
}

// reachable returns the part of a path that leads to a value in every object of a block: elements of a set have no
// index.
func reachable(b *provider.Block, path cty.Path) cty.Path {
	ty := b.ImpliedType()
	for i, step := range path {
		get, isGet := step.(cty.GetAttrStep)
		switch {
		case ty.IsObjectType() && isGet && ty.HasAttribute(get.Name):
			ty = ty.AttributeType(get.Name)
		case (ty.IsListType() || ty.IsMapType()) && !isGet:
			ty = ty.ElementType()
		default:
			return path[:i]
		}
	}
	return path
}

// failure returns the problem of a call that failed without diagnostics.
func (r *request) failure(got *Answer) *diag.Diagnostic {
	f := got.Failure
	state := f.State
	if r.h.m().HTTP != nil {
		state = r.quote(state) // contains parts of the answer
	}
	detail := r.asked() + ", and " + state + "."
	if f.Advice != "" {
		detail += " " + f.Advice
	}
	message := strings.TrimRight(f.Message, "\r\n")
	switch {
	case message == "" && r.h.m().HTTP != nil:
	case message == "":
		detail += ` It printed nothing on standard error. Its author can print the reason there, or print ` +
			`{"diagnostics": [{"severity": "error", "summary": "…"}]}.`
	default:
		detail += "\n\n" + r.quote(message)
	}
	return r.problem(r.failed(), detail+"\n\n"+r.called(got.Program))
}

// notCalled returns the reason why the call was not performed.
func (r *request) notCalled(err error) *diag.Diagnostic {
	return r.problem(sumNotCalled, fmt.Sprintf("%s: %s. Nothing was changed.", r.was("not asked"), err))
}

// unanswered returns the reason why there is no answer.
func (r *request) unanswered(err error) *diag.Diagnostic {
	say := func(summary, format string, args ...any) *diag.Diagnostic {
		return r.problem(summary, fmt.Sprintf(format, args...))
	}
	var notReady *NotReadyError
	var lookup *program.LookupError
	var start *program.StartError
	var limit *program.LimitError
	var full *program.FullError
	var stopped *program.StoppedError
	var output *OutputError
	var unprepared *PreparationError
	switch {
	case errors.As(err, &unprepared):
		d := say(sumUnprepared, "%s", unprepared.detail(r.quote(unprepared.Output)))
		d.Advice = unprepared.advice()
		return d
	case errors.As(err, &notReady):
		detail := notReady.Detail
		if !notReady.Ours {
			detail = r.quote(detail)
		}
		d := say(notReady.Summary, "%s", detail)
		d.Advice = notReady.Advice
		return d
	case errors.As(err, &lookup):
		return say(sumNotReady, "Provider %s runs %q, which cannot be run: %s. %s", r.h.m().Name, lookup.Program,
			lookup.Err, lookupAdvice(lookup))
	case errors.As(err, &start):
		return say(sumNotReady, "Provider %s runs %s, which the operating system did not start: %s. %s",
			r.h.m().Name, start.Path, start.Err, startAdvice(start))
	case errors.As(err, &limit):
		return say(sumAnswer, "%s: %s. An answer must be one JSON value; print messages on standard error.", r.asked(),
			limit)
	case errors.As(err, &full):
		return say(sumAnswer,
			"%s, but %s. The outcome is not known. Check the object before you apply again.",
			r.asked(), full)
	case errors.As(err, &output):
		return r.invalid(output.Program, output.Problem+
			". Standard output is only for protocol messages, one per line; print messages for people on standard "+
			"error",
			output.Line)
	case errors.As(err, &stopped):
		left := ""
		if !r.reads {
			left = " It may already have changed something that is not in the state."
		}
		return say(sumStopped, "%s, but %s.%s", r.asked(), stopped, left)
	}
	return say(r.failed(), "%s, but %s.", r.asked(), r.quote(err.Error()))
}

// diagnostics decodes the diagnostics of an answer.
func (r *request) diagnostics(a *answer) diag.List {
	given := a.get("diagnostics")
	if given == nil || given.Kind == strictjson.Null {
		return nil
	}
	if given.Kind != strictjson.Array {
		return diag.List{r.badAnswer(a, fmt.Sprintf(`"diagnostics" must be an array of objects, not %s`, given.Kind))}
	}
	var diags diag.OfAnswer
	for _, item := range given.Items {
		diags.Add(r.diagnostic(a, item))
	}
	return diags.List("The program")
}

func (r *request) diagnostic(a *answer, given *strictjson.Value) *diag.Diagnostic {
	if given.Kind != strictjson.Object {
		return r.badAnswer(a,
			fmt.Sprintf(`a diagnostic must be an object such as {"severity": "error", "summary": "…"}, not %s`,
				given.Kind))
	}
	text := func(name string) string {
		if v := given.Get(name); v != nil && v.Kind == strictjson.String {
			return diag.Shortened(r.quote(v.Text))
		}
		return ""
	}
	d := r.problem(text("summary"), text("detail"))
	d.Foreign = d.Summary != ""
	if text("severity") == "warning" {
		d.Severity = diag.Warning
	} else {
		a.failed = true
	}
	if d.Summary == "" {
		d.Summary = sumFailed
	}
	if path := given.Get("attribute"); path != nil && path.Kind != strictjson.Null && r.block != nil {
		found, err := message.Path(r.block.ImpliedType(), path)
		if err != nil {
			d.Detail = strings.TrimSpace(fmt.Sprintf("%s\n\n(The program's attribute path does not exist: %s.)",
				d.Detail, strings.TrimSuffix(r.redactIn(err.Error(), words(path)...), ".")))
		}
		d.Path = r.valid(found)
	}
	return d
}

// words returns the names and keys of a path as it is written in an answer.
func words(path *strictjson.Value) (list []string) {
	for _, step := range path.Items {
		if step.Text != "" {
			list = append(list, step.Text)
		}
	}
	return list
}

// merge decodes an object of an answer and merges it into the known values. The first result is usable even if there
// are errors.
func (r *request) merge(a *answer, member string, b *provider.Block, base cty.Value) (cty.Value, diag.List) {
	given := a.get(member)
	v, problems := r.h.codec(b).Overlay(base, given, nil, a.text)
	v = value.NullWriteOnly(b, v)
	addSecrets(r.secrets, b, v)
	return v, r.problems(a, member, problems)
}

// remembered returns the private data after a call: that of the answer, or else the previous one.
func (a *answer) remembered(before []byte) []byte {
	given := a.get("private")
	switch {
	case given == nil:
		return before
	case given.Kind == strictjson.Null:
		return nil
	}
	return bytes.Clone(a.text[given.Offset:given.End])
}

// identified returns the identity after a call: that of the answer, or else the previous one, or else attributes with
// the same names and types. It is null if any part of it is missing.
func (r *request) identified(a *answer, rt *provider.ResourceType, before, state cty.Value) (cty.Value, diag.List) {
	if rt.Identity == nil {
		return cty.NilVal, nil
	}
	ty := rt.Identity.ImpliedType()
	if before == cty.NilVal || before.IsNull() {
		vals := map[string]cty.Value{}
		for name, want := range ty.AttributeTypes() {
			vals[name] = cty.NullVal(want)
			if !state.IsNull() && state.Type().HasAttribute(name) && state.GetAttr(name).Type().Equals(want) &&
				!state.GetAttr(name).RawEquals(cty.StringVal("")) { // identifies nothing
				vals[name] = state.GetAttr(name)
			}
		}
		before = cty.ObjectVal(vals)
	}
	out, diags := before, diag.List(nil)
	if given := a.get("identity"); given != nil && given.Kind != strictjson.Null {
		block := &provider.Block{Attributes: map[string]*provider.Attribute{}}
		for name, attr := range rt.Identity.Attributes {
			block.Attributes[name] = &provider.Attribute{Type: attr.Type, Optional: true}
		}
		var problems []value.PathError
		out, problems = message.Codec{Block: block}.Overlay(before, given, nil, a.text)
		diags = r.problems(a, "identity", problems)
		for _, d := range diags {
			d.Path = nil
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(rt.Identity.Attributes)) {
		if v := out.GetAttr(name); !v.IsWhollyKnown() || rt.Identity.Attributes[name].RequiredForImport && v.IsNull() {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && !diags.HasErrors() && !state.IsNull() {
		diags = diags.Append(r.badAnswer(a, fmt.Sprintf("the type has an identity, but there is no value for its %s. "+
			"Answer with the member \"identity\" as well as \"state\"", strings.Join(missing, ", "))))
	}
	if len(missing) > 0 {
		return cty.NullVal(ty), diags
	}
	return out, diags
}
