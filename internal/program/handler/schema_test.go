package handler_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
)

// messageSchema gives the description of one kind of message.
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

// checked compares every message with its description.
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

// TestTheExamplesOfTheDocumentationFitTheirDescriptions reads the tables of docs/program-protocol.md: requests and answers by action.
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
	for _, action := range []string{"validate", "configure", "plan", "create", "read", "update", "delete", "import", "upgrade", "data", "open", "renew", "close", "call"} {
		if !slices.Contains(actions, action) {
			t.Errorf("the documentation has no example of a request to %s", action)
		}
	}
}
