package hcp

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-svchost"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// usualHost is the host of HCP Terraform.
const usualHost = "app.terraform.io"

// validName matches valid names of workspaces.
var validName = regex.Lazy(`^[A-Za-z0-9_-]{1,90}$`)

// settings holds the settings from the block and the environment.
type settings struct {
	cloud        bool
	host         string // as in addresses
	organization string
	token        string // of the block, or "" for the user's token
	// One of them selects the workspaces, except in a cloud block that only has a project.
	name, prefix string
	tags         map[string]string
	valued       bool // tags have values
	project      string
	// forced means that the user wants local runs even if the workspace has remote ones.
	forced bool
}

// reader reads values from a block or the environment and collects their problems.
type reader struct {
	config cty.Value
	getenv func(string) string
	diags  *diag.List
}

func (r reader) wrong(argument, summary, format string, args ...any) {
	*r.diags = r.diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary,
		Detail: fmt.Sprintf(format, args...), Path: cty.GetAttrPath(argument)})
}

// attribute returns an attribute of an object, or null if it is not set.
func attribute(of cty.Value, name string) cty.Value {
	if of == cty.NilVal || of.IsNull() || !of.IsKnown() || !of.Type().IsObjectType() || !of.Type().HasAttribute(name) {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	v, _ := of.GetAttr(name).UnmarkDeep()
	return v
}

func textOf(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// text returns an argument, or else the value of an environment variable.
func (r reader) text(argument, variable string) string {
	if s := textOf(attribute(r.config, argument)); s != "" || variable == "" {
		return s
	}
	return r.getenv(variable)
}

// read takes the settings from the values of a block and from the environment.
func read(config cty.Value, o remote.Surroundings, cloud bool) (*settings, diag.List) {
	var diags diag.List
	if config != cty.NilVal {
		config, _ = config.Unmark()
	}
	r := reader{config: config, getenv: o.Getenv, diags: &diags}
	s := &settings{cloud: cloud, token: r.text("token", ""), forced: o.Getenv("TF_FORCE_LOCAL_BACKEND") != ""}
	if !cloud {
		r.getenv = func(string) string { return "" } // only the block cloud has variables
	}
	s.organization = r.text("organization", "TF_CLOUD_ORGANIZATION")
	s.host = r.host("TF_CLOUD_HOSTNAME", o.Flavor)
	workspaces := attribute(config, "workspaces")
	s.name, s.prefix = textOf(attribute(workspaces, "name")), textOf(attribute(workspaces, "prefix"))
	if cloud {
		if s.project = textOf(attribute(workspaces, "project")); s.project == "" {
			s.project = o.Getenv("TF_CLOUD_PROJECT")
		}
		r.tags(s, attribute(workspaces, "tags"))
	}
	r.check(s, o.Getenv("TF_WORKSPACE"))
	return s, diags
}

// host returns the host in the form that addresses have. Projects of OpenTofu must name it.
func (r reader) host(variable string, fl flavor.Flavor) string {
	given := r.text("hostname", variable)
	switch {
	case given == "" && fl == flavor.OpenTofu: // OpenTofu has no default host
		r.wrong("hostname", "Hostname is required", "Projects of OpenTofu have no default host. Set the argument "+
			"hostname, for example to %q.", usualHost)
		return ""
	case given == "":
		given = usualHost
	}
	host, err := svchost.ForComparison(given)
	if err != nil {
		r.wrong("hostname", "Invalid hostname", "%q is not the name of a host: %v. Use a name such as %s, without "+
			"https:// and without a path.", given, err, usualHost)
	}
	return string(host)
}

// tags reads a set of names, or a map.
func (r reader) tags(s *settings, v cty.Value) {
	if v.IsNull() {
		return
	}
	bad := func() {
		r.wrong("workspaces", "Invalid tags", "The argument tags of the block workspaces must be a set of names, "+
			"such as [\"network\", \"prod\"], or a map of keys and values, such as { team = \"network\" }.")
	}
	ty := v.Type()
	if !v.IsWhollyKnown() || !v.CanIterateElements() {
		bad()
		return
	}
	s.tags, s.valued = map[string]string{}, ty.IsObjectType() || ty.IsMapType()
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if value.IsNull() || value.Type() != cty.String {
			bad()
			return
		}
		if s.valued {
			s.tags[key.AsString()] = value.AsString()
		} else {
			s.tags[value.AsString()] = ""
		}
	}
	for key := range s.tags {
		if key == "" || strings.ContainsAny(key, ",") {
			bad()
		}
	}
}

// check finds settings that are missing, or that contradict each other. The summaries are Terraform's.
func (r reader) check(s *settings, selected string) {
	block := map[bool]string{true: "cloud block", false: "backend \"remote\""}[s.cloud]
	if s.organization == "" {
		hint := "Set the argument organization"
		if s.cloud {
			hint += ", or the variable TF_CLOUD_ORGANIZATION"
		}
		r.wrong("organization", "No organization", "The %s needs the name of the organization "+
			"that the workspaces are in. %s.", block, hint)
	}
	strategies := 0
	for _, set := range []bool{s.name != "", s.prefix != "", len(s.tags) > 0} {
		if set {
			strategies++
		}
	}
	other := map[bool]string{true: "tags", false: "prefix"}[s.cloud]
	switch {
	case strategies > 1:
		r.wrong("workspaces", "Invalid workspaces configuration", "The block workspaces sets both name and %s. Set "+
			"name for a single workspace, or %[1]s for several.", other)
	case strategies == 0 && s.cloud && selected != "":
		s.name = selected
	case strategies == 0 && (!s.cloud || s.project == ""):
		hint := ""
		if s.cloud {
			hint = ", or the variable TF_WORKSPACE to the name of one"
		}
		r.wrong("workspaces", "Invalid workspaces configuration", "The %s does not say which workspaces belong to "+
			"this configuration. Set name or %s in a block workspaces%s.", block, other, hint)
	}
	if s.name != "" && (!validName().MatchString(s.name) || s.cloud && s.name == "default") {
		r.wrong("workspaces", "Invalid workspaces configuration", "%q is not a valid name of a workspace: use "+
			"letters, digits, hyphens and underscores, at most 90, and another name than \"default\".", s.name)
	}
}
