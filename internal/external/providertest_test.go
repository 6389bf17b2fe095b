//go:build unix

package external

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

func TestConformance(t *testing.T) {
	conformance(t, func(f provider.Factory) provider.Factory { return f })
}

func TestConformanceOverTheWire(t *testing.T) {
	for _, protocol := range wire.Versions() {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			conformance(t, func(f provider.Factory) provider.Factory { return wiretest.Over(f, protocol) })
		})
	}
}

func conformance(t *testing.T, wrap func(provider.Factory) provider.Factory) {
	for _, tool := range []string{"bash", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s for the example programs", tool)
		}
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	notes := t.TempDir()
	text := func(v cty.Value, name string) string { return v.GetAttr(name).AsString() }
	program := func(name string) cty.Value { return cty.StringVal(filepath.Join(here, name)) }
	strs := func(pairs ...string) cty.Value {
		vals := map[string]cty.Value{}
		for i := 0; i < len(pairs); i += 2 {
			vals[pairs[i]] = cty.StringVal(pairs[i+1])
		}
		return cty.MapVal(vals)
	}
	sleepy := filepath.Join(t.TempDir(), "sleepy.sh")
	if err := os.WriteFile(sleepy, []byte("#!/bin/sh\nsleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	importID := func(v cty.Value) string {
		b, _ := json.Marshal(map[string]any{"id": text(v, "id"), "program": text(v, "program"),
			"arguments": map[string]string{"text": "note"}})
		return string(b)
	}
	providertest.Run(t, providertest.Options{
		New: wrap(func(context.Context) (provider.Provider, error) {
			return New(Options{Env: append(os.Environ(), "NOTES="+notes), Grace: time.Second}), nil
		}),
		Goroutines: 3, // each of their calls starts several processes
		Resources: []providertest.Resource{{
			Type: typeResource,
			Config: func(n int) providertest.Attrs {
				return providertest.Attrs{"program": program("note.sh"),
					"arguments": strs("text", fmt.Sprintf("note %d", n))}
			},
			Updates: []providertest.Update{
				{Name: "text", Change: providertest.Attrs{"arguments": strs("text", "longer text")}},
				{Name: "program", Change: providertest.Attrs{"interpreter": cty.StringVal("bash")}},
			},
			Invalid: []providertest.Invalid{
				{Name: "program of another type", Change: providertest.Attrs{"program": cty.EmptyObjectVal},
					Path: cty.GetAttrPath("program")},
			},
			Import: &providertest.Import{ID: importID, Missing: `{"id": "nothing", "program": "` +
				filepath.Join(here, "note.sh") + `"}`},
			Remove: func(v cty.Value) error { return os.Remove(filepath.Join(notes, text(v, "id")+".txt")) },
			Slow:   providertest.Attrs{"program": cty.StringVal(sleepy)},
		}},
		Data: []providertest.Data{{
			Type: typeData,
			Config: providertest.Attrs{"program": cty.TupleVal([]cty.Value{program("example.sh")}),
				"query": strs("foo", "a", "baz", "b")},
			Want: providertest.Attrs{"result": strs("foobaz", "a b"), "id": cty.StringVal("-")},
			Invalid: []providertest.Invalid{
				{Name: "no words", Change: providertest.Attrs{"program": cty.ListValEmpty(cty.String)},
					Path: cty.GetAttrPath("program")}},
		}, {
			Type: typeDataSource,
			Config: providertest.Attrs{"interpreter": cty.StringVal("bash"), "program": program("example.sh"),
				"query": strs("foo", "a", "baz", "b")},
			Want: providertest.Attrs{"result": strs("foobaz", "a b")},
			Invalid: []providertest.Invalid{
				{Name: "missing program", Change: providertest.Attrs{"program": cty.StringVal("/no/such/program")},
					Path: cty.GetAttrPath("program")}},
		}},
	})
}
