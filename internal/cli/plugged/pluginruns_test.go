//go:build unix

package plugged

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
)

func TestPluginLogHasLevelsAndCallsButNoSecrets(t *testing.T) {
	const canary = "c4n4ry-of-the-log"
	config := `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
variable "dir" {
  sensitive = true
}
provider "world" {
  dir = var.dir
}
resource "world_object" "bad" {
  name   = "bad"
  value  = "` + "%s" + `"
  secret = "` + canary + `"
}
`
	for _, c := range []struct {
		env       []string
		value     string
		code      int
		want, not []string
	}{
		{env: []string{"TF_LOG=trace"}, want: []string{
			"[WARN] as warned", "[DEBUG] as debug", "[ERROR] [ERROR] as text", "[DEBUG] plain", "over the connection",
			"answer: provider=registry.terraform.io/tombolo/bad method=/tfplugin6.Provider/ApplyResourceChange " +
				"duration=", "PlanResourceChange", "ConfigureProvider",
		}},
		{env: []string{"TF_LOG=trace"}, value: "crash", code: 1, want: []string{"[ERROR] panic: with"}},
		{env: []string{"TF_LOG=json"}, want: []string{`"@level":"warn","@message":"as warned`,
			`"@level":"trace","@message":"answer","provider":"registry.terraform.io/tombolo/bad","method":"/tfplugin6.Provider/ApplyResourceChange","duration":`}},
		{env: []string{"TF_LOG=trace", "TF_LOG_CORE=off", "TF_LOG_PROVIDER=warn"}, want: []string{
			"[WARN] as warned", "[ERROR] [ERROR] as text"}, not: []string{"[DEBUG]", "[TRACE]", "PlanResourceChange"}},
		{env: []string{"TF_LOG_PROVIDER=error"}, want: []string{"[ERROR] [ERROR] as text"}, not: []string{"as warned"}},
		{env: []string{"TF_LOG_PROVIDER=off", "TF_LOG=trace"}, not: []string{"provider="}},
	} {
		t.Run(strings.Join(append(c.env, c.value), ","), func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, fmt.Sprintf(config, c.value), append(c.env, "BAD=talk", "TF_VAR_dir=w-"+canary)...)
			p.env = append(p.env, "TF_LOG_PATH="+p.path("log"))
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, c.code)
			raw, _ := os.ReadFile(p.path("log")) // it does not exist if nothing was logged
			text := strings.Join(strings.Fields(string(raw)), " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the log has no %q", want)
				}
			}
			for _, not := range append(c.not, canary) {
				if strings.Contains(text, not) {
					t.Errorf("the log has %q", not)
				}
			}
			if strings.Contains(r.out, canary) {
				t.Errorf("the secret is shown:\n%s", r.out)
			}
			if t.Failed() {
				t.Logf("%s", raw)
			}
			p.nothingStays()
		})
	}
}

func TestPluginsAreStartedOncePerWalk(t *testing.T) {
	config := pluggedConfig + `
provider "world" {
  alias = "same"
  dir   = "w"
}
provider "world" {
  alias = "other"
  dir   = "v"
}
resource "world_object" "same" {
  name     = "same"
  provider = world.same
}
`
	other := config + `
resource "world_object" "other" {
  name     = "other"
  provider = world.other
}
`
	p := newPlugged(t, config)
	starts := func(args ...string) int {
		t.Helper()
		before := len(p.pids())
		p.wants(p.run(nil, args...), 0)
		return p.nothingStays() - before
	}
	for _, c := range []struct {
		config string
		args   []string
		want   int
	}{
		{config, []string{"validate"}, 1}, // Terraform starts 2
		{config, []string{"plan", "-out=p"}, 1},
		{config, []string{"apply", "p"}, 1}, // 3 with one configuration
		{config, []string{"show"}, 1},
		{config, []string{"state", "list"}, 0},
		{config, []string{"plan"}, 1},
		{other, []string{"apply", "-auto-approve"}, 2 + 1}, // two of three configurations are unused
		{other, []string{"destroy", "-auto-approve"}, 2 + 2},
	} {
		p.write("main.tf", c.config)
		if got := starts(c.args...); got != c.want {
			t.Errorf("%v: %d processes of the plugin, want %d", c.args, got, c.want)
		}
	}
}

