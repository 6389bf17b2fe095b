package plugins_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
)

func (w *world) lock(platforms ...packages.Platform) (lockfile.File, []plugins.Record, diag.List) {
	return plugins.Lock(context.Background(), plugins.LockOptions{Wanted: w.opts.Wanted, Locked: w.opts.Locked,
		Sources: w.opts.Sources, Platforms: platforms})
}

func TestLockAddsHashesOfPlatformsAndKeepsTheVersion(t *testing.T) {
	w := newWorld(t)
	plan9 := packages.Platform{OS: "plan9", Arch: "mips"}
	for _, v := range []string{"3.1.0", "3.2.0"} {
		w.has("hashicorp/null", v)
	}
	w.wants("hashicorp/null", "< 3.2")
	file, records, diags := w.lock(packages.Current())
	if diags.HasErrors() || len(records) != 1 || records[0].Recorded != plugins.NewProvider {
		t.Fatalf("%v, %v", records, diags.Err())
	}
	w.opts.Locked = file
	if got := w.version("hashicorp/null"); got != "3.1.0" {
		t.Errorf("got %s", got)
	}
	w.wants("hashicorp/null", "")
	_, _, diags = w.lock(plan9)
	wantError(t, diags, "version 3.1.0 is not available for plan9_mips; it is available for "+
		""+packages.Current().String())
	w.put(w.mirror, "hashicorp/null", "3.1.0", plan9.String())
	program := filepath.Join(w.mirror, addr.DefaultProviderHost, "hashicorp", "null", "3.1.0", plan9.String(),
		"terraform-provider-null_v3.1.0")
	if err := os.WriteFile(program, []byte("for another platform"), 0o755); err != nil {
		t.Fatal(err)
	}
	file, records, diags = w.lock(plan9, packages.Current())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if len(records) != 2 || records[0].Recorded != plugins.NewHash || records[1].Recorded != plugins.NoChange {
		t.Errorf("got %v", records)
	}
	e, _ := file.Entry(parse(t, "hashicorp/null"))
	if len(e.Hashes) != 2 || e.Version.String() != "3.1.0" || !slices.IsSorted(e.Hashes) {
		t.Errorf("got %v", e)
	}
}

func TestLockReportsALockThatNoLongerFits(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	w.wants("hashicorp/null", "> 4")
	w.wants("hashicorp/gone", "")
	_, _, diags := w.lock(packages.Current())
	wantError(t, diags, "the lock file has version 3.1.0", "hashicorp/gone could not be calculated")
	if len(diags) != 2 {
		t.Errorf("got %d problems", len(diags))
	}
}
