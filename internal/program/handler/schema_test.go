package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
)

// messageSchema returns the JSON Schema of one kind of message.
var messageSchema = func() func(t *testing.T, name string) *jsonschema.Schema {
	var mu sync.Mutex
	known := map[string]*jsonschema.Schema{}
	return func(t *testing.T, name string) *jsonschema.Schema {
		mu.Lock()
		defer mu.Unlock()
		if s := known[name]; s != nil {
			return s
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		path, err := filepath.Abs("../../../docs/schemas/program-messages.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(path + "#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		known[name] = s
		return s
	}
}()

func checkMessage(t *testing.T, name string, text []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = messageSchema(t, name).Validate(doc)
	}
	if err != nil {
		t.Errorf("%s does not fit its description: %v\n%s", name, err, text)
	}
}

// checked validates every message with its JSON Schema.
type checked struct {
	handler.Caller
	t    *testing.T
	mu   *sync.Mutex
	seen map[string]bool
}

func (c checked) Call(ctx context.Context, call handler.Call) (*handler.Answer, error) {
	checkMessage(c.t, "request_"+call.Action, call.Params)
	a, err := c.Caller.Call(ctx, call)
	if err == nil && a.Failure == nil && len(bytes.TrimSpace(a.Result)) > 0 {
		checkMessage(c.t, "answer_"+call.Action, a.Result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[call.Action] = true
	return a, err
}

// TestTheExamplesOfTheDocumentationFitTheirDescriptions reads the tables of docs/program-protocol.md: requests and
// answers by action.
func TestTheExamplesOfTheDocumentationFitTheirDescriptions(t *testing.T) {
	text, err := os.ReadFile("../../../docs/program-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, block := range strings.Split(string(text), "```json\n") {
		body, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(body) {
			// A line of an example: ACTION, > for a request or < for an answer, the message.
			word, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
			rest = strings.TrimSpace(rest)
			kind := map[string]string{">": "request_", "<": "answer_"}[strings.SplitN(rest+" ", " ", 2)[0]]
			if !ok || kind == "" {
				continue
			}
			checkMessage(t, kind+word, []byte(strings.TrimSpace(rest[1:])))
			if kind == "request_" {
				actions = append(actions, word)
			}
		}
	}
	for _, action := range []string{"validate", "configure", "plan", "create", "read", "update", "delete", "import",
		"upgrade", "data", "open", "renew", "close", "list", "invoke", "call"} {
		if !slices.Contains(actions, action) {
			t.Errorf("the documentation has no example of a request to %s", action)
		}
	}
}

// TestTheLinesOfASessionFitTheirDescriptions validates the lines in the pipes of a session.
func TestTheLinesOfASessionFitTheirDescriptions(t *testing.T) {
	wire := filepath.Join(t.TempDir(), "wire")
	f, _ := newSession(t, "", handler.Options{}, func(s *handler.Surroundings) { s.Grace = time.Minute }, "TOY_WIRE="+
		wire)
	d := drive(t, f)
	for _, do := range []string{"", "create: tell", "create: half", "create: error"} {
		d.thing(do, nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		awaitLine(t, wire, "create: cancellable")
		cancel()
	}()
	d.apply(ctx, "toy_thing", d.null("toy_thing"), d.config("toy_thing", map[string]cty.Value{
		"name": cty.StringVal("a"), "do": cty.StringVal("create: cancellable")}))
	text, err := os.ReadFile(wire)
	if err != nil {
		t.Fatal(err)
	}
	seen := checkLines(t, string(text))
	for _, kind := range []string{"initialize", "initialize_result", "request", "result", "error", "progress",
		"cancel"} {
		if !seen[kind] {
			t.Errorf("no line of the kind %s was sent:\n%s", kind, text)
		}
	}
}

// checkLines validates each line of a session ("> " before lines that the program read, "< " before those that it
// printed) with the schema of all lines, with that of its kind, and a result with that of the answer to its request. It
// returns the kinds.
func checkLines(t *testing.T, text string) map[string]bool {
	t.Helper()
	seen, methods := map[string]bool{}, map[int64]string{}
	for line := range strings.Lines(text) {
		mark, body := line[:2], []byte(strings.TrimSpace(line[2:]))
		var m struct {
			ID            int64
			Method        string
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind, of := "", map[string]string{"> ": "session_read", "< ": "session_printed"}[mark]
		switch {
		case m.Method == "initialize":
			kind, methods[m.ID] = "initialize", m.Method
		case m.Method == "$/cancelRequest":
			kind = "cancel"
		case m.Method == "$/progress":
			kind = "progress"
		case m.Method != "":
			kind, methods[m.ID] = "request", m.Method
			if of != "session_read" {
				t.Errorf("a program makes no calls: %s", line)
			}
		case m.Error != nil:
			kind = "error"
		case methods[m.ID] == "initialize":
			kind = "initialize_result"
		default:
			kind = "result"
			if string(m.Result) != "null" {
				checkMessage(t, "answer_"+methods[m.ID], m.Result)
			}
		}
		seen[kind] = true
		checkMessage(t, of, body)
		checkMessage(t, "session_"+kind, body)
	}
	return seen
}

func TestTheExampleOfASessionInTheDocumentationFitsItsDescription(t *testing.T) {
	text, err := os.ReadFile("../../../docs/program-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if len(line) > 2 && strings.HasPrefix(line[2:], `{"jsonrpc"`) {
			line = strings.NewReplacer("{…}", "{}", "[…]", "[]").Replace(line)
			lines = append(lines, line)
		}
	}
	if seen := checkLines(t, strings.Join(lines, "")); len(seen) < 6 {
		t.Errorf("the documentation has no example of each kind of line; it has %v", seen)
	}
}

// TestSchemasRefuseInvalidLines checks that the schemas refuse invalid lines.
func TestSchemasRefuseInvalidLines(t *testing.T) {
	for line, kind := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"create","params":{}}`:                                  "session_read",
		`{"jsonrpc":"2.0","id":1,"method":"creat","params":{}}`:                                   "session_read",
		`{"jsonrpc":"2.0","id":1,"method":"call","params":{"function":"f"}}`:                      "session_read",
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{}}`:                                "session_read",
		`{"jsonrpc":"2.0","id":1}`:                                                                "session_printed",
		`{"jsonrpc":"2.0","id":"1","result":{}}`:                                                  "session_printed",
		`{"id":1,"result":{}}`:                                                                    "session_printed",
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`:                   "session_printed",
		`{"jsonrpc":"2.0","id":1,"error":"no"}`:                                                   "session_printed",
		`{"jsonrpc":"2.0","method":"$/progress","params":{"id":1,"fraction":40}}`:                 "session_printed",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"diagnostics":["oh"]}}}`: "session_printed",
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if messageSchema(t, kind).Validate(doc) == nil {
			t.Errorf("%s fits %s", line, kind)
		}
	}
}
