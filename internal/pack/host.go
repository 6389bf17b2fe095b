package pack

import (
	"os"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// checkHost reports a binary of another platform than the given one. Every Go binary records its platform.
func checkHost(name string, on packages.Platform) diag.List {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return diag.List{}.Errorf(nil, badPackage,
			"The host for %s, %s, is not a file. Expected the tombolo binary of that platform.", on, name)
	}
	built, err := readBuildInfo(name)
	if err != nil {
		return diag.List{}.Errorf(nil, badPackage, "The host for %s, %s, is not the tombolo binary: %s.", on, name, err)
	}
	var is packages.Platform
	for _, s := range built.Settings {
		switch s.Key {
		case "GOOS":
			is.OS = s.Value
		case "GOARCH":
			is.Arch = s.Value
		}
	}
	own, err := os.Executable()
	switch {
	case err == nil && same(name, own) && is == on:
		// Whatever this process is, it can serve providers.
	case built.Main.Path != module:
		return diag.List{}.Errorf(nil, badPackage,
			"The host for %s, %s, is another program: %s. Expected the tombolo binary of that platform.", on, name,
			built.Path)
	case is != on:
		return diag.List{}.Errorf(nil, badPackage, "The host for %s, %s, was built for %s.", on, name, is)
	}
	if needsLibraries(name) {
		return diag.List{}.Warnf(nil, oddPackage, "The host for %s, %s, is linked with the C library of the system "+
			"where it was built, and does not start on systems with another one. Use a release of Tombolo, or build "+
			"it with CGO_ENABLED=0.", on, name)
	}
	return nil
}

// module is the path of the Go module of the binary.
const module = "github.com/tombolo-iac/tombolo"

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
