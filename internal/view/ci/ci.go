// Package ci writes the syntax that continuous integration services recognize in job logs: collapsible groups of lines,
// and annotations of lines in files. It supports GitHub, and GitLab, which only has groups.
//
//	g := ci.GitHub
//	fmt.Print(g.Begin("progress", "Progress", time.Now()))
//	fmt.Print(g.End("progress", time.Now()))
package ci

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
)

// Service is a continuous integration service, or empty for none.
type Service string

// The services.
const (
	None   Service = ""
	GitHub Service = "github"
	GitLab Service = "gitlab"
)

// Of returns the service with a name. "auto" means the service whose job this is, according to the environment. It
// reports whether the name is valid.
func Of(name string, getenv func(string) string) (s Service, known bool) {
	switch name {
	case "", "none":
		return None, true
	case string(GitHub), string(GitLab):
		return Service(name), true
	case "auto":
		switch {
		case getenv("GITHUB_ACTIONS") == "true":
			return GitHub, true
		case getenv("GITLAB_CI") == "true":
			return GitLab, true
		}
		return None, true
	}
	return None, false
}

// Names lists the names that Of accepts, for messages.
const Names = "auto, github, gitlab or none"

// Begin returns the line that begins a group. The name consists of letters and underscores; the title is one line
// without control characters.
func (s Service) Begin(name, title string, now time.Time) string {
	switch s {
	case GitHub:
		return "::group::" + data(title) + "\n"
	case GitLab:
		return fmt.Sprintf("\x1b[0Ksection_start:%d:%s[collapsed=true]\r\x1b[0K%s\n", now.Unix(), name, title)
	}
	return ""
}

// End returns the line that ends a group.
func (s Service) End(name string, now time.Time) string {
	switch s {
	case GitHub:
		return "::endgroup::\n"
	case GitLab:
		return fmt.Sprintf("\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", now.Unix(), name)
	}
	return ""
}

// Annotation returns the line that annotates a line of a file with a problem. dir is the directory of the command,
// relative to that of the repository. The text must not contain placeholders for program names.
func (s Service) Annotation(d *diag.Diagnostic, dir string) string {
	if s != GitHub {
		return ""
	}
	var b strings.Builder
	b.WriteString("::" + d.Severity.String() + " ")
	if r := d.Subject; r != nil {
		fmt.Fprintf(&b, "file=%s,line=%d,endLine=%d,", property(path.Join(dir, r.Filename)), r.Start.Line, r.End.Line)
		if r.Start.Line == r.End.Line { // columns are ignored for several lines
			fmt.Fprintf(&b, "col=%d,endColumn=%d,", r.Start.Column, r.End.Column)
		}
	}
	title := d.Summary
	if code := d.Code(); code != "" {
		title = code + ": " + title
	}
	b.WriteString("title=" + property(title) + "::")
	text := d.Detail
	if d.Address != "" {
		text = d.Address + "\n" + text
	}
	if text == "" {
		text = d.Summary
	}
	b.WriteString(data(text) + "\n")
	return b.String()
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(text string) string     { return dataEscapes.Replace(text) }
func property(text string) string { return propertyEscapes.Replace(text) }
