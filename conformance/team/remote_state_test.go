//go:build unix

package team

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// A state in each backend is read from another configuration: plain or encrypted, and both with TOMBOLO_TEAM_PAIRS=all.
func TestStatesOfEachBackendAreReadByOthers(t *testing.T) {
	all := map[string]place{
		"local": {block: fmt.Sprintf("backend \"local\" {\n  path = %q\n}", t.TempDir()+"/terraform.tfstate")},
		"pg": {block: "backend \"pg\" {\n  schema_name = \"plain\"\n}",
			env: []string{"PG_CONN_STR=" + pgtest.Database(t)}},
	}
	for _, kind := range backendtest.Kinds() {
		s := backendtest.Start(t, kind)
		all[kind] = place{block: fmt.Sprintf("backend %q %s", kind, s.Object("place")), env: s.Env}
		all[kind+" sealed"] = place{block: fmt.Sprintf("backend %q %s", kind, s.Object("sealed")),
			env: append([]string{encryption.Variable + "=" + sealing}, s.Env...)}
	}
	all["pg sealed"] = place{block: "backend \"pg\" {\n  schema_name = \"sealed\"\n}",
		env: append([]string{encryption.Variable + "=" + sealing}, all["pg"].env...)}
	all["local sealed"] = place{block: fmt.Sprintf("backend \"local\" {\n  path = %q\n}", t.TempDir()+
		"/terraform.tfstate"), env: []string{encryption.Variable + "=" + sealing}}
	for i, name := range slices.Sorted(maps.Keys(all)) { // each kind beside its sealed form
		p := all[name]
		if i%4 != 0 && i%4 != 3 && os.Getenv("TOMBOLO_TEAM_PAIRS") != "all" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := p.member(t, "tombolo", ours)
			m.run("apply", "-auto-approve", "-no-color")
			p.readBy(t, ours, m.ids())
		})
	}
}
