package main

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// hostSystems and hostProcessors are those of releases.
var hostSystems, hostProcessors = []string{"linux", "darwin", "windows", "freebsd"}, []string{"amd64", "arm64"}

// writeHosts writes the hosts in packages of program providers: an archive for each kind of provider, with a host for
// each platform. Their bytes depend only on the sources and the version of Go.
func writeHosts(ctx context.Context, dir string, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "hosts")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, kind := range manifest.Kinds() {
		var files []string
		for _, system := range hostSystems {
			for _, processor := range hostProcessors {
				on := packages.Platform{OS: system, Arch: processor}
				file := filepath.Join(work, pack.HostName(kind, on))
				if err := buildHost(ctx, kind, on, file); err != nil {
					return err
				}
				files = append(files, file)
			}
		}
		name := filepath.Join(dir, fmt.Sprintf("tombolo-hosts-%s_%s.zip", kind, engine.Version))
		if err := zipHosts(name, files); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return nil
}

// buildHost compiles the host for a kind of provider and a platform.
func buildHost(ctx context.Context, kind manifest.Kind, on packages.Platform, file string) error {
	args := append([]string{"build", "-o", file}, pack.HostFlags(kind)...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/tombolo-host")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.OS, "GOARCH="+on.Arch, "GOAMD64=v1")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s for %s: %w: %s", strings.Join(args, " "), on, err, text)
	}
	return nil
}

// zipHosts writes an archive of executables, without their times.
func zipHosts(name string, files []string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: filepath.Base(file), Method: zip.Deflate}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}
