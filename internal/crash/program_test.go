//go:build unix

package crash

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tombolo-iac/tombolo/internal/world"
)

// actions are the actions of programs of external_resource.
var actions = map[string]bool{"create": true, "read": true, "update": true, "delete": true}

// detention is a file in the world's folder, with a number: see detain.
const detention = "detention"

// detain makes programs that create objects wait while there are n objects or more, until release is called.
func (r *testProject) detain(n int) (release func()) {
	r.t.Helper()
	name := filepath.Join(r.job.World, detention)
	if err := os.WriteFile(name, []byte(strconv.Itoa(n)), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return func() { _ = os.Remove(name) }
}

func detained(dir string, w *world.World) bool {
	text, err := os.ReadFile(filepath.Join(dir, detention))
	if err != nil {
		return false
	}
	n, _ := strconv.Atoi(string(text))
	all, _ := w.Exists()
	return len(all) >= n
}

// runProgram is a program of external_resource whose objects live in a world. It makes its change halfway through its
// delay.
func runProgram(dir, action string) int {
	var req struct {
		ID        string
		Arguments map[string]string
	}
	w, err := world.Open(dir)
	if err == nil {
		err = json.NewDecoder(os.Stdin).Decode(&req)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	half, _ := time.ParseDuration(req.Arguments["delay"])
	half /= 2
	if action != "read" {
		time.Sleep(half)
	}
	value := req.Arguments["value"]
	switch action {
	case "create":
		var o world.Object
		o, err = w.Create(world.Object{Name: req.Arguments["name"], Value: &value, Size: "1"})
		req.ID = o.ID
	case "update":
		err = w.Change(req.ID, func(o *world.Object) { o.Value = &value })
	case "delete":
		err = w.Remove(req.ID)
	case "read":
		var o *world.Object
		if o, err = w.Object(req.ID); err == nil && o == nil {
			fmt.Println("null")
			return 0
		}
		if err == nil && len(req.Arguments) == 0 {
			req.Arguments = map[string]string{"name": o.Name, "value": *o.Value}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if action != "read" {
		time.Sleep(half)
	}
	for action == "create" && detained(dir, w) {
		time.Sleep(10 * time.Millisecond)
	}
	answer := map[string]any{"id": req.ID, "arguments": req.Arguments, "result": map[string]string{}}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}
