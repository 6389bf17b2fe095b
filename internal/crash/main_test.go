//go:build unix

package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/hook"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/faults"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
	"github.com/tombolo-iac/tombolo/state"
)

// full enables all cases.
var full = os.Getenv("TOMBOLO_CRASH_FULL") != ""

// seed is the seed of all random numbers.
var seed = func() int64 {
	if n, err := strconv.ParseInt(os.Getenv("TOMBOLO_CRASH_SEED"), 10, 64); err == nil {
		return n
	}
	return time.Now().UnixNano() % 1_000_000
}()

// Roles of the test binary.
const (
	roleEngine  = "CRASH_ENGINE"  // the library with the fake world; the value is a job
	roleCLI     = "CRASH_CLI"     // the command line
	roleProgram = "CRASH_PROGRAM" // a program of external_resource; the value is the world's folder
)

// pluginName is the name under which the test binary is a plugin.
const pluginName = "terraform-provider-world_v1.0.0"

func TestMain(m *testing.M) {
	programtest.UnderWildClock()
	if encryptiontest.Asked() != nil {
		os.Setenv(encryption.Variable, encryptiontest.Settings) // for the command line
	}
	if text := os.Getenv(roleEngine); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(j.run())
	}
	// Programs inherit the environment of the command line, so this is checked first.
	if dir := os.Getenv(roleProgram); dir != "" && len(os.Args) == 2 && actions[os.Args[1]] {
		os.Exit(runProgram(dir, os.Args[1]))
	}
	if filepath.Base(os.Args[0]) == pluginName {
		serve.Main(serve.Options{Address: "registry.terraform.io/tombolo/world", New: world.Factory(world.Options{})})
	}
	if os.Getenv(roleCLI) != "" {
		os.Exit(cli.Main())
	}
	programtest.UsualHangup()
	code := m.Run()
	if code != 0 {
		fmt.Printf("to repeat: TOMBOLO_CRASH_SEED=%d\n", seed)
	}
	os.Exit(code)
}

// job describes the work of an engine process.
type job struct {
	Dir, World  string
	Destroy     bool
	RecoverOnly bool // acquire the lock and release it
	Adopt       bool // resolve interrupted creations by adopting existing objects
	Minimal     bool // read only objects that change
	Rounds      bool // plans may defer, and the apply continues until nothing is deferred
	Beside      bool // plan without the lock, and apply in another run
	// Waves and Patience are settings of the project, for jobs in this process.
	Waves    []engine.Wave   `json:"-"`
	Patience patience.Policy `json:"-"`
	// Refresh is the policy of the project, for jobs in this process.
	Refresh     engine.RefreshPolicy `json:"-"`
	Parallelism int
	// Hooks are the hooks of the project.
	Hooks []hook.Hook
	// Fault is the fault of the store, in the syntax of package faults.
	Fault string
	// Shared is the location of the state if it is not a file of the project.
	Shared Shared
	// Keys are the keys of the state, as in encryptiontest.Turn: the first encrypts. Nil means the default.
	Keys []int
	// Rescue is the folder where the journal continues if the state's own disk fails; "" means a folder of the project.
	Rescue string
}

// command returns the command that runs a job; it is not started.
func (j job) command() *exec.Cmd {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEngine+"="+string(b))
	return cmd
}

// project loads the project of a job.
func (j job) project(files store.Files) (*engine.Project, diag.List) {
	return j.projectWith(files, func(*engine.Options) {})
}

func (j job) projectWith(files store.Files, change func(*engine.Options)) (*engine.Project, diag.List) {
	o := engine.Options{
		Dir: j.Dir, Store: j.store(files), Parallelism: j.Parallelism, Refresh: j.Refresh,
		Hooks: j.Hooks, Waves: j.Waves, Patience: j.Patience,
		Providers: map[addr.Provider]provider.Factory{world.Addr(): world.Factory(world.Options{Dir: j.World})},
	}
	change(&o)
	return engine.Load(context.Background(), o)
}

