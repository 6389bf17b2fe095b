//go:build unix

package examples_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// packed packs the examples once, with this test binary as the host.
var packed = sync.OnceValues(func() (string, error) {
	out := filepath.Join(workspace, "dist")
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := compiled()
	if err != nil {
		return "", err
	}
	for name, dir := range map[string]string{"zones": "provider-zones", "hosts": "provider-hosts",
		"repo": "provider-repo", "pgaccess": dir} {
		source, err := addr.ParseProvider("example/" + name)
		if err != nil {
			return "", err
		}
		_, diags := pack.Build(context.Background(), pack.Options{
			Dir: dir, Source: source, Out: out, Exclude: []string{"use", "docs", "examples", "*.go", "forge.js"},
			Hosts: map[packages.Platform]string{packages.Current(): exe},
		})
		if diags.HasErrors() {
			return "", diags.Err()
		}
	}
	return filepath.Join(out, "filesystem-mirror"), nil
})

// part is an example with its real system.
type part struct {
	name, update string // update is the argument of -var that changes one object
	env          func(t *testing.T) []string
}

// Packages are installed from a mirror and used in the same way by every engine that is on PATH.
func TestPackagesRunUnderEveryEngine(t *testing.T) {
	parts := []part{
		{name: "zones", update: "address=192.0.2.20", env: func(t *testing.T) []string {
			needs(t, "python3")
			return []string{"ZONES_ROOT=" + t.TempDir()}
		}},
		{name: "repo", update: "text=Hello", env: func(t *testing.T) []string { return newForge(t).env() }},
		{name: "pgaccess", update: "limit=20", env: func(t *testing.T) []string {
			return []string{"PGACCESS_DSN=" + shop(t)}
		}},
		{name: "hosts", update: "greeting=bye", env: func(t *testing.T) []string { return newHost(t).env() }},
	}
	for _, engine := range []string{"terraform", "tofu"} {
		for _, one := range parts {
			t.Run(one.name+" under "+engine, func(t *testing.T) {
				program, err := exec.LookPath(engine)
				if err != nil {
					t.Skipf("needs %s on PATH", engine)
				}
				p := &project{t: t, dir: t.TempDir(), program: program}
				p.env = append(programtest.Environ("TF_IN_AUTOMATION=1", "TF_INPUT=0", "XDG_CACHE_HOME="+t.TempDir()),
					one.env(t)...)
				mirror, err := packed()
				must(t, err)
				must(t, os.CopyFS(p.dir, os.DirFS(filepath.Join("provider-"+one.name, "use"))))
				p.env = append(p.env, "TF_CLI_CONFIG_FILE="+p.file("rc", fmt.Sprintf(
					"provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)))
				p.run("init")
				p.apply("Apply complete!")
				p.settled()
				p.apply("0 added, 1 changed, 0 destroyed", "-var", one.update)
				p.says("Destroy complete!", "destroy", "-auto-approve", "-no-color", "-var", one.update)
			})
		}
	}
}
