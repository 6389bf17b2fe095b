package diag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/tombolo-iac/tombolo/diag"
)

// A person reads file and line, and the columns are in the problem's own range.
func TestRangesInTextsAreFilesAndLines(t *testing.T) {
	r := hcl.Range{Filename: "a.tf", Start: hcl.Pos{Line: 3, Column: 2}, End: hcl.Pos{Line: 4, Column: 5}}
	list := diag.List{}.Errorf(nil, "Twice", "%q was declared at %s.", "x", r).Warnf(nil, "Twice", "See %s.", &r)
	if got := list[0].Detail + " " + list[1].Detail; got != `"x" was declared at a.tf:3. See a.tf:3.` {
		t.Error(got)
	}
}

// The hcl library words four problems with the range of an earlier definition.
func TestRangesInTextsOfTheLanguageLibraryAreFilesAndLines(t *testing.T) {
	for name, source := range map[string]string{
		"C:\\a at b.tf": "a = 1\na = 2\n",
		"a.tf.json":     "{\"a\": 1,\n \"a\": 2}",
		"b.tf.json":     "{\"o\": {\"k\": 1,\n  \"k\": 2}}",
	} {
		p := hclparse.NewParser()
		parse := p.ParseHCL
		if strings.HasSuffix(name, ".json") {
			parse = p.ParseJSON
		}
		file, problems := parse([]byte(source), name)
		attributes, more := file.Body.JustAttributes()
		problems = append(problems, more...)
		for _, a := range attributes {
			_, more := a.Expr.Value(nil)
			problems = append(problems, more...)
		}
		checkLine(t, name, diag.List{}.AppendHCL(problems))
	}
	p := hclparse.NewParser()
	a, _ := p.ParseHCL([]byte("a = 1\n"), "a.tf")
	b, _ := p.ParseHCL([]byte("\na = 1\n"), "b.tf")
	_, problems := hcl.MergeFiles([]*hcl.File{a, b}).JustAttributes()
	checkLine(t, "a.tf", diag.List{}.AppendHCL(problems))
}

func checkLine(t *testing.T, name string, list diag.List) {
	t.Helper()
	if len(list) == 0 {
		t.Fatalf("%s: no problem", name)
	}
	for _, d := range list {
		if !strings.HasSuffix(strings.TrimSuffix(d.Detail, " Each argument may be set only once."),
			fmt.Sprintf(" at %s:1.", name)) && !strings.HasSuffix(d.Detail, fmt.Sprintf(" at %s:1", name)) {
			t.Errorf("%s: %s", d.Summary, d.Detail)
		}
	}
}
