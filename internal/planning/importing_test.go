package planning

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/provider"
)

func TestTypesOfManyObjectsAreCounted(t *testing.T) {
	list := make([]provider.ImportedObject, 100_000)
	for i := range list {
		list[i].Type = "world_object"
	}
	if got := typesOf(list); len(got) > 300 || !strings.HasSuffix(got, " and 99990 more") {
		t.Errorf("got %d bytes: %.400s", len(got), got)
	}
	if got, want := typesOf(list[:2]), "world_object, world_object"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
