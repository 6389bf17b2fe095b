package pack_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/pack"
)

// counted is a context that ends after a number of checks.
type counted struct {
	context.Context
	left atomic.Int64
}

func (c *counted) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A build that is interrupted at any moment leaves what was there before. One that is not leaves all of the release.
func TestInterruptedBuildsChangeNothing(t *testing.T) {
	f := newFolder(t, simple)
	out := t.TempDir()
	f.mustBuild(f.options(out))
	before := tree(t, out)
	f.write("demo.sh", "#!/bin/sh\n"+strings.Repeat("# another text\n", 10_000), 0o644)
	f.write("tombolo-provider.json", strings.Replace(simple, `"a": {`, `"b": {`, 1), 0o644)
	interrupted, n := 0, int64(0)
	for ; ; n += n/4 + 1 {
		ctx := &counted{Context: t.Context()}
		ctx.left.Store(n)
		_, diags := pack.Build(ctx, f.options(out))
		if !diags.HasErrors() {
			break
		}
		interrupted++
		if diff := cmp.Diff(before, tree(t, out)); diff != "" {
			t.Fatalf("after %d checks: %s", n, diff)
		}
	}
	if interrupted < 3 {
		t.Errorf("it was interrupted %d times only", interrupted)
	}
	after := tree(t, out)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
		t.Error(diff)
	}
	for name, text := range after {
		if strings.HasSuffix(name, ".zip") && (text == before[name] || text != after[filepath.Base(name)]) {
			t.Errorf("%s is not the new archive", name)
		}
	}
}
