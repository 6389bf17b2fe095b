package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// docs parses JSON lines and removes their times. Versions in recorded lines are replaced by ours.
func docs(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line == "" {
			continue
		}
		doc := tfjsontest.Parse(t, line)
		delete(doc, "@timestamp")
		if doc["type"] == "version" {
			doc["terraform"], doc["ui"] = state.LanguageVersion, flavor.Terraform.LinesVersion()
			doc["@message"] = "Terraform " + state.LanguageVersion
		}
		out = append(out, doc)
	}
	return out
}

// ofTypes returns the lines of some types in a fixed order, because the original order has no meaning.
func ofTypes(all []map[string]any, types ...string) []string {
	var out []string
	for _, d := range all {
		for _, typ := range types {
			if d["type"] == typ {
				b, _ := json.Marshal(d)
				out = append(out, string(b))
			}
		}
	}
	sort.Strings(out)
	return out
}

func TestPlanLinesAreAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		if c.Files["plan.jsonl"] == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			v := New(Options{Out: &out, JSON: true, Program: "terraform"})
			v.Start()
			v.Plan(c.Plan(t, schemas), schemas)
			v.Close()
			types := []string{"version", "resource_drift", "planned_change", "change_summary", "outputs"}
			want := ofTypes(docs(t, c.Files["plan.jsonl"]), types...)
			if d := cmp.Diff(want, ofTypes(docs(t, out.String()), types...)); d != "" {
				t.Errorf("lines differ (-want +got):\n%s", d)
			}
			if strings.Contains(out.String(), tfjsontest.Canary) {
				t.Errorf("a secret was written:\n%s", out.String())
			}
		})
	}
}

// replay sends the events that correspond to recorded lines.
func replay(t *testing.T, all []map[string]any, send func(event.Event)) {
	t.Helper()
	word := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	actions := map[string]plan.Action{"create": plan.Create, "update": plan.Update, "delete": plan.Delete,
		"read": plan.Read}
	for _, d := range all {
		h, ok := d["hook"].(map[string]any)
		if !ok {
			continue
		}
		a, diags := addr.ParseInstance(word(h["resource"].(map[string]any), "addr"))
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		object, id := addr.Object{Instance: a}, event.ID{Key: word(h, "id_key"), Value: word(h, "id_value")}
		switch d["type"] {
		case "refresh_start":
			send(event.RefreshStart{Object: object, ID: id})
		case "refresh_complete":
			send(event.RefreshDone{Object: object, ID: id})
		case "apply_start":
			send(event.OperationStart{Object: object, Action: actions[word(h, "action")], ID: id})
		case "apply_complete", "apply_errored":
			send(event.OperationDone{Object: object, Action: actions[word(h, "action")], ID: id,
				Failed: d["type"] == "apply_errored"})
		}
	}
}

func TestProgressLinesAreAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	types := []string{"version", "refresh_start", "refresh_complete", "apply_start", "apply_complete", "apply_errored",
		"change_summary", "outputs"}
	for _, c := range tfjsontest.Cases(t) {
		if c.Files["apply.jsonl"] == "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			recorded := docs(t, c.Files["apply.jsonl"])
			var out bytes.Buffer
			v := New(Options{Out: &out, JSON: true, Program: "terraform", Command: "apply"})
			v.Start()
			replay(t, recorded, v.Send)
			after := c.State(t, "after.tfstate")
			if !strings.Contains(c.Files["apply.jsonl"], "apply_errored") {
				v.Applied(Ending{Plan: c.Plan(t, schemas), State: after})
			}
			v.Close()
			// The plan's own summary comes first in the recording; it is tested above.
			want := slicesDelete(ofTypes(recorded, types...), `"operation":"plan"`)
			if d := cmp.Diff(want, ofTypes(docs(t, out.String()), types...)); d != "" {
				t.Errorf("lines differ (-want +got):\n%s", d)
			}
			if strings.Contains(out.String(), tfjsontest.Canary) {
				t.Errorf("a secret was written:\n%s", out.String())
			}
		})
	}
}

