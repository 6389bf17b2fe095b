package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A sample is one run of one command.
type sample struct {
	Wall time.Duration `json:"wall_ns"`
	CPU  time.Duration `json:"cpu_ns"` // user and system time of the process and of the children it waited for
	// RSS is the peak resident size of the process in bytes. The kernel counts from the moment bench forks, so a
	// process smaller than bench itself, which is a few MB, shows bench's size.
	RSS int64 `json:"max_rss_bytes"`
}

// A cell is the result of one contender in one step: its samples, or the reason why there are none.
type cell struct {
	Contender string   `json:"contender"`
	Samples   []sample `json:"samples"`
	TimedOut  bool     `json:"timed_out,omitempty"`
	Skipped   bool     `json:"skipped,omitempty"` // an earlier step timed out or failed
	Failed    string   `json:"failed,omitempty"`  // the end of what it printed

	Limit time.Duration `json:"limit_ns,omitempty"` // the timeout that it exceeded

	absent bool // the contender has no such step
}

// A row is one step of one shape at one size, with a cell for each contender.
type row struct {
	Shape   string `json:"shape"`
	N       int    `json:"n"`
	Objects int    `json:"objects"`
	Step    string `json:"step"`
	Cells   []cell `json:"cells"`
}

// measureShape runs all contenders over one shape at one size, interleaved, and returns one row for each step.
func measureShape(ctx context.Context, o *options, s shape, n int, progress io.Writer) ([]row, error) {
	entrants, err := enter(ctx, o, s, n)
	if err != nil {
		return nil, err
	}
	for round := range o.runs {
		for _, e := range entrants {
			if round < e.runs {
				fmt.Fprintf(progress, "%s n=%d: %s, run %d of %d\n", s.name, n, e.name, round+1, e.runs)
				e.round(ctx, s.objects(n), o.timeout)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	rows := make([]row, 0, len(s.sequence()))
	for i, st := range s.sequence() {
		r := row{Shape: s.name, N: n, Objects: s.objects(n), Step: st.name}
		for _, e := range entrants {
			if i < len(e.cells) {
				r.Cells = append(r.Cells, e.cells[i])
			}
		}
		rows = append(rows, r)
	}
	if o.keep {
		return rows, nil
	}
	for _, e := range entrants {
		if err := os.RemoveAll(e.dir); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// enter prepares a directory for each contender that can run the shape, and for the baseline if any.
func enter(ctx context.Context, o *options, s shape, n int) ([]*entrant, error) {
	dir := func(name string) string { return filepath.Join(o.workDir, fmt.Sprintf("%s-%d-%s", s.name, n, name)) }
	var entrants []*entrant
	if s.baseline != nil {
		e := &entrant{contender: contender{name: "xargs -P 10", bin: "sh", reference: true}, dir: dir("baseline"),
			runs: o.runs}
		e.steps = []step{{name: s.sequence()[0].name, args: []string{"-c", s.baseline(n)}}}
		e.cells = []cell{{Contender: e.name}}
		if err := writeSource(filepath.Join(e.dir, "query.json"), func(w io.Writer) {
			fmt.Fprint(w, `{"index":"1"}`)
		}); err != nil {
			return nil, err
		}
		entrants = append(entrants, e)
	}
	cliConfig := filepath.Join(o.workDir, "empty.tfrc")
	if s.plugin != "" {
		var err error
		if cliConfig, err = o.preparePlugins(); err != nil {
			return nil, err
		}
	}
	for _, c := range o.contenders {
		if c.reference && s.baseline != nil {
			continue
		}
		e := &entrant{contender: c, dir: dir(c.name), runs: o.runs, steps: s.sequence(), cliConfig: cliConfig}
		if c.reference {
			e.runs = o.referenceRuns(n)
		}
		if err := s.generate(e.dir, n); err != nil {
			return nil, err
		}
		e.prepare(ctx)
		entrants = append(entrants, e)
	}
	if s.plugin != "" && len(entrants) > 0 {
		drivers, err := o.drivers(ctx, entrants[len(entrants)-1], s, n)
		if err != nil {
			return nil, err
		}
		entrants = append(drivers, entrants...)
	}
	return entrants, nil
}

func (o options) referenceRuns(n int) int {
	switch {
	case o.terraformRuns > 0:
		return min(o.terraformRuns, o.runs)
	case n > slowAbove:
		return 1
	}
	return o.runs
}

// An entrant is a contender that runs one shape, in its own directory.
type entrant struct {
	contender
	dir   string
	runs  int
	steps []step
	cells []cell // one for each step

	cliConfig string   // only for terraform
	env       []string // additional environment variables
	stop      bool     // a step timed out or failed, so that later steps would not be comparable
}

// prepare runs init, which is not measured. If it fails, that is the result of the first step.
func (e *entrant) prepare(ctx context.Context) {
	e.cells = make([]cell, len(e.steps))
	for i := range e.cells {
		e.cells[i].Contender = e.name
	}
	cmd := exec.CommandContext(ctx, e.bin, "init", "-input=false", "-no-color")
	cmd.Dir, cmd.Env = e.dir, e.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		e.cells[0].Failed = fmt.Sprintf("init: %v\n%s", err, out)
		e.stop = true
	}
}

// environment returns the common environment, without the user's CLI configuration and without network access.
func (e *entrant) environment() []string {
	return append(append(os.Environ(), "TF_CLI_CONFIG_FILE="+e.cliConfig, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"),
		e.env...)
}

// round runs the whole sequence once, from an empty state to an empty state.
func (e *entrant) round(ctx context.Context, objects int, timeout time.Duration) {
	for i, st := range e.steps {
		c := &e.cells[i]
		if e.stop {
			c.Skipped = len(c.Samples) == 0 && !c.TimedOut && c.Failed == ""
			continue
		}
		e.measure(ctx, c, st, objects, timeout)
		e.stop = c.TimedOut || c.Failed != ""
	}
	e.clean()
}

// clean removes everything except the configuration.
func (e *entrant) clean() {
	// Glob only fails for malformed patterns
	left, _ := filepath.Glob(filepath.Join(e.dir, "terraform.tfstate*"))
	for _, name := range left {
		os.Remove(name)
	}
	os.RemoveAll(filepath.Join(e.dir, "world"))
}

func (e *entrant) measure(ctx context.Context, c *cell, st step, objects int, timeout time.Duration) {
	out, err := os.Create(filepath.Join(e.dir, "output.txt"))
	if err != nil {
		c.Failed = err.Error()
		return
	}
	defer out.Close()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, e.bin, st.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = e.dir, e.environment(), out, out
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		c.TimedOut, c.Limit = true, timeout
		return
	case err != nil:
		c.Failed = err.Error() + "\n" + tail(out.Name(), 2000)
		return
	}
	if !endsRight(tail(out.Name(), 4000), st, objects) {
		c.Failed = "unexpected output:\n" + tail(out.Name(), 2000)
		return
	}
	state := cmd.ProcessState
	c.Samples = append(c.Samples, sample{Wall: wall, CPU: state.UserTime() + state.SystemTime(), RSS: maxRSS(state)})
}

// endsRight reports whether the output has the expected end.
func endsRight(text string, st step, objects int) bool {
	if st.ends == "" {
		return true
	}
	want := st.ends
	if strings.Contains(want, "%d") {
		want = fmt.Sprintf(want, objects)
	}
	return strings.Contains(text, want)
}

// tail returns the last bytes of a file without reading the rest.
func tail(path string, size int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		if _, err := f.Seek(max(0, end-size), io.SeekStart); err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(data))
}

// median returns a sample with the median of each measure.
func (c cell) median() (sample, bool) {
	if len(c.Samples) == 0 {
		return sample{}, false
	}
	return sample{
		Wall: middle(c.Samples, func(s sample) time.Duration { return s.Wall }),
		CPU:  middle(c.Samples, func(s sample) time.Duration { return s.CPU }),
		RSS:  middle(c.Samples, func(s sample) int64 { return s.RSS }),
	}, true
}

func middle[T ~int64](samples []sample, of func(sample) T) T {
	var values []T
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
