// Package schematest runs plans, applies, refreshes, imports and destroys with a provider, and checks the results. The
// engine is the library form of Tombolo, in the process of the test. No program has to be installed, and a fake remote
// system can be a variable of the test.
//
//	func TestNote(t *testing.T) {
//		schematest.Run(t, schematest.Case{
//			Provider: Provider,
//			Steps: []schematest.Step{{
//				Config: `resource "demo_note" "a" { text = "hello" }`,
//				Plan:   schematest.Actions{"demo_note.a": schematest.Create},
//				Check:  schematest.All(schematest.Attr("demo_note.a", "words", 1), schematest.Set("demo_note.a", "id")),
//			}, {
//				Import: &schematest.Import{Address: "demo_note.a"},
//			}},
//		})
//	}
//
// After each step that applies, a second plan must be empty. At the end everything is destroyed.
//
// The same steps also run with other programs if Case.Programs or the environment variable SCHEMATEST_PROGRAMS names
// some, such as "terraform,tofu,tombolo". The provider stays in the process of the test, and the programs attach to it.
// This tests the provider over the plugin protocol.
//
// Cases do not touch the environment or the working directory of the test, and may run in parallel. The package starts
// one goroutine, which serves the provider to programs and ends with the case.
package schematest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// ProgramsEnv names the environment variable with a list of programs that also run the steps.
const ProgramsEnv = "SCHEMATEST_PROGRAMS"

// Case is a provider and the steps to run with it.
type Case struct {
	// Provider describes the provider; it is called for each provider configuration.
	Provider func() *schema.Provider
	// New returns a provider that is not written with package schema.
	New provider.Factory
	// Source is the address of the provider, such as "example/demo"; empty means the address in the description,
	// otherwise one derived from the names of its types. Configurations refer to the provider by its last part.
	Source string

	// Steps run in order on one state.
	Steps []Step
	// CheckDestroyed checks the remote system after the destruction.
	CheckDestroyed func() error

	// Files are written beside the configuration of each step, for functions that read files and for modules.
	Files map[string]string
	// Programs also run the steps, one after another, if they are installed. The steps and CheckDestroyed must work
	// repeatedly.
	Programs []string
	// Timeout limits the whole case; 0 means five minutes.
	Timeout time.Duration
}

// Step is one configuration and its expected results. A zero field expects nothing.
type Step struct {
	// Name is for messages.
	Name string
	// Config is the configuration; empty means that of the previous step. It needs no required_providers block.
	Config string

	// Before runs first. It may change the remote system outside of the provider.
	Before func() error

	// The step applies the configuration, unless one of these selects something else.
	PlanOnly bool    // only plans
	Refresh  bool    // records changes made outside of Tombolo
	Destroy  bool    // destroys everything
	Import   *Import // imports an object into an empty state and compares it with the existing one
	// Query is a file of list blocks for a query; Terraform before version 1.14 does not support it.
	Query string

	// Finds lists all results of the query: the names of the objects, by the address of the list.
	Finds map[string][]string

	// Plan lists all actions of the plan; an empty map is EmptyPlan. Objects that are only read may be omitted.
	Plan Actions
	// EmptyPlan means that the plan has no changes.
	EmptyPlan bool
	// CheckPlan checks the plan.
	CheckPlan PlanCheck
	// NonEmptyAfter means that a second plan after applying need not be empty.
	NonEmptyAfter bool

	// Error is a regular expression that the errors match, in which each run of white space is one blank. If there are
	// no errors, the step fails.
	Error string
	// Warning is a regular expression that the warnings match, in the same way.
	Warning string
	// Check checks the state after the step, even after expected errors.
	Check Check
}

// Action is the action of a plan on an object.
type Action string

// The actions.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	Replace Action = "replace"
	Forget  Action = "forget"
)

// Actions are actions by the addresses of objects.
type Actions map[string]Action

// Import is an object that is imported a second time.
type Import struct {
	// Address is the address of the object.
	Address string
	// ID is the import ID of the object; empty means its attribute id.
	ID string
	// Ignore are attributes that an import cannot read, with everything below them.
	Ignore []string
}

// Run runs a case as subtests: "library", and one for each program.
func Run(t *testing.T, c Case) {
	t.Helper()
	source, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("library", func(t *testing.T) {
		t.Helper()
		c.run(t, newLibrary(source, c.New))
	})
	programs := c.Programs
	if list := os.Getenv(ProgramsEnv); list != "" {
		programs = append(programs[:len(programs):len(programs)], strings.Split(list, ",")...)
	}
	for _, name := range programs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Helper()
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("needs the program: %s", err)
			}
			served, err := newProgram(path, source, c.New)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := served.detach(); err != nil {
					t.Errorf("the provider did not end well: %s", err)
				}
			})
			c.run(t, served)
		})
	}
}

// prepare checks and completes a case.
func (c *Case) prepare() (addr.Provider, error) {
	if c.Provider != nil {
		p := c.Provider()
		c.New, c.Source = schema.Factory(c.Provider), cmp.Or(c.Source, p.Address, sourceByTypes(p))
	}
	if c.New == nil {
		return addr.Provider{}, errors.New("schematest: the case has no provider")
	}
	if c.Source == "" {
		return addr.Provider{},
			errors.New(
				"schematest: the provider has no Address; set it, or Source of the case, such as \"example/demo\"")
	}
	source, err := addr.ParseProvider(c.Source)
	if err != nil {
		return source, fmt.Errorf("schematest: the provider's address %q: %w", c.Source, err)
	}
	if len(c.Steps) == 0 {
		return source, errors.New("schematest: the case has no steps")
	}
	for i, s := range c.Steps {
		if err := s.valid(); err != nil {
			return source, fmt.Errorf("schematest: step %d: %w", i+1, err)
		}
		if i == 0 && s.Config == "" {
			return source, errors.New("schematest: the first step has no configuration")
		}
	}
	return source, nil
}

// sourceByTypes returns an address for a provider without one, from the common prefix of its types.
func sourceByTypes(p *schema.Provider) string {
	for _, types := range []map[string]*schema.Resource{p.ResourcesMap, p.DataSourcesMap} {
		if len(types) > 0 {
			name, _, _ := strings.Cut(slices.Min(slices.Collect(maps.Keys(types))), "_")
			return "example/" + name
		}
	}
	return ""
}

// run runs the steps with one engine. Their objects are destroyed even if a step fails.
func (c *Case) run(t *testing.T, e engine) {
	t.Helper()
	if err := c.steps(t.Context(), e, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

func (c *Case) steps(ctx context.Context, e engine, dir string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, 5*time.Minute))
	defer cancel()
	if err := writeFiles(dir, c.Files); err != nil {
		return err
	}
	e.in(dir)
	r := &runner{engine: e, dir: dir, files: c.Files}
	defer func() {
		// The context of the test may have ended; its objects are destroyed nevertheless.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(c.Timeout, 5*time.Minute))
		defer cancel()
		err = errors.Join(err, r.cleanUp(ctx, c.CheckDestroyed))
	}()
	for i, s := range c.Steps {
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %d%s, %s: %w", i+1, quotedName(s.Name), e.name(), err)
		}
	}
	return nil
}

func quotedName(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", name)
}
