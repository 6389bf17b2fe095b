package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRescueFoldersAreThoseOfTheProject(t *testing.T) {
	dir := t.TempDir()
	if got, want := RescueFolders(dir), []string{dir, filepath.Clean(os.TempDir())}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, folder := range RescueFolders(".") {
		if !filepath.IsAbs(folder) {
			t.Errorf("%s is relative: the next run may start elsewhere", folder)
		}
	}
}
