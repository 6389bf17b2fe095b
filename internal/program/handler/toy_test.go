package handler_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// The test binary is also the program of a provider, so that these tests need no interpreter.
func TestMain(m *testing.M) {
	if os.Getenv("TOY_DIR") != "" {
		if os.Getenv("TOY_SESSION") != "" {
			os.Exit(toySession())
		}
		os.Exit(toy(os.Args[1:]))
	}
	code := m.Run()
	if guestDir != "" {
		_ = os.RemoveAll(guestDir) // it is a temporary folder in any case
	}
	os.Exit(code)
}

// toyManifest is the manifest of the toy; %s is the command.
const toyManifest = `{
  "protocol": 1, "name": "toy", "version": "1.2.3",
  "command": %s,
  "implements": ["configure", "validate"],
  "schema": {
    "provider": {"attributes": {
      "prefix": {"type": "string", "optional": true, "default": "toy"},
      "password": {"type": "string", "optional": true, "sensitive": true}
    }},
    "resource_schemas": {
      "toy_thing": {
        "version": 2,
        "attributes": {
          "id":     {"type": "string", "computed": true, "stable": true},
          "name":   {"type": "string", "required": true, "force_new": true, "json_schema": {"pattern": "^[a-z]"}},
          "size":   {"type": "number", "optional": true, "default": 1},
          "exact":  {"type": "number", "optional": true, "encoding": "string"},
          "tags":   {"type": ["map", "string"], "optional": true},
          "labels": {"type": ["set", "string"], "optional": true},
          "any":    {"type": "dynamic", "optional": true},
          "secret": {"type": "string", "optional": true, "sensitive": true},
          "token":  {"type": "string", "optional": true, "write_only": true},
          "serial": {"type": "number", "computed": true},
          "ports":  {"optional": true, "nested_type": {"nesting_mode": "list", "attributes": {
            "number": {"type": "number", "required": true},
            "url":    {"type": "string", "computed": true}
          }}},
          "do":     {"type": "string", "optional": true}
        },
        "block_types": {"rule": {"nesting_mode": "set", "block": {"attributes": {
          "cidr": {"type": "string", "required": true},
          "note": {"type": "string", "optional": true, "default": "none"}
        }}}},
        "identity": {"attributes": {"id": {"type": "string", "required_for_import": true}}},
        "import": "id",
        "timeouts": {"create": "5m", "read": "5m"},
        "retry": {"attempts": 3, "delay": "1ms"}
      },
      "toy_fixed": {
        "implements": ["create", "read", "delete", "plan", "import", "upgrade", "validate"],
        "version": 1,
        "attributes": {
          "id":    {"type": "string", "computed": true},
          "text":  {"type": "string", "required": true},
          "twice": {"type": "string", "computed": true}
        }
      }
    },
    "data_source_schemas": {"toy_echo": {
      "attributes": {
        "text":  {"type": "string", "required": true},
        "times": {"type": "number", "optional": true, "default": 2},
        "out":   {"type": ["list", "string"], "computed": true}
      },
      "retry": {"attempts": 3, "delay": "1ms"}
    }},
    "ephemeral_resource_schemas": {"toy_lease": {
      "implements": ["open", "renew", "close"],
      "attributes": {"name": {"type": "string", "required": true}, "key": {"type": "string",
"computed": true, "sensitive": true}}
    }},
    "list_resource_schemas": {"toy_thing": {
      "attributes": {
        "prefix": {"type": "string", "optional": true, "default": ""},
        "answer": {"type": "string", "optional": true, "json_schema": {"minLength": 2}},
        "secret": {"type": "string", "optional": true, "sensitive": true}
      },
      "timeouts": {"list": "5m"},
      "retry": {"attempts": 3, "delay": "1ms"}
    }},
    "action_schemas": {"toy_ring": {
      "implements": ["validate", "plan", "invoke"],
      "attributes": {
        "text":  {"type": "string", "required": true},
        "times": {"type": "number", "optional": true, "default": 2},
        "key":   {"type": "string", "optional": true, "sensitive": true},
        "do":    {"type": "string", "optional": true}
      },
      "timeouts": {"invoke": "5m"}
    }},
    "functions": {
      "slug": {"parameters": [{"name": "s", "type": "string"}], "return_type": "string"},
      "sum": {"variadic_parameter": {"name": "n", "type": "number"}, "return_type": "number"}
    }
  }
}`

// newToy returns the provider and the folder of its objects.
func newToy(t *testing.T, opts handler.Options, env ...string) (provider.Factory, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, _ := json.Marshal([]string{exe})
	return newProgram(t, fmt.Sprintf(toyManifest, argv), opts, env...)
}

func newProgram(t *testing.T, text string, opts handler.Options, env ...string) (provider.Factory, string) {
	t.Helper()
	dir, pkg := t.TempDir(), t.TempDir()
	m, diags := manifest.Parse([]byte(text), filepath.Join(pkg, manifest.FileName), pkg)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return factoryOf(m, dir, opts, env...), dir
}

// object is a JSON object.
type object = map[string]any

// toy is the program: objects are files. The attribute "do" of an object selects a misbehaviour.
func toy(args []string) int {
	action, typ := args[0], ""
	if len(args) > 1 {
		typ = args[1]
	}
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fail(err)
	}
	if log := os.Getenv("TOY_LOG"); log != "" {
		f, _ := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintf(f, "%s %s %s\n", action, typ, in)
		f.Close()
	}
	var req object
	dec := json.NewDecoder(strings.NewReader(string(in)))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		return fail(err)
	}
	for _, of := range []string{"planned", "state", "config"} {
		if v, ok := req[of].(object); ok && v["do"] != nil {
			if code, done := misbehave(action, v["do"].(string), v); done {
				return code
			}
			break
		}
	}
	out, err := answer(action, typ, req)
	if err != nil {
		return fail(err)
	}
	if out = lied(action, out); out != nil {
		json.NewEncoder(os.Stdout).Encode(out)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func file(id any) string { return filepath.Join(os.Getenv("TOY_DIR"), fmt.Sprint(id)+".json") }

func store(v object) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(file(v["id"]), text, 0o600)
}

