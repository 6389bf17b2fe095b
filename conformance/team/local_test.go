package team

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestLocalFilesAreSharedWithTerraform(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		dir := t.TempDir()
		place{block: fmt.Sprintf("backend \"local\" {\n  path = %q\n  workspace_dir = %q\n}",
			filepath.Join(dir, "state"), filepath.Join(dir, "others")), lockEnds: true}.live(t, other)
	})
}
