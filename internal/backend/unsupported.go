package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// gone are backends that Terraform had once.
var gone = []string{"artifactory", "azure", "etcd", "etcdv3", "manta", "swift"}

// fetchFirst is how to come here from a backend that is not here.
const fetchFirst = " Get each state out with a program that has it (\"terraform state pull > terraform.tfstate\"). " +
	"Then take the block out, or use the backend \"local\", and run init -reconfigure with that file in place."

// Validate reports a backend block of a type that no version of the language has any more, or ever had. Backends of
// other programs are left to init: who only validates needs no state.
func Validate(root *config.Module) (diags diag.List) {
	b := root.Backend
	if b == nil || kinds[b.Type] != nil || b.Type == "remote" {
		return nil
	}
	return diags.Errorf(&b.TypeRange, "Unsupported backend type", "%s", noBackend(b.Type))
}

// noBackend returns what a type of backend is that there is not, and what to do instead.
func noBackend(name string) string {
	switch {
	case name == "remote":
		return noCloud("The backend \"remote\"")
	case slices.Contains(gone, name):
		return fmt.Sprintf("The backend %q was removed from the language in version 1.3. Export the state with the "+
			"last version that supported it, and use the backend \"local\".", name)
	}
	return fmt.Sprintf("There is no backend type named %q. This version has: %s.%s", name,
		strings.Join(slices.Sorted(maps.Keys(kinds)), " and "),
		diag.DidYouMean(name, slices.Sorted(maps.Keys(kinds))))
}

// noCloud answers what hands runs and states over to HCP Terraform or Terraform Enterprise.
func noCloud(what string) string {
	return what + " stores states, and usually runs, in HCP Terraform or Terraform Enterprise. This version does not " +
		"support them: runs are local, and states are stored in local files, or in memory for a single run." +
		fetchFirst
}

// NoMigration reports that states stay where they are, because nobody here can read them there.
func NoMigration(title, from string) string {
	return fmt.Sprintf("The directory was set up for the backend %q, and %s cannot read its states, so it cannot copy "+
		"them. Nothing was changed.%s", from, title, fetchFirst)
}
