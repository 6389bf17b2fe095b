package tfjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// configOf loads the configuration of a recorded step.
func configOf(t *testing.T, c tfjsontest.Case) *config.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.Files {
		switch {
		case strings.HasSuffix(name, ".tf"):
		case name == "modules.json":
			name = ".terraform/modules/modules.json"
		default:
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	cfg, diags := config.Load(context.Background(), config.Options{Dir: ".", LanguageVersion: state.LanguageVersion})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return cfg
}

func TestPlanDocumentIsAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := c.Plan(t, schemas)
			if p == nil {
				t.Skip("runs for cases with a recorded plan")
			}
			var out bytes.Buffer
			prior := p.Base
			if err := tfjson.Plan(&out, p, prior, configOf(t, c), schemas); err != nil {
				t.Fatal(err)
			}
			got, want := tfjsontest.Parse(t, out.String()), c.Document(t, "plan.json")
			// Values read by the refresh are part of the recorded prior state but not of the file that Base was read
			// from; states are compared below. The order of checks and of relevant attributes is random.
			for _, doc := range []map[string]any{got, want} {
				delete(doc, "prior_state")
			}
			replacedSecrets(p, got, want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("document differs (-want +got):\n%s", d)
			}
		})
	}
}

// replacedSecrets excludes the sensitive parts of replaced objects from the comparison: there, Terraform ignores the
// sensitivity in the schema.
func replacedSecrets(p *plan.Plan, docs ...map[string]any) {
	replaced := map[string]bool{}
	for _, c := range p.Changes {
		if c.Action.IsReplace() {
			replaced[c.Object.String()] = true
		}
	}
	for _, doc := range docs {
		changes, _ := doc["resource_changes"].([]any)
		for _, rc := range changes {
			if m := rc.(map[string]any); replaced[m["address"].(string)] {
				delete(m["change"].(map[string]any), "after_sensitive")
			}
		}
		root := doc["planned_values"].(map[string]any)["root_module"].(map[string]any)
		resources, _ := root["resources"].([]any)
		for _, r := range resources {
			if m := r.(map[string]any); replaced[m["address"].(string)] {
				delete(m, "sensitive_values")
			}
		}
	}
}

func TestStateDocumentIsAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		if c.Files["state.json"] == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tfjson.State(&out, c.State(t, "after.tfstate"), schemas); err != nil {
				t.Fatal(err)
			}
			got, want := tfjsontest.Parse(t, out.String()), c.Document(t, "state.json")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("document differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestSchemaDocumentIsAsRecorded(t *testing.T) {
	var out bytes.Buffer
	if err := tfjson.ProviderSchemas(&out, tfjsontest.Schemas(t)); err != nil {
		t.Fatal(err)
	}
	got, want := tfjsontest.Parse(t, out.String()), tfjsontest.Parse(t, string(tfjsontest.Read(t, "schema.json")))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("document differs (-want +got):\n%s", d)
	}
}

func TestDiagnosticsOfDeepTextAreNotParsed(t *testing.T) {
	for name, source := range map[string]string{
		"main.tf":      "locals {\n  a = " + strings.Repeat("[", 1000000),
		"main.tf.json": `{"a":` + strings.Repeat("[", 1000000),
	} {
		at := hcl.Pos{Line: 1, Column: 7, Byte: 6}
		list := diag.List(nil).Errorf(&hcl.Range{Filename: name, Start: at, End: at}, "Nesting too deep", "Too deep.")
		if doc := tfjson.Diagnostics(list, map[string][]byte{name: []byte(source)}); doc[0].Snippet == nil ||
			doc[0].Snippet.Context != nil {
			t.Errorf("%s: snippet %+v", name, doc[0].Snippet)
		}
	}
}

func TestSnippetsInJSONHaveNoEmptyLines(t *testing.T) {
	for _, tt := range []struct {
		code, want         string
		start, end         int
		wantStart, wantEnd int
	}{
		{"a = 1", "a = 1", 4, 5, 4, 5},
		{"a = {\n\n  b\n\n}", "a = {\n  b\n}", 4, 14, 4, 11},
		{"\n\na = [\r\n\r\n b ]", "a = [\n b ]", 6, 15, 4, 10},
		{"a = x\n\n  \n\ny", "a = x\n  \ny", 4, 5, 4, 5},
		{"", "", 0, 0, 0, 0},
	} {
		b, err := json.Marshal(tfjson.Snippet{Code: tt.code, HighlightStartOffset: tt.start,
			HighlightEndOffset: tt.end})
		if err != nil {
			t.Fatal(err)
		}
		var got tfjson.Snippet
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if got.Code != tt.want || got.HighlightStartOffset != tt.wantStart || got.HighlightEndOffset != tt.wantEnd {
			t.Errorf("%q %d-%d: got %q %d-%d, want %q %d-%d", tt.code, tt.start, tt.end, got.Code,
				got.HighlightStartOffset, got.HighlightEndOffset, tt.want, tt.wantStart, tt.wantEnd)
		}
	}
}
