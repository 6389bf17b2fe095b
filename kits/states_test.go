//go:build unix

package kits_test

import (
	"context"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

var askingPrograms = map[string]string{
	"python": `import tombolo
class D(tombolo.DataSource):
    def data(self, call):
        one = call.remote_state("s3", {"key": "k"}, workspace="prod")
        two = call.remote_state("none")
        return {"id": "%s %s" % (one["where"], two)}
tombolo.run(data={"p_d": D})
`,
	"node": `const tombolo = require('./tombolo.js');
class D extends tombolo.DataSource {
  async data(call) {
    const one = call.remoteState('s3', { key: 'k' }, 'prod');
    const two = call.remoteState('none');
    return { id: one.where + ' ' + (two === null ? 'None' : two) };
  }
}
tombolo.run({ data: { p_d: D } });
`,
	"ruby": `require_relative "tombolo"
class D < Tombolo::DataSource
  def data(call)
    one = call.remote_state("s3", {"key" => "k"}, workspace: "prod")
    two = call.remote_state("none")
    {id: "#{one["where"]} #{two.nil? ? "None" : two}"}
  end
end
Tombolo.run(data: {p_d: D})
`,
	"bash": `. "$(dirname "$0")/tombolo.sh"
p_d.data() {
  one=$(call.remote_state s3 '{"key": "k"}' prod)
  two=$(call.remote_state none)
  if [ "$two" = null ]; then two=None; fi
  call.answer id="$(jq -r .where <<<"$one") $two"
}
tombolo.run
`,
	"go": `package main
import ("context"; "fmt"; "github.com/tombolo-iac/tombolo/kits/tombolo")
func data(_ context.Context, call *tombolo.Call) (any, error) {
	one, err := call.RemoteState("s3", tombolo.Object{"key": "k"}, "prod")
	if err != nil { return nil, err }
	two, err := call.RemoteState("none", nil, "")
	if err != nil { return nil, err }
	if two != nil { return nil, fmt.Errorf("there is a state: %v", two) }
	return tombolo.Object{"id": fmt.Sprint(one["where"], " None")}, nil
}
func main() { tombolo.Run(tombolo.Provider{Data: map[string]tombolo.DataSource{"p_d": {Data: data}}}) }
`,
}

// A method that reads states is called again with them until it has all.
func TestKitsReadStates(t *testing.T) {
	for _, l := range languages {
		for _, mode := range []string{"one-shot", "session"} {
			t.Run(l.name+" "+mode, func(t *testing.T) {
				dir := l.folderOf(t, []byte(askingPrograms[l.name]), `{"protocol": 1, "name": "p", "command": COMMAND,
"mode": "MODE", "schema": {
"data_source_schemas": {"p_d": {"attributes": {"id": {"type": "string", "computed": true}}}}}}`, mode)
				m, diags := manifest.Load(dir)
				must(t, diags.Err())
				rounds := 0
				states := func(_ context.Context, backend, workspace string, config cty.Value) (cty.Value, diag.List) {
					if rounds++; backend == "none" {
						return cty.NilVal, nil
					}
					return cty.ObjectVal(map[string]cty.Value{"where": cty.StringVal(backend + " " + workspace + " " +
						config.GetAttr("key").AsString())}), nil
				}
				p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir()}),
					handler.Options{RemoteState: states})
				defer p.Close()
				resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_d",
					Config: cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)})})
				must(t, resp.Diagnostics.Err())
				if got := resp.State.GetAttr("id").AsString(); got != "s3 prod k None" || rounds != 3 {
					t.Errorf("got %q after %d states were read", got, rounds)
				}
			})
		}
	}
}
