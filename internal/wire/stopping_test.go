package wire

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// failing is a provider whose changes fail and return no object.
type failing struct{ mirror }

func (*failing) Apply(context.Context, provider.ApplyRequest) provider.ApplyResponse {
	return provider.ApplyResponse{State: cty.NullVal(cty.EmptyObject), Diagnostics: diag.Errorf("no answer")}
}

// Plugins end their calls when they are asked to stop: if a creation then fails, the object may still exist.
func TestFailuresAfterStopHaveUnknownResults(t *testing.T) {
	eachVersion(t, func(t *testing.T, v *version) {
		block := &provider.Block{}
		p, _ := connect(t, &failing{mirror{schema: &provider.Schema{Resources: map[string]*provider.ResourceType{
			"x": {Block: block}}}}}, v.number)
		object, none := cty.EmptyObjectVal, cty.NullVal(cty.EmptyObject)
		apply := func(prior, planned cty.Value) cty.Value {
			resp := p.Apply(t.Context(), provider.ApplyRequest{Type: "x", Prior: prior, Planned: planned,
				Config: planned})
			if !resp.Diagnostics.HasErrors() {
				t.Error("the call did not fail")
			}
			return resp.State
		}
		for _, c := range []struct{ prior, planned, want cty.Value }{
			{none, object, none}, {object, object, none}, {object, none, none},
		} {
			if got := apply(c.prior, c.planned); got == cty.NilVal || !got.RawEquals(c.want) {
				t.Errorf("before the stop: %#v became %#v", c.prior, got)
			}
		}
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := apply(none, object); got != cty.NilVal {
			t.Errorf("a creation after the stop: got %#v, want that it is not known", got)
		}
		for _, planned := range []cty.Value{object, none} { // a refresh checks objects in the state
			if got := apply(object, planned); got == cty.NilVal {
				t.Errorf("a change after the stop: it is not known what became of the object")
			}
		}
	})
}
