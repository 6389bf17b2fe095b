package funcs

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// Terraform takes minutes or all memory for what is refused here.
func TestNumbersThatNobodyCanWriteDownAreRefused(t *testing.T) {
	table := Table(Options{})
	thousand := make([]cty.Value, 1000)
	for i := range thousand {
		thousand[i] = cty.NumberIntVal(int64(i))
	}
	long := cty.ListVal(thousand)
	for _, c := range []struct {
		name    string
		args    []cty.Value
		refused bool
	}{
		{"tonumber", []cty.Value{cty.StringVal("1e99999999")}, true},
		{"tonumber", []cty.Value{cty.StringVal("1e-99999999").Mark("secret")}, true},
		{"tonumber", []cty.Value{cty.StringVal("1e99999")}, false},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,{"b":1e99999999}]}`)}, true},
		{"jsondecode", []cty.Value{cty.StringVal(`{"a":[1,{"b":1e9999}]}`)}, false},
		{"yamldecode", []cty.Value{cty.StringVal("a: [1, 1e99999999]")}, true},
		{"yamldecode", []cty.Value{cty.StringVal("a: [1, 1e9999]")}, false},
		{"format", []cty.Value{cty.StringVal("%99999999s"), cty.StringVal("a")}, true},
		{"format", []cty.Value{cty.StringVal("%.99999999f"), cty.NumberIntVal(1)}, true},
		{"format", []cty.Value{cty.StringVal("%%99999999 %9s"), cty.StringVal("a")}, false},
		{"formatlist", []cty.Value{cty.StringVal("%-99999999s"), cty.ListVal([]cty.Value{cty.StringVal("a")})}, true},
		{"setproduct", []cty.Value{long, long, long}, true},
		{"setproduct", []cty.Value{long, long, long, cty.EmptyTupleVal}, false},
		{"setproduct", []cty.Value{long, cty.TupleVal([]cty.Value{cty.True})}, false},
	} {
		out, err := table[c.name].Call(c.args)
		if (err != nil) != c.refused {
			t.Errorf("%s(%#v) = %#v, %v", c.name, c.args[0], out, err)
		}
		if err != nil && strings.Contains(err.Error(), "9999") {
			t.Errorf("%s: the message %q shows a value", c.name, err)
		}
	}
}