func answer(action, typ string, req object) (any, error) {
	switch action {
	case "configure":
		return object{}, nil
	case "validate":
		return validate(req), nil
	case "plan":
		if typ == "toy_ring" {
			return planned(req), nil
		}
		proposed := req["proposed"].(object)
		out := object{"planned": object{"twice": fmt.Sprint(proposed["text"], proposed["text"])}}
		if proposed["text"] == nil {
			out = object{}
		}
		return out, nil
	case "create", "update":
		return write(action, typ, req)
	case "read":
		text, err := os.ReadFile(file(req["state"].(object)["id"]))
		if os.IsNotExist(err) {
			return json.RawMessage("null"), nil
		}
		return object{"state": json.RawMessage(text)}, err
	case "import":
		return object{"state": object{"id": req["id"]}}, nil
	case "upgrade":
		old := req["state"].(object)
		return object{
			"state": object{"id": old["id"], "text": old["txt"], "twice": fmt.Sprint(old["txt"], old["txt"])}}, nil
	case "delete":
		err := os.Remove(file(req["state"].(object)["id"]))
		if os.IsNotExist(err) {
			err = nil
		}
		return nil, err
	}
	return rest(action, typ, req)
}

// list lists objects, or answers as the configuration requires.
func list(req object) (any, error) {
	config := req["config"].(object)
	if config["answer"] != nil {
		return json.RawMessage(config["answer"].(string)), nil
	}
	names, err := filepath.Glob(file("*"))
	results := []object{}
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		var one object
		text, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(text, &one) != nil || one["serial"] == nil {
			continue // of another type, or only partly written
		}
		if !strings.HasPrefix(one["name"].(string), config["prefix"].(string)) {
			continue
		}
		result := object{"identity": object{"id": id}, "display_name": "the object " + id}
		if req["include_object"] == true {
			result["object"] = json.RawMessage(text)
		}
		results = append(results, result)
	}
	return object{"results": results}, err
}

// planned refuses actions that would never be performed.
func planned(req object) object {
	if config := req["config"].(object); config["times"] == json.Number("0") {
		return object{"diagnostics": []object{{"severity": "error", "summary": "Never", "attribute": []any{"times"}}}}
	}
	return object{}
}

// ring performs the action: it creates a file and reports progress.
func ring(req object) (any, error) {
	config := req["config"].(object)
	if config["key"] != nil && os.Getenv("TOY_SESSION") == "" {
		fmt.Fprintf(os.Stderr, "{\"@progress\": 0.5, \"@message\": \"ringing with %v\"}\nan ordinary line\n",
			config["key"])
	}
	f, err := os.OpenFile(filepath.Join(os.Getenv("TOY_DIR"), "rung"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, config["text"], config["times"]); err != nil {
		return nil, err
	}
	return object{"diagnostics": []object{{"severity": "warning", "summary": "Rung", "attribute": []any{"text"}}}}, nil
}

func validate(req object) object {
	config := req["config"].(object)
	for _, name := range []string{"text", "password"} {
		if config[name] == "forbidden" {
			return object{
				"diagnostics": []object{{"severity": "error", "summary": "Forbidden word", "detail": "The word is " +
					fmt.Sprint(config[name]), "attribute": []any{name}}}}
		}
	}
	return object{}
}

func write(action, typ string, req object) (any, error) {
	v := req["planned"].(object)
	if action == "create" {
		f, err := os.CreateTemp(os.Getenv("TOY_DIR"), "*.json")
		if err != nil {
			return nil, err
		}
		f.Close()
		v["id"] = strings.TrimSuffix(filepath.Base(f.Name()), ".json")
	}
	if typ == "toy_fixed" {
		return object{"state": object{"id": v["id"]}}, store(v)
	}
	v["serial"] = time.Now().UnixNano()
	if ports, ok := v["ports"].([]any); ok {
		for _, p := range ports {
			p.(object)["url"] = fmt.Sprintf("http://localhost:%v", p.(object)["number"])
		}
	}
	return object{"state": v, "private": object{"by": action}}, store(v)
}

func rest(action, typ string, req object) (any, error) {
	switch action {
	case "list":
		return list(req)
	case "invoke":
		return ring(req)
	case "data":
		config := req["config"].(object)
		n, _ := config["times"].(json.Number).Int64()
		out := []any{}
		for range n {
			out = append(out, config["text"])
		}
		return object{"state": object{"out": out}}, nil
	case "open":
		return object{"result": object{"key": "key-of-" + fmt.Sprint(req["config"].(object)["name"])}, "private": "p1",
			"renew_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}, nil
	case "renew":
		return object{"renew_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "private": "p2"}, nil
	case "close":
		return nil, os.WriteFile(filepath.Join(os.Getenv("TOY_DIR"), "closed"), nil, 0o600)
	case "call":
		args := req["args"].([]any)
		if typ == "sum" {
			sum := 0.0
			for _, a := range args {
				f, _ := a.(json.Number).Float64()
				sum += f
			}
			return object{"result": sum}, nil
		}
		if args[0] == "" {
			return object{"error": object{"message": "it is empty", "argument": 0}}, nil
		}
		return object{"result": strings.ReplaceAll(strings.ToLower(args[0].(string)), " ", "-")}, nil
	}
	return nil, fmt.Errorf("there is no action %s", action)
}

func sprintManifest(command string) string { return fmt.Sprintf(toyManifest, command) }
