//go:build unix

package drivers

import (
	"io"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// A play is a session that runs with several binaries.
type play struct {
	name  string
	files map[string]string
	run   func(*session)
}

//lint:ignore SA1019 deprecated options must work as well
var inState = tfexec.State

var sessions = []play{
	{"settings", worldly, playSettings},
	{"run", mixed, playRun},
	{"streams", mixed, playStreams},
	{"state", mixed, playState},
	{"import", worldly, playImport},
	{"lock", locking, playLock},
	{"workspaces", mixed, playWorkspaces},
	{"code", crooked, playCode},
	{"init", mixed, playInit},
	{"providers", worldly, playProviders},
	{"later", mixed, playLater},
}

// mixed has a little of everything, without plugins.
var mixed = map[string]string{
	"main.tf": `
variable "name" {
  type    = string
  default = "n"
}
variable "size" {
  type    = number
  default = 1
}
variable "secret" {
  type      = string
  sensitive = true
  default   = "s3cret"
}
resource "terraform_data" "first" {
  input = { name = var.name, size = var.size, secret = var.secret }
}
resource "terraform_data" "many" {
  count            = 2
  input            = "${var.name}-${count.index}"
  triggers_replace = var.name
}
resource "terraform_data" "each" {
  for_each = toset(["a", "b"])
  input    = terraform_data.first.output.name
}
module "child" {
  source = "./child"
  name   = var.name
}
output "size" {
  value = var.size
}
output "big" {
  value = 12345678901234567890
}
output "secret" {
  value     = var.secret
  sensitive = true
}
output "object" {
  value = { names = terraform_data.many[*].output, child = module.child.out }
}
check "size" {
  assert {
    condition     = var.size < 5
    error_message = "It is large."
  }
}
`,
	"child/main.tf": `
variable "name" {}
resource "terraform_data" "inner" {
  input = var.name
}
output "out" {
  value = terraform_data.inner.output
}
`,
	"large.tfvars": "size = 3\n",
}

// worldly has objects of a plugin.
var worldly = map[string]string{"main.tf": `
terraform {
  required_providers {
    world = {
      source  = "tombolo/world"
      version = "~> 1.0"
    }
  }
}
provider "world" {
  dir = "w"
}
variable "value" {
  default = "v"
}
resource "world_object" "a" {
  name  = "a"
  value = var.value
}
resource "world_object" "b" {
  name = "b-${world_object.a.name}"
}
data "world_object" "a" {
  name = world_object.a.name
}
output "b" {
  value = world_object.b.name
}
`}

func playSettings(s *session) {
	s.is("the directory", s.ok("WorkingDir"), []any{s.dir})
	s.is("the program", s.tf.ExecPath(), s.bin)
	s.called["ExecPath"] = map[string]bool{} // not in the transcript, since it tells binaries apart
	s.ok("Version", false)
	logger, stderr := &strings.Builder{}, &strings.Builder{}
	s.ok("SetLogger", log.New(logger, "", 0))
	s.ok("SetStdout", nil)
	s.ok("SetStderr", stderr)
	s.ok("SetAppendUserAgent", "drivers/1.0")
	s.ok("SetWaitDelay", time.Minute)
	s.ok("SetEnableLegacyPipeClosing", true)
	s.ok("SetEnableLegacyPipeClosing", false)
	s.fails("unexpected version", "SetSkipProviderVerify", true) // not since 0.13
	s.fails("TF_INPUT", "SetEnv", map[string]string{"TF_INPUT": "1"})
	s.ok("Validate") // the result is an error about a missing plugin
	s.fails("exit status 1", "Plan")
	s.ok("Init")
	s.ok("Version", true)
	s.ok("SetLogProvider", "TRACE")
	s.ok("SetLogCore", "WARN")
	s.must(s.tf.SetLogPath(s.path("provider.log")))
	s.ok("SetDisablePluginTLS", true)
	s.ok("Plan")
	if text := s.read("provider.log"); !strings.Contains(text, "PlanResourceChange") && !s.real {
		s.t.Errorf("the log has no calls of the plugin:\n%s", text)
	}
	s.ok("SetDisablePluginTLS", false)
	s.ok("SetLog", "DEBUG")
	s.ok("SetLogPath", s.path("all.log"))
	env := s.environ()
	env["TF_DATA_DIR"] = s.path("data")
	s.ok("SetEnv", env)
	s.ok("Init")
	s.ok("Apply")
	if info, err := os.Stat(s.path("all.log")); err != nil || info.Size() == 0 {
		s.t.Errorf("there is no log: %v", err)
	}
	if _, err := os.Stat(s.path("data/providers")); err != nil {
		s.t.Errorf("the plugin is not in the data directory: %v", err)
	}
	if !strings.Contains(logger.String(), "running Terraform command") {
		s.t.Errorf("the logger got %s", logger)
	}
	if stderr.Len() == 0 {
		s.t.Error("nothing of the errors is streamed")
	}
}

func playRun(s *session) {
	s.fails(`(terraform|tombolo)\s+init`, "Plan")
	s.ok("Init")
	s.ok("Validate")
	s.is("changes", s.ok("Plan", tfexec.Out("p"), tfexec.Var("name=m"), tfexec.VarFile("large.tfvars"),
		tfexec.Lock(true), tfexec.LockTimeout("1s"), tfexec.Parallelism(3), tfexec.Refresh(true)), []any{true})
	s.ok("ShowPlanFile", "p")
	s.ok("ShowPlanFile", "p", tfexec.JSONNumber(false))
	raw, err := s.tf.ShowPlanFileRaw(s.t.Context(), "p")
	s.must(err)
	s.called["ShowPlanFileRaw"] = map[string]bool{} // words for people
	if !strings.Contains(raw, "terraform_data.first will be created") ||
		!strings.Contains(raw, "Plan: 6 to add, 0 to change, 0 to destroy.") || strings.Contains(raw, "s3cret") {
		s.t.Errorf("the plan is\n%s", raw)
	}
	s.drawn(tfexec.GraphPlan("p"), tfexec.GraphType("apply"))
	s.ok("Apply", tfexec.DirOrPlan("p"))
	s.fails("exit status 1", "Apply", tfexec.DirOrPlan("p")) // stale
	s.is("changes", s.ok("Plan", tfexec.Var("name=m"), tfexec.VarFile("large.tfvars")), []any{false})
	s.ok("Output")
	s.ok("Show")
	s.ok("ShowStateFile", "terraform.tfstate", tfexec.JSONNumber(true))
	s.is("changes", s.ok("Plan", tfexec.Out("q"), tfexec.Var("name=other"), tfexec.Target("terraform_data.first"),
		tfexec.Replace("terraform_data.first")), []any{true})
	s.ok("ShowPlanFile", "q")
	s.is("changes", s.ok("Plan", tfexec.RefreshOnly(true), tfexec.Refresh(true), tfexec.Var("size=9")), []any{true})
	s.is("changes", s.ok("Plan", tfexec.Destroy(true), tfexec.Out("d"), tfexec.Var("name=m"),
		tfexec.VarFile("large.tfvars")), []any{true})
	s.ok("ShowPlanFile", "d")
	s.ok("Apply", tfexec.Var("size=4"), tfexec.VarFile("large.tfvars"), tfexec.Backup("before.tfstate"),
		tfexec.Lock(false), tfexec.LockTimeout("2s"), tfexec.Parallelism(1), tfexec.Refresh(false),
		tfexec.Replace("terraform_data.each[\"a\"]"), tfexec.Target("terraform_data.each"),
		tfexec.Target("module.child"))
	s.ok("ShowStateFile", "before.tfstate")
	s.ok("Apply", tfexec.RefreshOnly(true))
	s.ok("Refresh", tfexec.Var("size=2"), tfexec.VarFile("large.tfvars"), tfexec.Backup("-"), tfexec.Lock(true),
		tfexec.LockTimeout("1s"), tfexec.Target("terraform_data.first"))
	s.ok("Apply", inState("terraform.tfstate"), tfexec.StateOut("copy.tfstate"))
	s.ok("ShowStateFile", "copy.tfstate")
	s.ok("Output", inState("copy.tfstate"))
	s.is("changes", s.ok("Plan", inState("copy.tfstate")), []any{false})
	s.ok("Refresh", inState("copy.tfstate"), tfexec.StateOut("other.tfstate"))
	s.ok("Destroy", inState("copy.tfstate"), tfexec.StateOut("gone.tfstate"), tfexec.Target("module.child"))
	s.ok("ShowStateFile", "gone.tfstate")
	s.fails("exit status 1", "Destroy", tfexec.Dir("child"))
	s.fails("exit status 1", "Plan", tfexec.Dir("child"))
	s.fails("exit status 1", "Refresh", tfexec.Dir("child"))
	s.fails("experiments are not enabled", "Plan", tfexec.AllowDeferral(true))
	s.fails("experiments are not enabled", "Apply", tfexec.AllowDeferral(true))
	s.ok("Destroy", tfexec.Var("size=2"), tfexec.VarFile("large.tfvars"), tfexec.Backup("last.tfstate"),
		tfexec.Lock(true), tfexec.LockTimeout("1s"), tfexec.Parallelism(2), tfexec.Refresh(false))
	s.ok("Show")
	s.ok("Output")
	s.ok("Apply", tfexec.Destroy(true))
}

func playStreams(s *session) {
	s.ok("InitJSON", nil, tfexec.Upgrade(true))
	s.is("changes", s.ok("PlanJSON", nil, tfexec.Out("p"), tfexec.Var("size=9")), []any{true})
	s.ok("ApplyJSON", nil, tfexec.DirOrPlan("p"))
	s.is("changes", s.ok("PlanJSON", nil, tfexec.Var("size=9")), []any{false})
	s.ok("RefreshJSON", nil)
	s.ok("ApplyJSON", nil, tfexec.Var("name=other"))
	s.fails("exit status 1", "PlanJSON", nil, tfexec.Var("nosuch=1"))
	s.write("bad.tf", "output \"x\" {\n  value = nosuch.thing\n}\n")
	s.fails("exit status 1", "PlanJSON", nil)
	s.fails("exit status 1", "ApplyJSON", nil)
	s.must(os.Remove(s.path("bad.tf")))
	s.ok("DestroyJSON", nil)
	s.is("changes", s.ok("PlanJSON", nil, tfexec.Destroy(true)), []any{false})
}

// drawn requests the graph of an operation. Its content differs between engines.
func (s *session) drawn(options ...any) {
	s.t.Helper()
	before := len(s.transcript)
	out := s.ok("Graph", options...)
	s.transcript = s.transcript[:before]
	if text := out[0].(string); !strings.HasPrefix(text, "digraph {") || !strings.Contains(text, "->") {
		s.t.Errorf("this is no graph: %s", text)
	}
}

func playState(s *session) {
	s.ok("Init")
	s.ok("Apply")
	s.ok("Taint", "terraform_data.first", tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.ok("Taint", "terraform_data.nosuch", tfexec.AllowMissing(true))
	s.fails("exit status 1", "Taint", "terraform_data.nosuch")
	s.ok("Show")
	s.is("changes", s.ok("Plan"), []any{true})
	s.ok("Untaint", "terraform_data.first", tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.ok("Untaint", "terraform_data.nosuch", tfexec.AllowMissing(true))
	s.fails("exit status 1", "Untaint", "terraform_data.first")
	s.is("changes", s.ok("Plan"), []any{false})
	s.ok("Taint", "terraform_data.many[0]", inState("terraform.tfstate"))
	s.ok("Untaint", "terraform_data.many[0]", inState("terraform.tfstate"))

	s.ok("StateMv", "terraform_data.many", "terraform_data.lots", tfexec.DryRun(true))
	s.ok("StateMv", "terraform_data.many", "terraform_data.lots", tfexec.Backup("b1"), tfexec.Lock(true),
		tfexec.LockTimeout("1s"))
	s.fails("exit status 1", "StateMv", "terraform_data.many", "terraform_data.third")
	s.ok("StateMv", "module.child", "module.other")
	s.ok("Show")
	s.ok("StateMv", "terraform_data.lots", "terraform_data.many")
	s.ok("StateMv", "terraform_data.many[1]", "terraform_data.moved", inState("terraform.tfstate"),
		tfexec.StateOut("out.tfstate"), tfexec.BackupOut("b2"))
	s.ok("ShowStateFile", "out.tfstate")
	s.ok("StateRm", "terraform_data.each", tfexec.DryRun(true))
	s.ok("StateRm", "terraform_data.each[\"a\"]", tfexec.Backup("b3"), tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.fails("exit status 1", "StateRm", "terraform_data.nosuch")
	s.fails("backup-out", "StateRm", "terraform_data.moved", tfexec.BackupOut("b4")) // there is no such flag
	s.fails("state-out", "StateRm", "terraform_data.moved", tfexec.StateOut("out2.tfstate"))
	s.ok("StateRm", "terraform_data.moved", inState("out.tfstate"))
	s.ok("ShowStateFile", "out.tfstate")
	s.ok("Show")

	pulled := s.ok("StatePull")[0].(string)
	s.write("pushed", strings.Replace(pulled, `"serial": `, `"serial": 1`, 1))
	s.ok("StatePush", "pushed", tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.write("old", pulled)
	s.fails("exit status 1", "StatePush", "old")
	s.ok("StatePush", "old", tfexec.Force(true))
	s.ok("StatePull")
	s.fails("exit status 1", "ForceUnlock", "00000000-0000-0000-0000-000000000000")
	s.fails("was removed", "ForceUnlock", "00000000-0000-0000-0000-000000000000", tfexec.Dir("child"))
}

// created matches the id of the first object in the ledger of a world.
var created = regexp.MustCompile(`CREATED .*"id":"([^"]+)"`)

func playImport(s *session) {
	s.ok("Init")
	s.ok("Apply", tfexec.Var("value=1"))
	s.ok("StateRm", "world_object.a")
	id := created.FindStringSubmatch(s.read("w/ledger"))[1]
	s.ok("Import", "world_object.a", id, tfexec.Var("value=1"), tfexec.Lock(true), tfexec.LockTimeout("1s"),
		tfexec.Backup("b"))
	s.fails("exit status 1", "Import", "world_object.a", id) // already exists
	s.fails("exit status 1", "Import", "world_object.nosuch", "x")
	s.fails("exit status 1", "Import", "world_object.nosuch", id, tfexec.AllowMissingConfig(true)) // not since 1.7
	s.is("changes", s.ok("Plan", tfexec.Var("value=1")), []any{false})
	s.ok("StateRm", "world_object.a")
	s.write("vars", "value = \"1\"\n")
	s.ok("Import", "world_object.a", id, tfexec.VarFile("vars"), tfexec.Config(s.dir), inState("terraform.tfstate"),
		tfexec.StateOut("out.tfstate"))
	s.ok("ShowStateFile", "out.tfstate")
	s.write("import.tf", "import {\n  to = world_object.c\n  id = \""+id+"\"\n}\n")
	s.is("changes", s.ok("Plan", tfexec.GenerateConfigOut("generated.tf"), tfexec.Out("p")), []any{true})
	_, block, _ := strings.Cut(s.read("generated.tf"), "\n\n") // derived from earlier steps, in words for people
	s.note("%s", block)
	s.ok("ShowPlanFile", "p")
}

// locking is a state that is locked from the start.
var locking = map[string]string{"main.tf": `
terraform {
  backend "inmem" {
    lock_id = "2b6a6738-5dd5-50d6-c0ae-f6352977666b"
  }
}
resource "terraform_data" "a" {
}
`}

func playLock(s *session) {
	const id = "2b6a6738-5dd5-50d6-c0ae-f6352977666b"
	s.ok("Init")
	for _, name := range []string{"Plan", "Apply", "Destroy", "Refresh"} {
		s.fails(`Error acquiring the state lock(?s:.*)Lock Info:\n\s*ID:\s*`+id, name)
	}
	s.ok("Plan", tfexec.Lock(false))
	s.fails("Failed to unlock state: ", "ForceUnlock", "00000000-0000-0000-0000-000000000000")
	s.ok("ForceUnlock", id)
}

func playWorkspaces(s *session) {
	s.ok("Init")
	s.ok("WorkspaceShow")
	s.ok("WorkspaceList")
	s.ok("Apply")
	s.ok("WorkspaceNew", "one", tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.is("the workspace", s.ok("WorkspaceShow"), []any{"one"})
	s.ok("Show")
	s.fails("exit status 1", "WorkspaceNew", "one")
	s.fails("exit status 1", "WorkspaceNew", "a b")
	s.ok("WorkspaceNew", "two", tfexec.CopyState("terraform.tfstate"))
	s.ok("Show")
	s.is("the list", s.ok("WorkspaceList"), []any{[]string{"default", "one", "two"}, "two"})
	s.fails("exit status 1", "WorkspaceSelect", "three")
	s.ok("WorkspaceSelect", "one")
	s.fails("exit status 1", "WorkspaceDelete", "two") // not empty
	s.fails("exit status 1", "WorkspaceDelete", "one") // the current one
	s.fails("exit status 1", "WorkspaceDelete", "default")
	s.fails("exit status 1", "WorkspaceDelete", "three")
	s.ok("WorkspaceDelete", "two", tfexec.Force(true), tfexec.Lock(true), tfexec.LockTimeout("1s"))
	s.ok("WorkspaceSelect", "default")
	s.ok("WorkspaceDelete", "one")
	s.is("the list", s.ok("WorkspaceList"), []any{[]string{"default"}, "default"})
	s.is("changes", s.ok("Plan"), []any{false})

	none := tfexec.ReattachInfo{}
	s.ok("WorkspaceList", tfexec.Reattach(none))
	s.ok("WorkspaceNew", "three", tfexec.Reattach(none))
	s.ok("WorkspaceSelect", "default", tfexec.Reattach(none))
	s.ok("WorkspaceShow", tfexec.Reattach(none))
	s.ok("WorkspaceDelete", "three", tfexec.Reattach(none))
}

// crooked is unformatted code in two directories.
var crooked = map[string]string{
	"main.tf": "variable   \"x\" {\ndefault=1\n}\nmodule \"m\" {\n  source = \"./m\"\n  x = var.x\n}\n",
	"good.tf": "output \"m\" {\n  value = module.m.x\n}\n",
	"m/main.tf": "variable \"x\" {}\noutput \"x\" {\n    value = var.x\n}\nresource \"terraform_data\" \"a\" " +
		"{}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n",
	"x.tfvars":      "x    = 2\n",
	"m/in/other.tf": "locals {\n  a=1\n}\n",
}

func playCode(s *session) {
	s.ok("FormatString", "a=1\nbcd = [1,2]\n")
	s.fails("exit status 2", "FormatString", "a = = {\n")
	s.ok("Format", strings.NewReader("x   {\ny=1\n}\n"), io.Discard)
	s.ok("FormatCheck")
	s.ok("FormatCheck", tfexec.Dir("m"), tfexec.Recursive(true))
	s.ok("FormatCheck", tfexec.Recursive(true))
	s.fails("exit status 2", "FormatCheck", tfexec.Dir("nosuch"))
	s.ok("FormatWrite", tfexec.Dir("m"))
	s.note("%s", s.read("m/main.tf"))
	s.ok("FormatWrite", tfexec.Recursive(true))
	s.is("formatted", s.ok("FormatCheck", tfexec.Recursive(true)), []any{true, []string(nil)})

	s.fails("exit status 1", "Graph")
	s.ok("Get", tfexec.Update(true))
	s.ok("Get", tfexec.Update(false))
	s.fails("exit status 1", "Get", tfexec.Dir("m"))
	s.ok("Init")
	s.ok("Graph")
	s.drawn(tfexec.DrawCycles(true), tfexec.GraphType("plan"))
	s.fails("exit status 1", "Graph", tfexec.GraphType("nosuch"))
	s.ok("Validate")
	s.write("bad.tf", "resource \"terraform_data\" \"bad\" {\n  input = var.nosuch\n  other = 1\n}\n")
	s.ok("Validate") // invalid configuration is not an error of the call
	s.write("bad.tf", "resource {\n")
	s.ok("Validate")
	s.ok("MetadataFunctions")
}

func playInit(s *session) {
	s.write("backend.tf", "terraform {\n  backend \"local\" {}\n}\n")
	s.write("two.tfbackend", "path = \"two.tfstate\"\n")
	s.ok("Init", tfexec.Backend(true), tfexec.Get(true), tfexec.Upgrade(true), tfexec.BackendConfig("path=one.tfstate"))
	s.ok("Apply")
	// options about the old backend are required
	s.fails("exit status 1", "Init", tfexec.BackendConfig("two.tfbackend"))
	s.ok("Init", tfexec.BackendConfig("two.tfbackend"), tfexec.ForceCopy(true))
	s.is("changes", s.ok("Plan"), []any{false})
	s.ok("Init", tfexec.BackendConfig("path=three.tfstate"), tfexec.Reconfigure(true))
	s.is("changes", s.ok("Plan"), []any{true})
	s.ok("Init", tfexec.Backend(false), tfexec.Get(false))
	s.ok("Init", tfexec.PluginDir(s.path("plugins")), tfexec.Reattach(tfexec.ReattachInfo{}),
		tfexec.BackendConfig("path=three.tfstate"))
	s.fails("exit status 1", "Init", tfexec.Dir("child"))
	s.fails("exit status 1", "Init", tfexec.FromModule("./child")) // the directory is not empty
	for _, gone := range []any{tfexec.Lock(false), tfexec.LockTimeout("1s"), tfexec.GetPlugins(false),
		tfexec.VerifyPlugins(false)} {
		s.fails("no longer available", "Init", gone)
	}
	s.must(os.Mkdir(s.path("empty"), 0o777))
	var err error
	s.tf, err = tfexec.NewTerraform(s.path("empty"), s.bin)
	s.must(err)
	s.must(s.tf.SetEnv(s.environ()))
	s.ok("Init") // nothing to initialize
	s.fails("exit status 1", "Plan")
	s.ok("Init", tfexec.FromModule(s.path("child")))
	s.ok("Validate")
}

func playProviders(s *session) {
	s.fails("exit status 1", "ProvidersSchema")
	s.ok("ProvidersLock", tfexec.FSMirror(s.path(".home/mirror")),
		tfexec.Provider("registry.terraform.io/tombolo/world"))
	s.note("%s", s.read(".terraform.lock.hcl"))
	s.ok("Init")
	s.note("%s", s.read(".terraform.lock.hcl"))
	s.ok("Version", true)
	s.ok("ProvidersSchema")
	s.fails("exit status 1", "ProvidersLock", tfexec.FSMirror(s.path(".home/mirror")), tfexec.Platform("plan9_mips"))
	s.fails("exit status 1", "ProvidersLock", tfexec.NetMirror("http://127.0.0.1:1/"))
	s.ok("Apply")
	s.ok("Show")
	s.ok("Output")
	s.ok("Graph")
	s.fails("exit status 1", "ProvidersMirror", s.path("mirror"), tfexec.Platform("plan9_mips"), tfexec.LockFile(false))
	for _, name := range []string{"Init", "Plan", "Show", "Refresh", "Apply", "Destroy"} {
		s.ok(name, tfexec.Reattach(tfexec.ReattachInfo{}))
	}
	s.fails("exit status 1", "Import", "world_object.a", "nosuch", tfexec.Reattach(tfexec.ReattachInfo{}))
}

// playLater calls what version 1.11.4 no longer has or does not have yet: the library itself reports such calls. It
// also calls Test, without test files.
func playLater(s *session) {
	s.ok("Init")
	s.fails("unexpected version", "Upgrade012", tfexec.Dir("."), tfexec.Force(true),
		tfexec.Reattach(tfexec.ReattachInfo{}))
	s.fails("unexpected version", "Upgrade013", tfexec.Dir("."), tfexec.Reattach(tfexec.ReattachInfo{}))
	s.fails("unexpected version", "WorkspaceListJSON", tfexec.Reattach(tfexec.ReattachInfo{}))
	s.fails("experiments|unexpected version", "StateMigrateJSON", tfexec.Upgrade(true),
		tfexec.Reattach(tfexec.ReattachInfo{}), tfexec.SourceProviderLockFile("x"), tfexec.DestinationProviderLockFile(
			"y"))

	before := len(s.transcript)
	// Without list blocks it ends with an error among its messages; terraform 1.11.4 is not even run.
	_, _ = s.call("QueryJSON", tfexec.Dir("."), tfexec.GenerateConfigOut("x"), tfexec.Reattach(tfexec.ReattachInfo{}),
		tfexec.Var("a=1"), tfexec.VarFile("x"))
	_, err := s.call("Test", nil, tfexec.TestsDirectory("tests"))
	s.transcript = s.transcript[:before] // its output is compared with the files of conformance/testdata/tests
	s.must(err)
}
