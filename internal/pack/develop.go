package pack

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

const badFolder = "The folder cannot be created"

// Develop creates a folder for dev_overrides of engines: the plugin, and a file that names the provider's folder. The
// provider is not copied, so each run uses its current files. It returns the folder.
func Develop(dir string, source addr.Provider, out string) (string, diag.List) {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return "", diags
	}
	for _, d := range checkNames(m, source) {
		if d.Severity == diag.Warning { // a version is not needed
			diags = diags.Append(d)
		}
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return "", diags.AppendError(badFolder, err)
	}
	if isThere(filepath.Join(out, manifest.FileName)) {
		return "", diags.Errorf(nil, badFolder, "The folder %s has a provider, which engines would use instead of "+
			"%s. Use another folder, such as -out=%s.", out, m.Dir, filepath.Join(out, "dev"))
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", diags.AppendError(badFolder, err)
	}
	plugin := filepath.Join(out, generic.Prefix+source.Type)
	if runtime.GOOS == "windows" {
		plugin += ".exe"
	}
	if err := putText(generic.Pointer(plugin), []byte(m.Dir+"\n")); err != nil {
		return "", diags.AppendError(badFolder, err)
	}
	if err := putSelf(plugin); err != nil {
		return "", diags.AppendError(badFolder, err)
	}
	return out, diags
}

// putSelf makes this program available under another name: with a link, or with a copy if links cannot be created.
func putSelf(name string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	if os.Symlink(own, name) == nil {
		return nil
	}
	from, err := os.Open(own)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err = io.Copy(to, from); err != nil {
		to.Close()
		return fmt.Errorf("copy %s: %w", own, err)
	}
	return to.Close()
}
