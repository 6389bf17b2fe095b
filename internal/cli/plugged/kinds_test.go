//go:build unix

package plugged

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// kinds are the kinds of providers.
var kinds = []string{"protocol 5", "protocol 6", "one-shot program", "session program"}

// newOfKind is newPlugged for a kind of provider. It serves the same world, and misbehaves like badPlugin or
// badProgram.
func newOfKind(t *testing.T, kind, config, mode string) *plugged {
	t.Helper()
	protocol, isPlugin := strings.CutPrefix(kind, "protocol ")
	if isPlugin {
		return newPlugged(t, config, "BAD="+mode, "BAD_PROTOCOL="+protocol)
	}
	p := newPlugged(t, strings.ReplaceAll(config, `"tombolo/bad"`, `"world"`), "BAD="+mode,
		"TOMBOLO_PROGRAM_PROVIDERS=world=./prog")
	manifest := strings.Replace(badManifest, "MODE", strings.TrimSuffix(kind, " program"), 1)
	if kind == "session program" {
		p.env = append(p.env, "BAD_SESSION=1")
	}
	if mode == "schema-control" {
		manifest = strings.Replace(manifest, `"value":`, `"a\u001b[2Jb":`, 1)
	}
	p.must(os.MkdirAll(p.path("prog"), 0o777))
	p.must(os.MkdirAll(p.path("w"), 0o777))
	exe, err := os.Executable()
	p.must(err)
	p.must(os.Symlink(exe, p.path("prog/"+badProgramName)))
	p.write("prog/tombolo-provider.json", manifest)
	return p
}

// quickConfig is pluggedConfig without the slow object.
var quickConfig = func() string {
	before, rest, _ := strings.Cut(pluggedConfig, `resource "world_object" "slow"`)
	_, after, _ := strings.Cut(rest, "\n}\n")
	return before + after
}()

// TestMisbehaviorOfEveryKindOfProvider has providers of each kind misbehave while an object is created. The message
// must say what happened, all existing objects must be recorded, and output and state must be bounded in size.
func TestMisbehaviorOfEveryKindOfProvider(t *testing.T) {
	for _, kind := range kinds {
		for mode, c := range map[string]struct {
			code   int
			says   []string
			stored []string
			open   bool // it is unknown whether the object exists
		}{
			"":             {0, []string{"2 added"}, []string{"bad", "first"}, false},
			"flood":        {0, []string{"2 added"}, []string{"bad", "first"}, false},
			"apply-killed": {1, []string{"world_object.bad", "signal: killed"}, []string{"first"}, true},
			"nothing":      {1, []string{"world_object.bad"}, []string{"first"}, true},
			"garbage":      {1, []string{"world_object.bad"}, []string{"first"}, true},
			"too-huge":     {1, []string{"world_object.bad"}, []string{"first"}, true},
			"problems":     {1, []string{"One of many", "50000 problems"}, []string{"first"}, false},
		} {
			t.Run(kind+"/"+mode, func(t *testing.T) {
				t.Parallel()
				p := newOfKind(t, kind, quickConfig, mode)
				r := p.run(nil, "apply", "-auto-approve")
				p.wants(r, c.code, c.says...)
				if got := p.stored(); !slices.Equal(got, c.stored) {
					t.Errorf("the state has %v", got)
				}
				p.nothingStays()
				if r.megabyte > 800 || len(r.out) > 2<<20 {
					t.Errorf("it took %d MB and wrote %d bytes", r.megabyte, len(r.out))
				}
				if c.open {
					p.wants(p.run(nil, "state", "list"), 0, "world_object.bad", "recover")
					p.env = append(p.env, "BAD=")
					p.wants(p.run(nil, "apply", "-auto-approve"), 1, "world_object.bad") // it is not created again
					p.wants(p.run(nil, "recover", "world_object.bad", "--forget"), 0)
				}
				p.env = append(p.env, "BAD=")
				p.wants(p.run(nil, "apply", "-auto-approve"), 0)
				p.wants(p.run(nil, "plan", "-detailed-exitcode"), 0)
				p.wants(p.run(nil, "destroy", "-auto-approve"), 0, "2 destroyed")
			})
		}
	}
}

