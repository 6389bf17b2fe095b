//go:build unix

package handler_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// inFolder returns the provider in a folder, and skips the test if its tools are missing.
func inFolder(t *testing.T, dir string, tools ...string) provider.Factory {
	t.Helper()
	for _, tool := range tools {
		if exec.Command(tool, "--version").Run() != nil {
			t.Skipf("needs %s for the program", tool)
		}
	}
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return func(context.Context) (provider.Provider, error) {
		return handler.New(m, handler.NewCaller(m, handler.Surroundings{Grace: time.Second, Cache: t.TempDir()}),
			handler.Options{}), nil
	}
}

func TestConformanceInBash(t *testing.T) {
	f := inFolder(t, "../../../examples/provider-bash", "bash", "jq")
	notes := t.TempDir()
	id := func(v cty.Value) string { return v.GetAttr("id").AsString() }
	providertest.Run(t, providertest.Options{
		New: f, Goroutines: 2,
		Resources: []providertest.Resource{{
			Type: "notes_note",
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{"path": cty.StringVal(filepath.Join(notes, fmt.Sprint(n))),
					"text": cty.StringVal("größe\nof \"it\"\n")}
			},
			Updates: []providertest.Update{{Name: "text", Change: providertest.Attrs{"text": cty.StringVal("")}}},
			Invalid: []providertest.Invalid{
				{Name: "relative path", Change: providertest.Attrs{"path": cty.StringVal("x")},
					Path: cty.GetAttrPath("path")}},
			Import: &providertest.Import{ID: id, Missing: filepath.Join(notes, "missing")},
			Remove: func(v cty.Value) error { return os.Remove(id(v)) },
		}},
		Functions: []providertest.Function{{Name: "slug", Args: []cty.Value{cty.StringVal("A b")},
			Want: cty.StringVal("a-b")}},
	})
}

// TestALifeInPython is not the complete suite: on some machines, starting Python takes a third of a second.
func TestALifeInPython(t *testing.T) {
	d := drive(t, inFolder(t, "testdata/python", "python3"))
	root := t.TempDir()
	if diags := d.p.Configure(t.Context(), provider.ConfigureRequest{
		Config: cty.ObjectVal(map[string]cty.Value{"root": cty.StringVal(root)})}).Diagnostics; diags.HasErrors() {
		t.Fatal(texts(diags))
	}
	big, twice := cty.MustParseNumberVal("12345678901234567890123"), cty.MustParseNumberVal("24691357802469135780246")
	tags := cty.MapVal(map[string]cty.Value{"a": cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")})})
	given := map[string]cty.Value{"name": cty.StringVal("größe"), "amount": big, "tags": tags}
	planned := d.plan("py_item", d.null("py_item"), d.config("py_item", given))
	if v := planned.Planned; planned.Diagnostics.HasErrors() || !v.GetAttr("doubled").RawEquals(twice) ||
		v.GetAttr("id").IsKnown() {
		t.Fatalf("plan: got %#v %s", v, texts(planned.Diagnostics))
	}
	made := d.apply(t.Context(), "py_item", d.null("py_item"), d.config("py_item", given))
	if made.Diagnostics.HasErrors() {
		t.Fatal(texts(made.Diagnostics))
	}
	read := d.p.Read(t.Context(), provider.ReadRequest{Type: "py_item", Prior: made.State, Private: made.Private})
	if read.Diagnostics.HasErrors() || !read.State.RawEquals(made.State) || string(read.Private) != `{"seen": true}` {
		t.Errorf("read: got %#v %s", read.State, texts(read.Diagnostics))
	}
	if again := d.plan("py_item", made.State, d.config("py_item", given)); !again.Planned.RawEquals(made.State) {
		t.Errorf("plan again: got %#v %s", again.Planned, texts(again.Diagnostics))
	}
	given["amount"] = cty.MustParseNumberVal("0.1")
	updated := d.apply(t.Context(), "py_item", made.State, d.config("py_item", given))
	if updated.Diagnostics.HasErrors() || !updated.State.GetAttr("doubled").RawEquals(cty.MustParseNumberVal("0.2")) {
		t.Errorf("update: got %#v %s", updated.State, texts(updated.Diagnostics))
	}
	gone := d.p.Apply(t.Context(), provider.ApplyRequest{Type: "py_item", Prior: updated.State,
		Planned: d.null("py_item"), Config: d.null("py_item")})
	if gone.Diagnostics.HasErrors() || !gone.State.IsNull() {
		t.Errorf("delete: got %#v %s", gone.State, texts(gone.Diagnostics))
	}
	if read = d.p.Read(t.Context(), provider.ReadRequest{
		Type: "py_item", Prior: updated.State}); read.Diagnostics.HasErrors() || !read.State.IsNull() {
		t.Errorf("read what is gone: got %#v %s", read.State, texts(read.Diagnostics))
	}
	if v, err := d.p.CallFunction(t.Context(), "reverse", []cty.Value{cty.StringVal("äb")}); err != nil ||
		v.AsString() != "bä" {
		t.Errorf("function: got %#v, %v", v, err)
	}
	given["name"] = cty.StringVal("bad")
	diags := d.p.ValidateResource(t.Context(), provider.ValidateResourceRequest{Kind: provider.ManagedResource,
		Type: "py_item", Config: d.config("py_item", given)})
	if got := texts(diags); got != "error: Bad name .name: \n" {
		t.Errorf("validate: got %q", got)
	}
}
