package author

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/state"
)

// Store is the command store.
func Store() *command.Command {
	return &command.Command{
		Name: "store", Short: "Write programs that keep states",
		Long: `Commands for those who write a program that keeps states, for the backend "program": in a place
that no other backend reaches.`,
		Members: []*command.Command{cmdStoreNew(), cmdStoreTest()},
	}
}

func cmdStoreNew() *command.Command {
	return &command.Command{
		Name: "new", Short: "Begin a store of states", Args: "NAME", Mixed: true,
		Long: `Write a small program that keeps states and works, with a README, into a new folder. What it does is
there to be replaced. The one in Python does all that a store can do, in a SQLite file; the one in
Bash what is needed and no more, in a folder.`,
		Example: "~ store new attic -lang python",
		Setup: func(c *command.Call) command.Run {
			lang := c.Flags.String("lang", "python", "The `LANGUAGE`: "+strings.Join(starter.StoreLanguages, ", ")+".")
			out := c.Flags.String("out", "",
				"The `DIRECTORY` for the files, which must be new or empty; NAME without it.")
			return func(context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments", "Expected one, the name of the store, and got %d.",
						len(c.Args))
				}
				if *out == "" {
					*out = c.Args[0]
				}
				return c.End(beginStore(c, c.Args[0], *lang, *out))
			}
		},
	}
}

var storeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func beginStore(c *command.Call, name, lang, dir string) (diags diag.List) {
	const cannot = "The store cannot be written"
	if !storeName.MatchString(name) {
		return diags.Errorf(nil, cannot, "%q is not a valid name of a store: use a letter, and then letters, digits, "+
			"\"-\" and \"_\".", name)
	}
	files := starter.Store(lang, name)
	if files == nil {
		return diags.Errorf(nil, cannot, "There is nothing to begin with in the language %q; there is in %s.%s A "+
			"store may be written in any other language, too.", lang, strings.Join(starter.StoreLanguages, " and "),
			diag.DidYouMean(lang, starter.StoreLanguages))
	}
	if diags = writeNew(c, cannot, dir, files); !diags.HasErrors() {
		fmt.Fprintf(c.Out, "\nTry it with: cd %s && %s store test %s\n", dir, c.Program,
			strings.Join(starter.StoreCommand(lang), " "))
	}
	return diags
}

// storeTest are the flags of store test.
type storeTest struct {
	config, secrets []string
	run             string
	verbose         bool
}

func cmdStoreTest() *command.Command {
	return &command.Command{
		Name: "test", Short: "Try a program that keeps states", Args: "COMMAND...",
		Long: `Take a program that keeps states through what every backend promises: locks with one holder, writes
that replace what was read and nothing else, a journal that grows in order, workspaces that are
apart. Two processes of it play two machines.

It works in workspaces whose names begin with "store-test-", and deletes them behind itself. A
store that has no workspaces must be empty. With -run only checks are made whose names have that in
them.`,
		Exits:   "0 The store passed.\n1 It did not, or could not be tried.",
		Example: "~ store test -config=file=/tmp/try.db python3 ./store.py",
		Setup: func(c *command.Call) command.Run {
			var o storeTest
			c.StringsFlag(&o.config, "config", "What the program is told as its config, as `NAME=VALUE`. May be given "+
				"more than once.")
			c.StringsFlag(&o.secrets, "secret", "What it is told as its secrets, as `NAME`; the value is that of the "+
				"variable of the environment of this name. May be given more than once.")
			c.Flags.StringVar(&o.run, "run", "", "Make only checks with `NAME` in their names, such as \"journal\".")
			c.Flags.BoolVar(&o.verbose, "verbose", false, "Show all calls, and all that the program says.")
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

// options are those of the program.
func (o storeTest) options(c *command.Call) (p program.Options, problem string) {
	p = program.Options{Command: c.Args, Config: map[string]string{}, Secrets: map[string]string{}, Host: "tombolo"}
	for _, text := range o.config {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return p, fmt.Sprintf("-config takes NAME=VALUE, and %q has no equals sign.", text)
		}
		p.Config[name] = value
	}
	for _, name := range o.secrets {
		value := c.Getenv(name)
		if value == "" {
			return p, fmt.Sprintf("-secret takes the name of a variable of the environment, and %q is not set.", name)
		}
		p.Secrets[name] = value
	}
	if o.verbose {
		say := said(c)
		p.Log = func(format string, args ...any) {
			say(handler.Output{Label: "store", Line: fmt.Sprintf(format, args...)})
		}
	}
	return p, ""
}

func tryStore(ctx context.Context, c *command.Call, o storeTest, p program.Options) (diags diag.List) {
	const cannot = "The trial cannot begin"
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
	scratch := contract.NewScratch(prefix)
	open := func() (a, b remote.Driver, done func() error, err error) {
		one, two := program.New(p), program.New(p)
		return scratch.Within(one), scratch.Within(two), func() error {
			return scratch.Clear(context.WithoutCancel(ctx), first)
		}, nil
	}
	only := func(check contract.Check) bool {
		return strings.Contains(strings.ToLower(check.Sentence()), strings.ToLower(o.run))
	}
	passed, failed, skipped := 0, 0, 0
	for r := range contract.Results(ctx, can, only, open) {
		switch {
		case r.Skipped:
			skipped++
			fmt.Fprintf(c.Out, "skip  %s: the store says that it cannot do that\n", r.Sentence())
		case len(r.Problems) == 0:
			passed++
			fmt.Fprintf(c.Out, "ok    %s\n", r.Sentence())
		default:
			failed++
			fmt.Fprintf(c.Out, "FAIL  %s\n", r.Sentence())
			for _, problem := range r.Problems {
				fmt.Fprintf(c.Out, "      %s\n", indented(problem))
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return diags.Errorf(nil, "The trial was interrupted", "%s had passed until then, and %d failed.",
			checks(passed), failed)
	case failed > 0:
		return diags.Errorf(nil, "The store does not do what it must", "%s failed, %d passed.", checks(failed), passed)
	case passed+skipped == 0:
		return diags.Errorf(nil, "No check is selected", "No check has %q in its name.", o.run)
	}
	fmt.Fprintf(c.Out, "\n%s passed.\n", checks(passed))
	return diags
}

// isUnused ensures that the only state of a store may be played with.
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
		err = errors.New("the store has one state and no more, and that is in use. Try the program with a place that " +
			"is empty")
	}
	return err
}
