package tombolo_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/state"
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

// openedExample writes a project of one file, loads it and takes its lock. The returned function closes the run and the
// project.
func openedExample(source string) (*tombolo.Project, *tombolo.Run, func()) {
	dir, err := os.MkdirTemp("", "tombolo-example")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(source), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	project, diags := tombolo.Load(ctx, tombolo.Options{Dir: dir, Environ: []string{}, Store: tombolo.MemoryStore()})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	run, diags := project.Open(ctx, tombolo.OpenOptions{})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	return project, run, func() {
		run.Close(ctx)
		project.Close()
		os.RemoveAll(dir)
	}
}

// A plan is data: the action on each object, and its planned values.
func ExampleRun_Plan() {
	_, run, end := openedExample(`
variable "password" {
  sensitive = true
  default   = "hush"
}
resource "terraform_data" "a" { input = { user = "ann", password = var.password } }
output "password" {
  value     = var.password
  sensitive = true
}
`)
	defer end()
	plan, diags := run.Plan(context.Background(), tombolo.PlanOptions{})
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	for _, change := range plan.Changes {
		var planned struct {
			ID    *string // null: not yet known
			Input struct{ User, Password string }
		}
		if err := change.After.Decode(&planned); err != nil {
			log.Fatal(err)
		}
		fmt.Println(change.Action, change.Object, planned.ID == nil, planned.Input.User)
	}
	fmt.Println(*plan.Outputs[0]) // secrets are not printed
	// Output:
	// create terraform_data.a true ann
	// create password: null -> (sensitive value)
}

// Expressions are evaluated with the current state.
func ExampleRun_Evaluate() {
	_, run, end := openedExample(`locals { ports = { http = 80, https = 443 } }`)
	defer end()
	var ports map[string]int
	diags := run.Evaluate(context.Background(), "{ for k, v in local.ports : upper(k) => v }", &ports)
	if diags.HasErrors() {
		log.Fatal(diags.Err())
	}
	fmt.Println(ports)
	// Output: map[HTTP:80 HTTPS:443]
}

// The error holds the holder of the lock.
func ExampleProject_Open() {
	project, _, end := openedExample("")
	defer end()
	_, diags := project.Open(context.Background(), tombolo.OpenOptions{Operation: state.OperationPlan})
	if locked := (*state.LockedError)(nil); errors.As(diags.Err(), &locked) {
		fmt.Println("held for", locked.Info.Operation)
	}
	// Output: held for OperationTypeApply
}
