// Package flavor defines which program a project is written for: Terraform or OpenTofu. All differences between the two
// are here, as values, so that no other code has to compare flavors:
//
//	source, err := addr.ParseProviderIn("hashicorp/random", f.RegistryHost())
//
// The engine decides on the flavor once for each run. It changes no rule of the language: a configuration that one of
// the tools accepts is accepted under both flavors.
package flavor

import (
	"slices"
	"strings"
)

// Flavor is the tool that a project is written for. The zero value means undecided, and is treated as Terraform.
type Flavor uint8

// The flavors.
const (
	Unset Flavor = iota
	Terraform
	OpenTofu
)

// Variable is the environment variable that sets the flavor.
const Variable = "TOMBOLO_FLAVOR"

// OpenTofuVersion is the version of OpenTofu for OpenTofu's projects: required_version is compared with it, and
// programs receive it.
const OpenTofuVersion = "1.12.6"

// Own is the extension (instead of "tf") of files that only Tombolo reads, in projects of either tool.
const Own = "tombolo"

// traits holds the differences between flavors.
type traits struct {
	name, title, command string
	host                 string   // the registry of sources without a host
	version              string   // "" for the version that the engine implements
	before               []string // extensions (instead of "tf") of files that replace their twins, by precedence
	mismatch             string   // the title of the error for a version that required_version excludes
	lenient              bool     // required_version only applies in files with the tool's own extension
	editions             bool     // terraform blocks select an edition of the language and experiments
	outdated             bool     // `version -json` reports whether there is a newer version
	early                bool     // variables and local values are allowed in backend blocks and module sources
	moves                bool     // instance 0 is kept if count is added to or removed from a module call
	forgotten            bool     // planned values in documents include forgotten objects
	nests                bool     // templates may render templates, even themselves
	deprecates           bool     // outputs of root modules may be deprecated
	lines                string   // the version of the JSON lines
	folder               string   // the folder below the user's configuration and data folders; "" for none
}

var table = [...]traits{
	Terraform: {name: "terraform", title: "Terraform", command: "terraform", host: "registry.terraform.io",
		before:   []string{Own},
		mismatch: "Unsupported Terraform Core version", editions: true, outdated: true, lines: "1.3"},
	OpenTofu: {name: "opentofu", title: "OpenTofu", command: "tofu", host: "registry.opentofu.org",
		version: OpenTofuVersion, before: []string{Own, "tofu"}, folder: "opentofu", lines: "1.2",
		early: true, moves: true, forgotten: true, nests: true, deprecates: true,
		lenient: true, mismatch: "Incompatible module"},
}

func (f Flavor) traits() traits {
	if f == Unset {
		f = Terraform
	}
	return table[f]
}

// Parse parses the name of a flavor in a setting or environment variable: "terraform" or "opentofu".
func Parse(name string) (Flavor, bool) {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].name == name {
			return f, true
		}
	}
	return Unset, false
}

// OfCommand returns the flavor for the name that the program was called by ("terraform" or "tofu"), or the zero value.
func OfCommand(name string) Flavor {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].command == name {
			return f
		}
	}
	return Unset
}

// OfRegistry returns the flavor with a host as its registry, or the zero value.
func OfRegistry(host string) Flavor {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].host == host {
			return f
		}
	}
	return Unset
}

// Names lists the names that Parse accepts, for messages.
const Names = `"terraform" or "opentofu"`

// String returns the name, as Parse accepts it.
func (f Flavor) String() string { return f.traits().name }

// Title returns the name of the tool for messages.
func (f Flavor) Title() string { return f.traits().title }

// Command returns the name of the tool's command.
func (f Flavor) Command() string { return f.traits().command }

// RegistryHost returns the host of provider and module sources without a host.
func (f Flavor) RegistryHost() string { return f.traits().host }

// Version returns the version that the tool's rules apply to; implemented is Terraform's.
func (f Flavor) Version(implemented string) string {
	if v := f.traits().version; v != "" {
		return v
	}
	return implemented
}

// Folder returns the name of the tool's folder below the user's configuration and data folders, or "".
func (f Flavor) Folder() string { return f.traits().folder }

// Requires reports whether required_version in a file applies: OpenTofu ignores it in files of other tools.
func (f Flavor) Requires(file string) bool {
	return !f.traits().lenient || slices.ContainsFunc(f.traits().before, func(ext string) bool {
		return strings.HasSuffix(file, "."+ext) || strings.HasSuffix(file, "."+ext+".json")
	})
}

// VersionProblem returns the title of the error for a version that a module excludes.
func (f Flavor) VersionProblem() string { return f.traits().mismatch }

// HasEditions reports whether the arguments language and experiments of terraform blocks have an effect.
func (f Flavor) HasEditions() bool { return f.traits().editions }

// EarlyVariables reports whether backend blocks, and sources and versions of modules, may refer to all variables and
// local values that are known early. Otherwise only sources of modules may refer to variables, and only to const ones.
func (f Flavor) EarlyVariables() bool { return f.traits().early }

// MovesCalls reports whether the only instance of a module call becomes number 0 when count is added, and vice versa.
func (f Flavor) MovesCalls() bool { return f.traits().moves }

// PlansForgotten reports whether the planned values in the JSON document of a plan include forgotten objects.
func (f Flavor) PlansForgotten() bool { return f.traits().forgotten }

// NestsTemplates reports whether templates may render templates, even themselves.
func (f Flavor) NestsTemplates() bool { return f.traits().nests }

// DeprecatesRootOutputs reports whether the output values of a root module may be deprecated. If so, a module with such
// outputs can be validated and tested by itself.
func (f Flavor) DeprecatesRootOutputs() bool { return f.traits().deprecates }

// LinesVersion returns the version that the JSON lines of the tool name ("ui").
func (f Flavor) LinesVersion() string { return f.traits().lines }

// ChecksForNewer reports whether `version -json` of the tool reports a newer version.
func (f Flavor) ChecksForNewer() bool { return f.traits().outdated }

// Twins returns the names of files that replace a file in a folder, such as "main.tombolo" and "main.tofu" for
// "main.tf". name is the name of a configuration or test file.
func (f Flavor) Twins(name string) []string {
	before := f.traits().before
	for n, ext := range append(slices.Clip(before), "tf") {
		i := strings.LastIndex(name, "."+ext)
		if i < 0 {
			continue
		}
		var out []string
		for _, other := range before[:n] {
			out = append(out, name[:i+1]+other+name[i+1+len(ext):])
		}
		return out
	}
	return nil
}

// Extensions returns the file extensions that are read along with one of Terraform's, such as ".tf" and ".tofu" for
// ".tf".
func (f Flavor) Extensions(ext string) []string { return append([]string{ext}, f.Twins(ext)...) }
