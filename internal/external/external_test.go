package external

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestMain(m *testing.M) {
	programtest.Main()
	os.Exit(m.Run())
}

// attrs holds the attributes of an object that are not null.
type attrs map[string]cty.Value

// object returns an object of the type with these attributes.
func (a attrs) object(rt *provider.ResourceType) cty.Value {
	vals := rt.Block.EmptyValue().AsValueMap()
	maps.Copy(vals, a)
	return cty.ObjectVal(vals)
}

func strs(values map[string]string) cty.Value { return stringsValue(values) }

func list(words ...string) cty.Value {
	vals := make([]cty.Value, len(words))
	for i, w := range words {
		vals[i] = cty.StringVal(w)
	}
	return cty.ListVal(vals)
}

func tuple(words ...string) cty.Value { return cty.TupleVal(list(words...).AsValueSlice()) }

func readData(t *testing.T, p provider.Provider, typ string, a attrs) (cty.Value, diag.List) {
	t.Helper()
	schema, _ := p.Schema(t.Context())
	config := a.object(schema.Data[typ])
	if diags := p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.DataSource, Type: typ,
		Config: config}); diags.HasErrors() {
		return cty.NilVal, diags
	}
	resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: typ, Config: config})
	return resp.State, resp.Diagnostics
}

// mustRead returns the result of a data source that must succeed; its other attributes must equal the configuration.
func mustRead(t *testing.T, p provider.Provider, typ string, a attrs) cty.Value {
	t.Helper()
	state, diags := readData(t, p, typ, a)
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	result := state.GetAttr("result")
	want := maps.Clone(a)
	want["result"] = result
	want["id"] = cty.StringVal("-")
	schema, _ := p.Schema(t.Context())
	if expected := want.object(schema.Data[typ]); !state.RawEquals(expected) {
		t.Errorf("state\n%#v\nwant\n%#v", state, expected)
	}
	return result
}

func expectResult(t *testing.T, got cty.Value, want map[string]string) {
	t.Helper()
	if !got.RawEquals(strs(want)) {
		t.Errorf("got  %#v\nwant %#v", got, strs(want))
	}
}

// expectProblem checks the only diagnostic: its summary, the last lines of its detail, and phrases in it.
func expectProblem(t *testing.T, diags diag.List, summary string, lines []string, phrases ...string) {
	t.Helper()
	if len(diags) != 1 {
		t.Fatalf("got %d diagnostics: %v", len(diags), diags.Err())
	}
	d := diags[0]
	if d.Severity != diag.Error || d.Summary != summary || !cmp.Equal(d.Path, cty.GetAttrPath("program"),
		cmp.Comparer(cty.Path.Equals)) {
		t.Errorf("got %v %q at %#v, want %q", d.Severity, d.Summary, d.Path, summary)
	}
	if want := "\n\n" + strings.Join(lines, "\n"); lines != nil && !strings.HasSuffix(d.Detail, want) {
		t.Errorf("the detail is\n%s\nbut should end with\n%s", d.Detail, want)
	}
	for _, phrase := range phrases {
		if !strings.Contains(d.Detail, phrase) {
			t.Errorf("the detail is\n%s\nbut should hold\n%s", d.Detail, phrase)
		}
	}
}

