package stack_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// TestStatesInServicesAreFoundByTheirPlace checks which units have the same state, and which ones read the state of
// another unit, with backends in a service that is never called.
func TestStatesInServicesAreFoundByTheirPlace(t *testing.T) {
	block := func(key, more string) string {
		return fmt.Sprintf("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = %q\n    region = \"x\"\n%s "+
			" }\n}\n",
			key, more)
	}
	reads := func(key, more string) string {
		return fmt.Sprintf("data \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  config = { bucket = \"b\", "+
			"key = %q, region = \"y\" }\n%s}\n", key, more)
	}
	for what, c := range map[string]struct{ a, b, want string }{
		"two states":               {block("a", ""), block("b", ""), ""},
		"the same state":           {block("a", ""), block("a", "    profile = \"p\"\n"), "would write the same state"},
		"a reader":                 {block("a", ""), block("b", "") + reads("a", ""), "b -> a"},
		"a reader of another key":  {block("a", ""), block("b", "") + reads("c", ""), ""},
		"a reader of a workspace":  {block("a", ""), block("b", "") + reads("a", "  workspace = \"w\"\n"), ""},
		"a reader with a variable": {block("a", ""), block("b", "") + reads("${var.x}", ""), "Which state"},
		"a reader with for_each": {block("a", ""), block("b", "") + reads("a", "  for_each = toset([\"x\"])\n"),
			"Which state"},
		"both read each other": {block("a", "") + reads("b", ""), block("b", "") + reads("a", ""),
			"b needs a (state)"},
	} {
		dir := files(t, map[string]string{"a/main.tf": c.a, "b/main.tf": c.b,
			"tombolo.hcl": "unit \"a\" {\n  source = \"a\"\n}\nunit \"b\" {\n  source = \"b\"\n}\n"})
		s, err := load(dir)
		if err != nil {
			t.Fatal(err)
		}
		base := &engine.Surroundings{Environ: []string{"HOME=" + t.TempDir()}}
		for _, u := range s.Units {
			us := s.Surroundings(base, u)
			root, diags := us.RootModule(context.Background())
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			b, diags := backend.Of(root.Root)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if err := us.RecordBackend(b); err != nil {
				t.Fatal(err)
			}
		}
		diags := s.FindStates(context.Background(), base)
		got := fmt.Sprint(diags)
		for _, u := range s.Units {
			for _, e := range u.Edges {
				got += u.Name + " -> " + e.To.Name
			}
		}
		if c.want == "" && (len(diags) > 0 || strings.Contains(got, "->")) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\nwant %q", what, got, c.want)
		}
	}
}
