package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// commandTimeout limits one command. Nothing in the corpus is large, so a command that takes longer hangs.
const commandTimeout = 2 * time.Minute

// A Record is the complete result of one binary in one case: a Result for each step. It is plain data, so that it can
// be stored. The case's directory is replaced by "<dir>".
type Record struct {
	Results []Result
}

// A Result is the output and the files of one step. For harness steps it is empty.
type Result struct {
	Runs []Run // the command of the step first, then the harness's own commands
	// content of state files, of modules.json and of generated configuration, by slash-separated relative path
	Files map[string]string
	List  []string // every file in the case's directory, data directory included
}

// A Run is one execution of the binary.
type Run struct {
	Role   string // "step", "show plan", "diagnostics", "show", "output"
	Exit   int
	Stdout string
	Stderr string
}

// waits matches lines that are only printed on slow machines: a lock takes long (400 ms for terraform), or an operation
// does (ten seconds).
var waits = regexp.MustCompile(`(?m)^(?:(?:Acquiring|Releasing) state lock\. This may take a few ` +
	`moments\.\.\.|\{.*"type":"(?:state_lock_\w+|apply_progress|ephemeral_op_progress)".*\})\n`)

// forgetWaits removes such lines.
func (r *Record) forgetWaits() {
	for _, res := range r.Results {
		for i := range res.Runs {
			res.Runs[i].Stdout = waits.ReplaceAllString(res.Runs[i].Stdout, "")
		}
	}
}

// ourHash matches the hash of a package in a lock file.
var ourHash = regexp.MustCompile(`h1:[A-Za-z0-9+/]{43}=`)

// tidy removes meaningless differences between runs: waits, and the hashes of plugins that are this test binary.
func (r *Record) tidy(c *Case) {
	r.forgetWaits()
	if !slices.ContainsFunc(c.plugins, func(name string) bool { return plugins[name].new != nil }) {
		return
	}
	for _, res := range r.Results {
		for name, text := range res.Files {
			if strings.HasSuffix(name, lockFile) {
				res.Files[name] = ourHash.ReplaceAllString(text, "h1:<hash>")
			}
		}
	}
}

func (r *Result) run(role string) (Run, bool) {
	for _, run := range r.Runs {
		if run.Role == role {
			return run, true
		}
	}
	return Run{}, false
}

// A runner runs one case with one binary in one directory.
type runner struct {
	bin     string
	other   string // replaces bin at the step swap
	dir     string // the case's directory, with symlinks resolved, because the binary prints resolved paths
	scratch string // plan files and the empty CLI configuration, outside of the case's directory
	cd      string
	env     map[string]string
	c       *Case
	step    int
	service *service // nil if the case has none
}

