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
			recordBackend(t, s.Surroundings(base, u))
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

// TestSettingsOfTheEnvironmentSayWhereStatesAre checks which units read the state of another one, with backends whose
// settings are in variables of the environment, before and after init has recorded them.
func TestSettingsOfTheEnvironmentSayWhereStatesAre(t *testing.T) {
	reads := func(kind, config string) string {
		return fmt.Sprintf("data \"terraform_remote_state\" \"r\" {\n  backend = %q\n  config  = { %s }\n}\n", kind,
			config)
	}
	const postgres = "PG_CONN_STR=postgres://u:p@127.0.0.1:5433/states"
	for what, c := range map[string]struct{ a, b, env, want string }{
		"pg, the variable for both": {"backend \"pg\" {}", reads("pg", ""), postgres, "b -> a"},
		"pg, the same server by another name": {"backend \"pg\" {}", reads("pg",
			"conn_str = \"host=localhost port=5433 dbname=states user=other\""), postgres, "b -> a"},
		"pg, another database": {"backend \"pg\" {}", reads("pg",
			"conn_str = \"host=localhost port=5433 dbname=else user=other\""), postgres, ""},
		"pg, another schema": {"backend \"pg\" {}", reads("pg", "schema_name = \"s\""), postgres, ""},
		"pg, the usual schema": {"backend \"pg\" {}", reads("pg",
			"schema_name = \"terraform_remote_state\""), postgres, "b -> a"},
		"pg, variables of its programs": {"backend \"pg\" {}", reads("pg",
			"conn_str = \"postgres://h:5432/d\""), "PGHOST=h PGDATABASE=d PGPORT=5432", "b -> a"},
		"http": {"backend \"http\" {}", reads("http", "address = \"http://127.0.0.1:1/x\""),
			"TF_HTTP_ADDRESS=http://127.0.0.1:1/x", "b -> a"},
		"http, elsewhere": {"backend \"http\" {}", reads("http", "address = \"http://127.0.0.1:1/y\""),
			"TF_HTTP_ADDRESS=http://127.0.0.1:1/x", ""},
		"kubernetes": {"backend \"kubernetes\" {\n    secret_suffix = \"s\"\n  }", reads("kubernetes",
			"secret_suffix = \"s\", namespace = \"n\""), "KUBE_NAMESPACE=n", "b -> a"},
		"kubernetes, the usual namespace": {"backend \"kubernetes\" {\n    secret_suffix = \"s\"\n  }",
			reads("kubernetes", "secret_suffix = \"s\", namespace = \"default\""), "", "b -> a"},
		"s3, a prefix of other workspaces": {"backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = " +
			"\"x\"\n    workspace_key_prefix = \"w\"\n  }", reads("s3", "bucket = \"b\", key = \"k\""), "", "b -> a"},
		"s3, a reader without a key": {"backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"x\"\n  }",
			reads("s3", "bucket = \"b\""), "", "Which state"},
		"cloud, read as remote": {"cloud {\n    workspaces {\n      name = \"net\"\n    }\n  }", reads("remote",
			"organization = \"org\", workspaces = { name = \"net\" }"), "TF_CLOUD_ORGANIZATION=org", "b -> a"},
		"cloud, another workspace": {"cloud {\n    workspaces {\n      name = \"net\"\n    }\n  }", reads("remote",
			"organization = \"org\", workspaces = { name = \"app\" }"), "TF_CLOUD_ORGANIZATION=org", ""},
		"a reader without settings": {"backend \"http\" {}", reads("gcs", ""), "", "Which state"},
	} {
		for _, record := range []bool{false, true} {
			dir := files(t, map[string]string{"a/main.tf": "terraform {\n  " + c.a + "\n}\n", "b/main.tf": c.b,
				"tombolo.hcl": "unit \"a\" {\n  source = \"a\"\n}\nunit \"b\" {\n  source = \"b\"\n}\n"})
			s, err := load(dir)
			if err != nil {
				t.Fatal(err)
			}
			base := &engine.Surroundings{Environ: append(strings.Fields(c.env), "HOME="+t.TempDir())}
			if us := s.Surroundings(base, s.Unit("a")); record {
				recordBackend(t, us)
			}
			diags := s.FindStates(context.Background(), base)
			got := fmt.Sprint(diags)
			for _, e := range s.Unit("b").Edges {
				got += "b -> " + e.To.Name
			}
			if c.want == "" && (len(diags) > 0 || strings.Contains(got, "->")) || !strings.Contains(got, c.want) {
				t.Errorf("%s, recorded %v: %s\nwant %q", what, record, got, c.want)
			}
		}
	}
}

func recordBackend(t *testing.T, us *engine.Surroundings) {
	t.Helper()
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
