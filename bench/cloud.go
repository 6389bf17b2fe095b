package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// cloud is a provider of a simulated service: each call takes time, the number of calls per second is limited, and one
// call in a hundred fails before it has an effect. It stores nothing: objects only exist in the engine's state. Each
// call appends a byte to a file of its kind, to count the calls.
type cloud struct {
	provider.Base
	dir     string
	delay   time.Duration
	allowed int

	mu     sync.Mutex // guards the fields below
	window []time.Time
	random *rand.Rand
	files  map[string]*os.File
}

const (
	cloudSource = "tombolo/cloud"
	cloudIn     = "TOMBOLO_BENCH_CLOUD" // the folder of counts, the delay and the limit of calls per second
)

// newCloud returns the provider configured by the environment.
func newCloud(context.Context) (provider.Provider, error) {
	c := &cloud{files: map[string]*os.File{}, random: rand.New(rand.NewPCG(uint64(os.Getpid()), 1))}
	words := strings.Fields(os.Getenv(cloudIn))
	if len(words) != 3 {
		return c, nil // only the schema is needed
	}
	var err error
	c.dir = words[0]
	if c.delay, err = time.ParseDuration(words[1]); err != nil {
		return nil, err
	}
	c.allowed, err = strconv.Atoi(words[2])
	return c, err
}

var cloudSchema = &provider.Schema{Resources: map[string]*provider.ResourceType{"cloud_thing": {Block: &provider.Block{
	Attributes: map[string]*provider.Attribute{"id": {Type: cty.String, Computed: true},
		"name": {Type: cty.String, Required: true}, "value": {Type: cty.String, Optional: true}}}}}}

// Schema implements provider.Provider.
func (*cloud) Schema(context.Context) (*provider.Schema, diag.List) { return cloudSchema, nil }

// UpgradeState implements provider.Provider.
func (*cloud) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(cloudSchema.Resources[req.Type], req)
}

// Plan implements provider.Provider, without calls to the service.
func (*cloud) Plan(_ context.Context, req provider.PlanRequest) provider.PlanResponse {
	planned := req.Proposed
	if req.Prior.IsNull() {
		vals := planned.AsValueMap()
		vals["id"] = cty.UnknownVal(cty.String)
		planned = cty.ObjectVal(vals)
	}
	return provider.PlanResponse{Planned: planned}
}

// Read implements provider.Provider.
func (c *cloud) Read(_ context.Context, req provider.ReadRequest) provider.ReadResponse {
	return provider.ReadResponse{State: req.Prior, Private: req.Private, Diagnostics: c.serve("read")}
}

// Apply implements provider.Provider.
func (c *cloud) Apply(_ context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if problems := c.serve("change"); problems.HasErrors() {
		return provider.ApplyResponse{State: req.Prior, Diagnostics: problems}
	}
	state := req.Planned
	if !state.IsNull() {
		vals := state.AsValueMap()
		if !vals["id"].IsKnown() {
			vals["id"] = cty.StringVal("id of " + vals["name"].AsString())
		}
		state = cty.ObjectVal(vals)
	}
	return provider.ApplyResponse{State: state, Private: req.PlannedPrivate}
}

// serve waits for the duration of a call, counts it, and returns an error if it failed.
func (c *cloud) serve(kind string) diag.List {
	time.Sleep(c.delay)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for len(c.window) > 0 && now.Sub(c.window[0]) >= time.Second {
		c.window = c.window[1:]
	}
	switch {
	case c.allowed > 0 && len(c.window) >= c.allowed:
		c.count("refused")
		return diag.List{}.Errorf(nil, "API error", "HTTP status 429: Too Many Requests.")
	case c.random.IntN(100) == 0:
		c.count("failed")
		return diag.List{}.Errorf(nil, "API error", "HTTP status 503: Service Unavailable.")
	}
	c.window = append(c.window, now)
	c.count(kind)
	return nil
}

// count appends a byte to the file of a kind. The caller holds the lock.
func (c *cloud) count(kind string) {
	f := c.files[kind]
	if f == nil {
		var err error
		if f, err = os.OpenFile(filepath.Join(c.dir, kind), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "bench cloud:", err)
			os.Exit(1)
		}
		c.files[kind] = f
	}
	if _, err := f.Write([]byte{'.'}); err != nil {
		fmt.Fprintln(os.Stderr, "bench cloud:", err)
		os.Exit(1)
	}
}

// cloudKinds are the kinds of calls that are counted.
var cloudKinds = []string{"read", "change", "refused", "failed"}

// cloudTask is a command that is repeated until it succeeds.
type cloudTask struct {
	name string
	args []string
	own  bool // only for tombolo
}

