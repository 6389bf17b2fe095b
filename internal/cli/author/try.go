package author

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/verify"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// testOptions holds the flags of provider test.
type testOptions struct {
	record, replay string
	mock           string
	run            string
	junit          string
	debug          string
	previous       string
	generate       int
	seed           uint64
	timeout        time.Duration
	verbose        bool
}

func cmdTest() *command.Command {
	return &command.Command{
		Name: "test", Short: "Test a program provider", Args: "[DIR]", Mixed: true,
		Long: `Test the program provider in the folder DIR, or in the working directory, with everything that an
engine does. Objects are created, read, planned again without a change, updated, replaced, imported and deleted.
Configurations with unknown values and with mistakes are validated. Calls run at the same time and are canceled.
Number attributes get a number that is too large for floating point. The program may print nothing but answers, and a
signal must end it.

A file in that folder lists the values to test with. If there is none, the command prints an example. In its strings,
{dir} is a temporary folder and {n} is a different number for each object.

With -mock, a server is started for the test that is made of an OpenAPI document: it keeps objects in memory, and
refuses requests that the document does not allow. {mock} stands for its address. See "provider from-openapi".

With -run, only the checks whose names contain its value run. A check deletes the objects it created when it ends, and
the command names those that it could not delete.

With -previous, objects are also created with an earlier version of the provider, in another folder and with the values
there. They must be upgraded, read and planned without a change by this version, and it must be able to delete them.

With -generate, the command also creates objects with values that are generated from the types and keywords of the
schema. The provider may refuse them; otherwise it must keep them exactly. Attributes whose value has {dir}, {n} or
{mock} in the test file, and those that "fixed" lists there, keep that value.

With -debug, the program runs under a debugger: the words replace the first word of its command, the interpreter. With
-debug=unix:SOCKET it is a program that you have started in your editor with TOMBOLO_LISTEN=SOCKET in its environment.
There are no time limits then.

With -record, the command writes every call and its answer to a file. With -replay, the answers come from such a file
and the program is not started, so the objects it manages need not exist. The file contains all values, including
secrets.`,
		Exits:   "0 The provider passed.\n1  It failed, or it could not be tested.",
		Example: "~ provider test ./notes -record calls.jsonl\n~ provider test ./notes -replay calls.jsonl",
		Setup: func(c *command.Call) command.Run {
			var o testOptions
			o.flags(c)
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				dir := "."
				if len(c.Args) > 1 {
					return c.TooMany(1)
				}
				if len(c.Args) == 1 {
					dir = c.Args[0]
				}
				return try(ctx, c, dir, o)
			})
		},
	}
}

// mostGenerated is the most generated configurations for each resource: all are made before the first is tried.
const mostGenerated = 10000

// flags declares the flags.
func (o *testOptions) flags(c *command.Call) {
	c.Flags.StringVar(&o.record, "record", "", "Write all calls and their answers to `FILE`, compressed if "+
		"its name ends in .gz.")
	c.Flags.StringVar(&o.replay, "replay", "", "Read the answers from `FILE`, written by -record, instead of "+
		"starting the program.")
	c.Flags.StringVar(&o.run, "run", "", "Run only the checks whose names contain `NAME`, such as \"update\".")
	c.Flags.StringVar(&o.junit, "junit-xml", "", "Also write the results to `FILE`, in JUnit format.")
	c.Flags.StringVar(&o.debug, "debug", "", debugText)
	c.Flags.StringVar(&o.previous, "previous", "", "Also test the upgrade of objects from the earlier version of "+
		"the provider in the folder `DIR`.")
	c.Flags.IntVar(&o.generate, "generate", 0, "Try `N` generated configurations for each resource.")
	c.Flags.Uint64Var(&o.seed, "seed", 1, "The `NUMBER` that determines the generated configurations.")
	c.Flags.DurationVar(&o.timeout, "timeout", 30*time.Minute, "How long a check may take, as a `DURATION`; 0 "+
		"means no limit.")
	c.Flags.StringVar(&o.mock, "mock", "", "Test against a server that is made of the OpenAPI document `SPEC`.")
	c.Flags.BoolVar(&o.verbose, "verbose", false, "Print the program's messages as they arrive.")
}

func try(ctx context.Context, c *command.Call, dir string, o testOptions) command.Outcome {
	if o.replay != "" && (o.record != "" || o.debug != "") {
		return c.Misuse("Contradicting flags", "-replay starts no program, so it excludes -record and -debug.")
	}
	if o.generate < 0 || o.generate > mostGenerated {
		return c.Misuse("Invalid flag", "-generate needs a number from 0 to %d, and got %d.", mostGenerated, o.generate)
	}
	t, diags := loadTrial(ctx, c, dir, o)
	if diags.HasErrors() {
		return c.End(diags)
	}
	const cannot = "The test cannot start"
	if o.mock != "" {
		server, err := mockOf(o.mock)
		if err != nil {
			return c.Finish(cannot, err)
		}
		defer server.Close()
		t.Mock = server.address
		if t.Earlier != nil {
			t.Earlier.Mock = server.address
		}
	}
	tape, remove, err := tapeFor(o)
	if err != nil {
		return c.Finish(cannot, err)
	}
	s, say := newScore()
	if o.verbose || t.Debugged() { // a debugger says where it listens
		say = printOutput(c)
	}
	var noise verify.Noise
	options, err := t.Options(tape.Dir(), wrapping(o, tape, &noise), say)
	if err != nil {
		return c.Finish(cannot, err)
	}
	if o.replay != "" {
		options.Exempt = timed(options)
		tape.Exempt(options.Exempt, providertest.Names(options))
	}
	if diags = diags.Extend(selected(&options, o.run)); diags.HasErrors() {
		_ = remove()
		return c.End(diags)
	}
	for r := range providertest.Results(ctx, options) {
		tape.Made(r.Name)
		s.add(c, r)
	}
	if o.replay == "" && o.run == "" {
		probe(ctx, c, t, &noise, s)
	}
	if err := remove(); err != nil {
		diags = diags.AppendError("The test folder cannot be removed", err)
	}
	if err := written(tape, o.record); err != nil {
		diags = diags.AppendError("The record cannot be written", err)
	}
	diags = diags.Extend(s.junit(o.junit, t.Name()))
	return c.End(diags.Extend(verdict(ctx, c, t, s, o.run != "")))
}

