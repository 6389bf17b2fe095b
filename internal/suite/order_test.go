package suite

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
)

func TestRunsWaitForReferencedRuns(t *testing.T) {
	for src, want := range map[string]string{
		"run \"a\" {\n variables {\n x = run.b.o\n }\n}\nrun \"b\" {}": "a b", // nothing may run concurrently
		"run \"a\" {\n parallel = true\n state_key = \"a\"\n variables {\n x = run.b.o\n }\n}\n" +
			"run \"b\" {\n parallel = true\n state_key = \"b\"\n}": "b a",
		"test { parallel = true }\nvariables { y = run.b.o }\n" +
			"run \"a\" {\n variables {\n x = var.y\n }\n}\nrun \"b\" { state_key = \"b\" }\nrun \"c\" {}": "b a c",
		"test { parallel = true }\nrun \"a\" {\n variables {\n x = run.b.o\n }\n}\n" +
			"run \"b\" {\n variables {\n x = run.a.o\n }\n}": "a b", // a cycle
		"test { parallel = true }\nrun \"a\" {\n variables {\n x = run.c.o\n }\n}\nrun \"b\" { parallel = false }\n" +
			"run \"c\" { state_key = \"c\" }": "a b c",
	} {
		f, diags := testfile.Read(config.SnapshotFiles(map[string][]byte{"x.tftest.hcl": []byte(src)}), "x.tftest.hcl",
			flavor.Terraform)
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags.Err(), src)
		}
		var names []string
		for _, run := range ordered(f, func(*testfile.Run) *config.Config { return nil }).runs {
			names = append(names, run.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("got %s, want %s\n%s", got, want, src)
		}
	}
}
