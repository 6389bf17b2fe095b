package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// lines is the View for programs: one JSON object per line.
type lines struct {
	o     Options
	watch *watch

	mu   sync.Mutex // guards Out
	done counts
}

func newLines(o Options) *lines {
	l := &lines{o: o}
	l.watch = newWatch(o.now, func(e event.OperationStart, elapsed time.Duration) {
		l.info(e.Object.Instance.String()+": "+stillText(e, elapsed), "apply_progress", "hook",
			hook{Resource: resourceOf(e.Object.Instance), Action: e.Action.String(), ElapsedSeconds: whole(elapsed)})
	})
	return l
}

// line holds the members of every line; the payload is an additional member.
func (l *lines) write(level, message, kind, name string, payload any, more ...any) {
	doc := map[string]any{
		"@level": level, "@message": message, "@module": l.o.tool().Command() + ".ui",
		"@timestamp": l.o.now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"), "type": kind,
	}
	if name != "" {
		doc[name] = payload
	}
	for i := 0; i+1 < len(more); i += 2 {
		doc[more[i].(string)] = more[i+1]
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic("view: a line that is not JSON: " + err.Error())
	}
	b = append(escapeUnsafe(b), '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.o.Out.Write(b)
}

// escapeUnsafe escapes characters that JSON permits and a terminal might interpret. All of them are inside strings.
func escapeUnsafe(b []byte) []byte {
	if bytes.IndexFunc(b, func(r rune) bool { return r >= 0x7f && unsafeRune(r) }) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r >= 0x7f && unsafeRune(r) {
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
		} else {
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return out
}

// WriteLine writes one line of the JSON form, for reports of other packages. members are pairs of a name and a value.
func WriteLine(o Options, level, message, kind string, members ...any) {
	(&lines{o: o}).write(level, message, kind, "", nil, members...)
}

// WriteDiagnostics writes problems as JSON lines with additional members.
func WriteDiagnostics(o Options, list diag.List, members ...any) {
	(&lines{o: o}).diagnostics(list, members...)
}

// WriteVersion writes the version line, which is the first one.
func WriteVersion(o Options) { (&lines{o: o}).Start() }

func (l *lines) info(message, kind, name string, payload any, more ...any) {
	l.write("info", message, kind, name, payload, more...)
}

// resource is an instance's address and its parts.
type resource struct {
	Addr            string `json:"addr"`
	Module          string `json:"module"`
	Resource        string `json:"resource"`
	ImpliedProvider string `json:"implied_provider"`
	ResourceType    string `json:"resource_type"`
	ResourceName    string `json:"resource_name"`
	ResourceKey     any    `json:"resource_key"`
}

func resourceOf(a addr.AbsResourceInstance) resource {
	r := resource{
		Addr: a.String(), Module: a.Module.String(), Resource: a.Resource.String() + a.Key.String(),
		ResourceType: a.Resource.Type, ResourceName: a.Resource.Name,
	}
	for i, c := range a.Resource.Type + "_" {
		if c == '_' {
			r.ImpliedProvider = a.Resource.Type[:i]
			break
		}
	}
	if n, ok := a.Key.Int(); ok {
		r.ResourceKey = n
	} else if s, ok := a.Key.Str(); ok {
		r.ResourceKey = s
	}
	return r
}

// hook is the payload of an object's events.
type hook struct {
	Resource       resource `json:"resource"`
	Action         string   `json:"action,omitempty"`
	IDKey          string   `json:"id_key,omitempty"`
	IDValue        string   `json:"id_value,omitempty"`
	Provisioner    string   `json:"provisioner,omitempty"`
	Output         string   `json:"output,omitempty"`
	Label          string   `json:"label,omitempty"`
	Hook           string   `json:"hook,omitempty"`
	Message        string   `json:"message,omitempty"`
	Fraction       *float64 `json:"fraction,omitempty"`
	Attempt        int      `json:"attempt,omitempty"`
	Seconds        float64  `json:"seconds,omitempty"`
	ElapsedSeconds *float64 `json:"elapsed_seconds,omitempty"`
}

func whole(d time.Duration) *float64 {
	s := d.Round(time.Second).Seconds()
	return &s
}

// Start writes the version line.
func (l *lines) Start() {
	// Programs that read the lines only recognize the names of Terraform and OpenTofu.
	f := l.o.tool()
	version := cmp.Or(l.o.LanguageVersion, state.LanguageVersion)
	l.info(f.Title()+" "+version, "version", f.Command(), version, "ui", f.LinesVersion())
}

// Close stops the progress lines.
func (l *lines) Close() { l.watch.stop() }

// Send writes an event as a line, if there is one for it.
func (l *lines) Send(e event.Event) {
	if l.action(e) || l.list(e) {
		return
	}
	switch e := e.(type) {
	case event.RefreshStart:
		l.info(e.Object.Instance.String()+": Refreshing state..."+identity(e.ID), "refresh_start", "hook",
			hook{Resource: resourceOf(e.Object.Instance), IDKey: e.ID.Key, IDValue: e.ID.Value})
	case event.RefreshDone:
		l.info(e.Object.Instance.String()+": Refresh complete"+identity(e.ID), "refresh_complete", "hook",
			hook{Resource: resourceOf(e.Object.Instance), IDKey: e.ID.Key, IDValue: e.ID.Value})
	case event.OperationStart:
		l.started(e)
	case event.OperationDone:
		l.ended(e)
	case event.ProvisionStart:
		l.provision(e.Object, e.Type, fmt.Sprintf("Provisioning with '%s'...", e.Type), "provision_start", "")
	case event.ProvisionOutput:
		l.provision(e.Object, e.Type, fmt.Sprintf("(%s): %s", e.Type, e.Line), "provision_progress", e.Line)
	case event.ProvisionDone:
		if e.Failed {
			l.provision(e.Object, e.Type, "("+e.Type+") Provisioning errored", "provision_errored", "")
		} else {
			l.provision(e.Object, e.Type, "("+e.Type+") Provisioning complete", "provision_complete", "")
		}
	case event.EphemeralStart:
		l.info(e.Object.Instance.String()+": "+verbsOfOp[e.Op].start+"...", "ephemeral_op_start", "hook",
			hook{Resource: resourceOf(e.Object.Instance), Action: string(e.Op)})
	case event.EphemeralDone:
		kind := "ephemeral_op_complete"
		if e.Failed {
			kind = "ephemeral_op_errored"
		}
		l.info(e.Object.Instance.String()+": "+ephemeralText(e), kind, "hook",
			hook{Resource: resourceOf(e.Object.Instance), Action: string(e.Op), ElapsedSeconds: whole(e.Elapsed)})
	case event.ProgramOutput:
		if e.Fleeting {
			return
		}
		l.info(programName(e)+e.Line, "program_output", "hook", hook{Resource: resourceOf(e.Object.Instance),
			Label: e.Label, Hook: e.Hook, Output: e.Line})
	case event.Progress:
		h := hook{Resource: resourceOf(e.Object.Instance), Message: e.Message}
		if e.Fraction >= 0 {
			h.Fraction = &e.Fraction
		}
		l.info(e.Object.Instance.String()+": "+progressText(e), "provider_progress", "hook", h)
	case event.Waiting:
		if e.Attempt > 0 {
			l.info(e.Object.Instance.String()+": "+waitingText(e), "provider_wait", "hook",
				hook{Resource: resourceOf(e.Object.Instance), Message: cleanLine(e.Why), Attempt: e.Attempt,
					Seconds: e.For.Seconds()})
		}
	case event.LockWaiting:
		l.info("Acquiring state lock. This may take a few moments...", "state_lock_acquire", "", nil)
	case event.Stopping:
		l.info(stoppingText(e, l.o), "log", "", nil)
	}
}

func (l *lines) provision(o addr.Object, typ, message, kind, output string) {
	l.info(o.String()+": "+message, kind, "hook", hook{Resource: resourceOf(o.Instance), Provisioner: typ,
		Output: output})
}

func (l *lines) started(e event.OperationStart) {
	message := startText(e)
	if e.Action == plan.Read {
		message = "Refreshing..."
	}
	l.info(e.Object.Instance.String()+": "+message, "apply_start", "hook",
		hook{Resource: resourceOf(e.Object.Instance), Action: e.Action.String(), IDKey: e.ID.Key, IDValue: e.ID.Value})
	l.watch.start(e)
}

func (l *lines) ended(e event.OperationDone) {
	l.watch.end(e)
	l.mu.Lock()
	l.done.done(e)
	l.mu.Unlock()
	if e.Action == plan.Delete {
		e.ID = event.ID{}
	}
	h := hook{Resource: resourceOf(e.Object.Instance), Action: e.Action.String(), ElapsedSeconds: whole(e.Elapsed)}
	kind, message := "apply_complete", doneText(e)
	if e.Failed {
		kind = "apply_errored"
	} else {
		h.IDKey, h.IDValue = e.ID.Key, e.ID.Value
	}
	if e.Action == plan.Read {
		message = fmt.Sprintf("Refresh complete after %s%s", seconds(e.Elapsed), identity(e.ID))
		if e.Failed {
			message = fmt.Sprintf("Refresh errored after %s", seconds(e.Elapsed))
		}
	}
	l.info(e.Object.Instance.String()+": "+message, kind, "hook", h)
}

// Diagnostics writes one line for each problem.
func (l *lines) Diagnostics(list diag.List) { l.diagnostics(list.Sorted()) }

func (l *lines) diagnostics(list diag.List, more ...any) {
	if !l.o.AllDiagnostics {
		list = bounded(list, standsApart)
	}
	for i, d := range tfjson.Diagnostics(list, l.o.sources()) {
		level, word := "error", "Error: "
		if list[i].Severity == diag.Warning {
			level, word = "warn", "Warning: "
		}
		l.write(level, word+d.Summary, "diagnostic", "diagnostic", d, more...)
	}
}

// NextStep writes nothing: it is only for people.
func (l *lines) NextStep(NextStep) {}

// Tell writes a line of the notice's type. The time in lines of init has no fractions, unlike in all other lines.
func (l *lines) Tell(s Notice) {
	message := s.message()
	switch {
	case s.Problem != nil:
		l.Diagnostics(diag.List{s.Problem})
	case message == "":
	case s.Code != "":
		l.info(message, "init_output", "message_code", s.Code, "@timestamp", l.o.now().UTC().Format(
			"2006-01-02T15:04:05Z"))
	case s.Kind == "":
		l.info(message, "log", "", nil, s.Members...)
	default:
		l.info(message, s.Kind, "", nil, s.Members...)
	}
}
