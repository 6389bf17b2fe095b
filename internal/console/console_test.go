package console

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// constants evaluates expressions without references.
func constants(expr hcl.Expression, _ []byte) (cty.Value, diag.List) {
	v, diags := expr.Value(&hcl.EvalContext{})
	return v, diag.List(nil).AppendHCL(diags)
}

func TestSessionIsOpenWhileBracketsOrHeredocsAre(t *testing.T) {
	for input, open := range map[string]bool{
		"1": false, "[": true, "[1,": true, "[1]": false, "f(": true, "{": true, "{ a = [": true, "\"${": true,
		"\"${1}\"": false,
		"<<EOT":    true, "<<EOT\nx": true, "<<EOT\nx\nEOT": false, "<<-EOT\n  x\n  EOT": false,
		"[<<EOT\nx\nEOT\n":  true,
		"[<<EOT\nx\nEOT\n]": false,
		")":                 false, "[1))": false, "# [": false, "\"[\"": false, "[ # ]": true, "<<A\n<<B\nB": true,
		"<<A\n<<B\nA": false, "/* [ */ 1": false,
	} {
		s := NewSession(constants, strings.ToLower)
		for _, line := range strings.Split(input, "\n") {
			s.Add(line)
		}
		if s.Open() != open {
			t.Errorf("%q: open is %v", input, s.Open())
		}
	}
}

func TestSessionRestartsAfterAnAnswer(t *testing.T) {
	s := NewSession(constants, strings.ToLower)
	s.Add("[1,")
	if a := s.Answer(); !a.Diagnostics.HasErrors() {
		t.Errorf("an open bracket at the end gives %q", a.Text)
	}
	s.Add("1 + 1")
	if a := s.Answer(); a.Text != "2" || s.Pending() || s.Open() {
		t.Errorf("got %q, %v", a.Text, a.Diagnostics)
	}
	s.Add(" exit ")
	if a := s.Answer(); !a.Exit {
		t.Error("exit does not end the session")
	}
}

func TestFormatHidesMarkedValues(t *testing.T) {
	const secret = "hunter2"
	s := cty.StringVal(secret)
	for _, mark := range []any{value.Sensitive, value.Ephemeral} {
		for _, v := range []cty.Value{
			s.Mark(mark), cty.TupleVal([]cty.Value{s.Mark(mark)}),
			cty.ObjectVal(map[string]cty.Value{"a": s.Mark(mark)}),
			cty.SetVal([]cty.Value{s.Mark(mark)}), cty.MapVal(map[string]cty.Value{"a": s}).Mark(mark),
			cty.StringVal(secret + "\n").Mark(mark),
		} {
			if text := view.FormatValue(v); strings.Contains(text, secret) {
				t.Errorf("%#v prints as %s", v, text)
			}
		}
	}
}

// long matches numbers with many digits.
var long = regexp.MustCompile(`[eE][+-]?\d{4}`)

// FuzzSession enters arbitrary text: each input is answered or continues, without a panic.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{"1", "[1,\n2]", "<<EOT\n${1}\nEOT", "\"%{ if true }x%{ endif }\"",
		"{a = <<-X\n  y\n  X\n}", "[for x in [1] : x]", ")", "exit", "<<", "\"${\"${1}\"}\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if long.MatchString(input) {
			return // formatting it takes time quadratic in the exponent
		}
		defer time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("still at %q", input)) }).Stop()
		s := NewSession(constants, strings.ToLower)
		for _, line := range strings.Split(input, "\n") {
			if s.Add(line); !s.Open() {
				s.Answer()
			}
		}
		if a := s.Answer(); a.Text != "" && a.Diagnostics.HasErrors() {
			t.Errorf("%q: both a value and an error", input)
		}
		if s.Pending() || s.Open() {
			t.Errorf("%q: something is left", input)
		}
	})
}