// TestNoKindOfProviderCanRemoveTheState has providers of each kind remove the files of the state during an apply. The
// state has the results nevertheless, and the next run creates nothing twice.
func TestNoKindOfProviderCanRemoveTheState(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newOfKind(t, kind, quickConfig, "remove-state")
			p.run(nil, "apply", "-auto-approve")
			p.nothingStays()
			p.wants(p.run(nil, "state", "list"), 0, "world_object.first", "world_object.bad")
			p.env = append(p.env, "BAD=")
			r := p.run(nil, "apply", "-auto-approve")
			for _, name := range []string{"first", "bad"} {
				text, err := os.ReadFile(p.path("w/ledger"))
				p.must(err)
				if n := strings.Count(string(text), begun(name)); n != 1 {
					t.Errorf("%s was made again:\n%s\n%s", name, text, r.out)
				}
			}
		})
	}
}

// TestImpureFunctionsOfEveryKindAreReported has provider functions return another result for each call.
func TestImpureFunctionsOfEveryKindAreReported(t *testing.T) {
	const config = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
output "o" {
  value = provider::world::join("-", "a", "b")
}
`
	for _, kind := range kinds {
		for _, args := range [][]string{{"apply", "-auto-approve"}, {"apply", "saved"}} {
			t.Run(kind+"/"+strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				p := newOfKind(t, kind, config, "")
				p.wants(p.run(nil, "plan", "-out=saved"), 0, `"a-b"`)
				p.env = append(p.env, "BAD=function-changes")
				r := p.run(nil, args...)
				if r.code != 1 || !strings.Contains(r.out, "join") {
					t.Errorf("code %d:\n%s", r.code, r.out)
				}
				text, _ := os.ReadFile(p.path("terraform.tfstate")) // it does not exist if nothing is stored
				if _, value, ok := strings.Cut(string(text), `"value": "call `); ok {
					value, _, _ = strings.Cut(value, `"`)
					if !strings.Contains(r.out, `+ o = "call `+value) {
						t.Errorf("another value is stored than was planned:\n%s", text)
					}
				}
			})
		}
	}
}

// TestInvalidNamesOfEveryKindAreRefused has schemas with names that contain terminal control sequences.
func TestInvalidNamesOfEveryKindAreRefused(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newOfKind(t, kind, quickConfig, "schema-control")
			r := p.run(nil, "plan")
			p.wants(r, 1, "world_object")
			if strings.Contains(r.out, "\x1b[2J") {
				t.Errorf("the name reaches the terminal: %q", r.out)
			}
		})
	}
}

// TestProvidersOfEveryKindMayKillOthers has a provider kill all other provider processes.
func TestProvidersOfEveryKindMayKillOthers(t *testing.T) {
	for _, kind := range []string{"protocol 5", "one-shot program", "session program"} { // protocol 6 is above
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newOfKind(t, kind, killingConfig, "kill-others")
			p.env = append(p.env, "OTHERS=1")
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 1, "with world_object.slow", "signal: killed", "recover world_object.slow --adopt")
			p.nothingStays()
			p.wants(p.run(nil, "state", "list"), 0, "world_object.bad")
			p.wants(p.run(nil, "recover", "world_object.slow", "--forget"), 0)
			p.wants(p.run(nil, "plan"), 0, "1 to add")
		})
	}
}

// TestSessionsEndWithAKilledRun kills the engine while the program of a session hangs or ignores the end of its input.
func TestSessionsEndWithAKilledRun(t *testing.T) {
	for _, mode := range []string{"apply-hang", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newOfKind(t, "session program", pluggedConfig, mode)
			r := p.run(func(pid int) {
				if mode == "deaf" {
					p.appears("slow.begun")
				} else {
					p.appears("pids.hung")
				}
				p.must(syscall.Kill(pid, syscall.SIGKILL))
			}, "apply", "-auto-approve")
			if r.code != -1 {
				t.Errorf("exit code %d", r.code)
			}
			p.nothingStays()
			p.wants(p.run(nil, "state", "list"), 0, "world_object.first", "recover")
			if left, _ := filepath.Glob(p.path("terraform.tfstate.answers/*")); len(left) > 0 {
				t.Errorf("%v are left behind", left)
			}
		})
	}
}
