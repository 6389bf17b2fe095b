//go:build unix

package plugged

import "testing"

// A plugin of any protocol version gets the same request as a program.
func TestPluginsAreCalledLikePrograms(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"5", "6"} {
		p := newPlugged(t, "", "BAD_PROTOCOL="+version)
		call := func(code int, request, action, typ string, words ...string) {
			t.Helper()
			p.write("request.json", request)
			r := p.run(nil, "provider", "call", "-provider", p.path("plugin/"+badName), "-input", "request.json",
				action, typ)
			p.wants(r, code, words...)
		}
		const block = `"provider": {"dir": "w"}`
		call(0, `{`+block+`, "config": {"name": "one"}}`, "plan", "world_object", `"name": "one"`,
			`"planned_unknown": {`, `"id": true`)
		call(0, `{`+block+`, "config": {"name": "one"}}`, "create", "world_object", `"name": "one"`, `"id": "`)
		call(1, `{`+block+`, "config": {"nmae": "one"}}`, "create", "world_object", `"nmae"`, `Did you mean "name"?`)
		call(1, `{`+block+`, "config": {"name": "one"}}`, "create", "world_objekt", `world_objekt`)
		call(0, `{}`, "schema", "", `"schema": {`, `"world_object": {`, `"block": {`)
		p.nothingStays()
	}
}
