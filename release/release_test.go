package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	pages := manPages()
	top := string(pages["tombolo.1"])
	for _, cmd := range cli.Commands() {
		if cmd.Hidden || cmd.Absent {
			continue
		}
		page, ok := pages["tombolo-"+cmd.Name+".1"]
		if !ok || !strings.Contains(top, strings.ReplaceAll("tombolo-"+cmd.Name, "-", `\-`)+"(1)") {
			t.Errorf("the command %s has no page, or the page of the program does not name it", cmd.Name)
		}
		if !bytes.HasPrefix(page, []byte(".TH ")) || !bytes.Contains(page, []byte(".SH SYNOPSIS\n")) {
			t.Errorf("the page of %s begins with %.60q", cmd.Name, page)
		}
	}
	known := regexp.MustCompile(`^\.(TH|SH|PP|TP|B|nf|fi)\b`)
	for name, page := range pages {
		for i, line := range strings.Split(string(page), "\n") {
			if strings.HasPrefix(line, ".") && !known.MatchString(line) || strings.HasPrefix(line, "'") {
				t.Errorf("%s:%d: roff reads a command in %q", name, i+1, line)
			}
		}
		if bytes.Contains(page, []byte("~ ")) && bytes.Contains(page, []byte("\n~")) {
			t.Errorf("%s has a placeholder of the program's name", name)
		}
	}
}

func TestEveryCodeIsOnAPageOfTheSite(t *testing.T) {
	pages := errorPages()
	for _, k := range diag.Kinds() {
		page := pages["tb"+k.Code[2:4]+".md"]
		at := strings.Index(page, "\n## "+k.Code+": ")
		if at < 0 {
			t.Errorf("%s is on no page", k.Code)
			continue
		}
		section, _, _ := strings.Cut(page[at+1:], "\n## ")
		if strings.Count(section, "\n```")%2 != 0 || len(strings.Fields(section)) < 10 {
			t.Errorf("the section of %s is\n%s", k.Code, section)
		}
	}
}

func TestFunctionsHaveExamples(t *testing.T) {
	examples, err := functionExamples(filepath.Join("..", console))
	if err != nil {
		t.Fatal(err)
	}
	none := map[string]string{"bcrypt": "random", "timestamp": "the time", "plantimestamp": "the time",
		"base64gunzip": "newer", "cidrcontains": "newer", "urldecode": "newer", "convert": "newer",
		"list": "removed", "map": "removed"}
	for name := range funcs.Table(funcs.Options{}) {
		if has := examples[name] != nil; has == (none[name] != "") && !strings.Contains(name, "::") {
			t.Errorf("%s has an example: %t", name, has)
		}
	}
}

func TestThePartsOfABinaryAreListed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := printSBOM(t.Context(), self, &first); err != nil {
		t.Fatal(err)
	}
	if err := printSBOM(t.Context(), self, &second); err != nil || first.String() != second.String() {
		t.Fatalf("another time the document differs (%v)", err)
	}
	var doc bom
	if err := json.Unmarshal(first.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]component{}
	for _, c := range doc.Components {
		found[c.Name] = c
	}
	hcl := found["github.com/hashicorp/hcl/v2"]
	if hcl.Version == "" || len(hcl.Values) != 1 || len(hcl.Values[0].Value) != 64 || found["std"].Version == "" {
		t.Errorf("hcl is %+v, std is %+v", hcl, found["std"])
	}
	if err := printSBOM(t.Context(), filepath.Join("testdata", "none"), io.Discard); err == nil {
		t.Error("a file that does not exist has a document")
	}
}

