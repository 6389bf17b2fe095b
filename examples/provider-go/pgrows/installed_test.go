//go:build unix

package pgrows_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// installation is a directory with a mirror with the provider, and a program that uses it.
type installation struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

// copyProgram copies this test binary under another name, which determines its role (see TestMain).
func copyProgram(to string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if os.Link(exe, to) == nil {
		return nil
	}
	from, err := os.Open(exe)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

const version = "0.1.0"

func install(t *testing.T, program, dsn string) *installation {
	t.Helper()
	i := &installation{t: t, dir: t.TempDir(), program: program}
	plugin := filepath.Join(i.dir, "mirror/registry.terraform.io/example/pgrows", version, runtime.GOOS+"_"+
		runtime.GOARCH, "terraform-provider-pgrows_v"+version)
	if err := copyProgram(plugin); err != nil {
		t.Fatal(err)
	}
	if program == "tombolo" {
		i.program = filepath.Join(i.dir, "bin/tombolo")
		if err := copyProgram(i.program); err != nil {
			t.Fatal(err)
		}
	}
	i.write("rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
		filepath.Join(i.dir, "mirror")))
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TF_") {
			i.env = append(i.env, e)
		}
	}
	i.env = append(i.env, "TF_CLI_CONFIG_FILE="+filepath.Join(i.dir, "rc"), "CHECKPOINT_DISABLE=1",
		"TF_IN_AUTOMATION=1", "TF_INPUT=0", "PGROWS_DSN="+dsn)
	return i
}

func (i *installation) write(name, text string) {
	i.t.Helper()
	if err := os.WriteFile(filepath.Join(i.dir, name), []byte(text), 0o666); err != nil {
		i.t.Fatal(err)
	}
}

// run runs a command, which must succeed, and returns its output.
func (i *installation) run(args ...string) string {
	i.t.Helper()
	cmd := exec.Command(i.program, args...)
	cmd.Dir, cmd.Env = i.dir, i.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		i.t.Fatalf("%s %s: %s\n%s", filepath.Base(i.program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (i *installation) says(want string, args ...string) {
	i.t.Helper()
	if out := i.run(args...); !strings.Contains(out, want) {
		i.t.Errorf("%s does not say %q:\n%s", strings.Join(args, " "), want, out)
	}
}

// The provider is found in a filesystem mirror, installed, locked, started as a plugin and used, by Terraform and by
// Tombolo.
func TestInstalledFromAMirror(t *testing.T) {
	for _, program := range []string{"tombolo", "terraform"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil && program == "terraform" {
				t.Skip("needs terraform on PATH")
			}
			dsn := pgtest.Database(t)
			i := install(t, program, dsn)
			i.write("main.tf", "terraform {\n  required_providers {\n    pgrows = {\n      source  = "+
				"\"example/pgrows\"\n      version = \"~> 0.1\"\n    }\n  }\n}\n"+
				plans(column("price", "int", "default = \"1\""), "  force_destroy = true\n")+
				basic("  values = { price = \"5\" }\n"))
			i.run("init")
			i.says("2 to add, 0 to change, 0 to destroy", "plan")
			i.says("2 added, 0 changed, 0 destroyed", "apply", "-auto-approve")
			i.says("No changes", "plan", "-detailed-exitcode")
			i.run("state", "rm", "pgrows_row.basic")
			i.run("import", "pgrows_row.basic", "plans?code=basic")
			i.says("No changes", "plan", "-detailed-exitcode")
			if n, err := pgtest.Single(dsn, "SELECT price::text FROM plans WHERE code = 'basic'"); err != nil ||
				n != "5" {
				t.Errorf("the price is %q, %v", n, err)
			}
			i.says("2 destroyed", "destroy", "-auto-approve")
			if err := noTable(dsn, "plans")(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The pages in docs are the output of `tombolo provider docs`. After a change, run in this directory:
//
//	go build -o /tmp/terraform-provider-pgrows .. && tombolo provider docs -source .. -out ../docs /tmp/terraform-provider-pgrows
func TestDocumentationIsUpToDate(t *testing.T) {
	t.Parallel()
	i := install(t, "tombolo", "")
	plugins, err := filepath.Glob(filepath.Join(i.dir, "mirror/*/*/*/*/*/*"))
	if err != nil || len(plugins) != 1 {
		t.Fatal(plugins, err)
	}
	source, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"provider", "docs", "-source", source, "-out", filepath.Join(source, "docs"), "-check", plugins[0]}
	if os.Getenv("UPDATE_DOCS") != "" {
		args = append(args[:6:6], plugins[0])
	}
	i.says("", args...)
}