// newRunner prepares directories for a case below base, which must be an empty directory.
func newRunner(bin, other, base string, c *Case) (*runner, error) {
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return nil, err
	}
	r := &runner{
		bin: bin, other: other, c: c, env: map[string]string{},
		dir: filepath.Join(base, "work"), scratch: filepath.Join(base, "scratch"),
	}
	for _, d := range []string{r.dir, r.scratch} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(r.cliConfig(), nil, 0o666); err != nil {
		return nil, err
	}
	if err := r.installPlugins(); err != nil {
		return nil, err
	}
	for _, f := range c.files {
		if err := r.write(f.Name, f.Data); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// record runs every step of a case with bin below base, which must be an empty directory. The step swap replaces bin by
// other.
func record(bin, other, base string, c *Case) (*Record, error) {
	r, err := newRunner(bin, other, base, c)
	if err != nil {
		return nil, err
	}
	if c.service {
		r.service = newService()
		defer r.service.close()
		r.env["TF_VAR_service"] = r.service.server.URL
	}
	rec := &Record{}
	for i, s := range c.Steps {
		r.step = i
		res, err := r.do(s)
		if err != nil {
			return nil, fmt.Errorf("step %q: %w", s.Text, err)
		}
		rec.Results = append(rec.Results, res)
		if c.stopsAtFailure && len(res.Runs) > 0 && res.Runs[0].Exit == 1 && s.Verb != "validate" {
			break
		}
	}
	return rec, nil
}

func (r *runner) cliConfig() string { return filepath.Join(r.scratch, "empty.tfrc") }

func (r *runner) do(s Step) (Result, error) {
	switch s.Verb {
	case "write":
		return Result{}, r.write(filepath.Join(r.cd, s.Args[0]), r.c.sections[s.Args[1]].Data)
	case "use":
		for name, data := range r.c.under(s.Args[0]) {
			if err := r.write(name, data); err != nil {
				return Result{}, err
			}
		}
		return Result{}, nil
	case "remove":
		return Result{}, os.RemoveAll(filepath.Join(r.dir, r.cd, s.Args[0]))
	case "copy":
		data, err := os.ReadFile(filepath.Join(r.dir, r.cd, s.Args[0]))
		if err != nil {
			return Result{}, err
		}
		return Result{}, r.write(filepath.Join(r.cd, s.Args[1]), data)
	case "env":
		name, value, set := strings.Cut(s.Args[0], "=")
		if !set {
			delete(r.env, name)
			return Result{}, nil
		}
		r.env[name] = value
		return Result{}, nil
	case "cd":
		r.cd = filepath.FromSlash(s.Args[0])
		return Result{}, nil
	case "package":
		return Result{}, r.addPackage(s.Args)
	case "order":
		return Result{}, nil // checked after both have run
	case "service":
		return Result{}, r.service.do(s.Args)
	case "swap":
		r.bin, r.other = r.other, r.bin
		return Result{}, nil
	}
	return r.command(s)
}

func (r *runner) write(name string, data []byte) error {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

// command runs the binary for a step, and then runs it again to get the documents that the step should have changed.
func (r *runner) command(s Step) (Result, error) {
	var res Result
	ask := func(role string, args ...string) (Run, error) {
		var during meanwhile
		if s.Interrupted && role == "step" {
			during = r.interruptInService
		}
		run, err := r.start(role, append(slices.Clone(s.Global), args...), during)
		if err == nil {
			res.Runs = append(res.Runs, run)
		}
		return run, err
	}
	args, planFile := r.arguments(s)
	run, err := ask("step", args...)
	if err != nil {
		return res, err
	}
	if s.Verb == "plan" {
		if run.Exit != 1 {
			if _, err := ask("show plan", "show", "-json", "-no-color", planFile); err != nil {
				return res, err
			}
		}
		// Columns of diagnostics are only in the JSON form. Planning twice changes nothing, unless the first plan has
		// written a file.
		if hasDiagnostics(run) && !slices.Contains(s.Args, "-json") && !slices.ContainsFunc(s.Args, generates) {
			again := append([]string{"plan", "-json", "-input=false"}, withoutOut(s.Args)...)
			if _, err := ask("diagnostics", again...); err != nil {
				return res, err
			}
		}
	}
	if err := r.forgetTests(s); err != nil {
		return res, err
	}
	if s.Verb == "test" && !slices.Contains(s.Args, "-json") && !s.Interrupted {
		if _, err := ask("stream", append([]string{"test", "-json", "-verbose"}, s.Args...)...); err != nil {
			return res, err
		}
		if err := r.forgetTests(s); err != nil {
			return res, err
		}
	}
	if changesState(s) {
		if _, err := ask("show", "show", "-json", "-no-color"); err != nil {
			return res, err
		}
		if _, err := ask("output", "output", "-json", "-no-color"); err != nil {
			return res, err
		}
	}
	return res, r.collect(&res)
}

// arguments adds arguments to a step that make a command quiet and repeatable.
func (r *runner) arguments(s Step) (args []string, planFile string) {
	args = []string{s.Verb}
	if s.Verb == "state" || s.Verb == "workspace" || s.Verb == "providers" || s.Verb == "metadata" {
		return append(args, s.Args...), ""
	}
	switch s.Verb {
	case "version", "-version", "--version", "-v", "console", "fmt":
		return append(args, s.Args...), ""
	case "plan":
		args = append(args, "-input=false", "-no-color")
		if i := slices.IndexFunc(s.Args, isOut); i >= 0 {
			planFile = strings.TrimPrefix(strings.TrimLeft(s.Args[i], "-"), "out=")
		} else {
			planFile = filepath.Join(r.scratch, fmt.Sprintf("step-%d.tfplan", r.step))
			args = append(args, "-out="+planFile)
		}
	case "apply", "destroy":
		args = append(args, "-input=false", "-no-color")
		if s.Verb == "destroy" || !r.hasPlanFile(s.Args) {
			args = append(args, "-auto-approve")
		}
	case "refresh", "init", "import":
		args = append(args, "-input=false", "-no-color")
	default:
		args = append(args, "-no-color")
	}
	return append(args, s.Args...), planFile
}

func (r *runner) hasPlanFile(args []string) bool {
	for i, a := range args {
		valueOfFlag := i > 0 && slices.Contains([]string{"-var", "-var-file", "-target", "-replace"}, args[i-1])
		if !strings.HasPrefix(a, "-") && !valueOfFlag {
			return true
		}
	}
	return false
}

func isOut(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "out=") }

func generates(arg string) bool { return strings.HasPrefix(arg, "-generate-config-out=") }

func withoutOut(args []string) []string { return slices.DeleteFunc(slices.Clone(args), isOut) }

var diagnosticStart = regexp.MustCompile(`(?m)^(Error|Warning): `)

func hasDiagnostics(run Run) bool {
	return run.Exit == 1 || diagnosticStart.MatchString(run.Stdout) || diagnosticStart.MatchString(run.Stderr)
}

func changesState(s Step) bool {
	switch s.Verb {
	case "apply", "destroy", "refresh", "import", "taint", "untaint":
		return true
	case "state":
		return len(s.Args) > 0 && slices.Contains([]string{"mv", "rm", "push", "replace-provider"}, s.Args[0])
	}
	return false
}

// meanwhile acts on a running command, until ended is closed.
type meanwhile func(p *os.Process, ended <-chan struct{})

// interruptInService interrupts a command as soon as the service blocks one of its requests.
func (r *runner) interruptInService(p *os.Process, ended <-chan struct{}) {
	select {
	case <-r.service.arrived:
		p.Signal(os.Interrupt) // it may have ended meanwhile
	case <-ended:
	}
}

// start runs the binary once, with a closed standard input and its own environment.
func (r *runner) start(role string, args []string, during meanwhile) (Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.bin, args...)
	cmd.Dir = filepath.Join(r.dir, r.cd)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.scratch, "TMPDIR=" + os.TempDir(),
		"TF_CLI_CONFIG_FILE=" + r.cliConfig(), "CHECKPOINT_DISABLE=1",
	}
	for name, value := range r.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	programtest.Tie(cmd)
	err := cmd.Start()
	if err == nil {
		ended := make(chan struct{})
		var others sync.WaitGroup
		if during != nil {
			others.Go(func() { during(cmd.Process, ended) })
		}
		err = cmd.Wait()
		close(ended)
		others.Wait()
	}
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return Run{}, fmt.Errorf("%s %s: %w", r.bin, strings.Join(args, " "), errors.Join(ctx.Err(), err))
	}
	return Run{Role: role, Exit: cmd.ProcessState.ExitCode(), Stdout: r.hide(stdout.String()),
		Stderr: r.hide(stderr.String())}, nil
}