// dist writes the files that goreleaser creates: binaries, their list and the checksums of archives.
func dist(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var list []artifact
	var lines strings.Builder
	for _, system := range []string{"linux", "darwin"} {
		for _, arch := range []string{"amd64", "arm64"} {
			name := fmt.Sprintf("tombolo_%s_%s_%s", engine.Version, system, arch)
			binary := filepath.Join(dir, name)
			if err := os.WriteFile(binary, []byte("#!/bin/sh\necho "+name+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			list = append(list, artifact{Name: "tombolo", Path: binary, OS: system, Arch: arch, Type: "Binary"})
			archive := packed(t, "tombolo", []byte("#!/bin/sh\necho "+name+"\n"))
			if err := os.WriteFile(binary+".tar.gz", archive, 0o644); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s  %s.tar.gz\n", sumOf(archive), name)
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"artifacts.json": text, sums: []byte(lines.String())} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func packed(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheImageIsALayoutOfTwoPlatforms(t *testing.T) {
	dir := dist(t)
	var first, second bytes.Buffer
	if err := writeImage(t.Context(), dir, &first); err != nil {
		t.Fatal(err)
	}
	if err := writeImage(t.Context(), dir, &second); err != nil || first.String() != second.String() {
		t.Fatalf("the image is %s, then %s (%v)", &first, &second, err)
	}
	read := func(d oci.Descriptor, into any) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(dir, "image", "blobs", "sha256", d.Digest.Encoded()))
		if err != nil || int64(len(content)) != d.Size || sumOf(content) != d.Digest.Encoded() {
			t.Fatalf("the blob of %+v: %v, %d bytes", d, err, len(content))
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(content, into); err != nil {
			t.Fatal(err)
		}
	}
	var top, both oci.Index
	text, err := os.ReadFile(filepath.Join(dir, "image", oci.ImageIndexFile))
	if err != nil || json.Unmarshal(text, &top) != nil || len(top.Manifests) != 1 {
		t.Fatalf("the index is %s (%v)", text, err)
	}
	read(top.Manifests[0], &both)
	for i, arch := range []string{"amd64", "arm64"} {
		var manifest oci.Manifest
		var config oci.Image
		read(both.Manifests[i], &manifest)
		read(manifest.Config, &config)
		read(manifest.Layers[0], nil)
		if both.Manifests[i].Platform.Architecture != arch || config.Architecture != arch {
			t.Errorf("image %d is for %s", i, config.Architecture)
		}
	}
}

func TestTheFormulaNamesEveryArchive(t *testing.T) {
	dir := dist(t)
	var out bytes.Buffer
	if err := printFormula(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	list, err := checksums(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range list {
		if !strings.Contains(out.String(), name+"\"\n      sha256 \""+sum+`"`) {
			t.Errorf("%s with %s is not in\n%s", name, sum, &out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, sums), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := printFormula(t.Context(), dir, io.Discard); err == nil {
		t.Error("a formula without archives was written")
	}
}

// TestInstaller runs install.sh against a local mirror: once with valid files, and with each fault that must prevent
// the installation.
func TestInstaller(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("needs openssl")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("runs where install.sh finds an archive")
	}
	t.Chdir("..") // printInstaller reads the script in the repository
	keys := t.TempDir()
	private, public := filepath.Join(keys, "key.pem"), filepath.Join(keys, "public.pem")
	openssl(t, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private)
	openssl(t, "pkey", "-in", private, "-pubout", "-out", public)
	var script bytes.Buffer
	if err := printInstaller(t.Context(), public, &script); err != nil {
		t.Fatal(err)
	}
	archive := fmt.Sprintf("tombolo_%s_%s_%s.tar.gz", engine.Version, runtime.GOOS, runtime.GOARCH)
	for _, c := range []struct {
		name, wrong string
		spoil       func(dir string) error
	}{
		{"as it should be", "", func(string) error { return nil }},
		{"changed archive", "has the checksum", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, archive), packed(t, "tombolo", []byte("evil")), 0o644)
		}},
		{"changed checksums", "signature", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, sums), []byte(sumOf(nil)+"  "+archive+"\n"), 0o644)
		}},
		{"no signature", "cannot be downloaded", func(dir string) error {
			return os.Remove(filepath.Join(dir, sums+".sig"))
		}},
		{"another name", "does not name", func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, sums), []byte(sumOf(nil)+"  other\n"), 0o644); err != nil {
				return err
			}
			sign(t, private, dir)
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := dist(t)
			sign(t, private, dir)
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.StripPrefix("/v"+engine.Version, http.FileServer(http.Dir(dir))))
			defer server.Close()
			target := filepath.Join(t.TempDir(), "bin")
			run := exec.CommandContext(t.Context(), "sh", "-s", "--", "-v", engine.Version, "-d", target,
				"-u", server.URL)
			run.Stdin = bytes.NewReader(script.Bytes())
			text, err := run.CombinedOutput()
			installed := filepath.Join(target, "tombolo")
			if c.wrong != "" {
				_, missing := os.Stat(installed)
				if err == nil || missing == nil || !strings.Contains(string(text), c.wrong) {
					t.Fatalf("it ended with %v, and %s", err, text)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			output, err := exec.CommandContext(t.Context(), installed).Output()
			if err != nil || strings.TrimSpace(string(output)) != strings.TrimSuffix(archive, ".tar.gz") {
				t.Errorf("what is installed says %q (%v)", output, err)
			}
		})
	}
}

func TestTheInstallerInTheSourcesHasNoKey(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "sh", "install.sh", "-v", "1").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "has no key") {
		t.Errorf("it ended with %v, and %s", err, text)
	}
}

func sign(t *testing.T, key, dir string) {
	t.Helper()
	file := filepath.Join(dir, sums)
	openssl(t, "dgst", "-sha256", "-sign", key, "-out", file+".sig", file)
}

func openssl(t *testing.T, args ...string) {
	t.Helper()
	if text, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput(); err != nil {
		t.Fatalf("openssl %v: %v: %s", args, err, text)
	}
}
