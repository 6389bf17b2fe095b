// Command bench measures tombolo against terraform from outside. It generates configurations of several shapes and
// sizes, runs plan, apply, a plan that finds nothing to do, and destroy with each binary in turn, and prints wall time,
// CPU time, peak memory and their ratios. Both binaries run in one go, interleaved, so that both see the same machine.
//
//	go run ./bench -n 300 -runs 3
//	go run ./bench -n 1000 -shapes flat,pairs -markdown result.md
//	go run ./bench -n 1000,10000,100000 -terraform none     # how cost grows
//	go run ./bench -n 1000 -shapes plugins                  # overhead over a plugin that is only called
//
// shape.go defines the measured configurations, and measure.go the measurement. README.md explains how to read the
// result.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/world"
)

// slowAbove is the size above which terraform runs once instead of -runs times, unless -terraform-runs says otherwise.
const slowAbove = 300

type options struct {
	sizes         []int
	shapes        []shape
	runs          int
	terraformRuns int
	timeout       time.Duration
	keep          bool
	markdown      string
	jsonFile      string

	terraform, tofu, tombolo string // as passed on the command line

	contenders []contender
	workDir    string
}

// A contender is one of the compared binaries.
type contender struct {
	name string
	bin  string
	// reference is true for the binaries that tombolo is compared with.
	reference bool
}

func main() {
	if isPlugin() {
		os.Exit(bePlugin())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "replay" {
		return replayMain(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "size" {
		return sizeMain(ctx, args[1:], stdout)
	}
	if len(args) > 0 && args[0] == "soak" {
		return soak(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "functions" {
		return functions(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "cloud" {
		return cloudMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "modules" {
		return modulesMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "stacks" {
		return stacksMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "secrets" {
		return secretsMain(ctx, args[1:], stdout, stderr)
	}
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	remove, err := o.prepare(ctx)
	if o.keep {
		fmt.Fprintln(stderr, "configurations are kept in", o.workDir)
	} else {
		defer remove()
	}
	if err != nil {
		return err
	}
	result, err := measureAll(ctx, o, stdout, stderr)
	if err != nil {
		return err
	}
	if o.markdown != "" {
		if err := writeFile(o.markdown, result.writeMarkdown); err != nil {
			return err
		}
	}
	if o.jsonFile != "" {
		return writeFile(o.jsonFile, result.writeJSON)
	}
	return nil
}

// measureAll prints each table as soon as it is complete: a whole run may take an hour.
func measureAll(ctx context.Context, o options, stdout, progress io.Writer) (result, error) {
	res := result{Header: header(ctx, o.contenders), Started: time.Now().UTC().Truncate(time.Second)}
	fmt.Fprintf(stdout, "%s\n\n", res.Header)
	for i, n := range o.sizes {
		for _, s := range o.shapes {
			if s.once && i > 0 {
				continue
			}
			rows, err := measureShape(ctx, &o, s, n, progress)
			if err != nil {
				return res, err
			}
			res.Rows = append(res.Rows, rows...)
			if err := writeTable(stdout, rows, textTable); err != nil {
				return res, err
			}
			if s.plugin != "" {
				if err := writeOverhead(stdout, rows); err != nil {
					return res, err
				}
			}
			if s.plugin == world.Source {
				if err := o.reportCalls(ctx, stdout); err != nil {
					return res, err
				}
			}
		}
	}
	return res, writeGrowth(stdout, res.Rows, textTable)
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("n", "300", "sizes, separated by commas")
	names := flags.String("shapes", "startup,flat,foreach,pairs,shared,separate,chain,modules",
		"shapes, separated by commas, or all: "+strings.Join(shapeNames(), ","))
	flags.IntVar(&o.runs, "runs", 3, "runs of each; medians are reported")
	flags.IntVar(&o.terraformRuns, "terraform-runs", 0,
		fmt.Sprintf("runs of terraform; 0 means -runs up to n=%d and one above", slowAbove))
	flags.StringVar(&o.terraform, "terraform", "",
		"terraform to compare with: paths, separated by commas, \"none\", or empty for the one on PATH")
	flags.StringVar(&o.tofu, "tofu", "none", "OpenTofu to compare with as well")
	flags.StringVar(&o.tombolo, "tombolo", "", "tombolo to measure; empty to build ./cmd/tombolo")
	flags.DurationVar(&o.timeout, "timeout", 300*time.Second, "limit for each command")
	flags.StringVar(&o.markdown, "markdown", "", "file to write the tables to, as Markdown")
	flags.StringVar(&o.jsonFile, "json", "", "file to write every sample to, as JSON")
	flags.BoolVar(&o.keep, "keep", false, "keep the generated configurations and say where")
	err := flags.Parse(args)
	if err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.sizes, err = parseSizes(*sizes); err != nil {
		return o, err
	}
	o.shapes, err = parseShapes(*names)
	return o, err
}

func parseSizes(list string) ([]int, error) {
	var sizes []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 10 {
			return nil, fmt.Errorf("size %q: want a number of at least 10", word)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func parseShapes(list string) ([]shape, error) {
	if list == "all" {
		return shapes, nil
	}
	var found []shape
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("shape %q: want one of %s", name, strings.Join(shapeNames(), ", "))
		}
		found = append(found, shapes[i])
	}
	return found, nil
}

// prepare creates a temporary folder for the measurement with an empty CLI configuration, and finds the binaries. The
// caller must call remove, which deletes the folder, even after an error.
func (o *options) prepare(ctx context.Context) (remove func(), err error) {
	if o.workDir, err = os.MkdirTemp("", "tombolo-bench-"); err != nil {
		return func() {}, err
	}
	remove = func() { os.RemoveAll(o.workDir) }
	if err := writeSource(filepath.Join(o.workDir, "empty.tfrc"), func(io.Writer) {}); err != nil {
		return remove, err
	}
	return remove, o.findContenders(ctx)
}

// findContenders names the binaries by absolute paths, tombolo last, and builds tombolo if it is not given.
func (o *options) findContenders(ctx context.Context) error {
	if o.terraform == "" {
		o.terraform = "none"
		if path, err := exec.LookPath("terraform"); err == nil {
			o.terraform = path
		}
	}
	if o.tombolo == "" {
		o.tombolo = filepath.Join(o.workDir, "tombolo")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.tombolo, "./cmd/tombolo")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build ./cmd/tombolo (run bench in the root of the module, or give -tombolo): %w\n%s",
				err, out)
		}
	}
	var named []contender
	for i, bin := range strings.Split(o.terraform, ",") {
		name := "terraform"
		if i > 0 {
			name += fmt.Sprint("-", i+1) // the header has its version
		}
		named = append(named, contender{name, bin, true})
	}
	for _, c := range append(named, contender{"tofu", o.tofu, true}, contender{"tombolo", o.tombolo, false}) {
		if c.bin == "none" {
			continue
		}
		path, err := exec.LookPath(c.bin)
		if err != nil {
			return err
		}
		if c.bin, err = filepath.Abs(path); err != nil {
			return err
		}
		o.contenders = append(o.contenders, c)
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