// hide replaces the names of temporary directories in a text, so that records can be compared and stored.
func (r *runner) hide(text string) string {
	if r.service != nil {
		text = strings.ReplaceAll(text, strings.TrimPrefix(r.service.server.URL, "http://"), "<service>")
	}
	text = strings.ReplaceAll(text, r.dir, "<dir>")
	return strings.ReplaceAll(text, r.scratch, "<scratch>")
}

func (r *runner) collect(res *Result) error {
	res.Files = map[string]string{}
	return filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		res.List = append(res.List, rel)
		if isKept(rel) {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			res.Files[rel] = r.hide(string(data))
		}
		return nil
	})
}

const lockFile = ".terraform.lock.hcl"

// isKept reports whether the content of a file is compared.
func isKept(rel string) bool {
	return strings.HasSuffix(rel, ".tfstate") || strings.HasSuffix(rel, ".tfstate.backup") ||
		strings.HasSuffix(rel, ".terraform/modules/modules.json") || strings.HasSuffix(rel, lockFile) ||
		isGenerated(rel) || isJUnit(rel) || isInto(rel)
}

// isInto reports whether a file is written by -json-into, according to its name: cases use into.json or similar.
func isInto(rel string) bool {
	return strings.HasPrefix(rel, "into") && strings.HasSuffix(rel, ".json")
}

// isGenerated reports whether a file is configuration written by -generate-config-out, according to its name: cases use
// generated.tf or similar.
func isGenerated(rel string) bool {
	return strings.HasPrefix(rel, "generated") && strings.HasSuffix(rel, ".tf")
}
