// Package flavor defines the program that a project is for: Terraform or OpenTofu. All differences between the two are
// here, as values, so that no other code asks which one it is:
//
//	source, err := addr.ParseProviderIn("hashicorp/random", f.RegistryHost())
//
// A flavor is decided once for each run, by package engine. It changes no rule of the language: whatever either tool
// accepts is accepted under both.
package flavor

import (
	"slices"
	"strings"
)

// Flavor is the tool that a project belongs to. The zero value means undecided, and counts as Terraform where nothing
// else decides.
type Flavor uint8

// The flavors.
const (
	Unset Flavor = iota
	Terraform
	OpenTofu
)

// Variable is the variable of the environment that sets the flavor.
const Variable = "TOMBOLO_FLAVOR"

// OpenTofuVersion is the version of OpenTofu that counts for OpenTofu's projects: required_version is compared with it,
// and programs receive it.
const OpenTofuVersion = "1.12.6"

// Own is the extension, in place of "tf", of files that Tombolo alone reads, in projects of either tool.
const Own = "tombolo"

// traits holds the differences between flavors.
type traits struct {
	name, title, command string
	host                 string   // the registry of sources without a host
	version              string   // "" for the one that the engine implements
	before               []string // extensions, in place of "tf", whose files come before their twins; first ones first
	mismatch             string   // the title of a problem about a version that required_version does not allow
	lenient              bool     // required_version counts in files of the tool's own alone
	editions             bool     // terraform blocks choose an edition of the language, and experiments
	outdated             bool     // `version -json` tells whether there is a newer version
	early                bool     // variables and local values may stand in backend blocks and sources of modules
	moves                bool     // a call that gets or loses count keeps its instance number 0
	forgotten            bool     // documents list what a plan forgets as planned
	nests                bool     // templates may render others, and themselves
	folder               string   // below the user's places for configuration and data; "" for none
}

var table = [...]traits{
	Terraform: {name: "terraform", title: "Terraform", command: "terraform", host: "registry.terraform.io",
		before:   []string{Own},
		mismatch: "Unsupported Terraform Core version", editions: true, outdated: true},
	OpenTofu: {name: "opentofu", title: "OpenTofu", command: "tofu", host: "registry.opentofu.org",
		version: OpenTofuVersion, before: []string{Own, "tofu"}, folder: "opentofu",
		early: true, moves: true, forgotten: true, nests: true,
		lenient: true, mismatch: "Incompatible module"},
}

func (f Flavor) traits() traits {
	if f == Unset {
		f = Terraform
	}
	return table[f]
}

// Parse reads the name of a flavor, as a setting or the environment has it: "terraform" or "opentofu".
func Parse(name string) (Flavor, bool) {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].name == name {
			return f, true
		}
	}
	return Unset, false
}

// OfCommand returns the flavor of those who call the program by a name: "terraform" or "tofu"; else it is not set.
func OfCommand(name string) Flavor {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].command == name {
			return f
		}
	}
	return Unset
}

// OfRegistry returns the flavor that has a host as its registry; else it is not set.
func OfRegistry(host string) Flavor {
	for f := Terraform; int(f) < len(table); f++ {
		if table[f].host == host {
			return f
		}
	}
	return Unset
}

// Names are all that Parse reads, for messages.
const Names = `"terraform" or "opentofu"`

// String returns the name, as Parse reads it.
func (f Flavor) String() string { return f.traits().name }

// Title returns the name of the tool in sentences.
func (f Flavor) Title() string { return f.traits().title }

// Command returns the name of the tool's command.
func (f Flavor) Command() string { return f.traits().command }

// RegistryHost returns the host of sources of providers and modules that name none.
func (f Flavor) RegistryHost() string { return f.traits().host }

// Version returns the version for the tool's own rules; implemented is that of Terraform.
func (f Flavor) Version(implemented string) string {
	if v := f.traits().version; v != "" {
		return v
	}
	return implemented
}

// Folder returns the name of the tool's folder below the places that a user has for configuration and for data; ""
// where it has none.
func (f Flavor) Folder() string { return f.traits().folder }

// Requires reports whether the tool obeys the argument required_version of a file: OpenTofu does so only in its own
// files, because others are for Terraform, too.
func (f Flavor) Requires(file string) bool {
	return !f.traits().lenient || slices.ContainsFunc(f.traits().before, func(ext string) bool {
		return strings.HasSuffix(file, "."+ext) || strings.HasSuffix(file, "."+ext+".json")
	})
}

// VersionProblem returns the title of a problem about a version that a module does not allow.
func (f Flavor) VersionProblem() string { return f.traits().mismatch }

// HasEditions reports whether the arguments language and experiments of terraform blocks mean anything.
func (f Flavor) HasEditions() bool { return f.traits().editions }

// EarlyVariables reports whether backend blocks, and the sources and versions of modules, may refer to every variable
// and local value that is known before anything runs, and not to const variables in modules alone.
func (f Flavor) EarlyVariables() bool { return f.traits().early }

// MovesCalls reports whether the only instance of a module becomes number 0 when its call gets count, and the other way
// round.
func (f Flavor) MovesCalls() bool { return f.traits().moves }

// PlansForgotten reports whether the planned state in the document of a plan lists objects that the plan forgets.
func (f Flavor) PlansForgotten() bool { return f.traits().forgotten }

// NestsTemplates reports whether templates may render others, and themselves.
func (f Flavor) NestsTemplates() bool { return f.traits().nests }

// ChecksForNewer reports whether `version -json` of the tool reports a newer version.
func (f Flavor) ChecksForNewer() bool { return f.traits().outdated }

// Twins returns the names of files that replace a file in a folder, such as "main.tombolo" and "main.tofu" for
// "main.tf". The name is that of a file of configuration or of tests.
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

// Extensions returns the endings of files that are read for one of Terraform's, such as ".tf" and ".tofu" for ".tf".
func (f Flavor) Extensions(ext string) []string { return append([]string{ext}, f.Twins(ext)...) }
