//go:build unix

package plugged

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// mirrored installs the plugin, a script, from a mirror, and returns the script.
func (p *plugged) mirrored(script string) (program string) {
	p.t.Helper()
	p.wrap(script)
	dir := p.path("mirror/registry.terraform.io/tombolo/bad/1.0.0/" + runtime.GOOS + "_" + runtime.GOARCH)
	p.must(os.MkdirAll(dir, 0o777))
	program = filepath.Join(dir, badName+"_v1.0.0")
	p.must(os.Rename(p.path("plugin/"+badName), program))
	p.write("rc", "provider_installation {\n  filesystem_mirror {\n    path = \""+p.path("mirror")+"\"\n  }\n}\n")
	p.wants(p.run(nil, "init"), 0)
	return program
}

// The checksum of a plugin is computed while the configuration is read, but an altered plugin is never started, and
// errors of the configuration come first.
func TestAnAlteredPluginIsNeverStarted(t *testing.T) {
	t.Parallel()
	p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"0s"`))
	program := p.mirrored(`exec "$REAL" "$@"`)
	p.wants(p.run(nil, "apply", "-auto-approve"), 0, "3 added")
	before := p.nothingStays()
	original, err := os.ReadFile(program)
	p.must(err)
	altered := func(text string) {
		t.Helper()
		p.must(os.WriteFile(program, []byte(text), 0o755))
		for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"},
			{"plan", "-refresh=false"}, {"validate"}, {"console"}} {
			p.wants(p.run(nil, args...), 1, "tombolo/bad", "none of the checksums of the lock file")
		}
	}
	altered(string(original) + "# altered\n")
	p.write("broken.tf", "resource {\n")
	r := p.run(nil, "plan")
	p.wants(r, 1, "broken.tf line 1")
	if strings.Contains(r.out, "checksums") {
		t.Errorf("the plugin is reported before the configuration is right:\n%s", r.out)
	}
	p.must(os.Remove(p.path("broken.tf")))
	altered("#!/bin/sh\necho $$ >>\"$PIDS\"\n")
	if n := p.nothingStays(); n != before {
		t.Errorf("altered plugins were started %d times", n-before)
	}
	p.must(os.WriteFile(program, original, 0o755))
	p.wants(p.run(nil, "plan"), 0, "No changes")
}

// Plugins start while the lock is awaited. If the lock cannot be had, or the user does not wait, they end.
func TestPluginsEndIfTheLockCannotBeHad(t *testing.T) {
	t.Parallel()
	p := newPlugged(t, strings.ReplaceAll(pluggedConfig, `"2s"`, `"10m"`))
	p.mirrored(`if [ "$HANG" ]; then sleep 600; fi; exec "$REAL" "$@"`)
	r := p.run(func(pid int) {
		p.waitBegun("slow")
		for _, hang := range []string{"", "1"} {
			second := &plugged{t: t, dir: p.dir, env: append(p.env, "HANG="+hang, "PIDS="+p.path("second"+hang))}
			second.wants(second.run(nil, "plan"), 1, "Error acquiring the state lock")
			for _, pid := range second.from("second" + hang) {
				if !programtest.Ends(pid) {
					t.Errorf("HANG=%q: process %d is still there", hang, pid)
				}
			}
		}
		p.must(syscall.Kill(pid, syscall.SIGKILL))
	}, "apply", "-auto-approve")
	if r.code != -1 {
		t.Errorf("exit code %d", r.code)
	}
	p.nothingStays()
}