func (j job) store(files store.Files) state.Store {
	if j.Shared.Kind != "" {
		return j.Shared.store(cmp.Or(j.Rescue, j.Dir+"/rescue"))
	}
	return store.New(store.Options{Path: j.Dir + "/terraform.tfstate", Rescue: []string{
		cmp.Or(j.Rescue, j.Dir+"/rescue")}, Files: files, Cipher: j.cipher()})
}

// cipher returns the cipher of a job's state.
func (j job) cipher() *encryption.Cipher {
	if len(j.Keys) > 0 {
		return encryptiontest.Turn(j.Keys[0], j.Keys[1:]...)
	}
	return encryptiontest.Asked()
}

func (j job) run() int {
	files, err := faults.FromEnv(j.Fault, store.OS{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	diags := j.do(context.Background(), files)
	for _, d := range diags {
		fmt.Fprintf(os.Stderr, "%s: %s\n", d.Severity, d.Error())
	}
	if diags.HasErrors() {
		return 1
	}
	return 0
}

// open acquires the lock. A lock that this process has released can seem to be held for a moment, while another test
// starts a process: until that process executes its program, it has a copy of the open file.
func open(ctx context.Context, project *engine.Project) (run *engine.Run, diags diag.List) {
	for range 3000 {
		run, diags = project.Open(ctx, engine.OpenOptions{})
		if _, held := errors.AsType[*state.LockedError](diags.Err()); !held {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return run, diags
}

// do opens the state, plans and applies.
func (j job) do(ctx context.Context, files store.Files) (diags diag.List) {
	project, diags := j.project(files)
	if diags.HasErrors() {
		return diags
	}
	defer project.Close()
	run, more := open(ctx, project)
	if diags = diags.Extend(more); diags.HasErrors() {
		return diags
	}
	defer func() { diags = diags.Extend(run.Close(ctx)) }()
	if j.RecoverOnly {
		return diags
	}
	if j.Adopt {
		w, err := world.Open(j.World)
		if err != nil {
			return diags.AppendError("The world cannot be opened", err)
		}
		defer w.Close()
		return diags.Extend(adopt(ctx, run, w))
	}
	options := engine.PlanOptions{MinimalRefresh: j.Minimal, AllowDeferral: j.Rounds}
	if j.Destroy {
		options.Mode = plan.Destroy
	}
	var done engine.Rounds
	for {
		p, more := j.plan(ctx, project, run, options)
		if diags = diags.Extend(more); !diags.HasErrors() {
			diags = diags.Extend(done.Stuck(p))
		}
		if diags.HasErrors() {
			return diags
		}
		_, more = run.Apply(ctx, p, nil)
		if diags = diags.Extend(more); diags.HasErrors() || !engine.Continues(p) {
			return diags
		}
		done.Count(p)
		furtherRounds.Add(1)
	}
}

// furtherRounds counts the rounds after the first of applies in this process.
var furtherRounds atomic.Int64

// plan creates a plan, in the run that applies it or in another one that does not lock the state.
func (j job) plan(ctx context.Context, project *engine.Project, run *engine.Run, o engine.PlanOptions) (*plan.Plan,
	diag.List) {
	if !j.Beside {
		return run.Plan(ctx, o)
	}
	other, diags := project.Open(ctx, engine.OpenOptions{NoLock: true, Reading: true})
	if diags.HasErrors() {
		return nil, diags
	}
	p, diags := other.Plan(ctx, o)
	return p, diags.Extend(other.Close(ctx))
}

// adopt resolves interrupted creations as a person does who checks the world.
func adopt(ctx context.Context, run *engine.Run, w *world.World) (diags diag.List) {
	all, err := w.Exists()
	if err != nil {
		return diags.AppendError("The world cannot be read", err)
	}
	for _, f := range run.Snapshot().InFlight {
		if f.Action != "create" {
			continue
		}
		how := engine.Recovery{Retry: true}
		for _, o := range all {
			if o.Token == f.Token() {
				how = engine.Recovery{Adopt: o.ID}
			}
		}
		diags = diags.Extend(run.Recover(ctx, f.Object.Instance, how, nil))
	}
	return diags
}
