package random

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// The parts of arguments: an id and a copied value, both unknown until the object exists.
const (
	someID    = "terraform_data.u.id"
	someValue = "terraform_data.u.output"
	someInt   = "tonumber(" + someID + ")"
	someBool  = "tobool(" + someID + ")"
)

// arguments holds values of each kind of parameter: known, unknown, and with unknown parts.
var arguments = map[rune][]string{
	'l': {`tolist(["a", "b", "c"])`, `tolist(["a", ` + someID + `, "c"])`, `["a", ` + someID + `]`, `["a", "b"]`,
		`tolist([])`, `tolist(` + someValue + `)`, someValue},
	'm': {`tomap({ a = "x", b = "y" })`, `tomap({ a = "x", b = ` + someID + ` })`, `{ a = "x", b = ` + someID + ` }`,
		`{ a = "x", b = "y" }`, `tomap({})`, `tomap(` + someValue + `)`, someValue},
	's': {`toset(["a", "b"])`, `toset(["a", ` + someID + `])`, `toset([])`, `toset(` + someValue + `)`,
		`tolist(["a", ` + someID + `])`},
	't': {`"a"`, `"b,c"`, `""`, someID, someValue, `"p-${` + someID + `}"`, `"${` + someID + `}-s"`},
	'n': {"0", "1", "3", someInt, someValue},
	'N': {"-2", "0.5", "2", someInt},
	'b': {"true", "false", someBool},
	'f': {`[["a"], ["b", "c"]]`, `[["a"], ["b", ` + someID + `]]`, `[[` + someValue + `], "a"]`,
		`[tolist([]), ` + someValue + `]`, `tolist(["a", ` + someID + `])`},
	'c': {`[true, false]`, `[true, ` + someBool + `]`, `[false, ` + someBool + `]`, `[true, null]`, `[]`},
	'i': {`[1, 2, 3]`, `[1, ` + someInt + `]`, `toset([1, 2])`, `toset([1, ` + someInt + `])`},
	'x': {`{ a = ["x", "y"], b = ["y"] }`, `{ a = ["x", ` + someID + `] }`, someValue},
	'r': {`"a"`, `"(.)"`, someID},
	'%': {`"%s"`, `"%v"`, `"%s-%s"`, someID},
	'j': {`"[1]"`, `"[${` + someID + `}]"`, someID},
	'd': {`"2020-01-02T03:04:05Z"`, someID},
	'p': {`"10.0.0.0/8"`, someID},
	'a': {`"a"`, `[1]`, someID, someValue, `tolist(["a", ` + someID + `])`, `{ a = "x", b = ` + someID + ` }`,
		`tomap({ a = "x", b = ` + someID + ` })`, `null`, `toset(["a", ` + someID + `])`},
}

// parameters maps functions to the kinds of their parameters; a function may be listed several times.
var parameters = map[string][]string{
	"abs": {"N"}, "alltrue": {"c"}, "anytrue": {"c"}, "base64encode": {"t"}, "base64gzip": {"t"}, "ceil": {"N"},
	"chomp": {"t"}, "chunklist": {"ln"}, "cidrhost": {"pn"}, "cidrnetmask": {"p"}, "cidrsubnet": {"pnn"},
	"coalesce": {"tt", "ttt", "nn", "at"}, "coalescelist": {"ll"}, "compact": {"l"}, "concat": {"ll", "l"},
	"contains": {"lt", "st"}, "distinct": {"l", "f"}, "element": {"ln"}, "endswith": {"tt"}, "flatten": {"f"},
	"floor": {"N"}, "format": {"%t", "%n", "%tt", "%l"}, "formatlist": {"%l", "%lt"}, "formatdate": {"tt"},
	"indent": {"nt"}, "index": {"lt"}, "join": {"tl", "ts"}, "jsondecode": {"j"}, "jsonencode": {"a", "l", "m"},
	"keys": {"m"}, "length": {"l", "m", "s", "t", "a"}, "log": {"NN"}, "lookup": {"mtt"}, "lower": {"t"},
	"matchkeys": {"lll"}, "max": {"nn", "N"}, "md5": {"t"}, "merge": {"mm", "m"}, "min": {"nn"}, "one": {"l", "s"},
	"parseint": {"tn"}, "pow": {"NN"}, "range": {"n", "nn"}, "regex": {"rt"}, "regexall": {"rt"}, "replace": {"ttt"},
	"reverse": {"l"}, "setintersection": {"ss"}, "setproduct": {"ss", "ls"}, "setsubtract": {"ss"},
	"setunion": {"ss"}, "signum": {"N"}, "slice": {"lnn"}, "sort": {"l"}, "split": {"tt"}, "startswith": {"tt"},
	"strcontains": {"tt"}, "strrev": {"t"}, "substr": {"tnn"}, "sum": {"i"}, "timeadd": {"dt"}, "timecmp": {"dd"},
	"title": {"t"}, "tobool": {"b"}, "tolist": {"l", "s", "a"}, "tomap": {"m", "a"}, "tonumber": {"n"},
	"toset": {"l", "s", "a"}, "tostring": {"t", "n", "b"}, "transpose": {"x"}, "trim": {"tt"}, "trimprefix": {"tt"},
	"trimspace": {"t"}, "trimsuffix": {"tt"}, "try": {"at", "lt"}, "can": {"a"}, "upper": {"t"}, "urlencode": {"t"},
	"values": {"m"}, "yamlencode": {"a"}, "zipmap": {"ll"}, "issensitive": {"a"},
}

