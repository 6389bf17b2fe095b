package planning_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// prevent_destroy and destroy may refer to known values: for instances in the configuration, for those that are no
// longer in it, and in a destroy plan, which evaluates little else.
func TestGuardsMayBeExpressions(t *testing.T) {
	const block = `
variable "v" {
  default = "x"
}
locals {
  l = upper(var.v)
}
resource "terraform_data" "a" {
  for_each = toset(KEYS)
  input    = "1"
  lifecycle {
    GUARD
  }
}
resource "terraform_data" "other" {
  input = "2"
}`
	const deleted = `terraform_data.a["x"] delete delete_because_each_key`
	for _, tt := range []struct{ guard, want, err string }{
		{guard: `prevent_destroy = each.key == "y"`, want: deleted},
		{guard: `prevent_destroy = each.key == "x"`, err: "Instance cannot be destroyed"},
		{guard: `prevent_destroy = local.l == "X"`, err: "Instance cannot be destroyed"},
		{guard: `prevent_destroy = local.l == "Y"`, want: deleted},
		{guard: `prevent_destroy = each.value == "x"`, err: "Invalid value for prevent_destroy"}, // value removed
		{guard: `prevent_destroy = var.v == "x" ? null : true`, want: deleted},
		{guard: `prevent_destroy = var.v`, err: "expected true or false"},
		{guard: `prevent_destroy = sensitive(var.v == "x")`, err: "sensitive"},
		{guard: `prevent_destroy = self.id == "x"`, err: "self"},
		{guard: `prevent_destroy = terraform_data.other.id == ""`, err: "Invalid value for prevent_destroy"},
		{guard: `prevent_destroy = nothing.here`, err: "nothing"},
		{guard: `destroy = false`, want: `terraform_data.a["x"] forget delete_because_each_key`},
		{guard: `destroy = true`, want: deleted},
		{guard: `destroy = each.key != "x"`, want: `terraform_data.a["x"] forget delete_because_each_key`},
		{guard: `destroy = local.l == "X"`, want: deleted},
		{guard: `destroy = var.v == "x" ? null : false`, want: deleted},
		{guard: `destroy = each.value == "x"`, err: "Invalid value for destroy"},
		{guard: `destroy = terraform_data.other.id == ""`, err: "Invalid value for destroy"},
		{guard: "destroy = false\nprevent_destroy = true",
			want: `terraform_data.a["x"] forget delete_because_each_key`},
	} {
		b := &bench{t: t}
		b.with(`terraform_data.a["x"]`, "1")
		b.with(`terraform_data.a["z"]`, "1")
		files := root(strings.NewReplacer("KEYS", `["z"]`, "GUARD", tt.guard).Replace(block))
		if tt.err != "" {
			b.wantError(files, tt.err)
			continue
		}
		b.want(files, tt.want, "terraform_data.other create")
		b.opts.Mode = plan.Destroy
		p, diags := b.plan(files)
		if diags.HasErrors() {
			t.Errorf("%s, to destroy: %v", tt.guard, diags.Err())
		} else if len(p.Changes) != 2 {
			t.Errorf("%s, to destroy: %q", tt.guard, actions(p))
		}
	}
}

// An object whose block was removed is forgotten if destroy = false was set when it was written; a replacement deposes
// it, and a deposed object is forgotten, too.
func TestObjectsWithDestroyFalseAreForgotten(t *testing.T) {
	b := &bench{t: t}
	b.with("terraform_data.a", "1")
	builder := b.prior.Builder()
	for _, r := range b.prior.Resources() {
		for _, inst := range r.Instances {
			object := *inst.Current
			object.SkipDestroy = true
			o := addr.Object{Instance: r.Addr.Instance(addr.NoKey)}
			builder.Fold(state.Edit{Put: &state.PutObject{Addr: o, Provider: r.Provider, Object: &object}})
			o.Deposed = "00000001"
			builder.Fold(state.Edit{Put: &state.PutObject{Addr: o, Provider: r.Provider, Object: &object}})
		}
	}
	b.prior = builder.State()
	b.want(root(""), "terraform_data.a forget delete_because_no_resource_config",
		"terraform_data.a (deposed object 00000001) forget")
	p := b.want(root(`
resource "terraform_data" "a" {
  input            = "1"
  triggers_replace = "2"
  lifecycle {
    destroy = false
  }
}`), "terraform_data.a forget-then-create replace_because_cannot_update",
		"terraform_data.a (deposed object 00000001) forget")
	if s := p.Summary(); s.Destroy != 0 || s.Forget != 2 || s.Add != 1 {
		t.Errorf("summary %+v", s)
	}
}
