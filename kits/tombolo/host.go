package tombolo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
)

// The codes of the protocol.
const (
	codeMissing   = -32601
	codeCancelled = -32800
	codeTemporary = 75
)

// Run handles the calls of the host. It returns at the end of a session; after a one-shot call it exits. While it runs,
// os.Stdout is the standard error, so that what is printed is no answer.
//
// With the variable TOMBOLO_LISTEN in its environment, the path of a socket, it waits for hosts that connect to it,
// until it is ended. So a program can be started in a debugger.
func Run(p Provider) {
	out := os.Stdout
	os.Stdout = os.Stderr
	h := &host{provider: p, out: out}
	if len(os.Args) > 1 {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		status := h.oneShot(ctx, os.Args[1], os.Stdin)
		stop()
		os.Exit(status)
	}
	path := os.Getenv("TOMBOLO_LISTEN")
	if path != "" {
		fmt.Fprintln(os.Stderr, "The program cannot wait for connections:", listen(p, path))
		os.Exit(1)
	}
	if err := h.session(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "The session cannot continue:", err)
		os.Exit(1)
	}
}

// host performs calls.
type host struct {
	provider Provider

	mu  sync.Mutex // guards writes
	out io.Writer
}

func (h *host) write(line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.out.Write(line) // a host that no longer reads has ended, and so does the input
}

// missing means that the program does not implement an action.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// method returns the method for a call, or nil.
func (h *host) method(c *Call) Method {
	p := h.provider
	if _, typed := c.Params["type"]; !typed {
		return map[string]Method{"configure": p.Configure, "validate": p.Validate, "schema": p.Schema}[c.Action]
	}
	r, d, e, a := p.Resources[c.Type], p.Data[c.Type], p.Ephemeral[c.Type], p.Actions[c.Type]
	var candidates []Method
	switch c.Action {
	case "validate":
		candidates = []Method{r.Validate, d.Validate, e.Validate, a.Validate}
	case "plan":
		candidates = []Method{r.Plan, a.Plan}
	default:
		candidates = []Method{map[string]Method{"create": r.Create, "read": r.Read, "update": r.Update,
			"delete": r.Delete, "import": r.Import, "upgrade": r.Upgrade, "list": r.List, "data": d.Data,
			"open": e.Open, "renew": e.Renew, "close": e.Close, "invoke": a.Invoke}[c.Action]}
	}
	for _, m := range candidates {
		if m != nil {
			return m
		}
	}
	return nil
}

// perform returns the answer to a call as JSON.
func (h *host) perform(ctx context.Context, c *Call) (answer []byte, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", problem, debug.Stack())
			err = &Error{Summary: fmt.Sprint(problem), Detail: where(debug.Stack())}
		}
	}()
	if c.Action == "call" {
		return h.performFunction(c)
	}
	m := h.method(c)
	if m == nil {
		return nil, missingFor(c)
	}
	result, err := m(ctx, c)
	if c.asked != nil {
		return encode(Object{"remote_state": c.asked})
	}
	if err != nil {
		return nil, err
	}
	out := c.extra
	switch c.Action {
	case "create", "read", "update", "import", "upgrade", "data":
		out["state"] = result
	case "open":
		out["result"] = result
	case "list":
		text, err := encode(result)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(bytes.TrimSpace(text), []byte("null")) { // an empty slice
			text = []byte("[]")
		}
		out = Object{"results": json.RawMessage(text)}
	case "renew", "delete", "close", "invoke":
		delete(out, "state")
	case "schema":
		out = Object{"schema": result}
	default:
		if out, err = members(result); err != nil {
			return nil, err
		}
	}
	if len(c.warnings) > 0 {
		out["diagnostics"] = c.diagnostics(out["diagnostics"])
	}
	return encode(out)
}

// members returns the members of a result that is an answer itself.
func members(result any) (Object, error) {
	text, err := encode(result)
	if err != nil {
		return nil, err
	}
	out := Object{}
	err = decode(text, &out)
	if out == nil { // null
		out = Object{}
	}
	return out, err
}

// diagnostics returns the warnings of a call, before other diagnostics.
func (c *Call) diagnostics(others any) []any {
	var list []any
	for _, w := range c.warnings {
		list = append(list, w)
	}
	more, _ := others.([]any)
	return append(list, more...)
}

func (h *host) performFunction(c *Call) ([]byte, error) {
	f := h.provider.Functions[c.function]
	if f == nil {
		return nil, missingFor(c)
	}
	result, err := f(c.args...)
	if err == nil {
		return encode(Object{"result": result})
	}
	problem := Object{"message": err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) && e.Argument != nil {
		problem["argument"] = *e.Argument
	}
	return encode(Object{"error": problem})
}

func missingFor(c *Call) error {
	name := "the provider"
	switch {
	case c.Type != "":
		name = c.Type
	case c.function != "":
		name = c.function
	}
	return &missing{fmt.Sprintf("The program does not know %s of %s.", c.Action, name)}
}

