//go:build unix

package plugged

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// repeater is a provider that repeats all its input in every response and in its log.
type repeater struct{ provider.Provider }

// repeated returns warnings with all texts in some values, unquoted and in every kind of quotes.
func repeated(call string, values ...cty.Value) (list diag.List) {
	for _, v := range values {
		if v == cty.NilVal {
			continue
		}
		_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
			if v.Type() != cty.String || !v.IsKnown() || v.IsNull() || v.AsString() == "" {
				return true, nil
			}
			asJSON, _ := json.Marshal(v.AsString())
			text := fmt.Sprintf("%s and %q and %s and %s", v.AsString(), v.AsString(), asJSON,
				strconv.QuoteToASCII(v.AsString()))
			syscall.Write(2, []byte("[WARN] "+call+": "+text+"\n"))
			list = list.Warnf(nil, call+" "+v.AsString(), "Got %s.", text)
			list[len(list)-1].Path = path.Copy()
			return true, nil
		})
	}
	return list
}

func (p repeater) ValidateConfig(ctx context.Context,
	req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := p.Provider.ValidateConfig(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("ValidateConfig", req.Config)...)
	return resp
}

func (p repeater) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	return append(p.Provider.ValidateResource(ctx, req), repeated("ValidateResource", req.Config)...)
}

func (p repeater) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	resp := p.Provider.Configure(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("Configure", req.Config)...)
	return resp
}

func (p repeater) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	resp := p.Provider.UpgradeState(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("UpgradeState", resp.State)...)
	return resp
}

func (p repeater) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	resp := p.Provider.Import(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("Import", cty.StringVal(req.ID))...)
	return resp
}

func (p repeater) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	resp := p.Provider.Read(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("Read", req.Prior, resp.State)...)
	return resp
}

func (p repeater) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := p.Provider.Plan(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("Plan", req.Config, req.Prior)...)
	return resp
}

func (p repeater) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	resp := p.Provider.Apply(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("Apply", req.Config, req.Prior)...)
	return resp
}

func (p repeater) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	resp := p.Provider.ReadData(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, repeated("ReadData", req.Config)...)
	return resp
}

// hardSecret contains characters that quoting changes. Tests look for its end.
const hardSecret = `a"b\é<&` + planted

// tellingHead begins a configuration with a provider that repeats everything.
const tellingHead = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
variable "s" {
  type      = string
  sensitive = true
}
variable "e" {
  type      = string
  ephemeral = true
  default   = null
}
provider "world" {
  dir = "w"
}
`

// holders are files that may contain secrets.
var holders = []string{"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.journal", "p",
	"given.tfvars", "given.tfvars.json"}

// tells looks for the secret in a text and in the files below a folder, except for holders.
func (p *plugged) tells(where, text string) {
	p.t.Helper()
	hit := func(where, text string) {
		for line := range strings.Lines(text) {
			if strings.Contains(strings.ToLower(line), planted) {
				p.t.Errorf("%s tells a secret: %.400s", where, line)
				return
			}
		}
	}
	hit(where, text)
	p.must(filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(p.dir, path)
		if name == "w" {
			return filepath.SkipDir // the world itself
		}
		if strings.Contains(name, planted) {
			p.t.Errorf("%s: the name of a file tells a secret: %s", where, name)
		}
		if err != nil || !d.Type().IsRegular() || name == "said" {
			return err
		}
		for _, holder := range holders {
			if name == holder {
				return nil
			}
		}
		data, err := os.ReadFile(path)
		hit(where+": file "+name, string(data))
		return err
	}))
}

// givings are the ways to set a variable.
var givings = map[string]func(p *plugged) (options []string){
	"environment": func(p *plugged) []string {
		p.env = append(p.env, "TF_VAR_s="+hardSecret, "TF_VAR_e="+hardSecret)
		return nil
	},
	"file": func(p *plugged) []string {
		quoted := strings.ReplaceAll(strings.ReplaceAll(hardSecret, `\`, `\\`), `"`, `\"`)
		p.write("given.tfvars", "s = \""+quoted+"\"\ne = \""+quoted+"\"\n")
		return []string{"-var-file=given.tfvars"}
	},
	"JSON": func(p *plugged) []string {
		doc, err := json.Marshal(map[string]string{"s": hardSecret, "e": hardSecret})
		p.must(err)
		p.write("given.tfvars.json", string(doc))
		return []string{"-var-file=given.tfvars.json"}
	},
	"option": func(p *plugged) []string { return []string{"-var", "s=" + hardSecret, "-var", "e=" + hardSecret} },
}

