package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// providersSample is how many of its cases TestProviders runs unless it is told otherwise: each takes seconds.
const providersSample = 4

// TestProviders runs the corpus of providers/testdata: providers that are not ours, most of them published, under terraform and tombolo.
// What providers/build has not built is skipped. TOMBOLO_PROVIDERS_SAMPLE says how many cases to run.
func TestProviders(t *testing.T) {
	terraform, version := findTerraform(t)
	tombolo := findTombolo(t)
	cases, err := loadCases("providers/testdata")
	if err != nil {
		t.Fatal(err)
	}
	intended, err := loadIntended("providers/intended.json")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{terraform: terraform, tombolo: tombolo, cache: openCache(version), intended: intended}
	h.runAll(t, cases, sample(cases, envNumber(t, "TOMBOLO_PROVIDERS_SAMPLE", providersSample)))
}

// built gives the program that providers/build left in the user's cache directory.
func (p plugin) built() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(base, "tombolo-providers", p.folder+"-"+p.key(), pluginPrefix+p.folder)
	if _, err := os.Stat(bin); err != nil {
		return "", fmt.Errorf("the provider is not built, run conformance/providers/build: %w", err)
	}
	return bin, nil
}

// key tells builds of different sources apart. The script providers/build has the same rule.
func (p plugin) key() string {
	sum := sha256.New()
	sources, _ := filepath.Glob(filepath.Join("providers", p.folder, "*.go")) // the pattern is well-formed, the result sorted
	for _, name := range append([]string{filepath.Join("providers", p.folder, "go.mod"), filepath.Join("providers", p.folder, "go.sum")}, sources...) {
		data, err := os.ReadFile(name)
		if err != nil {
			return "" // no folder has this key, so nothing is found
		}
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// missing gives why a case cannot run here, or "".
func (c *Case) missing() string {
	for _, name := range c.plugins {
		if _, err := plugins[name].executable(); err != nil {
			return err.Error()
		}
	}
	return ""
}