// needs skips a test if programs that it runs are missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("needs ", name)
		}
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSchemaEqualsThePublishedDataSource(t *testing.T) {
	schema, diags := New(Options{}).Schema(t.Context())
	if len(diags) > 0 {
		t.Fatal(diags.Err())
	}
	if got := schema.Provider.ImpliedType(); !got.Equals(cty.EmptyObject) {
		t.Errorf("the provider takes arguments: %#v", got)
	}
	want := cty.Object(map[string]cty.Type{
		"program": cty.List(cty.String), "query": cty.Map(cty.String), "working_dir": cty.String,
		"result": cty.Map(cty.String), "id": cty.String,
	})
	block := schema.Data["external"].Block
	if got := block.ImpliedType(); !got.Equals(want) {
		t.Errorf("got %#v", got)
	}
	for name, want := range map[string]provider.Attribute{
		"program": {Required: true}, "query": {Optional: true}, "working_dir": {Optional: true},
		"result": {Computed: true}, "id": {Computed: true},
	} {
		a := block.Attributes[name]
		if a.Required != want.Required || a.Optional != want.Optional || a.Computed != want.Computed || a.Sensitive ||
			a.WriteOnly {
			t.Errorf("%s: got %+v", name, a)
		}
		if a.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	if schema.Resources["external"] != nil {
		t.Error("there is a resource external")
	}
}

func TestValidateChecksPartlyKnownPrograms(t *testing.T) {
	tests := map[string]struct {
		typ     string
		a       attrs
		summary string // "" means valid
		detail  string
	}{
		"external":            {typeData, attrs{"program": list("x")}, "", ""},
		"external, unknown":   {typeData, attrs{"program": cty.UnknownVal(cty.List(cty.String))}, "", ""},
		"external, all empty": {typeData, attrs{"program": list("")}, "", ""}, // reported when it is read
		"external, empty": {typeData, attrs{"program": cty.ListValEmpty(cty.String)},
			"Invalid Attribute Value", "Attribute program list must contain at least 1 elements, got: 0"},
		"external, null": {typeData, attrs{}, "Missing Configuration for Required Attribute", ""},
		"string":         {typeResource, attrs{"program": cty.StringVal("x")}, "", ""},
		"list":           {typeResource, attrs{"program": list("x")}, "", ""},
		"tuple":          {typeResource, attrs{"program": tuple("x", "y")}, "", ""},
		"tuple with a number": {
			typeResource, attrs{"program": cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(1)})}, "", ""},
		"tuple with something": {
			typeResource, attrs{"program": cty.TupleVal([]cty.Value{cty.DynamicVal, cty.StringVal("x")})}, "", ""},
		"unknown": {
			typeResource, attrs{"program": cty.DynamicVal, "interpreter": cty.UnknownVal(cty.String)}, "", ""},
		"interpreter": {
			typeResource, attrs{"program": cty.StringVal("x"), "interpreter": tuple("env", "python3")}, "", ""},
		"null": {typeResource, attrs{}, "Missing Configuration for Required Attribute",
			`"program" is null`},
		"empty": {typeResource, attrs{"program": cty.StringVal("")}, sumMissing,
			"There is no program to run"},
		"empty tuple": {typeDataSource, attrs{"program": cty.EmptyTupleVal}, sumMissing,
			"There is no program to run"},
		"object": {typeDataSource, attrs{"program": cty.EmptyObjectVal}, "Invalid program",
			"must be a string or a list of strings, not object"},
		"set": {typeDataSource, attrs{"program": cty.SetVal([]cty.Value{cty.StringVal("x")})},
			"Invalid program", "not set of string"},
		"nested": {typeDataSource, attrs{"program": cty.TupleVal([]cty.Value{tuple("x")})},
			"Invalid program", "must be a string or a list of strings"},
		"nested, beside unknown": {
			typeDataSource, attrs{"program": cty.TupleVal([]cty.Value{tuple("x"), cty.DynamicVal})}, "Invalid program",
			"each element must be a string, not tuple"},
		"interpreter of other types": {typeDataSource, attrs{"program": tuple("x"), "interpreter": cty.EmptyObjectVal},
			"Invalid interpreter", "not object"},
	}
	p := New(Options{})
	schema, _ := p.Schema(t.Context())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := provider.DataSource
			if test.typ == typeResource {
				kind = provider.ManagedResource
			}
			diags := p.ValidateResource(t.Context(), provider.ValidateResourceRequest{
				Kind: kind, Type: test.typ, Config: test.a.object(schema.Type(kind, test.typ)),
			})
			switch {
			case test.summary == "":
				if len(diags) > 0 {
					t.Error(diags.Err())
				}
			case len(diags) != 1 || diags[0].Summary != test.summary || !strings.Contains(diags[0].Detail, test.detail):
				t.Errorf("got %v\nwant %s; %s", diags.Err(), test.summary, test.detail)
			}
		})
	}
}

func TestUnknownTypesFailWithADiagnostic(t *testing.T) {
	p := New(Options{})
	ctx := context.Background()
	for name, diags := range map[string]diag.List{
		"ReadData": p.ReadData(ctx, provider.ReadDataRequest{Type: "x", Config: cty.EmptyObjectVal}).Diagnostics,
		"Plan":     p.Plan(ctx, provider.PlanRequest{Type: "external", Config: cty.EmptyObjectVal}).Diagnostics,
		"Apply":    p.Apply(ctx, provider.ApplyRequest{Type: "external", Config: cty.EmptyObjectVal}).Diagnostics,
		"Import":   p.Import(ctx, provider.ImportRequest{Type: "external", ID: "x"}).Diagnostics,
	} {
		if !diags.HasErrors() {
			t.Errorf("%s: no error", name)
		}
	}
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
