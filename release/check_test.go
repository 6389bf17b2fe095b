package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

// whole returns a release with all that checkRelease looks at.
func whole(t *testing.T) string {
	t.Helper()
	dir := dist(t)
	add := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	scoop, winget := "{", ""
	for i, arch := range []string{"amd64", "arm64"} {
		name := fmt.Sprintf("tombolo_%s_windows_%s.zip", engine.Version, arch)
		sum := strings.Repeat(fmt.Sprint(i+1), 63) + "a"
		add(sums, sum+"  "+name+"\n")
		scoop += fmt.Sprintf("%q: {\"url\": \"https://example.com/v1/%s\", \"hash\": %q},", arch, name, sum)
		winget += fmt.Sprintf("- InstallerUrl: https://example.com/v1/%s\n  InstallerSha256: %s\n", name,
			strings.ToUpper(sum))
	}
	add("scoop/tombolo.json", scoop+`"version": "1"}`)
	add("winget/manifests/t/tombolo.installer.yaml", winget)
	if err := writeImage(t.Context(), dir, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	var formula bytes.Buffer
	if err := printFormula(t.Context(), dir, &formula); err != nil {
		t.Fatal(err)
	}
	add("tombolo.rb", formula.String())
	t.Chdir("..") // the licence is there
	packages, err := kitPackages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		add(p.name, string(p.text))
		add(sums, sumOf(p.text)+"  "+p.name+"\n")
	}
	return dir
}

func TestACompleteReleaseIsAccepted(t *testing.T) {
	var out bytes.Buffer
	if err := checkRelease(t.Context(), whole(t), &out); err != nil {
		t.Fatal(err)
	}
	const want = "image: linux/amd64, linux/arm64; manifests: 8 checksums of archives; kits: 3 packages; "
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("the check says %s", &out)
	}
}

// Each changed file of a release is found.
func TestAFaultInAReleaseIsFound(t *testing.T) {
	replace := func(pattern, old, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil || len(paths) == 0 {
				t.Fatal(pattern, err)
			}
			for _, path := range paths {
				content, err := os.ReadFile(path)
				if err != nil || !strings.Contains(string(content), old) {
					t.Fatalf("%s has no %q (%v)", path, old, err)
				}
				changed := strings.Replace(string(content), old, text, 1)
				if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"a blob is missing": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "image", "blobs")); err != nil {
				t.Fatal(err)
			}
		},
		"a blob has another byte": func(t *testing.T, dir string) {
			blobs, err := filepath.Glob(filepath.Join(dir, "image", "blobs", "sha256", "*"))
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(blobs[0])
			if err != nil {
				t.Fatal(err)
			}
			content[len(content)/2] ^= 1
			if err := os.WriteFile(blobs[0], content, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"another program was released": replace("tombolo_*_linux_arm64", "echo", "echo x"),
		"the formula has another sum":  replace("tombolo.rb", `sha256 "`, `sha256 "0`),
		"the formula cannot be parsed": replace("tombolo.rb", "  def install", "  def install("),
		"scoop has another sum":        replace("scoop/tombolo.json", `111a"`, `111b"`),
		"scoop lacks an archive":       replace("scoop/tombolo.json", "https://", "ftp://"),
		"winget has another sum":       replace("winget/manifests/t/*", "222A", "222B"),
		"a kit is another one":         replace("tombolo-kit-*.gem", "metadata.gz", "metadata.xz"),
		"a kit has another sum":        replace(sums, "  tombolo_kit", "  tombolo-kit"),
		"winget names another archive": replace("winget/manifests/t/*", "_windows_", "_plan9_"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := whole(t)
			spoil(t, dir)
			err := checkRelease(t.Context(), dir, &bytes.Buffer{})
			if err == nil && strings.Contains(name, "parsed") {
				t.Skip("needs ruby")
			}
			if err == nil {
				t.Error("it was accepted")
			}
		})
	}
}
