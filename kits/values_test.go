//go:build unix

package kits_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// echoPrograms return the value that they get. With "bad" they fail, "object", "private" and "message" with something
// that cannot be written.
var echoPrograms = map[string]string{
	"python": `import tombolo
class Echo(tombolo.DataSource):
    def data(self, call):
        bad = call.config["bad"]
        if bad == "private":
            call.keep(float("nan"))
        if bad == "message":
            raise Exception("\udcff")
        return {"out": object() if bad == "object" else call.config["in"]}
tombolo.run(data={"p_echo": Echo})
`,
	"node": `const tombolo = require('./tombolo.js');
class Echo extends tombolo.DataSource {
  data(call) {
    const { config } = call;
    if (config.bad === 'private') call.keep(1n);
    if (config.bad === 'message') throw new Error('\udcff');
    return { out: config.bad === 'object' ? 1n : config.in };
  }
}
tombolo.run({ data: { p_echo: Echo } });
`,
	"ruby": `require_relative "tombolo"
class Echo < Tombolo::DataSource
  def data(call)
    bad = call.config["bad"]
    call.keep(Float::NAN) if bad == "private"
    raise "\xff" if bad == "message"
    {out: bad == "object" ? Object.new : call.config["in"]}
  end
end
Tombolo.run(data: {p_echo: Echo})
`,
	"bash": `. "$(dirname "$0")/tombolo.sh"
p_echo.data() {
  case $(call.get .config.bad) in
    private) call.keep lease:=x ;;
    message) tombolo.error $'\xff' ;;
    object) call.answer out:='{' ;;
  esac
  call.jq '{out: .config.in}' | call.answer -
}
tombolo.run
`,
	"go": `package main
import ("context"; "errors"; "math"; "github.com/tombolo-iac/tombolo/kits/tombolo")
func data(_ context.Context, call *tombolo.Call) (any, error) {
	switch call.Config["bad"] {
	case "private": call.Keep(math.NaN())
	case "message": return nil, errors.New("\xff")
	case "object": return tombolo.Object{"out": func() {}}, nil
	}
	return tombolo.Object{"out": call.Config["in"]}, nil
}
func main() { tombolo.Run(tombolo.Provider{Data: map[string]tombolo.DataSource{"p_echo": {Data: data}}}) }
`,
}

const echoManifest = `{"protocol": 1, "name": "p", "command": COMMAND, "mode": "MODE", "schema": {
"data_source_schemas": {"p_echo": {"attributes": {
  "in": {"type": "dynamic", "optional": true, "encoding": "string"}, "bad": {"type": "string", "optional": true},
  "out": {"type": "dynamic", "computed": true, "encoding": "string"}}}}}}`

// echo returns a function that calls the program of a language.
func (l language) echo(t *testing.T, mode string) func(in cty.Value, bad string) provider.ReadDataResponse {
	t.Helper()
	m, diags := manifest.Load(l.folderOf(t, []byte(echoPrograms[l.name]), echoManifest, mode))
	must(t, diags.Err())
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir()}), handler.Options{})
	t.Cleanup(func() { p.Close() })
	return func(in cty.Value, bad string) provider.ReadDataResponse {
		t.Helper()
		return p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_echo", Config: cty.ObjectVal(
			map[string]cty.Value{"in": in, "bad": cty.StringVal(bad), "out": cty.NullVal(cty.DynamicPseudoType)})})
	}
}

// Values that are passed on are the same in every language: numbers with all digits, since the manifest asks for text,
// any characters, nulls, and nested objects.
func TestValuesPassThroughKitsUnchanged(t *testing.T) {
	for _, l := range languages {
		for _, mode := range []string{"one-shot", "session"} {
			t.Run(l.name+" "+mode, func(t *testing.T) {
				call := l.echo(t, mode)
				seed := rand.Uint64()
				random := rand.New(rand.NewPCG(seed, 0))
				for range map[string]int{"one-shot": 3, "session": 12}[mode] {
					in := cty.TupleVal([]cty.Value{randomValue(random, 5), randomValue(random, 5)})
					resp := call(in, "")
					if resp.Diagnostics.HasErrors() || !resp.State.GetAttr("out").RawEquals(in) {
						t.Fatalf("seed %d: got %#v\nwant %#v\n%v", seed, resp.State, in, resp.Diagnostics)
					}
				}
			})
		}
	}
}

// randomValue returns a value whose texts and numbers are those with which languages have difficulties.
func randomValue(r *rand.Rand, depth int) cty.Value {
	texts := []string{"", "größe", "\u2028", "\x00", "a\x00/b", "\n\n", "\"\\'$(id)`", "\U0001F600", "null", "-", "x=1",
		"y:=2", "@z", " \t", "\u00e9", "\x7f\x1b[0m", "\r\n", "%s"}
	text := func() string { return texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))] }
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return cty.NullVal(cty.String)
	case 1:
		return cty.BoolVal(r.IntN(2) == 0)
	case 2, 3:
		return cty.StringVal(text())
	case 4:
		digits := fmt.Sprint(r.Uint64()>>r.IntN(64)) + strings.Repeat("7", r.IntN(20))
		if r.IntN(2) == 0 {
			digits += "." + fmt.Sprint(r.Uint64()|1)
		}
		return cty.MustParseNumberVal(strings.TrimLeft("-"+digits, "-"[:r.IntN(2)]))
	case 5:
		list := make([]cty.Value, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return cty.TupleVal(list)
	case 6:
		return cty.ListVal([]cty.Value{cty.StringVal(text()), cty.StringVal(text()), cty.NullVal(cty.String)})
	default:
		members := map[string]cty.Value{}
		for range r.IntN(4) {
			members[fmt.Sprint("k", text())] = randomValue(r, depth-1)
		}
		return cty.ObjectVal(members)
	}
}

// A value that cannot be written fails its call with a message; no call remains without an answer, and the session goes
// on.
func TestValuesThatAreNotJSONFailTheCall(t *testing.T) {
	for _, l := range languages {
		for _, mode := range []string{"one-shot", "session"} {
			t.Run(l.name+" "+mode, func(t *testing.T) {
				call := l.echo(t, mode)
				for _, bad := range []string{"object", "private", "message"} {
					resp := call(cty.True, bad)
					if !resp.Diagnostics.HasErrors() {
						t.Errorf("%s: the call did not fail: %#v", bad, resp.State)
					}
					for _, wrong := range []string{"ended with signal", "middle of the session", "not valid"} {
						if text := fmt.Sprint(resp.Diagnostics.Err()); strings.Contains(text, wrong) {
							t.Errorf("%s: the program did not answer: %s", bad, text)
						}
					}
				}
				if resp := call(cty.True, ""); resp.Diagnostics.HasErrors() {
					t.Errorf("a later call failed: %v", resp.Diagnostics)
				}
			})
		}
	}
}
