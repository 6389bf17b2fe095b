package view

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/tfjson/tfjsontest"
)

func TestPlanTextIsAsRecorded(t *testing.T) {
	schemas := tfjsontest.Schemas(t)
	for _, c := range tfjsontest.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := c.Plan(t, schemas)
			if p == nil {
				t.Skip("no plan recorded")
			}
			var out bytes.Buffer
			v := New(Options{Out: &out, Program: "terraform"})
			v.Plan(p, schemas)
			v.Close()
			want := c.Files["plan.txt"]
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); d != "" {
				t.Errorf("text differs (-want +got):\n%s", d)
			}
			_ = regexp.MustCompile
		})
	}
}