func cloudTasks() []cloudTask {
	with := func(words ...string) []string { return append(words, "-input=false", "-no-color") }
	return []cloudTask{
		{"create all", with("apply", "-auto-approve"), false},
		{"plan, nothing to do", with("plan"), false},
		{"plan -minimal-refresh, nothing to do", with("plan", "-minimal-refresh"), true},
		{"plan, 1 % to change", with("plan", "-var=text=2"), false},
		{"plan -minimal-refresh, 1 % to change", with("plan", "-minimal-refresh", "-var=text=2"), true},
		{"change 1 %", with("apply", "-auto-approve", "-var=text=2"), false},
		{"change 1 % -minimal-refresh", with("apply", "-auto-approve", "-minimal-refresh", "-var=text=3"), true},
	}
}

const cloudConfig = `terraform {
  required_providers {
    cloud = { source = "registry.terraform.io/tombolo/cloud" }
  }
}
variable "text" { default = 1 }
resource "cloud_thing" "a" {
  count = %d
  name  = "a${count.index}"
  value = count.index %% 100 == 0 ? var.text : "same"
}
`

// cloudPatience is a project file in which the response 503 of the service counts as a refusal.
const cloudPatience = `provider "registry.terraform.io/tombolo/cloud" {
  retry {
    refusals = ["HTTP status 503"]
  }
}
`

// cloudMain runs every task with every contender, and prints time, commands and calls.
func cloudMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{}
	flags := flag.NewFlagSet("bench cloud", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 5000, "objects")
	delay := flags.Duration("delay", 50*time.Millisecond, "time of a call")
	allowed := flags.Int("allowed", 150, "calls that the service allows in a second; 0 is any number")
	attempts := flags.Int("attempts", 30, "how often a failing command is repeated at most")
	flags.StringVar(&o.terraform, "terraform", "", "terraform to compare with: paths, separated by commas, or none")
	flags.StringVar(&o.tofu, "tofu", "none", "OpenTofu to compare with as well")
	flags.StringVar(&o.tombolo, "tombolo", "", "tombolo to measure; empty to build ./cmd/tombolo")
	if err := flags.Parse(args); err != nil {
		return err
	}
	remove, err := o.prepare(ctx)
	defer remove()
	if err != nil {
		return err
	}
	cliConfig, err := o.preparePlugins()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n\n%d objects, %s a call, %d calls a second, 1 in 100 fails\n\n",
		header(ctx, o.contenders), *n, *delay, *allowed)
	w := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "task\tprogram\tseconds\tcommands\treads\tchanges\trefused\tfailed")
	for _, c := range o.contenders {
		dir := filepath.Join(o.workDir, "cloud-"+c.name)
		e := &entrant{contender: c, dir: dir, cliConfig: cliConfig, steps: make([]step, 1)}
		if err := writeCloud(dir, *n); err != nil {
			return err
		}
		if e.prepare(ctx); e.stop {
			return fmt.Errorf("%s: %s", c.name, e.cells[0].Failed)
		}
		for i, task := range cloudTasks() {
			if task.own && c.reference {
				continue
			}
			counts := filepath.Join(dir, fmt.Sprint("counts-", i))
			if err := os.Mkdir(counts, 0o777); err != nil {
				return err
			}
			e.env = []string{fmt.Sprintf("%s=%s %s %d", cloudIn, counts, *delay, *allowed)}
			fmt.Fprintf(stderr, "%s: %s\n", c.name, task.name)
			line, err := e.fulfil(ctx, task, counts, *attempts)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", task.name, c.name, line)
		}
	}
	return w.Flush()
}

// writeCloud writes the configuration and the project file.
func writeCloud(dir string, n int) error {
	if err := writeSource(filepath.Join(dir, "main.tf"), func(w io.Writer) {
		fmt.Fprintf(w, cloudConfig, n)
	}); err != nil {
		return err
	}
	return writeSource(filepath.Join(dir, "tombolo.hcl"), func(w io.Writer) { fmt.Fprint(w, cloudPatience) })
}

// fulfil repeats a command until it succeeds, at most a number of times, and returns the cost.
func (e *entrant) fulfil(ctx context.Context, task cloudTask, counts string, attempts int) (string, error) {
	began, commands, done := time.Now(), 0, false
	for ; !done && commands < attempts; commands++ {
		cmd := exec.CommandContext(ctx, e.bin, task.args...)
		cmd.Dir, cmd.Env = e.dir, e.environment()
		done = cmd.Run() == nil
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
	took := fmt.Sprintf("%.1f", time.Since(began).Seconds())
	if !done {
		took += " (not done)"
	}
	line := fmt.Sprintf("%s\t%d", took, commands)
	for _, kind := range cloudKinds {
		size := int64(0)
		if info, err := os.Stat(filepath.Join(counts, kind)); err == nil {
			size = info.Size()
		}
		line += fmt.Sprintf("\t%d", size)
	}
	return line, nil
}
