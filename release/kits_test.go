package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// Package managers install the kits without a network, and programs that import them answer calls.
func TestKitsAreInstalledFromTheirPackages(t *testing.T) {
	t.Chdir("..") // the licence is there
	dir := t.TempDir()
	if err := writeKits(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lang, tool, install, program, run string
	}{
		{"python", "python3",
			"python3 -m pip --version >/dev/null 2>&1 || exit 77; PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip " +
				"--isolated install -q --no-index --no-deps --no-cache-dir --target to $DIR/tombolo_kit-*.whl",
			"import tombolo\ntombolo.run(functions={'f': lambda text: text.upper()})\n",
			"PYTHONPATH=to python3 program call f"},
		{"node", "node",
			"npm --version >/dev/null 2>&1 || exit 77; npm install --silent --offline --no-audit --no-fund " +
				"--cache=cache --prefix=. $DIR/tombolo-kit-*.tgz",
			"require('tombolo-kit').run({ functions: { f: (text) => text.toUpperCase() } });\n", "node program call f"},
		{"ruby", "ruby",
			"gem --version >/dev/null 2>&1 || exit 77; gem install --quiet --local --no-document --install-dir to " +
				"$DIR/tombolo-kit-*.gem",
			"require 'tombolo'\nTombolo.run(functions: {f: ->(text) { text.upcase }})\n",
			"GEM_PATH=$PWD/to ruby program call f"},
	} {
		t.Run(c.lang, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip("needs ", c.tool)
			}
			work := t.TempDir()
			if err := os.WriteFile(filepath.Join(work, "program"), []byte(c.program), 0o600); err != nil {
				t.Fatal(err)
			}
			shell := func(line, in string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
				cmd.Dir, cmd.Stdin = work, strings.NewReader(in)
				cmd.Env = append(os.Environ(), "DIR="+dir, "HOME="+work, "PWD="+work)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := shell(c.install, ""); err != nil {
				if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 77 {
					t.Skip("needs a package manager for ", c.lang)
				}
				t.Fatalf("%v: %s", err, out)
			}
			out, err := shell(c.run, `{"function": "f", "args": ["kit"]}`)
			if err != nil || !strings.Contains(out, `"KIT"`) {
				t.Errorf("it answered %s (%v)", out, err)
			}
		})
	}
}

// The packages do not depend on the time, and each has its licence and the version of the release.
func TestPackagesOfKitsAreReproducible(t *testing.T) {
	t.Chdir("..")
	first, err := kitPackages()
	if err != nil {
		t.Fatal(err)
	}
	second, err := kitPackages()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range first {
		if !bytes.Equal(p.text, second[i].text) || !strings.Contains(p.name, "-"+engine.Version) || len(p.text) < 3000 {
			t.Errorf("%s: %d bytes, then %d", p.name, len(p.text), len(second[i].text))
		}
	}
}
