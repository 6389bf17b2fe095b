package tombolo_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo"
)

// A program plans and applies a project, and reads an output value.
func Example() {
	dir, err := os.MkdirTemp("", "tombolo-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	source := `
resource "terraform_data" "a" { input = "hello" }
output "greeting" { value = upper(terraform_data.a.output) }
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(source), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	project, diags := tombolo.Load(ctx, tombolo.Options{Dir: dir, Environ: []string{}})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	defer project.Close()
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	defer run.Close(ctx)
	plan, diags := run.Plan(ctx, tombolo.PlanOptions{})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	counts, diags := run.Apply(ctx, plan, tombolo.ApplyOptions{})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	fmt.Println("added:", counts.Added)
	fmt.Println("greeting:", run.State().Output("greeting").Value.AsString())
	// Output:
	// added: 1
	// greeting: HELLO
}