// failure returns the code, the message and the data of a failed call.
func failure(c *Call, err error) (code int, message string, data json.RawMessage) {
	problem := diagnostic{Severity: "error", Summary: err.Error()}
	if e := (*Error)(nil); errors.As(err, &e) {
		problem.Summary, problem.Detail, problem.Attribute = e.Summary, e.Detail, e.Attribute
	}
	code = 1
	if t := (*temporary)(nil); errors.As(err, &t) {
		code = codeTemporary
	} else if errors.Is(err, ErrCancelled) || errors.Is(err, context.Canceled) && c.ctx.Err() != nil {
		code, problem.Summary = codeCancelled, "The call was cancelled"
	}
	if problem.Summary == "" {
		problem.Summary = "It failed"
	}
	c.extra["diagnostics"] = append(c.diagnostics(nil), problem)
	data, err = encode(c.extra)
	if err != nil { // what the method reported cannot be written, and is lost
		c.warnings = append(c.warnings, problem)
		problem = diagnostic{Severity: "error", Summary: "The call cannot report what it made", Detail: err.Error()}
		data, _ = encode(Object{"diagnostics": append(c.diagnostics(nil), problem)})
	}
	return code, problem.Summary, data
}

// where returns the position of a panic: the first line of the stack that is not in a library.
func where(stack []byte) string {
	const rest = "the way there is in what it wrote to standard error."
	_, below, _ := strings.Cut(string(stack), "panic(")
	for line := range strings.Lines(below) {
		place, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		file, number, ok := strings.Cut(place[strings.LastIndexAny(place, `/\`)+1:], ".go:")
		if ok && strings.HasPrefix(line, "\t") && !strings.Contains(place, "/runtime/") {
			return fmt.Sprintf("The program has a bug: %s.go, line %s. All of %s", file, number, rest)
		}
	}
	return "The program has a bug; " + rest
}

// oneShot performs the one call of a process, and returns its exit status.
func (h *host) oneShot(ctx context.Context, action string, in io.Reader) int {
	say := func(message string, fraction float64) {
		line := Object{"@level": "info", "@message": message}
		if fraction >= 0 {
			line["@progress"] = fraction
		}
		text, _ := encode(line)
		_, _ = os.Stderr.Write(text)
	}
	request, err := io.ReadAll(in)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c, err := called(ctx, action, request, say)
	var answer []byte
	if err == nil {
		answer, err = h.perform(ctx, c)
	}
	if m := (*missing)(nil); errors.As(err, &m) {
		fmt.Fprintln(os.Stderr, m)
		return 1
	}
	if err == nil {
		h.write(answer)
		return 0
	}
	code, _, data := failure(c, err)
	h.write(data)
	if code == codeTemporary {
		return codeTemporary
	}
	return 1
}

// session performs calls until the end of the input.
func (h *host) session(in io.Reader) error {
	calls := map[int64]context.CancelFunc{}
	var mu sync.Mutex // guards calls
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var message struct {
			ID     *int64          `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err == nil {
			err = json.Unmarshal(line, &message)
		}
		if err != nil {
			return err
		}
		switch {
		case message.Method == "initialize" && message.ID != nil:
			if err := attach(message.Params); err != nil {
				return err
			}
			h.reply(*message.ID, "result", Object{"protocol": 1})
		case message.Method == "$/cancelRequest":
			var which struct{ ID int64 }
			if err := json.Unmarshal(message.Params, &which); err != nil {
				return err
			}
			mu.Lock()
			if cancel := calls[which.ID]; cancel != nil {
				cancel()
			}
			mu.Unlock()
		case message.ID != nil:
			ctx, cancel := context.WithCancel(context.Background())
			mu.Lock()
			calls[*message.ID] = cancel
			mu.Unlock()
			serve := func() {
				h.serve(ctx, *message.ID, message.Method, message.Params)
				mu.Lock()
				delete(calls, *message.ID)
				mu.Unlock()
				cancel()
			}
			if runtime.GOOS == "wasip1" { // a read of the next line would block the whole module
				serve()
			} else {
				go serve() // the host ends the process, and with it the call
			}
		}
	}
}

// serve performs a call of a session.
func (h *host) serve(ctx context.Context, id int64, action string, params []byte) {
	c, err := called(ctx, action, params, func(message string, fraction float64) {
		progress := Object{"id": id, "message": message}
		if fraction >= 0 {
			progress["fraction"] = fraction
		}
		line, _ := encode(Object{"jsonrpc": "2.0", "method": "$/progress", "params": progress})
		h.write(line)
	})
	var answer []byte
	if err == nil {
		answer, err = h.perform(ctx, c)
	}
	if m := (*missing)(nil); errors.As(err, &m) {
		h.reply(id, "error", Object{"code": codeMissing, "message": m.text})
		return
	}
	if err == nil {
		h.reply(id, "result", json.RawMessage(answer))
		return
	}
	code, message, data := failure(c, err)
	h.reply(id, "error", Object{"code": code, "message": message, "data": data})
}

func (h *host) reply(id int64, member string, value any) {
	line, err := encode(Object{"jsonrpc": "2.0", "id": id, member: value})
	if err != nil {
		panic("tombolo: " + err.Error()) // the value has been encoded before
	}
	h.write(line)
}
