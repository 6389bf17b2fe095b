package ci_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/view/ci"
)

func TestServicesAreChosenByNameOrByTheirJobs(t *testing.T) {
	in := func(name string) func(string) string {
		return func(asked string) string {
			if asked == name {
				return "true"
			}
			return ""
		}
	}
	for _, c := range []struct {
		name, variable string
		want           ci.Service
		known          bool
	}{
		{"", "GITHUB_ACTIONS", ci.None, true}, {"none", "GITLAB_CI", ci.None, true}, {"github", "", ci.GitHub, true},
		{"gitlab", "GITHUB_ACTIONS", ci.GitLab, true}, {"auto", "GITHUB_ACTIONS", ci.GitHub, true},
		{"auto", "GITLAB_CI", ci.GitLab, true}, {"auto", "", ci.None, true}, {"jenkins", "", ci.None, false},
	} {
		if got, known := ci.Of(c.name, in(c.variable)); got != c.want || known != c.known {
			t.Errorf("%q in a job with %s: %q, %v", c.name, c.variable, got, known)
		}
	}
}

// An annotation is one line, and a single command, whatever its texts are.
func TestAnnotationsAreOneLine(t *testing.T) {
	d := &diag.Diagnostic{Severity: diag.Error, Summary: "Wrong: a,b\n::set-output name=x::y",
		Detail:  "50%\r\n::warning::no",
		Subject: &hcl.Range{Filename: "a,b.tf", Start: hcl.Pos{Line: 3, Column: 5}, End: hcl.Pos{Line: 3, Column: 9}}}
	want := "::error file=net/a%2Cb.tf,line=3,endLine=3,col=5,endColumn=9," +
		"title=Wrong%3A a%2Cb%0A%3A%3Aset-output name=x%3A%3Ay::50%25%0D%0A::warning::no\n"
	if got := ci.GitHub.Annotation(d, "net"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := ci.GitLab.Annotation(d, ""); got != "" {
		t.Errorf("GitLab has no annotations in logs, but gets %q", got)
	}
	known := &diag.Diagnostic{Severity: diag.Error, Summary: "Unsupported argument", Address: "a.b"}
	if got := ci.GitHub.Annotation(known, ""); got != "::error title=TB0201%3A Unsupported argument::a.b%0A\n" {
		t.Errorf("got %q", got)
	}
}

func TestGroupsBeginAndEnd(t *testing.T) {
	now := time.Unix(1000, 0)
	got := ci.GitHub.Begin("p", "Progress", now) + ci.GitHub.End("p", now)
	if got != "::group::Progress\n::endgroup::\n" {
		t.Errorf("GitHub: %q", got)
	}
	got = ci.GitLab.Begin("p", "Progress", now) + ci.GitLab.End("p", now)
	if !strings.Contains(got, "section_start:1000:p[collapsed=true]\r\x1b[0KProgress\n") ||
		!strings.Contains(got, "section_end:1000:p\r") {
		t.Errorf("GitLab: %q", got)
	}
	if got := ci.None.Begin("p", "Progress", now) + ci.None.End("p", now); got != "" {
		t.Errorf("no service: %q", got)
	}
}
