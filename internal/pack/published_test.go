//go:build unix

package pack_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
)

// A registry of files behind an ordinary web server works with every engine: init, apply and destroy, and init again as
// the lock file requires.
func TestEveryEngineUsesAPublishedRegistry(t *testing.T) {
	e := examples[0]
	exe, err := os.Executable()
	must(t, err)
	dist, site := t.TempDir(), t.TempDir()
	const source = "registry.example.com/corp/notes"
	_, diags := pack.Build(context.Background(), pack.Options{Dir: filepath.Join("../../examples", e.name),
		Source: provider(t, source), Out: dist, Exclude: []string{"use", "docs", "examples"},
		Hosts: map[packages.Platform]string{packages.Current(): exe}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	_, err = pack.Publish(context.Background(), pack.PublishOptions{From: dist, Dir: site,
		Source: provider(t, source), Key: newKey(t)})
	must(t, err)
	net := fetchtest.New(t)
	net.Serve("registry.example.com", http.FileServer(http.Dir(site)))
	for name, program := range map[string]string{"tombolo": "tombolo", "terraform": "terraform",
		"OpenTofu": os.Getenv("TOMBOLO_TOFU"), "newer terraform": os.Getenv("TOMBOLO_TERRAFORM_NEW")} {
		t.Run(name, func(t *testing.T) {
			if program == "" {
				t.Skip("needs the program in TOMBOLO_TOFU or TOMBOLO_TERRAFORM_NEW")
			}
			p := newProject(t, e, program)
			files, err := filepath.Glob(filepath.Join(p.dir, "*.tf"))
			must(t, err)
			for _, file := range files {
				text, err := os.ReadFile(file)
				must(t, err)
				must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), `"example/notes"`,
					fmt.Sprintf("%q", source))), 0o600))
			}
			p.env = append(p.env, net.Env()...)
			p.run("init")
			p.says("Apply complete!", "apply", "-auto-approve")
			must(t, os.RemoveAll(filepath.Join(p.dir, ".terraform")))
			p.run("init")
			p.says("No changes", "plan", "-detailed-exitcode")
			p.says("Destroy complete!", "destroy", "-auto-approve")
		})
	}
}
