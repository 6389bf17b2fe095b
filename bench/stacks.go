package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stackBench is a generated stack: units with objects, each of which uses a known output of an earlier unit.
type stackBench struct {
	units, objects int
	dir            string
	config         string // the CLI configuration
}

// stacksMain measures commands of a stack with different numbers of units at once, beside loops of single commands.
func stacksMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("stacks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("units", 200, "`number` of units")
	objects := flags.Int("objects", 20, "`number` of objects in each unit")
	atOnce := flags.String("at-once", "1,2,8", "`numbers` of units that work at once")
	o := &options{}
	flags.StringVar(&o.tombolo, "tombolo", "", "`path` of the program; it is built unless this is set")
	flags.StringVar(&o.terraform, "terraform", "", "`path` of terraform, or none; from PATH unless set")
	flags.StringVar(&o.tofu, "tofu", "none", "`path` of tofu, or none")
	part := flags.Int("loop", 20, "`number` of units of which the loops of single commands are measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 || *objects < 1 || *part < 1 {
		return errors.New("-units, -objects and -loop must be at least 1")
	}
	remove, err := o.prepare(ctx)
	defer remove()
	if err != nil {
		return err
	}
	config := filepath.Join(o.workDir, "empty.tfrc")
	fmt.Fprintf(stdout, "%d units with %d objects each\n\n| | init | plan | apply | plan without changes | destroy |\n"+
		"|---|--:|--:|--:|--:|--:|\n", *n, *objects)
	for _, text := range strings.Split(*atOnce, ",") {
		if _, err := strconv.Atoi(text); err != nil {
			return fmt.Errorf("-at-once has %q: expected numbers and commas", text)
		}
		s := &stackBench{*n, *objects, filepath.Join(o.workDir, "stack"+text), config}
		if err := s.row(ctx, stdout, "stack, "+text+" at once", func(ctx context.Context, command string) error {
			return s.stack(ctx, o.tombolo, command, text)
		}, 1); err != nil {
			return err
		}
	}
	for _, c := range o.contenders {
		s := &stackBench{min(*part, *n), *objects, filepath.Join(o.workDir, "loop-"+c.name), config}
		name := fmt.Sprintf("loop of %s, %d units, times %.3g", c.name, s.units, float64(*n)/float64(s.units))
		if err := s.row(ctx, stdout, name, func(ctx context.Context, command string) error {
			return s.loop(ctx, c.bin, command)
		}, float64(*n)/float64(s.units)); err != nil {
			return err
		}
	}
	return nil
}

// row writes the configuration, runs the commands in turn and prints their times, multiplied with a factor.
func (s *stackBench) row(ctx context.Context, to io.Writer, name string, run func(ctx context.Context,
	command string) error, factor float64) error {
	if err := s.write(); err != nil {
		return err
	}
	fmt.Fprintf(to, "| %s", name)
	for _, command := range []string{"init", "plan", "apply", "plan", "destroy"} {
		began := time.Now()
		if err := run(ctx, command); err != nil {
			fmt.Fprintln(to)
			return err
		}
		fmt.Fprintf(to, " | %.1f s", time.Since(began).Seconds()*factor)
	}
	fmt.Fprintln(to, " |")
	return nil
}

// above returns the unit whose output a unit uses.
func above(u int) int { return (u - 1) / 10 }

func unitName(u int) string { return fmt.Sprintf("u%04d", u) }

func (s *stackBench) write() error {
	var project strings.Builder
	for u := range s.units {
		given := `"none"`
		if u > 0 {
			given = "unit." + unitName(above(u)) + ".outputs.name"
		}
		fmt.Fprintf(&project, "unit %q {\n  source    = %[1]q\n  variables = { given = %s }\n}\n", unitName(u), given)
		dir := filepath.Join(s.dir, unitName(u))
		text := fmt.Sprintf("variable \"given\" {}\nresource \"terraform_data\" \"it\" {\n  count = %d\n  input = "+
			"\"${var.given} ${count.index}\"\n}\noutput \"name\" {\n  value = %q\n}\n", s.objects, unitName(u))
		if err := errors.Join(os.MkdirAll(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(s.dir, "tombolo.hcl"), []byte(project.String()), 0o600)
}

// stack runs a command for all units, and checks that it did all of the work.
func (s *stackBench) stack(ctx context.Context, bin, command, atOnce string) error {
	args := []string{"stack", command, "-units-at-once=" + atOnce}
	want := map[string]string{"init": "] initialized", "apply": "] applied: " + strconv.Itoa(s.objects) + " added",
		"destroy": "] applied: 0 added, 0 changed, " + strconv.Itoa(s.objects) + " destroyed"}[command]
	if command == "apply" || command == "destroy" {
		args = append(args, "-auto-approve")
	}
	out, err := s.inDir(ctx, s.dir, bin, args...)
	if err == nil && want != "" && strings.Count(string(out), want) != s.units {
		err = fmt.Errorf("%d of %d units: %s", strings.Count(string(out), want), s.units, lastPart(out))
	}
	return err
}

// loop runs a single command in each unit, in an order that fits.
func (s *stackBench) loop(ctx context.Context, bin, command string) error {
	for i := range s.units {
		u := i
		if command == "destroy" {
			u = s.units - 1 - i
		}
		given := "none"
		if u > 0 {
			given = unitName(above(u))
		}
		args := []string{command}
		if command != "init" {
			args = append(args, "-var=given="+given)
		}
		if command == "apply" || command == "destroy" {
			args = append(args, "-auto-approve")
		}
		if _, err := s.inDir(ctx, filepath.Join(s.dir, unitName(u)), bin, args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *stackBench) inDir(ctx context.Context, dir, bin string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE="+s.config)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w: %s", filepath.Base(bin), strings.Join(args, " "), err, lastPart(out))
	}
	return out, nil
}

// lastPart returns the end of an output.
func lastPart(out []byte) []byte {
	const most = 2000
	return bytes.TrimSpace(out[max(0, len(out)-most):])
}
