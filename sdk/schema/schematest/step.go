package schematest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// engine plans and applies in a directory.
type engine interface {
	name() string
	in(dir string)
	// elsewhere returns an engine of the same kind, without a state, for another directory.
	elsewhere(dir string) engine
	// header returns the terraform block that a configuration needs for its provider.
	header() string
	plan(ctx context.Context, m mode) (*planned, error)
	importObject(ctx context.Context, address, id string) error
	// query returns the names of the objects that the list blocks in queryFile find.
	query(ctx context.Context) (map[string][]string, error)
	state(ctx context.Context) (*State, error)
	// warnings returns the text of all warnings since the last call.
	warnings() string
}

type mode int

const (
	normal mode = iota
	refreshing
	destroying
)

// planned is a plan that may be applied once. It has to be closed.
type planned struct {
	plan  *Plan
	apply func(ctx context.Context) error
	close func()
}

// failed are errors of the engine, rather than of a test.
type failed struct{ text string }

func (f *failed) Error() string { return strings.TrimSpace(f.text) }

func (s *Step) valid() error {
	n := 0
	for _, is := range []bool{s.PlanOnly, s.Refresh, s.Destroy, s.Import != nil, s.Query != ""} {
		if is {
			n++
		}
	}
	if n > 1 {
		return errors.New("at most one of PlanOnly, Refresh, Destroy, Import and Query can be set")
	}
	if s.Query == "" && s.Finds != nil {
		return errors.New("there is no Query that could find something")
	}
	for _, one := range [][2]string{{"Error", s.Error}, {"Warning", s.Warning}} {
		if _, err := regexp.Compile(one[1]); err != nil {
			return fmt.Errorf("its %s: %w", one[0], err)
		}
	}
	if (s.Import != nil || s.Query != "") && (s.Plan != nil || s.EmptyPlan || s.CheckPlan != nil) {
		return errors.New("an Import or Query has no plan to look at")
	}
	return nil
}

// runner runs the steps with one engine.
type runner struct {
	engine engine
	dir    string
	files  map[string]string
	config string
	// applied is the configuration that created the objects.
	applied string
	// seen is the text of the most relevant plan, for messages.
	seen string
}

// step runs a step, and adds the plan to a failure.
func (r *runner) step(ctx context.Context, s Step) error {
	r.seen = ""
	err := r.perform(ctx, s)
	if err != nil && r.seen != "" {
		return fmt.Errorf("%w\n\nThe plan:\n%s", err, indent(r.seen))
	}
	return err
}

func (r *runner) perform(ctx context.Context, s Step) error {
	if s.Before != nil {
		if err := s.Before(); err != nil {
			return fmt.Errorf("in Before: %w", err)
		}
	}
	if s.Config != "" {
		r.config = s.Config
		if err := write(r.dir, r.engine, s.Config); err != nil {
			return err
		}
	}
	r.engine.warnings()
	err := r.act(ctx, s)
	if err := expectError(s.Error, err); err != nil {
		return err
	}
	if warned := r.engine.warnings(); s.Warning != "" && !regexp.MustCompile(s.Warning).MatchString(oneLine(warned)) {
		if warned == "" {
			return fmt.Errorf("there is no warning, expected one that matches %q", s.Warning)
		}
		return fmt.Errorf("the warnings do not match %q:\n%s", s.Warning, indent(warned))
	}
	if s.Check == nil {
		return nil
	}
	st, err := r.engine.state(ctx)
	if err != nil {
		return err
	}
	return s.Check(st)
}

// expectError compares the error of a step with the expected one.
func expectError(pattern string, err error) error {
	var f *failed
	switch {
	case pattern == "":
		return err
	case err == nil:
		return fmt.Errorf("there is no error, expected one that matches %q", pattern)
	case !errors.As(err, &f):
		return err // the mistake is in the test, not in the provider
	}
	if !regexp.MustCompile(pattern).MatchString(oneLine(f.text)) {
		return fmt.Errorf("the error does not match %q:\n%s", pattern, indent(f.Error()))
	}
	return nil
}

// oneLine replaces each run of white space with one blank: line breaks depend on the engine.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// act performs the step.
func (r *runner) act(ctx context.Context, s Step) error {
	if s.Import != nil {
		return r.reimport(ctx, *s.Import)
	}
	if s.Query != "" {
		return r.find(ctx, s)
	}
	m := normal
	switch {
	case s.Refresh:
		m = refreshing
	case s.Destroy:
		m = destroying
	}
	p, err := r.plan(ctx, m)
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.expectPlan(p.plan); err != nil || s.PlanOnly {
		return err
	}
	r.applied = r.config
	if err := p.apply(ctx); err != nil {
		return err
	}
	p.close()
	if m != normal || s.NonEmptyAfter {
		return nil
	}
	again, err := r.engine.plan(ctx, normal)
	if err != nil {
		return fmt.Errorf("the plan after applying: %w", err)
	}
	defer again.close()
	if !again.plan.isEmpty() {
		r.seen = again.plan.Text
		return fmt.Errorf(
			"the plan after applying is not empty, which it must be unless NonEmptyAfter says otherwise: %s",
			again.plan.describe())
	}
	return nil
}

