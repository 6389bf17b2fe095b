package settings

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

// OCICredentials holds one oci_credentials block: a user with a password, tokens, or a program that returns them.
type OCICredentials struct {
	// Prefix is a host, optionally with a prefix of repository names: example.com/corp.
	Prefix                    string
	Username, Password        string
	AccessToken, RefreshToken string
	Helper                    string // NAME of docker-credential-NAME
}

// OCIDefaults are the sources of credentials for OCI registries without an oci_credentials block.
type OCIDefaults struct {
	// Nowhere disables the search.
	Nowhere bool
	// Files replace the files of other tools, in order; nil means the files of these tools.
	Files []string
	// Helper is NAME of docker-credential-NAME, which is called last.
	Helper string
}

const (
	badCredentials = "Invalid oci_credentials block"
	badDefaults    = "Invalid oci_default_credentials block"
)

func (r *reader) ociCredentials(at ast.Node, label string, body *ast.ObjectType) {
	c := OCICredentials{Prefix: strings.TrimSuffix(label, "/")}
	host, _, _ := strings.Cut(c.Prefix, "/")
	if _, ok := r.hostname(at, host); !ok {
		return
	}
	if slices.ContainsFunc(r.OCICredentials, func(o OCICredentials) bool { return o.Prefix == c.Prefix }) {
		r.errorf(at, "Duplicate oci_credentials block",
			"There are credentials of %q already. Remove one of the blocks.",
			c.Prefix)
		return
	}
	arguments := map[string]*string{"username": &c.Username, "password": &c.Password, "access_token": &c.AccessToken,
		"refresh_token": &c.RefreshToken, "docker_credentials_helper": &c.Helper}
	for _, item := range body.List.Items {
		name, _ := keys(item)
		to, ok := arguments[name]
		if !ok {
			r.errorf(item, badCredentials, "The block has no argument %q.", name)
			continue
		}
		if text, ok := r.text(item); ok {
			*to = text
		}
	}
	if err := c.check(); err != nil {
		r.errorf(at, badCredentials, "The credentials of %q cannot be used: %s.", c.Prefix, err)
		return
	}
	r.OCICredentials = append(r.OCICredentials, c)
}

// check returns an error for missing or excess arguments.
func (c OCICredentials) check() error {
	user, tokens := c.Username+c.Password != "", c.AccessToken+c.RefreshToken != ""
	forms := 0
	for _, given := range []bool{user, tokens, c.Helper != ""} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		return errors.New("expected one of username with password, access_token with refresh_token, and " +
			"docker_credentials_helper")
	case user && (c.Username == "" || c.Password == ""):
		return errors.New("username and password must be set together")
	case tokens && (c.AccessToken == "" || c.RefreshToken == ""):
		return errors.New("access_token and refresh_token must be set together")
	}
	return checkHelper(c.Helper)
}

// checkHelper refuses names that would run a program in another folder.
func checkHelper(name string) error {
	if strings.ContainsAny(name, `/\:`) {
		return fmt.Errorf("%q is not the name of a credentials helper: write osxkeychain for the program "+
			"docker-credential-osxkeychain", name)
	}
	return nil
}

func (r *reader) ociDefaults(at *ast.ObjectItem, _ []string, body *ast.ObjectType) {
	if r.OCIDefaults != nil {
		r.errorf(at, "Duplicate oci_default_credentials block", "There can be only one such block in all CLI "+
			"configuration files together. Remove the others.")
		return
	}
	r.OCIDefaults = &OCIDefaults{}
	for _, item := range body.List.Items {
		switch name, _ := keys(item); name {
		case "discover_ambient_credentials":
			discover := true
			r.flag(item, &discover)
			r.OCIDefaults.Nowhere = !discover
		case "docker_style_config_files":
			r.OCIDefaults.Files = append([]string{}, r.texts(item)...)
		case "docker_credentials_helper":
			text, _ := r.text(item)
			if err := checkHelper(text); err != nil {
				r.errorf(item, badDefaults, "The helper cannot be used: %s.", err)
				continue
			}
			r.OCIDefaults.Helper = text
		default:
			r.errorf(item, badDefaults, "The block has no argument %q.", name)
		}
	}
	if r.OCIDefaults.Nowhere && r.OCIDefaults.Files != nil {
		r.errorf(at, badDefaults,
			"discover_ambient_credentials = false conflicts with docker_style_config_files. Remove one of them.")
	}
}

// Repository returns the repository of a provider in an OCI mirror, such as example.com/providers/corp/thing.
func (m Method) Repository(p addr.Provider) (string, error) {
	template, err := parseTemplate(m.Location)
	if err != nil {
		return "", err
	}
	v, diags := template.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type),
	}})
	switch {
	case diags.HasErrors():
		return "", errors.New(diags[0].Detail)
	case v.IsNull() || v.Type() != cty.String:
		return "", errors.New("repository_template is not a string")
	}
	return v.AsString(), nil
}

// parseTemplate parses a repository_template, and checks that it only refers to parts of addresses.
func parseTemplate(text string) (hclsyntax.Expression, error) {
	template, diags := hclsyntax.ParseTemplate([]byte(text), "repository_template", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("repository_template is not a valid template: %s", diags[0].Detail)
	}
	for _, name := range symbols(template) {
		if !slices.Contains([]string{"hostname", "namespace", "type"}, name) {
			return nil, fmt.Errorf("repository_template refers to %q: expected hostname, namespace or type", name)
		}
	}
	return template, nil
}

func symbols(template hclsyntax.Expression) []string {
	var names []string
	for _, ref := range template.Variables() {
		names = append(names, ref.RootName())
	}
	return names
}

// checkOCIMirror returns an error for a mirror that would have several providers in one repository, or that matches no
// provider.
func checkOCIMirror(m Method) error {
	template, err := parseTemplate(m.Location)
	if err != nil {
		return err
	}
	include := m.Include
	if len(include) == 0 {
		include = []Pattern{{}}
	}
	used := symbols(template)
	for _, part := range []struct {
		name string
		of   func(Pattern) string
	}{
		{"hostname", func(p Pattern) string { return p.Host }},
		{"namespace", func(p Pattern) string { return p.Namespace }},
		{"type", func(p Pattern) string { return p.Type }},
	} {
		several := slices.ContainsFunc(include, func(p Pattern) bool {
			return part.of(p) == "" || part.of(p) != part.of(include[0])
		})
		if several && !slices.Contains(used, part.name) {
			return fmt.Errorf("repository_template must contain ${%s}, because include matches several; "+
				"otherwise they would share a repository", part.name)
		}
	}
	sample := addr.Provider{Host: "example.com", Namespace: "corp", Type: "thing"}
	name, err := m.Repository(sample)
	if err != nil {
		return err
	}
	host, rest, _ := strings.Cut(name, "/")
	if host == "" || rest == "" || path.Clean(rest) != rest || strings.ContainsAny(name, "@?#") ||
		strings.Contains(rest, ":") {
		return fmt.Errorf("repository_template results in %q: expected a host and the name of a repository, such as "+
			"example.com/providers/${namespace}/${type}", name)
	}
	return nil
}
