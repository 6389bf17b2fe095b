package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// acceptanceModule is separate, so that this module does not require the framework for acceptance tests.
const acceptanceModule = "acceptance"

// TestAcceptance runs acceptance tests of one of our providers, which use the published framework.
func TestAcceptance(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it compiles a framework, and takes half a minute")
	}
	bin := filepath.Join(t.TempDir(), "acceptance.test")
	inAcceptance(t, "test", "-c", "-o", bin, ".")
	run := exec.Command(bin, "-test.v", "-test.timeout", "5m")
	programtest.Tie(run)
	run.Dir = acceptanceModule
	run.Env = acceptanceEnv(t, "")
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// suite is a third-party module with acceptance tests.
type suite struct {
	Module   string
	Packages []string // relative to the module
	Skip     []struct{ Tests, Reason string }
}

// TestAcceptanceSuites runs the acceptance tests of third-party providers, and those of the framework itself. That
// takes about twenty minutes, so it only runs if TOMBOLO_ACCEPTANCE_SUITES is "all" or a part of a module's path.
// TF_ACC_TERRAFORM_PATH replaces the binary, and the output of the tests is written to files below
// TOMBOLO_ACCEPTANCE_LOG, so that the results of two binaries can be compared.
func TestAcceptanceSuites(t *testing.T) {
	asked := os.Getenv("TOMBOLO_ACCEPTANCE_SUITES")
	if asked == "" {
		t.Skip("runs with TOMBOLO_ACCEPTANCE_SUITES")
	}
	data, err := os.ReadFile(filepath.Join(acceptanceModule, "suites.json"))
	if err != nil {
		t.Fatal(err)
	}
	var suites []suite
	if err := json.Unmarshal(data, &suites); err != nil {
		t.Fatal(err)
	}
	settings := releases(t)
	for _, s := range suites {
		if asked != "all" && !strings.Contains(s.Module, asked) {
			continue
		}
		for _, p := range s.Packages {
			t.Run(path.Base(s.Module)+"/"+p, func(t *testing.T) { s.run(t, p, settings) })
		}
	}
}

// run runs the tests of one package, except for skipped ones, in the package's directory.
func (s suite) run(t *testing.T, pkg, settings string) {
	bin := filepath.Join(t.TempDir(), "suite.test")
	inAcceptance(t, "test", "-c", "-o", bin, s.Module+"/"+pkg)
	dir := inAcceptance(t, "list", "-f", "{{.Dir}}", s.Module+"/"+pkg)
	var skip []string
	for _, e := range s.Skip {
		skip = append(skip, e.Tests)
	}
	run := exec.Command(bin, "-test.v", "-test.timeout", "20m", "-test.parallel", "4", "-test.skip",
		strings.Join(skip, "|"))
	programtest.Tie(run)
	run.Dir = dir
	run.Env = acceptanceEnv(t, settings)
	out, err := run.CombinedOutput()
	if log := os.Getenv("TOMBOLO_ACCEPTANCE_LOG"); log != "" {
		name := strings.ReplaceAll(path.Base(s.Module)+"/"+pkg, "/", "_") + ".log"
		if err := os.WriteFile(filepath.Join(log, name), out, 0o666); err != nil {
			t.Error(err)
		}
	}
	count := func(what string) int { return strings.Count(string(out), "--- "+what+": ") }
	if err != nil || count("PASS") == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d passed, %d skipped", count("PASS"), count("SKIP"))
}

// inAcceptance runs the go command in the module of the acceptance tests. It uses a copy of go.mod, which the command
// may update: the requirements of the main module, which apply there too, may change without an update of this module.
// If modules cannot be downloaded, the test is skipped.
func inAcceptance(t *testing.T, command string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(acceptanceModule, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", append([]string{command, "-mod=mod", "-modfile=" + filepath.Join(dir, "go.mod")},
		args...)...)
	cmd.Dir = acceptanceModule
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	for _, sign := range []string{"dial tcp", "no such host", "i/o timeout", "module lookup disabled",
		"server response: ", "connection refused"} {
		if strings.Contains(stderr.String(), sign) {
			t.Skipf("needs the modules of acceptance tests, in the cache or from a proxy: %v\n%s", err, &stderr)
		}
	}
	t.Fatalf("go %s %v: %v\n%s%s", command, args, err, out, &stderr)
	return ""
}

// acceptanceEnv returns the environment with the binary and the CLI configuration.
func acceptanceEnv(t *testing.T, settings string) []string {
	env := append(os.Environ(), "TF_ACC=1", "CHECKPOINT_DISABLE=1", "HOME="+t.TempDir(), "TF_CLI_CONFIG_FILE="+settings)
	if os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		env = append(env, "TF_ACC_TERRAFORM_PATH="+findTombolo(t))
	}
	return env
}

// releases creates a mirror of the programs that providers/build has built, also under the versions that the suites
// require, and returns the path of a CLI configuration with the mirror as the only installation method.
func releases(t *testing.T) string {
	dir := t.TempDir()
	for name, versions := range map[string][]string{"random": {"3.5.1", "3.2.0"}, "null": {"3.1.0", "3.1.1", "3.2.4"},
		"time": nil} {
		p := plugins[name]
		bin, err := p.built()
		if err != nil {
			t.Skip("needs the modules of the plugins, to build them: ", err)
		}
		for _, v := range append(versions, p.version) {
			folder := filepath.Join(dir, "registry.terraform.io", p.source, v, runtime.GOOS+"_"+runtime.GOARCH)
			if err := os.MkdirAll(folder, 0o777); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(folder, fmt.Sprintf("%s%s_v%s", pluginPrefix, name, v))
			// no symbolic link: the framework copies the content of .terraform, and mistakes links for directories
			if err := os.Link(bin, program); err != nil {
				data, err := os.ReadFile(bin)
				if err == nil {
					err = os.WriteFile(program, data, 0o777)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	settings := filepath.Join(dir, "settings.tfrc")
	if err := os.WriteFile(settings,
		fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", dir),
		0o666); err != nil {
		t.Fatal(err)
	}
	return settings
}
