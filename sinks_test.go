package tombolo_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/tombolo-iac/tombolo"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/event"
)

// talking is a project whose program prints while it runs, from a goroutine that no call of the library waits in.
const talking = `
terraform {
  required_providers {
    external = { source = "hashicorp/external" }
  }
}
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo one; echo two" }
}
data "external" "e" {
  program = ["sh", "-c", "echo said >&2; echo '{}'"]
}
`

// TestHostileSinksLoseNothing makes a sink fail at the first event of every type. The panic reaches the caller, all
// results are recorded, and the next call works.
func TestHostileSinksLoseNothing(t *testing.T) {
	seen := map[string]bool{}
	sunk(t, seen, "", nil)
	for _, typ := range []string{"event.ProvisionOutput", "event.OperationStart", "event.ProgramOutput"} {
		if !seen[typ] {
			t.Errorf("there was no %s", typ)
		}
	}
	for typ := range seen {
		for how, fails := range map[string]func(){"panic": func() { panic("sink") }, "Goexit": runtime.Goexit} {
			t.Run(typ+"/"+how, func(t *testing.T) { sunk(t, map[string]bool{}, typ, fails) })
		}
	}
}

func sunk(t *testing.T, seen map[string]bool, at string, fails func()) {
	o := projectIn(t, talking)
	o.Store, o.Parallelism = tombolo.MemoryStore(), 1
	events := make(chan string, 1000)
	done := false
	o.Events = event.Func(func(e event.Event) {
		typ := fmt.Sprintf("%T", e)
		events <- typ
		if typ == at && !done {
			done = true
			fails()
		}
	})
	project := loaded(t, o)
	caught := 0
	safely := func(call func()) {
		defer func() {
			if value := recover(); value != nil {
				caught++
				if problem, is := value.(*diag.PanicError); !is || problem.Value != "sink" && problem.Unwrap() == nil {
					t.Errorf("panic: %v", value)
				}
			}
		}()
		call()
	}
	for range 2 {
		run := opened(t, project, tombolo.OpenOptions{})
		safely(func() {
			pl, diags := run.Plan(t.Context(), tombolo.PlanOptions{})
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			_, diags = run.Apply(t.Context(), pl, tombolo.ApplyOptions{})
			if err := diags.Err(); err != nil && !errors.Is(err, context.Canceled) {
				t.Log(err)
			}
		})
		for _, open := range run.Interrupted() {
			diags := run.Recover(t.Context(), open.Object.Instance.String(), tombolo.Recovery{Retry: true})
			if diags.HasErrors() {
				t.Error(diags.Err())
			}
		}
		if diags := run.Close(t.Context()); diags.HasErrors() {
			t.Error(diags.Err())
		}
	}
	if (caught == 1) != (at != "") {
		t.Errorf("%d panics reached the caller", caught)
	}
	run := opened(t, project, tombolo.OpenOptions{})
	appliedAll(t, run)
	if got := len(run.State().Resources()); got != 2 {
		t.Errorf("%d objects at the end", got)
	}
	close(events)
	for typ := range events {
		seen[typ] = true
	}
}