// plan plans, and records the text of the plan.
func (r *runner) plan(ctx context.Context, m mode) (*planned, error) {
	p, err := r.engine.plan(ctx, m)
	if err != nil {
		return nil, err
	}
	r.seen = p.plan.Text
	once := p.close
	p.close = func() {
		if once != nil {
			once()
			once = nil
		}
	}
	return p, nil
}

// expectPlan compares a plan with the step's expectations.
func (s *Step) expectPlan(p *Plan) error {
	var errs []error
	if s.EmptyPlan && !p.isEmpty() {
		errs = append(errs, fmt.Errorf("the plan is not empty: %s", p.describe()))
	}
	if s.Plan != nil {
		for _, address := range slices.Sorted(maps.Keys(s.Plan)) {
			if got := p.Actions[address]; got != s.Plan[address] {
				if got == "" {
					got = "no-op"
				}
				errs = append(errs, fmt.Errorf("the plan for %s is %q, expected %q", address, got, s.Plan[address]))
			}
		}
		for _, address := range slices.Sorted(maps.Keys(p.Actions)) {
			if _, ok := s.Plan[address]; !ok {
				errs = append(errs, fmt.Errorf("the plan for %s is %q, expected nothing", address, p.Actions[address]))
			}
		}
	}
	if s.CheckPlan != nil {
		errs = append(errs, s.CheckPlan(p))
	}
	return errors.Join(errs...)
}

// find finds objects with list blocks, and compares the results.
func (r *runner) find(ctx context.Context, s Step) error {
	file := filepath.Join(r.dir, queryFile)
	if err := os.WriteFile(file, []byte(s.Query), 0o666); err != nil {
		return err
	}
	defer os.Remove(file) // otherwise the next query would include this file
	found, err := r.engine.query(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for address := range mergeKeys(found, s.Finds) {
		got, want := slices.Sorted(slices.Values(found[address])), slices.Sorted(slices.Values(s.Finds[address]))
		if !slices.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s finds %q, expected %q", address, got, want))
		}
	}
	return errors.Join(errs...)
}

// mergeKeys visits the keys of two maps in order, once each.
func mergeKeys[T any](a, b map[string]T) iter.Seq[string] {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]T{}
	}
	maps.Copy(all, b)
	return slices.Values(slices.Sorted(maps.Keys(all)))
}

// reimport imports an object into an empty state, and compares.
func (r *runner) reimport(ctx context.Context, i Import) error {
	before, err := r.engine.state(ctx)
	if err != nil {
		return err
	}
	have := before.Object(i.Address)
	if have == nil {
		return fmt.Errorf("there is no %s to import a second time; the state has %s", i.Address, before.list())
	}
	id := i.ID
	if id == "" {
		v, _ := lookup(have.Values, "id")
		if id, _ = v.(string); id == "" {
			return fmt.Errorf("%s has no attribute id, so Import.ID must say what to import it by", i.Address)
		}
	}
	dir, err := os.MkdirTemp(r.dir, "import")
	if err != nil {
		return err
	}
	e := r.engine.elsewhere(dir)
	if err := errors.Join(writeFiles(dir, r.files), write(dir, e, r.config)); err != nil {
		return err
	}
	if err := e.importObject(ctx, i.Address, id); err != nil {
		return err
	}
	after, err := e.state(ctx)
	if err != nil {
		return err
	}
	got := after.Object(i.Address)
	if got == nil {
		return fmt.Errorf("the import of %q left no %s; the state has %s", id, i.Address, after.list())
	}
	var lines []string
	for _, d := range differences("", have, got) {
		if !slices.ContainsFunc(i.Ignore, func(name string) bool {
			return d.path == name ||
				strings.HasPrefix(d.path, name+".")
		}) {
			lines = append(lines, "  "+d.text)
		}
	}
	if len(lines) > 0 {
		return fmt.Errorf("%s imported as %q differs from the one that was applied:\n%s", i.Address, id,
			strings.Join(lines, "\n"))
	}
	return nil
}

// cleanUp destroys all objects, with the configuration that created them.
func (r *runner) cleanUp(ctx context.Context, check func() error) error {
	if err := r.destroy(ctx); err != nil {
		return fmt.Errorf("destroy at the end: %w", err)
	}
	if check != nil {
		if err := check(); err != nil {
			return fmt.Errorf("after everything was destroyed: %w", err)
		}
	}
	return nil
}

func (r *runner) destroy(ctx context.Context) error {
	if r.applied == "" {
		return nil // nothing was created
	}
	if r.applied != r.config {
		if err := write(r.dir, r.engine, r.applied); err != nil {
			return err
		}
	}
	st, err := r.engine.state(ctx)
	if err != nil || len(st.Objects) == 0 {
		return err
	}
	p, err := r.engine.plan(ctx, destroying)
	if err != nil {
		return err
	}
	defer p.close()
	return p.apply(ctx)
}

// The files of a configuration.
const (
	mainFile   = "main.tf"
	queryFile  = "schematest.tfquery.hcl"
	headerFile = "schematest.tf"
)

// write writes a configuration, with a required_providers block unless it has one.
func write(dir string, e engine, config string) error {
	header := e.header()
	if strings.Contains(config, "required_providers") {
		header = ""
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, mainFile), []byte(config), 0o666),
		os.WriteFile(filepath.Join(dir, headerFile), []byte(header), 0o666))
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o777), os.WriteFile(full, []byte(text),
			0o666)); err != nil {
			return err
		}
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