func slicesDelete(list []string, part string) []string {
	var out []string
	for _, s := range list {
		if !strings.Contains(s, part) {
			out = append(out, s)
		}
	}
	return out
}

func fixedClock() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC) }

func TestEveryLineIsOneDocumentWithoutControlCharacters(t *testing.T) {
	evil := "a\x1b[31m\u009b1m\u202eb\nc"
	object := addr.Object{Instance: addr.AbsResourceInstance{Resource: addr.Resource{Mode: addr.Managed, Type: "t_x",
		Name: "n"}, Key: addr.StringKey(evil)}}
	id := event.ID{Key: "id", Value: evil}
	for _, json := range []bool{true, false} {
		var out bytes.Buffer
		v := New(Options{Out: &out, JSON: json, Now: fixedClock})
		v.Start()
		for _, e := range []event.Event{
			event.RefreshStart{Object: object, ID: id}, event.RefreshDone{Object: object, ID: id},
			event.OperationStart{Object: object, Action: plan.Update, ID: id},
			event.OperationDone{Object: object, Action: plan.Update, ID: id, Elapsed: 3 * time.Second},
			event.OperationDone{Object: object, Action: plan.Read, ID: id, Failed: true},
			event.ProvisionStart{Object: object, Type: "local-exec"}, event.ProvisionOutput{
				Object: object, Type: "local-exec", Line: evil},
			event.ProvisionDone{Object: object, Type: "local-exec", Failed: true}, event.ProvisionDone{
				Object: object, Type: "local-exec"},
			event.ProgramOutput{Object: object, Line: evil}, event.ProgramOutput{Label: evil, Line: evil},
			event.Progress{Object: object, Message: evil, Fraction: 0.5}, event.Progress{Object: object, Message: evil,
				Fraction: -1},
			event.Total{Operations: 3}, event.LockWaiting{}, event.Stopping{InFlight: []addr.Object{object}},
			event.Stopping{Now: true},
		} {
			v.Send(e)
		}
		v.Diagnostics(diag.List{{Severity: diag.Error, Summary: evil, Detail: evil, Address: evil},
			{Severity: diag.Warning, Summary: evil}})
		v.Tell(Notice{Text: clean(evil), Message: evil})
		v.Tell(Failure(clean(evil) + "\n\n" + clean(evil)))
		value := plan.Value{
			Value: cty.ObjectVal(map[string]cty.Value{evil: cty.StringVal(evil),
				"lines": cty.StringVal(evil + "\n" + evil)})}
		p := &plan.Plan{
			Changes: []*plan.Change{{
				Provider: &addr.AbsProviderConfig{},
				Object:   object, Action: plan.Create, After: value, Before: plan.Value{
					Value: cty.NullVal(value.Value.Type())},
				Type: value.Value.Type(),
			}},
			Outputs: []*plan.OutputChange{{Name: "o", Action: plan.Create, After: cty.StringVal(evil)}},
		}
		v.Plan(p, nil)
		v.NextStep(NextStep{Plan: p, PlanFile: evil})
		b := (*state.State)(nil).Builder()
		b.Fold(state.Edit{Output: &state.SetOutput{Name: "o", Value: &state.Output{Value: cty.StringVal(evil + "\n")}}})
		v.Applied(Ending{Plan: p, State: b.State()})
		v.Close()
		for _, r := range out.String() {
			if r != '\n' && unsafeRune(r) {
				t.Errorf("json %v: the output holds %U:\n%q", json, r, out.String())
				break
			}
		}
		if json {
			for _, d := range docs(t, out.String()) {
				if d["@module"] != "terraform.ui" || d["type"] == nil || d["@level"] == nil {
					t.Errorf("incomplete line %v", d)
				}
			}
		}
	}
}

func TestLinesCarryTheTimeInMicroseconds(t *testing.T) {
	var out bytes.Buffer
	New(Options{Out: &out, JSON: true, Now: fixedClock}).Start()
	want := `"@timestamp":"2030-01-02T03:04:05.000006Z"`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s in it", out.String(), want)
	}
}