// uses are the ways to use the secret. Provider arguments that are not sensitive are shown, so none has the secret
// here.
var uses = map[string]string{
	"objects": `resource "world_object" "attribute" {
  name  = "attribute"
  value = var.s
  tags  = { "k" = "x${var.s}y" }
}
resource "world_object" "key" {
  name = "key"
  tags = { (var.s) = "x" }
}
resource "world_object" "schema" {
  name   = "schema"
  secret = var.s
}
resource "world_object" "password" {
  name     = "password"
  password = var.e
}
data "world_object" "a" {
  name = world_object.key.name == "" ? "" : var.s
}
resource "world_object" "provisioner" {
  name = "provisioner"
  provisioner "local-exec" {
    command     = "printf '%s' \"$S\"; tr '\\0' '\\n' </proc/$$/cmdline >args.own; tr '\\0' '\\n' </proc/$PPID/cmdline >args.parent; true"
    environment = { S = var.s }
  }
}
module "m" {
  source = "./m"
  s      = var.s
}
output "o" {
  value     = module.m.o
  sensitive = true
}`,
	"provider": `provider "world" {
  alias = "x"
  dir   = "w/${var.s}"
}
resource "world_object" "a" {
  provider = world.x
  name     = "a"
}`,
	"import": `resource "world_object" "a" { name = "a" }
import {
  to = world_object.a
  id = var.s
}`,
	"program": `data "external" "a" {
  program = ["sh", "-c", "q=$(cat); printf '%s' \"$q\" >&2; tr '\\0' '\\n' </proc/$$/cmdline >args.own; printf '{}'"]
  query   = { q = var.s }
}
resource "world_object" "a" {
  name  = "a"
  value = length(data.external.a.result)
}`,
	"condition": `resource "world_object" "a" {
  name = "a"
  lifecycle {
    postcondition {
      condition     = self.name == var.s
      error_message = "It is ${var.s}."
    }
  }
}`,
	"function of a provider": `locals { x = provider::world::join(var.s, "a", null) }
resource "world_object" "a" { name = local.x }`,
}

// TestRepeatedSecretsAreHidden passes a secret in every way and to every use, to a plugin and to programs that repeat
// it, and looks for it in all output.
func TestRepeatedSecretsAreHidden(t *testing.T) {
	for use, config := range uses {
		for giving, give := range givings {
			if giving != "environment" && use != "condition" {
				continue // how a variable was set makes no difference later
			}
			t.Run(use+", "+giving, func(t *testing.T) {
				t.Parallel()
				p := newPlugged(t, tellingHead+config+"\n", "BAD=tell", "TF_LOG=trace")
				p.env = append(p.env, "TF_LOG_PATH="+p.path("log"))
				p.must(os.MkdirAll(p.path("m"), 0o777))
				p.write("m/main.tf", "terraform {\n  required_providers {\n    world = { source = \"tombolo/bad\" "+
					"}\n  }\n}\nvariable \"s\" {}\n"+
					"resource \"world_object\" \"a\" {\n  name = \"m\"\n  value = var.s\n}\noutput \"o\" {\n  value "+
					"= var.s\n  sensitive = true\n}\n")
				p.write("a.tftest.hcl", "run \"a\" {\n  command = apply\n  assert {\n    condition     = var.s == "+
					"\"x\"\n    error_message = \"It is ${var.s}.\"\n  }\n}\n")
				p.everything(give(p))
			})
		}
	}
}

func (p *plugged) everything(options []string) {
	p.t.Helper()
	p.run(nil, "init")
	for _, c := range []struct {
		args   []string
		values bool
	}{
		{[]string{"plan", "-out=p"}, true}, {[]string{"show", "p"}, false},
		{[]string{"apply", "-auto-approve", "-json"}, true},
		{[]string{"show"}, false}, {[]string{"refresh"}, true}, {[]string{"test", "-junit-xml=junit.xml", "-verbose"},
			true},
		{[]string{"destroy", "-auto-approve", "-json"}, true},
	} {
		if c.values {
			c.args = append(c.args, options...)
		}
		r := p.run(nil, c.args...)
		text := r.out
		p.tells(strings.Join(c.args[:1], " "), text)
		_ = os.Remove(p.path("log"))
	}
}

// TestProgressHidesSecretIDs creates an object whose id a provider derives from a secret. Plans and the state show the
// id, which is public; progress lines do not.
func TestProgressHidesSecretIDs(t *testing.T) {
	p := newPlugged(t, tellingHead+"resource \"world_object\" \"a\" { name = var.s }\n", "TF_VAR_s="+hardSecret)
	p.wants(p.run(nil, "init"), 0)
	for _, args := range [][]string{{"apply", "-auto-approve", "-json"}, {"refresh"},
		{"apply", "-auto-approve", "-json"}, {"destroy", "-auto-approve", "-json"}} {
		r := p.run(nil, args...)
		p.wants(r, 0)
		p.tells(args[0], r.out)
		if !strings.Contains(r.out, "(sensitive value)-1") {
			t.Errorf("%s shows no id:\n%s", args, r.out)
		}
	}
}

// TestPlainArgumentsOfEphemeralResourcesStayVisible opens ephemeral resources whose arguments are in plain, and secret.
// A plugin repeats everything. What is in plain elsewhere, too, is shown; what the resources return, and what is secret
// already, is not.
func TestPlainArgumentsOfEphemeralResourcesStayVisible(t *testing.T) {
	p := newPlugged(t, tellingHead+`
ephemeral "world_lease" "plain" {
  name = "visible"
}
ephemeral "world_lease" "secret" {
  name = var.e
}
resource "world_object" "a" {
  name     = "visible"
  password = ephemeral.world_lease.plain.token
}
resource "world_object" "b" {
  name     = "b"
  password = ephemeral.world_lease.secret.token
}
output "o" {
  value = "${world_object.a.name} stays"
}
`, "BAD=tell", "TF_VAR_e="+planted)
	p.wants(p.run(nil, "init"), 0)
	for _, args := range [][]string{{"plan", "-out=p"}, {"show", "p"}, {"apply", "-auto-approve"}, {"show"},
		{"destroy", "-auto-approve"}} {
		r := p.run(nil, args...)
		p.wants(r, 0, `name `, `"visible"`, `visible stays`)
		for _, secret := range []string{"token-of-", planted} {
			if strings.Contains(r.out, secret) {
				t.Errorf("%s shows %q:\n%s", args, secret, r.out)
			}
		}
	}
}
