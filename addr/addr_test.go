package addr

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestAddressesPrintAsTheyAreRead(t *testing.T) {
	for _, s := range []string{
		"a.b", "a.b[0]", `a.b["k"]`, `a.b["quo\"te"]`, `a.b["back\\slash"]`, `a.b["$${x}"]`, `a.b["new\nline"]`,
		`a.b["é😀"]`, `a.b["a.b[0]"]`,
		`a.b["\u2028\u00a0\u200b\ufeff\u007f\u0001"]`, `a.b["\U000e0001"]`,
		"data.a.b", "ephemeral.a.b[1]", "module.m.a.b", `module.m["x.y"].module.n[3].data.a.b["z"]`, "module.m",
		`module.m["]"].module.n`,
	} {
		target, diags := ParseTarget(s)
		if diags.HasErrors() {
			t.Errorf("%s: %v", s, diags)
			continue
		}
		if got := target.String(); got != s {
			t.Errorf("%s prints as %s", s, got)
		}
		if again := ModuleInstanceOf(target.Module.Steps()...); again != target.Module {
			t.Errorf("%s: taking the module path apart and together gives %s", s, again)
		}
	}
}

func TestWrongAddressesAreRefused(t *testing.T) {
	for _, s := range []string{"", "a", "a.b.c", "module", "module.m.a", "a.b[-1]", "a.b[1.5]", "a.b[true]", "a.b[*]",
		"data.a", "a b"} {
		if target, diags := ParseTarget(s); !diags.HasErrors() {
			t.Errorf("%q was read as %s", s, target)
		}
	}
}

func TestAddressesSortAsInTheState(t *testing.T) {
	want := []string{"data.a.b", "a.b", "a.b[2]", "a.b[10]", `a.b["k"]`, "z.b", "module.m.a.b", "module.m[0].a.b",
		"module.m.module.n.a.b"}
	var list []AbsResourceInstance
	for _, s := range want {
		a, diags := ParseInstance(s)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		list = append(list, a)
	}
	slices.Reverse(list)
	slices.SortFunc(list, AbsResourceInstance.Compare)
	for i, a := range list {
		if a.String() != want[i] {
			t.Errorf("place %d holds %s, want %s", i, a, want[i])
		}
	}
}

func TestProviderAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"aws": "registry.terraform.io/hashicorp/aws", "Foo/Bar": "registry.terraform.io/foo/bar",
		"example.com:8080/ns/type": "example.com:8080/ns/type",
	} {
		if p, err := ParseProvider(in); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, p, err, want)
		}
	}
	for _, in := range []string{"", "a/b/c/d", "a//b", "-a", "a b"} {
		if p, err := ParseProvider(in); err == nil {
			t.Errorf("%q was read as %s", in, p)
		}
	}
	for _, s := range []string{`provider["registry.terraform.io/hashicorp/aws"]`,
		`module.m.module.n.provider["example.com/a/b"].west`, `provider["example.com/a/b"].west["a.b"]`} {
		if c, err := ParseAbsProviderConfig(s); err != nil || c.String() != s {
			t.Errorf("%s: %s, %v", s, c, err)
		}
	}
}

func TestReferencesAreParsed(t *testing.T) {
	for src, want := range map[string]string{
		"var.a.b": "var.a", "local.x": "local.x", "a.b.c": "a.b", "a.b[0].c": "a.b[0]", "data.a.b.c": "data.a.b",
		"resource.a.b": "a.b", "module.m": "module.m",
		"module.m.o.x": "module.m.o", `module.m["k"].o`: `module.m["k"].o`, "each.key": "each.key", "self.id": "self",
		"path.module": "path.module",
	} {
		traversal, hclDiags := hclsyntax.ParseTraversalAbs([]byte(src), "", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		if ref, diags := ParseReference(traversal); diags.HasErrors() || ref.String() != want {
			t.Errorf("%s: %s, %v; want %s", src, ref, diags, want)
		}
	}
}

// A parsed address prints as text that parses to the same address.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"a.b", `module.m["x"].data.a.b[0]`, `a.b["\u0000${"]`, "module.a[0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, diags := ParseTarget(s)
		if diags.HasErrors() {
			return
		}
		again, diags := ParseTarget(target.String())
		if diags.HasErrors() || again != target {
			t.Errorf("%q prints as %q, which reads as %v (%v)", s, target, again, diags)
		}
		if m := ModuleInstanceOf(target.Module.Steps()...); m != target.Module {
			t.Errorf("%q: module path %q becomes %q", s, target.Module, m)
		}
	})
}

func TestNamesOfInstances(t *testing.T) {
	var list []AbsResourceInstance
	for _, text := range []string{"t.a", `module.m[0].module.n.t.b["x"]`, "module.m[0].t.b[1]"} {
		a, diags := ParseInstance(text)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		list = append(list, a)
	}
	want := []string{"module.m[0]", "module.m[0].module.n", "module.m[0].module.n.t.b", `module.m[0].module.n.t.b["x"]`,
		"module.m[0].t.b", "module.m[0].t.b[1]", "t.a"}
	if got := Names(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
