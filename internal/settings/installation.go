package settings

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

const badMethod = "Invalid provider_installation method block"

// installation decodes a provider_installation block.
func (r *reader) installation(at *ast.ObjectItem, labels []string, body *ast.ObjectType) {
	if len(labels) > 0 {
		r.errorf(at, "Invalid provider_installation block", "The block takes no labels.")
		return
	}
	if r.Explicit {
		r.errorf(at, "Duplicate provider_installation block",
			"There can be only one provider_installation block in all CLI configuration files together. Merge the two.")
		return
	}
	r.Explicit = true
	for _, item := range body.List.Items {
		name, labels := keys(item)
		if len(labels) > 0 {
			r.errorf(item, badMethod, "The block %q takes no labels.", name)
			continue
		}
		r.blocks(item, nil, func(item *ast.ObjectItem, _ []string, body *ast.ObjectType) { r.method(name, item, body) })
	}
}

// methods holds the name of each installation method, and its argument.
var methods = map[string]struct {
	kind     MethodKind
	location string
	summary  string // summary of the error that check returns
	check    func(Method) error
}{
	"direct":            {Direct, "", "", nil},
	"filesystem_mirror": {FilesystemMirror, "path", "", nil},
	"network_mirror": {NetworkMirror, "url", "Invalid URL for provider installation source", func(m Method) error {
		return CheckMirrorURL(m.Location)
	}},
	"oci_mirror": {OCIMirror, "repository_template", badMethod, checkOCIMirror},
}

func (r *reader) method(name string, at *ast.ObjectItem, body *ast.ObjectType) {
	if name == "dev_overrides" {
		r.overrides(at, body)
		return
	}
	known, ok := methods[name]
	if !ok {
		r.errorf(at, badMethod,
			"There is no installation method %q: expected dev_overrides, filesystem_mirror, network_mirror, "+
				"oci_mirror or "+
				"direct.", name)
		return
	}
	m := Method{Kind: known.kind}
	for _, item := range body.List.Items {
		argument, _ := keys(item)
		if argument == "trust_all_hashes" && m.Kind == NetworkMirror {
			r.flag(item, &m.TrustAllHashes)
			continue
		}
		switch argument {
		case "include":
			m.Include = r.patterns(item)
		case "exclude":
			m.Exclude = r.patterns(item)
		case known.location:
			if text, ok := r.text(item); ok {
				m.Location = text
			}
		default:
			r.errorf(item, badMethod, "The block %q has no argument %q.", name, argument)
		}
	}
	if known.location != "" && m.Location == "" {
		r.errorf(at, badMethod, "The block %q needs the argument %q.", name, known.location)
		return
	}
	if known.check != nil {
		if err := known.check(m); err != nil {
			r.errorf(at, known.summary, "The %s cannot be used: %s.", strings.ReplaceAll(name, "_", " "), err)
			return
		}
	}
	r.Installation = append(r.Installation, m)
}

func (r *reader) patterns(item *ast.ObjectItem) []Pattern {
	var list []Pattern
	for _, text := range r.texts(item) {
		p, err := ParsePattern(text, r.Flavor.RegistryHost())
		if err != nil {
			r.errorf(item, "Invalid provider source patterns", "The pattern cannot be used: %s.", err)
			continue
		}
		list = append(list, p)
	}
	return list
}

func (r *reader) overrides(at *ast.ObjectItem, body *ast.ObjectType) {
	if len(r.Installation) > 0 {
		r.errorf(at, badMethod, "The block dev_overrides must come before all other installation methods, because it "+
			"takes precedence over them.")
		return
	}
	r.folders(body, "The development override", &r.DevOverrides)
}

// folders decodes arguments that map addresses of providers to folders.
func (r *reader) folders(body *ast.ObjectType, what string, to *map[addr.Provider]string) {
	for _, item := range body.List.Items {
		name, _ := keys(item)
		dir, ok := r.text(item)
		if !ok {
			continue
		}
		p, err := addr.ParseProviderIn(name, r.Flavor.RegistryHost())
		if err != nil {
			r.errorf(item, "Invalid provider source address", "%s cannot be used: %s.", what, err)
			continue
		}
		if *to == nil {
			*to = map[addr.Provider]string{}
		}
		(*to)[p] = filepath.Clean(dir)
	}
}

// programProviders decodes a program_providers block. Relative folders are relative to the file.
func (r *reader) programProviders(_ *ast.ObjectItem, _ []string, body *ast.ObjectType) {
	var here map[addr.Provider]string
	r.folders(body, "The program provider", &here)
	for p, dir := range here {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(r.path), dir)
		}
		r.addProgram(p, dir)
	}
}

// ProgramsVariable names the environment variable that adds program providers and overrides the files:
// NAMESPACE/NAME=FOLDER, separated by commas.
const ProgramsVariable = "TOMBOLO_PROGRAM_PROVIDERS"

func (s *Settings) programs(text string) (diags diag.List) {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, dir, ok := strings.Cut(strings.TrimSpace(part), "=")
		p, err := addr.ParseProviderIn(strings.TrimSpace(name), s.Flavor.RegistryHost())
		switch {
		case strings.TrimSpace(part) == "":
		case !ok || dir == "":
			diags = diags.Errorf(nil, "Invalid "+ProgramsVariable,
				"%q is not of the form NAMESPACE/NAME=FOLDER, such as example/notes=./notes.", part)
		case err != nil:
			diags = diags.Errorf(nil, "Invalid "+ProgramsVariable, "The program provider cannot be used: %s.", err)
		default:
			s.addProgram(p, filepath.Clean(dir))
		}
	}
	return diags
}

func (s *Settings) addProgram(p addr.Provider, dir string) {
	if s.ProgramProviders == nil {
		s.ProgramProviders = map[addr.Provider]string{}
	}
	s.ProgramProviders[p] = dir
}

// CheckMirrorURL returns an error for a text that is not the URL of a network mirror.
func CheckMirrorURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https":
		return fmt.Errorf("%q is not an https: URL, and only those are trusted", text)
	case u.Host == "":
		return fmt.Errorf("%q has no host", text)
	}
	return nil
}
