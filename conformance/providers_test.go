package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// providersSample is the default number of cases of TestProviders: each takes seconds.
const providersSample = 4

// TestProviders runs the corpus of providers/testdata: third-party providers, most of them published, with terraform
// and tombolo. Those that providers/build has not built are skipped. TOMBOLO_PROVIDERS_SAMPLE is the number of cases to
// run.
func TestProviders(t *testing.T) {
	h := newHarness(t, "providers/testdata", "", "providers/intended.json")
	h.runAll(t, sample(h.corpus, envNumber(t, "TOMBOLO_PROVIDERS_SAMPLE", providersSample)))
}

// built returns the program that providers/build has stored in the user's cache directory.
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

// python returns the script of a provider in Python, if there is a Python with the required modules.
func (p plugin) python() (string, error) {
	source, err := os.ReadFile(p.script)
	if err != nil {
		return "", err
	}
	interpreter, _, _ := strings.Cut(strings.TrimPrefix(string(source), "#!"), "\n")
	if out, err := exec.Command(interpreter, "-c", "import grpc, msgpack, cryptography").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot serve gRPC: %w\n%s", interpreter, err, out)
	}
	return p.script, nil
}

// key identifies the sources of a build, by the same rule as the script providers/build. It is "" for our own
// providers.
func (p plugin) key() string {
	if p.new != nil {
		return "" // ours: it is part of this test's binary
	}
	sum := sha256.New()
	for _, name := range p.sources() {
		data, err := os.ReadFile(name)
		if err != nil {
			return "" // no directory has this key, so nothing is found
		}
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func (p plugin) sources() []string {
	if p.script != "" {
		return []string{p.script}
	}
	dir := filepath.Join("providers", p.folder)
	list, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is well-formed, the result sorted
	return append([]string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}, list...)
}

// missing returns why a case cannot run here, or "".
func (c *Case) missing() string {
	for _, name := range c.plugins {
		if _, err := plugins[name].executable(); err != nil {
			return err.Error()
		}
	}
	return ""
}
