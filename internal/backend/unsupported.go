package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// elsewhere are the backends of Terraform 1.11 that keep states in a service, with a name for what that is.
var elsewhere = map[string]string{
	"cos": "Tencent Cloud Object Storage", "oss": "Alibaba Cloud Object Storage",
}

// gone are backends that Terraform had once.
var gone = []string{"artifactory", "azure", "etcd", "etcdv3", "manta", "swift"}

// fetchFirst is how to come here from a backend that is not here.
const fetchFirst = " Get each state out with a program that has it (\"terraform state pull > terraform.tfstate\"). " +
	"Then take the block out, or use the backend \"local\", and run init -reconfigure with that file in place."

// Validate reports a backend block of a type that no version of the language has any more, or ever had. Backends of
// other programs are left to init: who only validates needs no state.
func Validate(root *config.Module) (diags diag.List) {
	b := root.Backend
	if b == nil || kinds[b.Type] != nil && b.Type != cloudType || elsewhere[b.Type] != "" {
		return nil
	}
	return diags.Errorf(&b.TypeRange, "Unsupported backend type", "%s", noBackend(b.Type))
}

// types are the labels that a backend block can have.
func types() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return name == cloudType })
}

// noBackend returns what a type of backend is that there is not, and what to do instead.
func noBackend(name string) string {
	switch {
	case name == cloudType:
		return "There is no backend type named \"cloud\". For workspaces of HCP Terraform, write a block cloud { } " +
			"in the terraform block, or use the backend \"remote\"."
	case elsewhere[name] != "":
		return fmt.Sprintf("The backend %q keeps states in %s. This version has the backends %s.%s", name,
			elsewhere[name], listed(types()), fetchFirst)
	case slices.Contains(gone, name):
		return fmt.Sprintf("The backend %q was removed from the language in version 1.3. Export the state with the "+
			"last version that supported it, and use the backend \"local\".", name)
	}
	return fmt.Sprintf("There is no backend type named %q. This version has: %s.%s", name,
		strings.Join(types(), " and "),
		diag.DidYouMean(name, slices.Concat(types(), slices.Sorted(maps.Keys(elsewhere)))))
}

// NoMigration reports that states stay where they are, because nobody here can read them there.
func NoMigration(title, from string) string {
	place := elsewhere[from]
	if place == "" {
		place = fmt.Sprintf("the backend %q", from)
	}
	return fmt.Sprintf("The directory was set up for the backend %q, and %s cannot read states in %s, so it cannot "+
		"copy them. Nothing was changed.%s", from, title, place, fetchFirst)
}