func TestPluginsStartIfTheTemporaryFolderIsUnfitForSockets(t *testing.T) {
	t.Parallel()
	file, long := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := errors.Join(os.WriteFile(file, nil, 0o666), os.Mkdir(long, 0o777)); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"missing": "/nonexistent", "a file": file, "too long a name": long} {
		p := newPlugged(t, strings.Replace(pluggedConfig, `delay = "2s"`, "", 1), "TMPDIR="+dir)
		if r := p.run(nil, "apply", "-auto-approve"); r.code != 0 {
			t.Errorf("%s: exit code %d\n%s", name, r.code, r.out)
		}
	}
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// attach serves a world with a protocol version, and returns the entry of TF_REATTACH_PROVIDERS.
func attach(t *testing.T, source string, version int, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(func(context.Context) (provider.Provider, error) {
		return world.New(world.Options{Five: version == 5}), nil
	}, version)
	if err != nil {
		t.Fatal(err)
	}
	g := &rpc.Server{Methods: server.Methods()}
	go g.Serve(l) // until the test ends
	t.Cleanup(func() {
		g.Stop()
		server.Close(context.Background())
	})
	return fmt.Sprintf(
		`%q:{"Protocol":"grpc","ProtocolVersion":%d,"Pid":%d,"Test":true,"Addr":{"Network":%q,"String":%q}}`, source,
		version, os.Getpid(), network, l.Addr().String())
}

func TestReattachedProvidersAreUsed(t *testing.T) {
	t.Parallel()
	const config = `
terraform {
  required_providers {
    five = { source = "tombolo/five" }
    six  = { source = "registry.terraform.io/tombolo/six" }
  }
}
provider "five" {
  dir = "DIR/five"
}
provider "six" {
  dir = "DIR/six"
}
resource "world_object" "five" {
  provider = five
  name     = "five"
}
resource "world_object" "six" {
  provider = six
  name     = world_object.five.id
}
`
	p := newPlugged(t, "")
	p.write("main.tf", strings.ReplaceAll(config, "DIR", p.dir))
	short, err := os.MkdirTemp("/tmp", "") // temporary folders of tests may be too long for socket paths
	p.must(err)
	defer os.RemoveAll(short)
	five := attach(t, "tombolo/five", 5, "unix", filepath.Join(short, "socket"))
	six := attach(t, "registry.terraform.io/tombolo/six", 6, "tcp", "127.0.0.1:0")
	p.env = append(p.env, "TF_REATTACH_PROVIDERS={"+five+","+six+"}")
	p.wants(p.run(nil, "init", "-upgrade"), 0, "successfully initialized") // looks for no package
	p.wants(p.run(nil, "apply", "-auto-approve"), 0, "2 added")
	p.wants(p.run(nil, "plan", "-detailed-exitcode"), 0, "No changes")
	p.write("more.tf", strings.ReplaceAll(`
provider "six" {
  alias = "other"
  dir   = "DIR/other"
}
resource "world_object" "other" {
  provider = six.other
  name     = "other"
}
`, "DIR", p.dir))
	p.wants(p.run(nil, "plan"), 0, "One process for several provider configurations")
	p.must(os.Remove(p.path("more.tf")))
	p.wants(p.run(nil, "destroy", "-auto-approve"), 0, "2 destroyed")
	for value, want := range map[string]string{
		"{" + five + "}": "tombolo/six", // it is not installed
		"{" + five + "," + strings.Replace(six, "127.0.0.1:", "127.0.0.1:1", 1) + "}": "cannot be reached",
		"{" + five + "," + strings.Replace(six, `"tcp"`, `"udp"`, 1) +
			"}": "expected a network of unix or tcp",
		"{" + five: "Invalid TF_REATTACH_PROVIDERS",
	} {
		p.env = append(p.env, "TF_REATTACH_PROVIDERS="+value)
		p.wants(p.run(nil, "plan"), 1, want)
	}
	if list := p.pids(); list != nil {
		t.Errorf("%v were started", list)
	}
}

