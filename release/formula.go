package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/engine"
)

const (
	module = "github.com/tombolo-iac/tombolo"
	sums   = "SHA256SUMS"
)

// checksums reads the checksum file of a release: hexadecimal SHA-256 by file name.
func checksums(dist string) (map[string]string, error) {
	f, err := os.Open(filepath.Join(dist, sums))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 64 {
			return nil, fmt.Errorf("%s: %q is not a checksum, two spaces and a name", f.Name(), lines.Text())
		}
		list[name] = sum
	}
	return list, lines.Err()
}

// printFormula prints the Homebrew formula. It is not a cask, because macOS quarantines unsigned programs of casks.
func printFormula(_ context.Context, dist string, out io.Writer) error {
	list, err := checksums(dist)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "class Tombolo < Formula\n"+
		"  desc \"Infrastructure as code in the Terraform language, with providers in any language\"\n"+
		"  homepage \"https://%s\"\n  version %q\n  license \"Apache-2.0\"\n", module, engine.Version)
	for _, system := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system[1])
		for _, arch := range [][2]string{{"amd64", "intel"}, {"arm64", "arm"}} {
			name := fmt.Sprintf("%s_%s_%s_%s.tar.gz", program, engine.Version, system[0], arch[0])
			if list[name] == "" {
				return fmt.Errorf("%s names no %s", filepath.Join(dist, sums), name)
			}
			fmt.Fprintf(&b, "    on_%s do\n      url \"https://%s/releases/download/v%s/%s\"\n      sha256 %q\n"+
				"    end\n", arch[1], module, engine.Version, name, list[name])
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "tombolo"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/tombolo.bash" => "tombolo"
    zsh_completion.install "completions/_tombolo"
    fish_completion.install "completions/tombolo.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tombolo version")
  end
end
`)
	_, err = io.WriteString(out, b.String())
	return err
}

// keyMark is the placeholder of the public key in install.sh.
const keyMark = "@KEY@"

// printInstaller prints install.sh with the public key.
func printInstaller(_ context.Context, key string, out io.Writer) error {
	text, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return fmt.Errorf("%s holds no public key in PEM", key)
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	script, err := os.ReadFile(filepath.Join("release", "install.sh"))
	if err != nil {
		return err
	}
	if strings.Count(string(script), keyMark) != 1 {
		return errors.New("release/install.sh does not have " + keyMark + " once")
	}
	pasted := strings.TrimSpace(string(pem.EncodeToMemory(block)))
	_, err = io.WriteString(out, strings.Replace(string(script), keyMark, pasted, 1))
	return err
}
