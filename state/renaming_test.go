package state_test

import (
	"fmt"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

func TestDependenciesFollowMoves(t *testing.T) {
	instance := func(s string) addr.AbsResourceInstance {
		a, diags := addr.ParseInstance(s)
		if diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		return a
	}
	b := (*state.State)(nil).Builder()
	put := func(at string, deposed addr.DeposedKey, deps ...string) {
		o := &state.Object{Attributes: []byte(`{}`)}
		for _, d := range deps {
			o.Dependencies = append(o.Dependencies, instance(d).Config())
		}
		b.Fold(state.Edit{Put: &state.PutObject{Addr: addr.Object{Instance: instance(at), Deposed: deposed},
			Object: o}})
	}
	put("module.b.x.r", "")
	put("module.b.x.s", "", "module.b.x.r")
	put("x.some[0]", "")
	put("x.some[1]", "")
	put("x.user", "", "module.b.x.s", "x.some", "x.other")
	put("x.user", "0a0b0c0d", "x.some")

	moves := []state.MoveObject{
		{From: instance("module.b.x.r"), To: instance("module.c.x.r")}, {From: instance("module.b.x.s"),
			To: instance("module.c.x.s")},
		{From: instance("x.some[0]"), To: instance("x.one")},
	}
	before := b.State()
	for _, m := range moves {
		b.Fold(state.Edit{Move: &m})
	}
	b.Rename(before.Moves(moves))

	after := b.State()
	for at, want := range map[string]string{"module.c.x.r": "[]", "module.c.x.s": "[module.c.x.r]",
		"x.user": "[module.c.x.s x.one x.other x.some]"} {
		if got := fmt.Sprint(after.Object(addr.Object{Instance: instance(at)}).Dependencies); got != want {
			t.Errorf("%s depends on %s, want %s", at, got, want)
		}
	}
	if got := fmt.Sprint(
		after.Object(addr.Object{Instance: instance("x.user"),
			Deposed: "0a0b0c0d"}).Dependencies); got != "[x.one x.some]" {
		t.Errorf("the deposed object depends on %s", got)
	}
	if got := fmt.Sprint(
		before.Object(addr.Object{Instance: instance("x.user")}).Dependencies); got != "[module.b.x.s x.some x.other]" {
		t.Errorf("the former state was changed: %s", got)
	}
}
