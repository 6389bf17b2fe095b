package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// The archives of hosts depend only on their content, and "provider build -hosts" finds every host in them.
func TestArchivesOfHostsAreReproducibleAndFound(t *testing.T) {
	var files []string
	dir := t.TempDir()
	for _, system := range hostSystems {
		for _, processor := range hostProcessors {
			file := filepath.Join(dir, pack.HostName(manifest.Module, packages.Platform{OS: system, Arch: processor}))
			if err := os.WriteFile(file, []byte("the host for "+system+processor), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	var archives [2][]byte
	for i := range archives {
		name := filepath.Join(t.TempDir(), "hosts.zip")
		if err := zipHosts(name, files); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archives[i] = text
		work := t.TempDir()
		found, err := pack.FindHosts(name, manifest.Module, work)
		if err != nil || len(found) != len(files) {
			t.Fatalf("found %v, %v", found, err)
		}
		for on, file := range found {
			text, err := os.ReadFile(file)
			if err != nil || string(text) != "the host for "+on.OS+on.Arch {
				t.Errorf("%s: %q, %v", on, text, err)
			}
		}
		if _, err := pack.FindHosts(name, manifest.Program, work); err == nil {
			t.Error("hosts for another kind of provider were found")
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same files gave two archives")
	}
}
