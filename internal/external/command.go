package external

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
)

// The summaries equal those of the published provider, because users search for them.
const (
	sumMissing   = "External Program Missing"
	sumLookup    = "External Program Lookup Failed"
	sumExecution = "External Program Execution Failed"
	sumResults   = "Unexpected External Program Results"
)

// command is one run of a program.
type command struct {
	argv []string
	// first is the first word as configured, quoted: unlike argv[0] it may be null or empty.
	first string
	// name is the program's file name, without its interpreter.
	name string
	dir  string
	// base is the directory for relative names; "" means the current directory.
	base  string
	stdin []byte
	// action is the action: create, read, update, delete, or "" for a data source.
	action string
	// stored means that the program comes from the state, not from the configuration.
	stored bool
	// spool is the place for output that outlives this process; the zero value means none.
	spool program.Spool
	// answered means that the program has ended by itself, with any result.
	answered bool
}

// newCommand joins the words of an interpreter, if any, and those of a program. It drops null and empty words, as the
// published data source does, so that an optional argument can be an empty string.
func newCommand(values ...cty.Value) (*command, *diag.Diagnostic) {
	c := &command{}
	for _, v := range values {
		all, err := words(v)
		if err != nil {
			return nil, invalidProgram("program", err)
		}
		c.name = ""
		for _, w := range all {
			if c.first == "" {
				c.first = quoted(w)
			}
			if w.IsNull() || w.AsString() == "" {
				continue
			}
			c.argv = append(c.argv, w.AsString())
			if c.name == "" {
				c.name = filepath.Base(w.AsString())
			}
		}
	}
	if c.name == "" {
		return nil,
			problem(sumMissing, "There is no program to run: all elements of \"program\" are null or empty. Set it "+
				"to the name of a program.")
	}
	return c, nil
}

