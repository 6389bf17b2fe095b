package author

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// Store is the command store.
func Store() *command.Command {
	return &command.Command{
		Name: "store", Short: "Develop programs that store states",
		Long: `Commands for developers of programs that store states for the backend "program", in places that no
other backend supports.`,
		Members: []*command.Command{cmdStoreNew(), cmdStoreTest()},
	}
}

func cmdStoreNew() *command.Command {
	return &command.Command{
		Name: "new", Short: "Create a new state store", Args: "NAME", Mixed: true,
		Long: `Write a small, complete program that stores states, with a README, into a new folder. Replace its code
with your own. The Python program supports every feature of a store and uses a SQLite file. The Node.js program also
supports every feature and uses a folder. The Bash program supports only what is required and uses a folder.`,
		Example: "~ store new company -lang python",
		Setup: func(c *command.Call) command.Run {
			return beginning(c, "store", "python", starter.StoreLanguages, beginStore)
		},
	}
}

var storeName = regex.Lazy(`^[A-Za-z][A-Za-z0-9_-]*$`)

func beginStore(c *command.Call, name, lang, dir string) (diags diag.List) {
	const cannot = "The store cannot be written"
	if !storeName().MatchString(name) {
		return diags.Errorf(nil, cannot, "%q is not a valid store name: use a letter, followed by letters, digits, "+
			"\"-\" and \"_\".", name)
	}
	files := starter.Store(lang, name)
	if files == nil {
		return diags.Errorf(nil, cannot, "There is no template for the language %q, only for %s.%s You can still "+
			"write a store in any other language.", lang, strings.Join(starter.StoreLanguages, " and "),
			diag.DidYouMean(lang, starter.StoreLanguages))
	}
	if diags = writeNew(c, cannot, dir, "Choose another one with -out.", files); !diags.HasErrors() {
		fmt.Fprintf(c.Out, "\nTry it with: cd %s && %s store test %s\n", dir, c.Program,
			strings.Join(starter.StoreCommand(lang), " "))
	}
	return diags
}

// storeTest holds the flags of store test.
type storeTest struct {
	config, secrets []string
	run             string
	verbose, json   bool
}

func cmdStoreTest() *command.Command {
	return &command.Command{
		Name: "test", Short: "Test a program that stores states", Args: "COMMAND...",
		Long: `Check that a program that stores states does what every backend promises: a lock has one holder, a
write replaces only the version that was read, a journal grows in order, and workspaces are separate. Runs of the
engine also use the program; they end or are killed, and are recovered. Two processes of the program simulate two
machines.

The checks use workspaces whose names begin with "store-test-" and delete them afterwards. A store without workspaces
must be empty. With -run, only the checks whose names contain its value run.`,
		Exits:   "0 The store passed.\n1  It failed, or it could not be tested.",
		Example: "~ store test -config=file=/tmp/try.db python3 ./store.py",
		Setup: func(c *command.Call) command.Run {
			var o storeTest
			c.StringsFlag(&o.config, "config", "A setting to send to the program as its config, as `NAME=VALUE`. May "+
				"be given "+
				"more than once.")
			c.StringsFlag(&o.secrets, "secret", "A secret to send to the program. Its value is read from the "+
				"environment variable `NAME`. May be given more than once.")
			c.Flags.StringVar(&o.run, "run", "", "Run only the checks whose names contain `NAME`, such as \"journal\".")
			c.Flags.BoolVar(&o.json, "json", false,
				"Print a JSON document per line: one for each check, and one at the end.")
			c.Flags.BoolVar(&o.verbose, "verbose", false, "Print all calls and the program's messages.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) == 0 {
					return c.Misuse("Missing argument", "Expected the command of the program, such as: python3 "+
						"./store.py")
				}
				options, problem := o.options(c)
				if problem != "" {
					return c.Misuse("Invalid flag", "%s", problem)
				}
				return c.End(tryStore(ctx, c, o, options))
			})
		},
	}
}

// options returns the options of the program.
func (o storeTest) options(c *command.Call) (p program.Options, problem string) {
	p = program.Options{Command: c.Args, Config: map[string]string{}, Secrets: map[string]string{}, Host: "tombolo"}
	for _, text := range o.config {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return p, fmt.Sprintf("-config needs NAME=VALUE, but %q has no equals sign.", text)
		}
		p.Config[name] = value
	}
	for _, name := range o.secrets {
		value := c.Getenv(name)
		if value == "" {
			return p, fmt.Sprintf("-secret needs the name of an environment variable, but %q is not set.", name)
		}
		p.Secrets[name] = value
	}
	if o.verbose {
		say := printOutput(c)
		p.Log = func(format string, args ...any) {
			say(handler.Output{Label: "store", Line: fmt.Sprintf(format, args...)})
		}
	}
	return p, ""
}

