package hcp_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/store/hcp"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Settings come from the block and, for a cloud block, from the environment. Contradictions are reported.
func TestSettings(t *testing.T) {
	text := func(names ...string) map[string]cty.Value {
		values := map[string]cty.Value{}
		for i := 0; i < len(names); i += 2 {
			values[names[i]] = cty.StringVal(names[i+1])
		}
		return values
	}
	workspaces := func(values map[string]cty.Value, more ...string) map[string]cty.Value {
		all := text(more...)
		all["workspaces"] = cty.ObjectVal(values)
		return all
	}
	tags := func(v cty.Value) map[string]cty.Value { return map[string]cty.Value{"tags": v} }
	const notTags = "must be a set of names"
	acme := []string{"organization", "acme"}
	one := map[string]string{"TF_CLOUD_ORGANIZATION": "acme", "TF_WORKSPACE": "one"}
	for name, c := range map[string]struct {
		cloud  bool
		config map[string]cty.Value
		env    map[string]string
		place  string // title of the only workspace
		says   string
	}{
		"name": {false, workspaces(text("name", "one"), acme...), nil, "app.terraform.io/acme/one", ""},
		"host": {false, workspaces(text("name", "one"), append(acme, "hostname", "TFE.example.com:8443")...), nil,
			"tfe.example.com:8443/acme/one", ""},
		"cloud": {true, workspaces(text("name", "one"), acme...), nil, "app.terraform.io/acme/one", ""},
		"env":   {true, nil, one, "app.terraform.io/acme/one", ""},
		"env host": {true, nil, map[string]string{"TF_CLOUD_ORGANIZATION": "acme", "TF_WORKSPACE": "one",
			"TF_CLOUD_HOSTNAME": "x.example.com"}, "x.example.com/acme/one", ""},
		"block first": {true, workspaces(text("name", "two"), "organization", "corp"), one,
			"app.terraform.io/corp/two", ""},

		"no env":          {false, workspaces(text("name", "one")), one, "", "name of the organization"},
		"no organization": {true, workspaces(text("name", "one")), nil, "", "TF_CLOUD_ORGANIZATION"},
		"no workspaces":   {false, text(acme...), one, "", "Set name or prefix"},
		"none in cloud":   {true, text(acme...), nil, "", "TF_WORKSPACE"},
		"both":            {false, workspaces(text("name", "a", "prefix", "b"), acme...), nil, "", "name and prefix"},
		"both in cloud": {true, workspaces(map[string]cty.Value{"name": cty.StringVal("a"),
			"tags": cty.TupleVal([]cty.Value{cty.StringVal("x")})}, acme...), nil, "", "name and tags"},
		"bad host": {false, workspaces(text("name", "one"), append(acme, "hostname", "https://x/")...), nil, "",
			"not the name of a host"},
		"bad name":    {false, workspaces(text("name", "a b"), acme...), nil, "", "not a valid name"},
		"default":     {true, workspaces(text("name", "default"), acme...), nil, "", "another name than"},
		"tags number": {true, workspaces(tags(cty.NumberIntVal(1)), acme...), nil, "", notTags},
		"tags of":     {true, workspaces(tags(cty.TupleVal([]cty.Value{cty.True})), acme...), nil, "", notTags},
		"tags comma": {true, workspaces(tags(cty.TupleVal([]cty.Value{cty.StringVal("a,b")})), acme...), nil, "",
			notTags},
	} {
		kind, selected := hcp.Kind(), state.DefaultWorkspace
		if c.cloud {
			kind = hcp.Cloud()
		}
		if c.config == nil {
			c.config = map[string]cty.Value{}
		}
		d, diags := kind.Open(t.Context(), cty.ObjectVal(c.config), remote.Surroundings{Hosts: here{token: token},
			Getenv: func(name string) string { return c.env[name] }})
		output := ""
		for _, d := range diags {
			output += d.Summary + ": " + d.Detail + "\n"
		}
		if c.says != "" {
			if !diags.HasErrors() || !strings.Contains(output, c.says) {
				t.Errorf("%s: %s", name, output)
			}
			continue
		}
		if diags.HasErrors() {
			t.Errorf("%s: %s", name, output)
			continue
		}
		if only, _ := d.(remote.Naming).Named(); only != "" {
			selected = only
			if _, err := d.Place("other"); err == nil {
				t.Errorf("%s: there is another workspace", name)
			}
		}
		if p := place(t, d, selected); p.String() != c.place {
			t.Errorf("%s: %s", name, p)
		}
	}
}

// OpenTofu has no default host.
func TestHostsAreNamedInProjectsOfOpenTofu(t *testing.T) {
	config := arguments(named("name", "one")).AsValueMap()
	for _, hostname := range []string{"", "tfe.example.com"} {
		config["hostname"] = cty.StringVal(hostname)
		for _, kind := range []remote.Kind{hcp.Kind(), hcp.Cloud()} {
			_, diags := kind.Open(t.Context(), cty.ObjectVal(config), remote.Surroundings{Hosts: here{token: token},
				Flavor: flavor.OpenTofu})
			if hostname == "" {
				says(t, diags.Err(), "Hostname is required")
			} else if diags.HasErrors() {
				t.Error(diags.Err())
			}
		}
	}
}

// A host only gets a token that the user has for exactly this host or that the block contains; otherwise no request is
// sent.
func TestHostsNeedATokenOfTheUser(t *testing.T) {
	there := service()
	h := serve(t, there)
	h.token = ""
	_, diags := hcp.Kind().Open(t.Context(), arguments(named("name", "one")), remote.Surroundings{Hosts: h})
	says(t, diags.For(diag.Program).Err(), "Required token could not be found", `login tfe.example.com`,
		"TF_TOKEN_tfe_example_com", "If you trust this directory")
	if seen := there.Seen(); len(seen) > 0 {
		t.Errorf("it was asked %q", seen)
	}
	_, diags = hcp.Kind().Open(t.Context(), arguments(named("name", "one")), remote.Surroundings{})
	says(t, diags.Err(), "access to the host")
	config := arguments(named("name", "one")).AsValueMap()
	config["token"] = cty.StringVal(token)
	_, err := place(t, h.openAs(t, hcp.Kind(), cty.ObjectVal(config)), state.DefaultWorkspace).Read(t.Context())
	must(t, err)
}
