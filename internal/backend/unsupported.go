package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// gone lists the backends that Terraform has removed.
var gone = []string{"artifactory", "azure", "etcd", "etcdv3", "manta", "swift"}

// Validate reports a backend block whose type was removed from the language or never existed.
func Validate(root *config.Module) (diags diag.List) {
	b := root.Backend
	if b == nil || kinds[b.Type] != nil && b.Type != cloudType {
		return nil
	}
	return diags.Errorf(&b.TypeRange, "Unsupported backend type", "%s", noBackend(b.Type)).Meant(b.Type, types())
}

// types returns the labels that a backend block can have.
func types() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return name == cloudType })
}

// noBackend returns the message for a type of backend that is missing here, with advice.
func noBackend(name string) string {
	switch {
	case name == cloudType:
		return "There is no backend type named \"cloud\". For workspaces of HCP Terraform, write a block cloud { } " +
			"in the terraform block, or use the backend \"remote\"."
	case slices.Contains(gone, name):
		return fmt.Sprintf("The backend %q was removed from the language in version 1.3. Export the state with the "+
			"last version that supported it, and use the backend \"local\".", name)
	}
	return fmt.Sprintf("There is no backend type named %q. This version has: %s.%s", name,
		strings.Join(types(), " and "), diag.DidYouMean(name, types()))
}

// read decodes a record. A record of another version, or of Terraform before 0.9, when this file was the copy of a
// remote state, names the location of objects: it is an error, not a missing record.
func (f *backendFile) read(text []byte) error {
	if err := json.Unmarshal(text, f); err != nil {
		return err
	}
	switch {
	case f.Version != 0 && f.Version != 3:
		return fmt.Errorf("it has version %d, and this program reads version 3. Use the program that wrote it",
			f.Version)
	case len(f.Remote) > 0 && string(f.Remote) != "null":
		return errors.New("this working directory uses legacy remote state and so must first be upgraded using " +
			"Terraform v0.9. This program cannot read that state, and without it every object would be created again")
	}
	return nil
}

// NoMigration returns the error that states cannot be copied because their backend is missing here.
func NoMigration(title, from string) diag.List {
	return diag.List{}.Errorf(nil, "Backend configuration changed", "The directory was set up for the backend %q, and "+
		"%s cannot read its states, so it cannot copy them. Nothing was changed.", from, title).
		Advise("Export each state with a program that supports it (\"terraform state pull > terraform.tfstate\"). "+
			"Then remove the block, or use the backend \"local\", and run \"%s\" with that file in place.",
			diag.Run("init", "-reconfigure"))
}