func tryStore(ctx context.Context, c *command.Call, o storeTest, p program.Options) (diags diag.List) {
	const cannot = "The test cannot start"
	first := program.New(p)
	defer first.Close()
	can, err := first.Limits(ctx)
	if err != nil {
		return diags.AppendError(cannot, err)
	}
	prefix := ""
	if !can.NoWorkspaces {
		prefix = "store-test-" + strings.ToLower(rand.Text()[:8]) + "-"
	} else if err := isUnused(ctx, first); err != nil {
		return diags.AppendError(cannot, err)
	}
	t := &trial{c: c, o: o, program: p, first: first, scratch: contract.NewScratch(prefix)}
	t.drivers(ctx, can)
	if err := t.stores(ctx); err != nil {
		return diags.AppendError(cannot, err)
	}
	if o.json {
		t.line(summaryLine{"summary", t.passed, t.failed, t.skipped})
	}
	switch {
	case ctx.Err() != nil:
		return diags.Errorf(nil, "The test was interrupted", "%s had passed until then, and %d failed.",
			checks(t.passed), t.failed)
	case t.failed > 0:
		return diags.Errorf(nil, "The store does not meet the contract", "%s failed, %d passed.", checks(t.failed),
			t.passed)
	case t.passed+t.skipped == 0:
		return diags.Errorf(nil, "No check is selected", "No check has %q in its name.", o.run)
	}
	if !o.json {
		fmt.Fprintf(c.Out, "\n%s passed.\n", checks(t.passed))
	}
	return diags
}

// trial runs the suites with a program.
type trial struct {
	c       *command.Call
	o       storeTest
	program program.Options
	first   remote.Driver // only for cleaning up
	scratch *contract.Scratch

	passed, failed, skipped int
}

// selected reports whether a check is selected.
func (t *trial) selected(name string) bool {
	return strings.Contains(strings.ToLower(contract.Sentence(name)), strings.ToLower(t.o.run))
}

// drivers runs the checks of the store itself.
func (t *trial) drivers(ctx context.Context, can contract.Options) {
	open := func() (a, b remote.Driver, done func() error, err error) {
		one, two := program.New(t.program), program.New(t.program)
		return t.scratch.Within(one), t.scratch.Within(two), func() error { return t.clear(ctx) }, nil
	}
	only := func(check contract.Check) bool { return t.selected(check.Name) }
	for r := range contract.Results(ctx, can, only, open) {
		t.say("driver", r.Name, r.Problems, r.Skipped)
	}
}

func (t *trial) clear(ctx context.Context) error {
	return t.scratch.Clear(context.WithoutCancel(ctx), t.first)
}

// stores runs the checks of the store and the engine together: runs with journals that are killed and recovered.
func (t *trial) stores(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "store-test")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, check := range storetest.Checks() {
		if ctx.Err() != nil {
			return nil
		}
		if !t.selected(check.Name) {
			continue
		}
		// The local files of a check, such as a journal, must not affect the next one.
		own, err := os.MkdirTemp(folder, "check")
		if err != nil {
			return err
		}
		var open []state.Store
		store := func() state.Store {
			st := remote.New(remote.Options{Driver: t.scratch.Within(program.New(t.program)), Rescue: []string{own},
				Pause: 10 * time.Millisecond, Who: "me@here"})
			open = append(open, st)
			return st
		}
		problems, skipped := contract.Try(ctx, func(n contract.T) {
			check.Run(n, func(storetest.T) (a, b state.Store) { return store(), store() })
		})
		err = t.clear(ctx)
		for _, st := range open {
			err = errors.Join(err, st.(*remote.Store).Close())
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("cleaning up: %v", err))
		}
		t.say("store", check.Name, problems, skipped)
	}
	return nil
}

// say prints the result of a check.
func (t *trial) say(suite, name string, problems []string, skipped bool) {
	status := "pass"
	switch {
	case len(problems) > 0:
		t.failed++
		status = "fail"
	case skipped:
		t.skipped++
		status = "skip"
	default:
		t.passed++
	}
	if t.o.json {
		t.line(checkLine{"check", suite, name, status, problems})
		return
	}
	switch status {
	case "skip":
		fmt.Fprintf(t.c.Out, "skip  %s: the store does not support it\n", contract.Sentence(name))
	case "pass":
		fmt.Fprintf(t.c.Out, "ok    %s\n", contract.Sentence(name))
	default:
		fmt.Fprintf(t.c.Out, "FAIL  %s\n", contract.Sentence(name))
		for _, problem := range problems {
			fmt.Fprintf(t.c.Out, "      %s\n", indented(problem))
		}
	}
}

// checkLine and summaryLine are the JSON documents of -json.
type (
	checkLine struct {
		Type     string   `json:"type"`
		Suite    string   `json:"suite"`
		Name     string   `json:"name"`
		Status   string   `json:"status"`
		Problems []string `json:"problems,omitempty"`
	}
	summaryLine struct {
		Type    string `json:"type"`
		Passed  int    `json:"passed"`
		Failed  int    `json:"failed"`
		Skipped int    `json:"skipped"`
	}
)

// line prints a JSON document on a line.
func (t *trial) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("store test: " + err.Error()) // only texts and numbers
	}
	fmt.Fprintf(t.c.Out, "%s\n", text)
}

// isUnused checks that the only state of a store is unused.
func isUnused(ctx context.Context, d remote.Driver) error {
	p, err := d.Place(state.DefaultWorkspace)
	if err != nil {
		return err
	}
	there, err := p.Read(ctx)
	if err != nil {
		return err
	}
	holder, err := p.Holder(ctx)
	if err == nil && (there.Data != nil || holder != nil) {
		err = errors.New("the store has only one state, which is in use. Test the program with an empty location")
	}
	return err
}
