package compat

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

var learn = flag.Bool("learn", false, "write terraform.json and opentofu.json: what can be asked of the programs")

// oracle is the real program.
type oracle struct {
	program string
	environ []string
}

// theOracle returns the program whose path is in a variable, or skips the test.
func theOracle(t *testing.T, variable, version string) oracle {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skipf("needs the path of version %s in %s to compare with", version, variable)
	}
	o := oracle{program, programtest.Environ("COMP_LINE=")}
	var is struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(o.run(t, t.TempDir(), "version", "-json"), &is); err != nil || is.Version != version {
		t.Skipf("needs another program in %s: it is %q, and the facts are those of %s", variable, is.Version, version)
	}
	return o
}

func (o oracle) run(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := programtest.Bounded(t, o.program, args...)
	cmd.Dir, cmd.Env = dir, o.environ
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out
}

var (
	helpFlag    = regexp.MustCompile(`(?m)(?:^[ \t]+|aliases: )-([a-z][a-z-]*)`)
	helpCommand = regexp.MustCompile(`(?m)^ {2,4}([a-z][a-z-]*) {2,}`)
	families    = []string{"metadata", "providers", "state", "workspace"}
)

// commands parses the help texts.
func (o oracle) commands(t *testing.T) map[string][]string {
	found := map[string][]string{}
	dir := t.TempDir()
	var ask func(path []string)
	ask = func(path []string) {
		_, text, _ := strings.Cut(string(o.run(t, dir, append(slices.Clone(path), "-help")...)), "\n")
		flags := []string{}
		for _, m := range helpFlag.FindAllStringSubmatch(text, -1) {
			flags = append(flags, m[1])
		}
		slices.Sort(flags)
		found[strings.Join(path, " ")] = slices.Compact(flags)
		if len(path) > 1 || len(path) == 1 && !slices.Contains(families, path[0]) {
			return
		}
		for _, m := range helpCommand.FindAllStringSubmatch(text, -1) {
			ask(append(slices.Clone(path), m[1]))
		}
	}
	ask(nil)
	return found
}