func ExampleNew() {
	var out bytes.Buffer
	v := New(Options{Out: &out, Program: "tombolo"})
	defer v.Close()
	a, _ := addr.ParseInstance("terraform_data.a")
	object := addr.Object{Instance: a}
	v.Send(event.OperationStart{Object: object, Action: plan.Create})
	v.Send(event.OperationDone{Object: object, Action: plan.Create, ID: event.ID{Key: "id", Value: "x"},
		Elapsed: time.Second})
	v.Applied(Ending{Plan: &plan.Plan{}})
	fmt.Print(out.String())
	// Output:
	// terraform_data.a: Creating...
	// terraform_data.a: Creation complete after 1s [id=x]
	//
	// Apply complete! Resources: 1 added, 0 changed, 0 destroyed.
}

func TestInvisibleCharactersAreEscapedInValidJSON(t *testing.T) {
	var out bytes.Buffer
	v := New(Options{Out: &out, JSON: true})
	text := "a\u202eb\u200bc\U000e0041d\x1b[31m\u009b"
	v.Tell(Notice{Message: text})
	if at := strings.IndexFunc(strings.TrimSpace(out.String()), unsafeRune); at >= 0 {
		t.Errorf("something unsafe at %d of %q", at, out.String())
	}
	if got := docs(t, out.String())[0]["@message"]; got != text {
		t.Errorf("read back: %q", got)
	}
}

func TestEphemeralAndImportEvents(t *testing.T) {
	o := objectAt(t, "terraform_data.a")
	events := []event.Event{
		event.ImportPrepare{Object: o, ID: event.ID{Key: "id", Value: "abc"}}, event.ImportStart{
			Object: o, ID: event.ID{Key: "id", Value: "abc"}},
		event.ImportDone{Object: o, ID: event.ID{Key: "id", Value: "abc"}},
		event.EphemeralStart{Object: o, Op: event.Open}, event.EphemeralDone{Object: o, Op: event.Open,
			Elapsed: 2 * time.Second},
		event.EphemeralStart{Object: o, Op: event.Close}, event.EphemeralDone{Object: o, Op: event.Close, Failed: true},
	}
	var text, lines bytes.Buffer
	for _, v := range []View{New(Options{Out: &text}), New(Options{Out: &lines, JSON: true})} {
		for _, e := range events {
			v.Send(e)
		}
		v.Close()
	}
	want := "terraform_data.a: Preparing import... [id=abc]\nterraform_data.a: Importing... [id=abc]\n" +
		"terraform_data.a: Import complete [id=abc]\n" +
		"terraform_data.a: Opening...\nterraform_data.a: Opening complete after 2s\nterraform_data.a: Closing...\n"
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	var kinds []string
	for _, d := range docs(t, lines.String()) {
		kinds = append(kinds, d["type"].(string)+" "+d["hook"].(map[string]any)["action"].(string))
	}
	if d := cmp.Diff([]string{"ephemeral_op_start open", "ephemeral_op_complete open", "ephemeral_op_start close",
		"ephemeral_op_errored close"}, kinds); d != "" {
		t.Error(d)
	}
}

func TestOutputWithCarriageReturnsIsShownInFull(t *testing.T) {
	var out bytes.Buffer
	v := New(Options{Out: &out})
	v.Send(event.ProvisionOutput{Object: objectAt(t, "t_x.a"), Type: "local-exec", Line: "10%\r\t50%\r\r100%\x1b[K\r"})
	v.Close()
	want := "t_x.a (local-exec): 10%\nt_x.a (local-exec): \t50%\nt_x.a (local-exec): 100%\\u001b[K\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestJoinersAreKeptInWordsThatNeedThem(t *testing.T) {
	for in, want := range map[string]string{
		"pay\u200dpal": `pay\u200dpal`, "\u200dx": `\u200dx`, "👩\u200d💻": "👩\u200d💻", "می\u200cخواهم": "می\u200cخواهم",
		"soft\u00adhyphen": `soft\u00adhyphen`,
		"tag\U000e0041":    `tag\U000e0041`, "é": "é", "日本": "日本", "a\r\nb\rc": "a\nb\\rc", "\xff": `\xff`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
