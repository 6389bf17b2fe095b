package web_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/provider"
)

// The output of "provider new -lang http" manages the things of a typical API.
func TestTheStarterProviderWorks(t *testing.T) {
	s := newThings(t)
	l := begin(t, string(starter.Files("http", "demo")["tombolo-provider.json"]), nil, "API_URL="+s.URL+"/v1",
		"API_TOKEN="+bearer)
	at := provider.ApplyResponse{}
	for _, name := range []string{"one", "two"} {
		at = l.apply(context.Background(), "demo_thing", at, map[string]cty.Value{"name": cty.StringVal(name)})
		read := l.read(context.Background(), "demo_thing", at)
		if output := text(at.Diagnostics) + text(read.Diagnostics); output != "" || !read.State.RawEquals(at.State) ||
			s.objects["1"]["name"] != name {
			t.Errorf("got %#v, the server has %v\n%s", read.State, s.objects, output)
		}
	}
	gone := l.apply(context.Background(), "demo_thing", at, nil)
	if gone.Diagnostics.HasErrors() || len(s.objects) > 0 {
		t.Errorf("%s, the server has %v", text(gone.Diagnostics), s.objects)
	}
}