func TestProviderInPython(t *testing.T) {
	const python = "/usr/bin/python3"
	if out, err := exec.Command(python, "-c", "import grpc, msgpack, cryptography").CombinedOutput(); err != nil {
		t.Skipf("needs a Python with grpcio: %s cannot serve gRPC: %v %s", python, err, out)
	}
	t.Parallel()
	script, err := filepath.Abs("testdata/notes.py")
	if err != nil {
		t.Fatal(err)
	}
	const config = `
terraform {
  required_providers {
    notes = { source = "tombolo/bad" }
  }
}
provider "notes" {
  dir = "notes"
}
variable "body" {}
resource "notes_note" "a" {
  title = "a"
  body  = var.body
  tags  = { k = "v" }
}
resource "notes_note" "b" {
  title = "b-${notes_note.a.words}"
}
output "words" {
  value = provider::notes::words("one two three")
}
`
	p := newPlugged(t, config)
	p.wrap("exec " + python + " '" + script + "'")
	p.wants(p.run(nil, "apply", "-auto-approve", "-var=body=hello world"), 0, "2 added", "words = 3")
	p.wants(p.run(nil, "plan", "-detailed-exitcode", "-var=body=hello world"), 0, "No changes")
	p.wants(p.run(nil, "apply", "-auto-approve", "-var=body=one"), 0, "1 added, 1 changed, 1 destroyed")
	p.must(os.Remove(p.path("notes/a.json")))
	p.wants(p.run(nil, "apply", "-auto-approve", "-var=body=one"), 0, "2 added, 0 changed, 1 destroyed")
	p.wants(p.run(nil, "state", "rm", "notes_note.a"), 0)
	p.wants(p.run(nil, "import", "-var=body=one", "notes_note.a", "a"), 0)
	p.wants(p.run(nil, "import", "-var=body=one", "notes_note.c", "c"), 1)
	p.write("bad.tf", `resource "notes_note" "bad" { title = "x/y" }`)
	p.wants(p.run(nil, "plan", "-var=body=one"), 1, "Invalid title", "on bad.tf line 1")
	p.write("bad.tf", "resource \"notes_note\" \"bad\" {\n  title = \"bad\"\n  body  = \"crash\"\n}\n")
	p.wants(p.run(nil, "apply", "-auto-approve", "-var=body=one"), 1, "Plugin did not respond", "exit status 9",
		"recover notes_note.bad")
	p.must(os.Remove(p.path("bad.tf")))
	p.wants(p.run(nil, "recover", "notes_note.bad", "--forget"), 0)
	p.wants(p.run(nil, "destroy", "-auto-approve", "-var=body=one"), 0, "2 destroyed")
	p.nothingStays()
	if list, _ := filepath.Glob(p.path("notes/*")); list != nil {
		t.Errorf("there is %v", list)
	}
}

func TestPluginOutputCannotControlTheTerminal(t *testing.T) {
	for mode, want := range map[string]string{"start-escape": "gone", "escape": "Clear"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPlugged(t, pluggedConfig, "BAD="+mode)
			p.env = append(p.env, "TF_LOG=trace", "TF_LOG_PATH="+p.path("log"))
			r := p.run(nil, "apply", "-auto-approve")
			p.wants(r, 1, want)
			log, err := os.ReadFile(p.path("log"))
			p.must(err)
			for name, text := range map[string]string{"the output": r.out, "the log": string(log)} {
				if at := strings.IndexAny(text, "\x1b\x07\r\u009b\u202e"); at >= 0 {
					t.Errorf("%s has a control character: %q", name, text[max(0, at-40):min(len(text), at+40)])
				}
			}
			p.nothingStays()
		})
	}
}

func TestHugeObjectsAreAccepted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it takes seconds and hundreds of megabytes")
	}
	p := newPlugged(t, pluggedConfig, "BAD=big")
	r := p.run(nil, "apply", "-auto-approve")
	if r.out = r.out[:min(len(r.out), 5000)]; r.code != 0 || r.megabyte > 800 {
		t.Errorf("exit code %d, %d MB, after %s:\n%s", r.code, r.megabyte, r.took, r.out)
	}
	t.Logf("%d MB, %s", r.megabyte, r.took)
	p.nothingStays()
}

func TestCrashWithTenOperationsInFlight(t *testing.T) {
	t.Parallel()
	p := newPlugged(t, strings.NewReplacer(`"slow"
  behave`, `"slow-${count.index}"
  count      = 9
  behave`, `"2s"`, `"10m"`).Replace(pluggedConfig), "BAD=apply-panic", "OTHERS=9")
	r := p.run(nil, "apply", "-auto-approve")
	p.wants(r, 1, "with world_object.bad")
	if n := strings.Count(r.out, "goroutine "); n > 3 {
		t.Errorf("%d stack traces are shown", n)
	}
	list := p.run(nil, "state", "list")
	for i := range 9 {
		p.wants(list, 0, fmt.Sprintf("recover 'world_object.slow[%d]' --adopt", i))
	}
	p.wants(list, 0, "recover world_object.bad --adopt", "world_object.first")
	p.nothingStays()
}
