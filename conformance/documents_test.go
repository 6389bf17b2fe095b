package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/tombolo-iac/tombolo/flavor"
)

// undecodable returns the errors of the library with which tools read terraform's documents, for the documents of a
// step. Errors that it also has for terraform's documents are left out: it does not support numbers beyond a float.
func undecodable(s Step, res, terraform Result) (problems []string) {
	theirs := map[string]bool{}
	for _, run := range terraform.Runs {
		if err := decodeRun(s, run); err != nil {
			theirs[run.Role+err.Error()] = true
		}
	}
	for _, run := range res.Runs {
		if err := decodeRun(s, run); err != nil && !theirs[run.Role+err.Error()] {
			problems = append(problems, fmt.Sprintf("%s: terraform-json: %v", run.Role, err))
		}
	}
	return problems
}

// decodeRun decodes the output of a run as the expected type, if it is a document or an event stream.
func decodeRun(s Step, run Run) error {
	asked := run.Role != "step" || slices.Contains(s.Args, "-json")
	switch {
	case !asked || strings.TrimSpace(run.Stdout) == "":
		return nil // text, or a failure that was reported on standard error
	case run.Role == "diagnostics" || run.Role == "stream" || run.Role == "step" && (hasEvents(s.Verb) ||
		isStream(run.Stdout)):
		return decodeEvents(run.Stdout)
	}
	document := documentOf(s, run)
	if document == nil || run.Exit != 0 && s.Verb != "validate" {
		return nil
	}
	if err := json.Unmarshal([]byte(run.Stdout), document); err != nil {
		return err
	}
	if document, ok := document.(interface{ Validate() error }); ok {
		return document.Validate()
	}
	return nil
}

// hasEvents reports whether the -json form of a command is a stream of events, one per line.
func hasEvents(verb string) bool {
	return slices.Contains([]string{"plan", "apply", "destroy", "refresh", "init", "test"}, verb)
}

// documentOf returns the value to decode a document into, or nil if the library has no type for it.
func documentOf(s Step, run Run) any {
	switch run.Role {
	case "show plan":
		return new(tfjson.Plan)
	case "show":
		return new(tfjson.State)
	case "output":
		return new(map[string]tfjson.StateOutput)
	}
	switch s.Verb {
	case "show":
		if slices.ContainsFunc(s.Args, func(arg string) bool {
			return arg == "-config" || strings.HasPrefix(arg, "-module=")
		}) {
			return nil // not supported by the library
		}
		if fields, _ := decode(run.Stdout).(map[string]any); fields["resource_changes"] != nil ||
			fields["planned_values"] != nil {
			return new(tfjson.Plan)
		}
		return new(tfjson.State)
	case "validate":
		return new(tfjson.ValidateOutput)
	case "version":
		return new(tfjson.VersionOutput)
	case "providers":
		return new(tfjson.ProviderSchemas)
	case "metadata":
		return new(tfjson.MetadataFunctions)
	case "output":
		if slices.ContainsFunc(s.Args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }) {
			return nil // the bare value
		}
		return new(map[string]tfjson.StateOutput)
	}
	return nil
}

// decodeEvents decodes an event stream line by line. Events of types that the library supports must not be empty,
// because it does not report missing members.
func decodeEvents(stream string) error {
	for _, line := range strings.Split(strings.TrimSpace(stream), "\n") {
		msg, err := tfjson.UnmarshalLogMessage([]byte(line))
		if err != nil {
			return fmt.Errorf("%w in %s", err, line)
		}
		if msg.Level() == "" || msg.Timestamp().IsZero() {
			return fmt.Errorf("no level or time in %s", line)
		}
		switch msg := msg.(type) {
		case tfjson.VersionLogMessage:
			if msg.UI != nil && strings.Contains(line, `"tofu":"`+flavor.OpenTofuVersion+`"`) {
				continue // not supported by the library, for OpenTofu either
			}
			if msg.Terraform == nil || !reportedVersion(msg.Terraform.String()) || msg.UI == nil {
				return fmt.Errorf("no versions in %s", line)
			}
		case tfjson.DiagnosticLogMessage:
			if msg.Diagnostic.Severity == "" || msg.Diagnostic.Severity == tfjson.DiagnosticSeverityUnknown ||
				msg.Diagnostic.Summary == "" {
				return fmt.Errorf("no diagnostic in %s", line)
			}
		case tfjson.InitOutputMessage:
			if msg.MessageCode == "" {
				return fmt.Errorf("no code in %s", line)
			}
		}
	}
	return nil
}

func TestDocumentsThatToolsCannotReadAreFound(t *testing.T) {
	step := func(line string) Step {
		s, err := parseStep(line)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const version = `{"@level":"info","@message":"Terraform ` +
		`1.11.4","@timestamp":"2026-01-01T00:00:00.0Z","terraform":"1.11.4","type":"version","ui":"1.2"}`
	for _, tt := range []struct {
		name, step string
		run        Run
		bad        bool
	}{
		{"a plan", "plan", Run{Role: "show plan", Stdout: `{"format_version":"1.2"}`}, false},
		{"a plan without its version", "plan", Run{Role: "show plan", Stdout: `{"resource_changes":[]}`}, true},
		{"a state of another format", "apply", Run{Role: "show", Stdout: `{"format_version":"9.0"}`}, true},
		{"outputs that are a list", "apply", Run{Role: "output", Stdout: `[]`}, true},
		{"one output", "output -json v", Run{Role: "step", Stdout: `1`}, false},
		{"text", "output", Run{Role: "step", Stdout: `v = 1`}, false},
		{"errors of validate", "validate -json",
			Run{Role: "step", Exit: 1, Stdout: `{"format_version":"1.0","diagnostics":3}`}, true},
		{"a stream", "plan -json", Run{Role: "step", Stdout: version + "\n"}, false},
		{"a line that is no event", "plan -json", Run{Role: "step", Stdout: version + "\nhello\n"}, true},
		{"a foreign version", "plan -json", Run{Role: "step", Stdout: strings.ReplaceAll(version, "1.11.4", "1.0.0")},
			true},
		{"a diagnostic without one", "plan -json", Run{Role: "step", Stdout: strings.ReplaceAll(version, `"version"`,
			`"diagnostic"`)}, true},
	} {
		problems := undecodable(step(tt.step), Result{Runs: []Run{tt.run}}, Result{})
		if bad := len(problems) > 0; bad != tt.bad {
			t.Errorf("%s: problems %v, want some: %v", tt.name, problems, tt.bad)
		}
	}
}