// shapes are expressions without a function; letters after # are arguments.
var shapes = []string{
	"#t == #t", "#l == #l", "#m == #m", "#s == #s", "#a != null", "#b && #b", "#b || #b", "!#b", "-#N", "#n * #N",
	"#n > #N",
	"#b ? #t : #t", "#b ? #l : #l", "#b ? #m : #m", "#b ? #a : #a", "[for x in #l : x]", "[for x in #l : x if x != #t]",
	"{ for x in #s : x => 1 }", "{ for k, x in #m : k => x }", "{ for x in #l : x => 1... }", "#l[*]", "#m[*]", "#a[*]",
	`"%{ for x in #l }${x}%{ endfor }"`, `"%{ if #b }a%{ else }b%{ endif }"`, `"${#t}${#t}"`, `"${#n}"`, "[#t, #n, #b]",
	"{ a = #l, b = #m }", "#l...", "tolist(#l)[#n]", "tomap(#m)[#t]", "[for k, v in #m : [k, v]]", "[#a][*]",
}

// GenerateUnknowns returns an archive with outputs that have unknown parts in the arguments of functions and operators,
// and one step that plans them. It shows whether programs determine the same parts of a value.
func GenerateUnknowns(seed uint64) []byte {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x756e6b6e6f776e))}
	var w writer
	w.block(`resource "terraform_data" "u"`, func() { w.line(`input = "x"`) })
	functions := slices.Sorted(maps.Keys(parameters))
	for i := range 8 {
		name, text := "shape", pick(g, shapes)
		if g.chance(75) {
			name = pick(g, functions)
			var args []string
			for _, kind := range pick(g, parameters[name]) {
				args = append(args, "#"+string(kind))
			}
			text = name + "(" + strings.Join(args, ", ") + ")"
		}
		if inner, ok := strings.CutSuffix(text, "..."); ok && strings.HasPrefix(text, "#") {
			text = "concat(" + inner + "...)"
		}
		w.block(fmt.Sprintf("output %q", fmt.Sprintf("%s_%d", name, i)), func() {
			w.line("value = %s", g.withArguments(text))
		})
	}
	a := txtar.Archive{Comment: fmt.Appendf(nil, "Seed %d of the generator for unknown values.\n", seed)}
	a.Files = []txtar.File{{Name: "steps", Data: []byte("tier: 2\ninit\nplan\n")},
		{Name: "main.tf", Data: w.buf.Bytes()}}
	return txtar.Format(&a)
}

// withArguments replaces the letters of a shape by arguments.
func (g *gen) withArguments(shape string) string {
	var out strings.Builder
	for i := 0; i < len(shape); i++ {
		if values := arguments[rune(shape[min(i+1, len(shape)-1)])]; shape[i] == '#' && values != nil {
			out.WriteString(pick(g, values))
			i++
			continue
		}
		out.WriteByte(shape[i])
	}
	return out.String()
}

// IsUnknowns reports whether an archive is one of GenerateUnknowns.
func IsUnknowns(archive []byte) bool {
	return strings.Contains(string(archive), "of the generator for unknown values.")
}