// words returns the elements of a string or a list of strings.
func words(v cty.Value) ([]cty.Value, error) {
	if v.IsNull() {
		return nil, nil
	}
	ty := v.Type()
	if ty.IsPrimitiveType() {
		s, err := convert.Convert(v, cty.String)
		return []cty.Value{s}, err
	}
	if !ty.IsListType() && !ty.IsTupleType() {
		return nil, fmt.Errorf("it must be a string or a list of strings, not %s", ty.FriendlyName())
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil {
		return nil, fmt.Errorf("it must be a string or a list of strings: %w", err)
	}
	return list.AsValueSlice(), nil
}

func quoted(word cty.Value) string {
	if word.IsNull() {
		return "<null>"
	}
	return strconv.Quote(word.AsString())
}

// stringMap converts a map of strings; it omits null elements.
func stringMap(v cty.Value) map[string]string {
	values := map[string]string{}
	if v.IsNull() {
		return values
	}
	for k, e := range v.AsValueMap() {
		if !e.IsNull() {
			values[k] = e.AsString()
		}
	}
	return values
}

// run runs a command. A nil diagnostic means that the program succeeded.
func (p *external) run(ctx context.Context, typ string, c *command) (*program.Result, *diag.Diagnostic) {
	if may := p.opts.MayRead; may != nil && (c.action == "" || c.action == "read") {
		words := c.argv
		if c.dir != "" {
			words = append([]string{"cd", c.dir, "&&"}, words...)
		}
		if err := may(words); err != nil {
			return nil, problem("Program is not allowed", fmt.Sprintf("The program %s was not run: %s.", c.purpose(),
				err))
		}
	}
	c.base = p.opts.Dir
	cmd := program.Command{
		Argv:  c.argv,
		Dir:   c.dir,
		Base:  c.base,
		Env:   p.opts.Env,
		Stdin: c.stdin,
		Grace: p.opts.Grace,
		// A half-made change is worse than one that no caller waits for.
		MaxStderr: diag.MaxText / 2,
		Outlives:  c.action != "" && c.action != "read",
	}
	if c.spool.Dir != "" {
		cmd.Spool = c.spool
	}
	if c.action == "delete" {
		cmd.MaxStdout = -1
		cmd.Whole = func([]byte) bool { return true }
	}
	if sink := p.opts.Stderr; sink != nil {
		line := Line{Object: p.object, Label: strings.TrimSpace(fmt.Sprintf("%s %s %s", typ, c.name, c.action)),
			Fleeting: typ == typeData}
		quota := &program.Quota{}
		say := func(text string) {
			line := line
			line.Text = text
			sink(line)
		}
		cmd.Stderr = func(text string) {
			if quota.Take(len(text)) {
				say(text)
			}
		}
		defer func() {
			if rest := quota.Rest(); rest != "" {
				say(rest)
			}
		}()
	}
	res, err := program.Run(ctx, cmd)
	c.answered = err == nil && res.ExitCode >= 0
	if err == nil && res.ExitCode == 0 {
		return res, nil
	}
	return res, c.failure(res, err)
}

// failure returns the error for a program that did not succeed.
func (c *command) failure(res *program.Result, err error) *diag.Diagnostic {
	var lookup *program.LookupError
	var start *program.StartError
	var limit *program.LimitError
	var full *program.FullError
	var stopped *program.StoppedError
	switch {
	case errors.As(err, &lookup):
		return problem(sumLookup,
			fmt.Sprintf("The program %s was not found, or is not an executable file. A name without a slash is "+
				"searched for in the directories of PATH; any other name is relative to the current directory.%s%s\n\n"+
				"Platform: %s\nProgram: %s\nError: %s", c.purpose(), c.lookupAdvice(lookup), c.origin(false),
				runtime.GOOS,
				c.first, lookup.Err))
	case errors.As(err, &start):
		return problem(sumExecution,
			fmt.Sprintf("The program %s could not be started, so there is no additional error messaging.%s%s\n\n"+
				"Program: %s\nState: %s", c.purpose(), startAdvice(start), c.origin(false), start.Path, start.Err))
	case errors.As(err, &limit):
		return c.badResults(res, err)
	case errors.As(err, &full):
		return problem(sumResults,
			fmt.Sprintf("The program %s ran, but %s. It may have changed something: check the object before you run "+
				"it again.\n\nProgram: %s",
				c.purpose(), err, res.Path))
	case errors.As(err, &stopped):
		intro := sentence("The program %s did not finish", c.purpose()) + sentence("Reason: %s", err)
		if c.action != "" && c.action != "read" {
			intro += "It may have changed something that is not in the state."
		}
		return c.badEnd(res, intro)
	case err != nil:
		return problem(sumExecution, fmt.Sprintf("The program %s was not run.\n\nProgram: %s\nState: %s", c.purpose(),
			c.argv[0], err))
	default:
		return c.badEnd(res, sentence("The program %s ended with a failure", c.purpose()))
	}
}

// badEnd returns the error with the messages of a failed program.
func (c *command) badEnd(res *program.Result, intro string) *diag.Diagnostic {
	intro = strings.TrimSpace(intro)
	message := ""
	if text := strings.TrimRight(strings.ToValidUTF8(string(res.Stderr), "\uFFFD"), "\r\n"); text != "" {
		message = "\nError Message: " + text
	} else {
		intro += " It returned no additional error messaging."
	}
	return problem(sumExecution, fmt.Sprintf("%s%s\n\nProgram: %s%s\nState: %s", intro, c.origin(true), res.Path,
		message, res.State))
}

// badResults returns the error for invalid output of a program that succeeded.
func (c *command) badResults(res *program.Result, err error) *diag.Diagnostic {
	expected, hint := "one JSON object whose values are all strings", answerAdvice(res.Stdout, c.action == "")
	switch c.action {
	case "create", "update":
		expected = `one JSON object {"id": "...", "arguments": {...}, "result": {...}} in which all values are strings`
		hint += " The program may already have changed something: compare the object with the state before the next " +
			"apply."
	case "read":
		expected = `one JSON object {"id": "...", "arguments": {...}, "result": {...}} in which all values are ` +
			`strings, or null if the object no longer exists`
	}
	return problem(sumResults, fmt.Sprintf("The program %s did not print %s on standard output. Write messages for "+
		"people to standard error.%s\n\nProgram: %s\nResult Error: %s\nOutput: %s",
		c.purpose(), expected, hint, res.Path, err, program.Excerpt(res.Stdout)))
}

// purpose returns what the program is run for.
func (c *command) purpose() string {
	if c.action == "" {
		return "of the data source"
	}
	return "that should " + c.action + " the object"
}

// origin names the source of a program that is not, or no longer, in the configuration. If the program may be missing,
// it adds advice. A program that its interpreter cannot find looks like one that has run.
func (c *command) origin(ran bool) string {
	if !c.stored {
		return ""
	}
	text := " This is the program with which the object was last applied."
	gone := func(word string) bool { return strings.ContainsAny(word, `/\`) && !c.exists(word) }
	if ran && !slices.ContainsFunc(c.argv, gone) {
		return text
	}
	return text + " If it has moved since, apply with -refresh=false. This records the program from the " +
		"configuration, and runs nothing if only the program has changed."
}

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) + ". " }

// problem returns an error at the program attribute.
func problem(summary, detail string) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: diag.Shortened(detail),
		Path: cty.GetAttrPath("program")}
}

func missingArgument(name string) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error, Summary: "Missing Configuration for Required Attribute",
		Detail: fmt.Sprintf("%q is null, but a value is required.", name), Path: cty.GetAttrPath(name)}
}

func invalidProgram(name string, err error) *diag.Diagnostic {
	return &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid " + name,
		Detail: fmt.Sprintf("%q cannot be run: %s.", name, err), Path: cty.GetAttrPath(name)}
}

// validateWords checks a program or an interpreter that may be wholly or partly unknown.
func validateWords(name string, v cty.Value) diag.List {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	if ty := v.Type(); ty.IsTupleType() && !v.IsWhollyKnown() {
		// Unknown elements may also have an unknown type, which a conversion cannot check.
		for _, e := range v.AsValueSlice() {
			if e.IsKnown() && !e.IsNull() && !e.Type().IsPrimitiveType() {
				return diag.List{
					invalidProgram(name, fmt.Errorf("each element must be a string, not %s", e.Type().FriendlyName()))}
			}
		}
		return nil
	}
	if _, err := words(v); err != nil {
		return diag.List{invalidProgram(name, err)}
	}
	return nil
}

// validateProgram checks a program and its interpreter.
func validateProgram(config cty.Value) diag.List {
	program, interpreter := config.GetAttr("program"), config.GetAttr("interpreter")
	if program.IsNull() {
		return diag.List{missingArgument("program")}
	}
	diags := validateWords("program", program).Extend(validateWords("interpreter", interpreter))
	if len(diags) == 0 && program.IsWhollyKnown() {
		if _, problem := newCommand(program); problem != nil {
			diags = diags.Append(problem)
		}
	}
	return diags
}

// validateList checks the program of the published data source.
func validateList(v cty.Value) diag.List {
	switch {
	case v.IsNull():
		return diag.List{missingArgument("program")}
	case v.IsKnown() && v.LengthInt() == 0:
		return diag.List{{Severity: diag.Error, Summary: "Invalid Attribute Value",
			Detail: "Attribute program list must contain at least 1 elements, got: 0",
			Path:   cty.GetAttrPath("program")}}
	}
	return nil
}