// loadTrial returns the trial of the provider in a folder, whose program can be started.
func loadTrial(ctx context.Context, c *command.Call, dir string, o testOptions) (*verify.Trial, diag.List) {
	t, diags := verify.Load(ctx, dir, o.debug)
	if !diags.HasErrors() && o.previous != "" {
		var more diag.List
		t.Earlier, more = verify.Load(ctx, o.previous, "")
		diags = diags.Extend(more)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	t.Generate, t.Seed, t.Limit = o.generate, o.seed, o.timeout
	for _, one := range []*verify.Trial{t, t.Earlier} {
		if one == nil {
			continue
		}
		one.RemoteState = c.RemoteState()
		if o.replay == "" {
			diags = diags.Extend(one.Ready())
		}
	}
	return t, diags
}

// wrapping returns what the test does with the caller of the provider.
func wrapping(o testOptions, tape *verify.Tape, noise *verify.Noise) func(handler.Caller) handler.Caller {
	switch {
	case o.replay != "":
		return tape.Replay
	case o.record != "":
		return func(c handler.Caller) handler.Caller { return tape.Recording(noise.Listening(c)) }
	}
	return noise.Listening
}

// selected removes the checks whose names do not contain the text of -run. It returns an error if none is left.
func selected(o *providertest.Options, run string) (diags diag.List) {
	if run == "" {
		return nil
	}
	o.Only = func(name string) bool { return strings.Contains(name, run) }
	names := providertest.Names(*o)
	if slices.ContainsFunc(names, o.Only) {
		return nil
	}
	return diags.Errorf(nil, "No check is selected", "No check has %q in its name. The checks are:\n  %s",
		run, strings.Join(names, "\n  "))
}

// written writes the recording to the file of -record, if the flag is set. It is compressed if the name ends in .gz.
func written(tape *verify.Tape, name string) error {
	if name == "" {
		return nil
	}
	return replace.Exact(name, 0o600, func(w io.Writer) error {
		if !strings.HasSuffix(name, ".gz") {
			_, err := tape.WriteTo(w)
			return err
		}
		packed := gzip.NewWriter(w)
		_, err := tape.WriteTo(packed)
		return errors.Join(err, packed.Close())
	})
}

// readTape reads a recording that was written by written.
func readTape(name string) (*verify.Tape, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(name, ".gz") {
		return verify.ReadTape(f)
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("the name of the record %s ends in .gz, but it is not compressed: %w. Rename "+
			"it, or record the calls again", name, err)
	}
	return verify.ReadTape(unpacked)
}

// tapeFor creates or reads the recording, which determines the folder of the objects.
func tapeFor(o testOptions) (tape *verify.Tape, remove func() error, err error) {
	if o.replay != "" {
		tape, err := readTape(o.replay)
		return tape, func() error { return nil }, err
	}
	dir, err := command.TemporaryDir("tombolo-test")
	if err != nil {
		return nil, nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return verify.NewTape(dir), func() error { return command.RemoveDir(dir) }, nil
}

// timed returns the checks that depend on the duration of calls.
func timed(o providertest.Options) map[string]string {
	out := map[string]string{"parallel calls": "the order of calls differs each time"}
	for _, r := range o.Resources {
		name := r.Name
		if name == "" {
			name = r.Type
		}
		out["resource "+name+": interrupt a slow creation"] = "a record has no times"
	}
	return out
}

// probe checks the program's streams and signals, which the suite does not.
func probe(ctx context.Context, c *command.Call, t *verify.Trial, noise *verify.Noise, s *score) {
	if ctx.Err() != nil {
		return
	}
	s.add(c, providertest.Result{Name: "standard output has only answers", Problems: noise.Problems()})
	ends := providertest.Result{Name: "the program ends on request"}
	switch problem, err := t.Ends(ctx, grace); {
	case err != nil:
		ends.Problems = []string{err.Error()}
	case problem != "":
		ends.Problems = []string{problem}
	}
	s.add(c, ends)
}

// grace is how long the engine waits for a program to exit.
const grace = 10 * time.Second

func indented(text string) string { return strings.ReplaceAll(view.Clean(text), "\n", "\n      ") }

func checks(n int) string {
	if n == 1 {
		return "1 check"
	}
	return fmt.Sprintf("%d checks", n)
}

func verdict(ctx context.Context, c *command.Call, t *verify.Trial, s *score, selected bool) (diags diag.List) {
	passed, failed := s.passed, s.failed
	switch {
	case ctx.Err() != nil:
		return diags.Errorf(nil, "The test was interrupted",
			"%d checks had passed until then, and %d failed. The objects that the checks created were deleted, or "+
				"are listed above.", passed, failed)
	case failed > 0:
		return diags.Errorf(nil, "The provider does not meet the contract", "%s failed, %d passed.", checks(failed),
			passed)
	}
	fmt.Fprintf(c.Out, "\n%s passed.\n", checks(passed))
	if untried := t.Untried(); len(untried) > 0 && !selected {
		diags = diags.Warnf(nil, "Not everything was tested", "%s does not test:\n  %s", verify.FileName,
			strings.Join(untried, "\n  "))
	}
	return diags
}
