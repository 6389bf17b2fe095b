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
	"sync"
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

With -record, the command writes every call and its answer to a file. With -replay, the answers come from such a file
and the program is not started, so the objects it manages need not exist. The file contains all values, including
secrets.`,
		Exits:   "0 The provider passed.\n1  It failed, or it could not be tested.",
		Example: "~ provider test ./notes -record calls.jsonl\n~ provider test ./notes -replay calls.jsonl",
		Setup: func(c *command.Call) command.Run {
			var o testOptions
			c.Flags.StringVar(&o.record, "record", "", "Write all calls and their answers to `FILE`, compressed if "+
				"its name ends in .gz.")
			c.Flags.StringVar(&o.replay, "replay", "", "Read the answers from `FILE`, written by -record, instead of "+
				"starting the program.")
			c.Flags.StringVar(&o.run, "run", "", "Run only the checks whose names contain `NAME`, such as \"update\".")
			c.Flags.StringVar(&o.mock, "mock", "", "Test against a server that is made of the OpenAPI document `SPEC`.")
			c.Flags.BoolVar(&o.verbose, "verbose", false, "Print the program's messages as they arrive.")
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

func try(ctx context.Context, c *command.Call, dir string, o testOptions) command.Outcome {
	if o.record != "" && o.replay != "" {
		return c.Misuse("Contradicting flags", "-record and -replay exclude each other.")
	}
	t, diags := verify.Load(ctx, dir)
	if diags.HasErrors() {
		return c.End(diags)
	}
	if o.replay == "" {
		if diags = diags.Extend(t.Ready()); diags.HasErrors() {
			return c.End(diags)
		}
	}
	t.RemoteState = c.RemoteState()
	const cannot = "The test cannot start"
	if o.mock != "" {
		server, err := mockOf(o.mock)
		if err != nil {
			return c.Finish(cannot, err)
		}
		defer server.Close()
		t.Mock = server.address
	}
	tape, remove, err := tapeFor(o)
	if err != nil {
		return c.Finish(cannot, err)
	}
	s := score{seen: map[string]string{}}
	say := s.listen
	if o.verbose {
		say = printOutput(c)
	}
	var noise verify.Noise
	options, err := t.Options(tape.Dir(), wrapping(o, tape, &noise), say)
	if err != nil {
		return c.Finish(cannot, err)
	}
	if o.replay != "" {
		options.Exempt = timed(options)
	}
	if diags = diags.Extend(selected(&options, o.run)); diags.HasErrors() {
		_ = remove()
		return c.End(diags)
	}
	for r := range providertest.Results(ctx, options) {
		s.add(c, r)
	}
	if o.replay == "" && o.run == "" {
		probe(ctx, c, t, &noise, &s)
	}
	if err := remove(); err != nil {
		diags = diags.AppendError("The test folder cannot be removed", err)
	}
	if err := written(tape, o.record); err != nil {
		diags = diags.AppendError("The record cannot be written", err)
	}
	return c.End(diags.Extend(verdict(ctx, c, t, &s, o.run != "")))
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

// score counts results, and holds the program's messages since the last result.
type score struct {
	passed, failed int
	seen           map[string]string // the first check with these problems

	mu    sync.Mutex
	lines []string
}

// mostLines is the maximum number of the program's lines to print with a failed check.
const mostLines = 20

func (s *score) listen(o handler.Output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines = append(s.lines, view.Clean(o.Line)); len(s.lines) > 2*mostLines {
		s.lines = slices.Clone(s.lines[mostLines:])
	}
}

// takeLines returns the last lines and clears them.
func (s *score) takeLines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines[max(0, len(lines)-mostLines):]
}

// add counts a result and prints it.
func (s *score) add(c *command.Call, r providertest.Result) {
	printed := s.takeLines()
	switch {
	case r.Skipped != "":
		fmt.Fprintf(c.Out, "skip  %s: %s\n", r.Name, indented(r.Skipped))
	case len(r.Problems) == 0:
		s.passed++
		fmt.Fprintf(c.Out, "ok    %s\n", r.Name)
	default:
		s.failed++
		s.show(c, r, printed)
	}
}

// show prints a failed check. It does not repeat problems of earlier checks: often one mistake fails all of them.
func (s *score) show(c *command.Call, r providertest.Result, printed []string) {
	var list []string
	times := map[string]int{}
	for _, p := range r.Problems {
		if times[p]++; times[p] == 1 {
			list = append(list, p)
		}
	}
	all := strings.Join(list, "\n")
	if before := s.seen[all]; before != "" {
		fmt.Fprintf(c.Out, "FAIL  %s: same as %q above\n", r.Name, before)
		return
	}
	s.seen[all] = r.Name
	fmt.Fprintf(c.Out, "FAIL  %s\n", r.Name)
	for _, p := range list {
		if times[p] > 1 {
			p = fmt.Sprintf("%s (%d times)", p, times[p])
		}
		fmt.Fprintf(c.Out, "      %s\n", indented(p))
	}
	printed = slices.DeleteFunc(printed, func(line string) bool {
		return strings.Contains(all, strings.TrimSpace(line))
	})
	if len(printed) > 0 {
		fmt.Fprintf(c.Out, "      The program wrote:\n")
	}
	for _, line := range printed {
		fmt.Fprintf(c.Out, "        %s\n", line)
	}
}

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