func (o oracle) functions(t *testing.T) (list []string) {
	var document struct {
		Signatures map[string]any `json:"function_signatures"`
	}
	if err := json.Unmarshal(o.run(t, t.TempDir(), "metadata", "functions", "-json"), &document); err != nil {
		t.Fatal(err)
	}
	for name := range document.Signatures {
		if !strings.Contains(name, "::") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// problem is an error of a program for a configuration.
type problem struct {
	summary, file string
	line          int
}

// validate validates with the real program.
func (o oracle) validate(t *testing.T, dir string) (list []problem) {
	var document struct {
		Diagnostics []struct {
			Severity, Summary string
			Range             *struct {
				Filename string
				Start    struct{ Line int }
			}
		}
	}
	if err := json.Unmarshal(o.run(t, dir, "validate", "-json"), &document); err != nil {
		t.Fatal(err)
	}
	for _, d := range document.Diagnostics {
		if d.Severity == "error" {
			p := problem{summary: d.Summary}
			if d.Range != nil {
				p.file, p.line = d.Range.Filename, d.Range.Start.Line
			}
			list = append(list, p)
		}
	}
	return list
}

// validateHere validates with Tombolo.
func validateHere(t *testing.T, dir string, f flavor.Flavor) (list []problem) {
	project, diags := engine.Load(context.Background(), engine.Options{
		Dir: dir, DataDir: filepath.Join(dir, ".terraform"), Workspace: "default", Flavor: f})
	if !diags.HasErrors() {
		defer project.Close()
		diags = diags.Extend(project.Validate(context.Background()))
	}
	for _, d := range diags {
		p := problem{summary: d.Summary}
		if d.Subject != nil {
			p.file, p.line = filepath.Base(d.Subject.Filename), d.Subject.Start.Line
		}
		list = append(list, p)
	}
	return list
}

// wrappers are configurations around candidates: %d is a unique number, and %s is the position of the candidates.
// Without a candidate they are valid. Bodies with arguments both of a schema and of the language (those of resources,
// provisioners and the like) are omitted: the arguments of the language are known from documentation.
var wrappers = map[string]string{
	"":          "%s",
	"terraform": "terraform {\n%s\n}",
	"variable":  "variable \"v%d\" {\n%s\n}",
	"variable/validation": "variable \"v%d\" {\nvalidation {\ncondition = var.v%d != 1\nerror_message = " +
		"\"No.\"\n%s\n}\n}",
	"output": "output \"o%d\" {\nvalue = 1\n%s\n}",
	"output/precondition": "output \"o%d\" {\nvalue = 1\nprecondition {\ncondition = " +
		"terraform_data.base.id != \"\"\nerror_message = \"No.\"\n%s\n}\n}",
	"resource/lifecycle": "resource \"terraform_data\" \"r%d\" {\nlifecycle {\n%s\n}\n}",
	"resource/lifecycle/postcondition": "resource \"terraform_data\" \"r%d\" {\nlifecycle {\npostcondition {\n" +
		"condition = self.id != \"\"\nerror_message = \"No.\"\n%s\n}\n}\n}",
	"resource/lifecycle/precondition": "resource \"terraform_data\" \"r%d\" {\nlifecycle {\nprecondition {\n" +
		"condition = terraform_data.base.id != \"\"\nerror_message = \"No.\"\n%s\n}\n}\n}",
	"check": "check \"c%d\" {\nassert {\ncondition = terraform_data.base.id != \"\"\n" +
		"error_message = \"No.\"\n}\n%s\n}",
	"check/assert": "check \"c%d\" {\nassert {\ncondition = terraform_data.base.id != \"\"\n" +
		"error_message = \"No.\"\n%s\n}\n}",
	"moved":   "moved {\nfrom = terraform_data.from%d\nto = terraform_data.to%d\n%s\n}",
	"removed": "removed {\nfrom = terraform_data.gone%d\n%s\n}",
	"removed/lifecycle": "removed {\nfrom = terraform_data.gone%d\nlifecycle {\ndestroy = false\n%s\n" +
		"}\n}",
	"import": "resource \"terraform_data\" \"i%d\" {\n}\nimport {\nto = " +
		"terraform_data.i%d\nid = \"x\"\n%s\n}",
}

// nobodys is a name that is valid nowhere. It shows whether the results are meaningful.
const nobodys = "zz_nobodys"

// probe determines which candidates a program accepts as arguments and as blocks in each body. All candidates are in
// one body, one per line. Errors of a candidate may hide later errors, so candidates that are known but invalid are
// removed before the next attempt.
func probe(t *testing.T, candidates []string, validate func(t *testing.T, dir string) []problem) map[string]Body {
	dir := t.TempDir()
	found := map[string]Body{}
	take := func(path, line string) {
		b := found[path]
		if name, isArgument := strings.CutSuffix(line, " = null"); isArgument {
			b.Arguments = append(b.Arguments, name)
		} else {
			b.Blocks = append(b.Blocks, strings.TrimSuffix(line, " {}"))
		}
		found[path] = b
	}
	open := map[string][]string{} // lines by path
	for path, wrapper := range wrappers {
		for _, name := range candidates {
			switch {
			case has(wrapper, name):
				take(path, name+" = null") // it is already there, and cannot be repeated
			case path != "":
				open[path] = append(open[path], name+" = null")
			}
			open[path] = append(open[path], name+" {}")
		}
	}
	// One file per body, because the real program reads a file from its beginning to show a problem.
	for range 12 {
		at := map[problem][2]string{}
		for number, path := range slices.Sorted(maps.Keys(wrappers)) {
			file := fmt.Sprintf("body%d.tf", number)
			before, after, _ := strings.Cut(strings.ReplaceAll(wrappers[path], "%d", fmt.Sprint(number)), "%s")
			lines := strings.Split(strings.TrimSuffix(before, "\n"), "\n")
			for _, line := range open[path] {
				lines = append(lines, line)
				at[problem{file: file, line: len(lines)}] = [2]string{path, line}
			}
			lines = append(lines, strings.Split(strings.TrimPrefix(after, "\n"), "\n")...)
			write(t, filepath.Join(dir, file), strings.Join(lines, "\n")+"\n")
		}
		write(t, filepath.Join(dir, "base.tf"), "resource \"terraform_data\" \"base\" {}\n")
		problems := validate(t, dir)
		progress := false
		for _, p := range problems {
			q, ok := at[problem{file: p.file, line: p.line}]
			i := slices.Index(open[q[0]], q[1])
			if !ok || i < 0 {
				continue // of the whole body, or the second one for this candidate
			}
			progress = true
			open[q[0]] = slices.Delete(open[q[0]], i, i+1)
			if p.summary != "Unsupported argument" && p.summary != "Unsupported block type" {
				take(q[0], q[1])
			}
		}
		// The remaining candidates are accepted, even if they conflict with the surrounding arguments (id and identity
		// of import).
		for number, path := range slices.Sorted(maps.Keys(wrappers)) {
			here := func(p problem) bool { return p.file == fmt.Sprintf("body%d.tf", number) }
			if !progress && len(open[path]) > 0 && slices.ContainsFunc(problems, here) {
				for _, line := range open[path] {
					take(path, line)
				}
				open[path], progress = nil, true
			}
		}
		if progress {
			continue
		}
		for _, p := range problems {
			t.Errorf("the configuration around the candidates has a problem of its own: %+v", p)
		}
		break
	}
	for path, lines := range open {
		for _, line := range lines {
			take(path, line)
		}
	}
	for path, b := range found {
		slices.Sort(b.Arguments)
		slices.Sort(b.Blocks)
		found[path] = b
		if slices.Contains(b.Arguments, nobodys) || slices.Contains(b.Blocks, nobodys) {
			t.Errorf("in %q even %s is taken: the configuration around it must be wrong", path, nobodys)
		}
	}
	return found
}

// has reports whether a wrapper has an argument in the body of the candidates.
func has(wrapper, name string) bool {
	lines := strings.Split(wrapper, "\n")
	for i := slices.Index(lines, "%s") - 1; i >= 0 && !strings.ContainsAny(lines[i], "{}"); i-- {
		if strings.HasPrefix(lines[i], name+" = ") {
			return true
		}
	}
	return false
}

func write(t *testing.T, name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
