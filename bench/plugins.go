package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
)

// preparePlugins puts the plugins into a mirror, once, and returns the CLI configuration for it.
func (o *options) preparePlugins() (string, error) {
	mirror, config := filepath.Join(o.workDir, "mirror"), filepath.Join(o.workDir, "mirror.tfrc")
	if fileExists(config) {
		return config, nil
	}
	if err := installPlugins(mirror); err != nil {
		return "", err
	}
	return config, writeSource(config, func(w io.Writer) {
		fmt.Fprintf(w, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", mirror)
	})
}

// pluginProgram returns the program of a plugin of the mirror.
func (o *options) pluginProgram(source string) string {
	return filepath.Join(o.workDir, "mirror", pluginName(source))
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Names of the entrants that only call the plugin.
const (
	bareCalls = "replay"
	journaled = "replay-journal" // which also writes the least journal
)

// drivers record the calls that an engine makes at each step, and return entrants that replay them: without a journal
// and, if the plugin changes something that lasts, with one.
func (o *options) drivers(ctx context.Context, engine *entrant, s shape, n int) ([]*entrant, error) {
	dir := func(name string) string { return filepath.Join(o.workDir, fmt.Sprintf("%s-%d-%s", s.name, n, name)) }
	bare, err := o.driver(ctx, engine, s, n, dir(bareCalls))
	if err != nil || s.plugin != world.Source {
		return []*entrant{bare}, err
	}
	with := *bare
	with.name, with.dir, with.steps, with.cells = journaled, dir(journaled), nil, nil
	for _, st := range bare.steps {
		st.args = append(slices.Clone(st.args), filepath.Join(with.dir, "journal"))
		with.steps = append(with.steps, st)
		with.cells = append(with.cells, cell{Contender: with.name})
	}
	return []*entrant{bare, &with}, os.MkdirAll(with.dir, 0o777)
}

// driver records the calls that an engine makes at each step, and returns an entrant that replays them.
func (o *options) driver(ctx context.Context, engine *entrant, s shape, n int, dir string) (*entrant, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &entrant{contender: contender{name: bareCalls, bin: exe, reference: true}, dir: dir, runs: o.runs,
		cliConfig: engine.cliConfig}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	recorder := *engine
	for i, st := range engine.steps {
		calls := filepath.Join(dir, fmt.Sprint("calls-", i))
		if err := os.Mkdir(calls, 0o777); err != nil {
			return nil, err
		}
		recorder.env = []string{recordTo + "=" + calls}
		c := &cell{}
		if recorder.measure(ctx, c, st, s.objects(n), o.timeout); len(c.Samples) == 0 {
			return nil, fmt.Errorf("%s, to record its calls: %s", st.name, c.Failed)
		}
		e.steps = append(e.steps, step{name: st.name, args: []string{"replay", o.pluginProgram(s.plugin), calls}})
		e.cells = append(e.cells, cell{Contender: e.name})
	}
	recorder.clean()
	return e, nil
}

// writeOverhead writes how much longer tombolo takes than the replayed calls of its plugin.
func writeOverhead(w io.Writer, rows []row) error {
	for _, r := range rows {
		engine, ok := r.Cells[len(r.Cells)-1].median()
		if !ok {
			continue
		}
		for _, c := range r.Cells {
			bare, ok := c.median()
			what := map[string]string{bareCalls: "bare calls", journaled: "calls with the least journal"}[c.Contender]
			if !ok || what == "" {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s: %.2f times the wall time and %.2f times the CPU time of the %s\n", r.Step,
				float64(engine.Wall)/float64(bare.Wall), float64(engine.CPU)/float64(bare.CPU), what); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportCalls measures the host with the same plugin: the time until the first response, and calls per second.
func (o *options) reportCalls(ctx context.Context, w io.Writer) error {
	dir := filepath.Join(o.workDir, "calls")
	plugin := host.Plugin{Provider: world.Addr(), Program: o.pluginProgram(world.Source)}
	var starts []sample
	for range o.runs {
		begun := time.Now()
		p, err := plugin.Factory()(ctx)
		if err != nil {
			return err
		}
		_, diags := p.Schema(ctx)
		starts = append(starts, sample{Wall: time.Since(begun)})
		if err := errors.Join(diags.Err(), p.Close()); err != nil {
			return err
		}
	}
	first, _ := cell{Samples: starts}.median()
	fmt.Fprintf(w, "through internal/host: %s from the start of the plugin to its first answer\n", seconds(first.Wall))
	p, err := plugin.Factory()(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	request, err := planRequest(ctx, p, dir)
	if err != nil {
		return err
	}
	for _, parallel := range []int{1, replayParallelism} {
		n, err := callsPerSecond(ctx, p, request, parallel, 2*time.Second)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "through internal/host: %.0f plans of one object a second, %d at once\n", n, parallel)
	}
	fmt.Fprintln(w)
	return nil
}

// planRequest configures the provider and returns a request for the plan of a new object.
func planRequest(ctx context.Context, p provider.Provider, dir string) (provider.PlanRequest, error) {
	schema, diags := p.Schema(ctx)
	if diags.HasErrors() {
		return provider.PlanRequest{}, diags.Err()
	}
	config := schema.Provider.EmptyValue().AsValueMap()
	config["dir"] = cty.StringVal(dir)
	diags = p.Configure(ctx, provider.ConfigureRequest{Config: cty.ObjectVal(config)}).Diagnostics
	block := schema.Resources["world_object"].Block
	vals := block.EmptyValue().AsValueMap()
	vals["name"], vals["tags"] = cty.StringVal("a"), cty.MapVal(map[string]cty.Value{"team": cty.StringVal("a")})
	v := cty.ObjectVal(vals)
	return provider.PlanRequest{Type: "world_object", Prior: cty.NullVal(block.ImpliedType()), Proposed: v, Config: v},
		diags.Err()
}

func callsPerSecond(ctx context.Context, p provider.Provider, req provider.PlanRequest, parallel int,
	during time.Duration) (float64, error) {
	var done atomic.Int64
	errs := make([]error, parallel)
	var callers sync.WaitGroup
	begun := time.Now()
	for i := range parallel {
		callers.Go(func() {
			for time.Since(begun) < during && errs[i] == nil {
				errs[i] = p.Plan(ctx, req).Diagnostics.Err()
				done.Add(1)
			}
		})
	}
	callers.Wait()
	return float64(done.Load()) / time.Since(begun).Seconds(), errors.Join(errs...)
}
