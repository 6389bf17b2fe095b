package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// ReadyOptions tell which providers have to be there.
type ReadyOptions struct {
	Wanted    Wanted
	Locked    lockfile.File
	Folder    packages.Folder
	Overrides map[addr.Provider]string
	// Elsewhere tells which providers come from elsewhere and need no package: built-in ones, ones that run already.
	Elsewhere func(addr.Provider) bool
	// BuiltIn tells which providers this program serves itself when no package of them is locked.
	BuiltIn func(addr.Provider) bool
}

// Ready gives the program of each wanted provider that has to be started. A provider that this program serves itself has none.
func Ready(opts ReadyOptions) (map[addr.Provider]string, diag.List) {
	programs := map[addr.Provider]string{}
	var diags diag.List
	var undecided, broken []string
	for _, p := range opts.Wanted.sorted() {
		locked, isLocked := opts.Locked.Entry(p)
		switch override := opts.Overrides[p]; {
		case p.IsBuiltin() || opts.Elsewhere != nil && opts.Elsewhere(p):
		case override != "":
			program, err := overridden(override, p.Type)
			if err != nil {
				diags = diags.Errorf(nil, "Development override cannot be used", "The CLI configuration says that provider %s is in %s: %s. Build the provider there, or remove it from dev_overrides.", p, override, err)
				continue
			}
			programs[p] = program
		case !isLocked && opts.BuiltIn != nil && opts.BuiltIn(p):
		case !isLocked:
			undecided = append(undecided, fmt.Sprintf("provider %s: no version is selected", p))
		case !opts.Wanted[p].Allow(locked.Version):
			undecided = append(undecided, fmt.Sprintf("provider %s: the lock file has version %s, which the constraints %q do not allow", p, locked.Version, opts.Wanted[p]))
		default:
			program, problem := installed(opts.Folder, p, locked)
			if problem != "" {
				broken = append(broken, fmt.Sprintf("%s: %s", p, problem))
				continue
			}
			programs[p] = program
		}
	}
	if len(undecided) > 0 {
		how := `To choose versions by the constraints of the configuration, run the command "init" with -upgrade.`
		if len(opts.Locked.Entries()) == 0 {
			how = `To make the first selections and write the lock file, run the command "init".`
		}
		diags = diags.Errorf(nil, "Inconsistent dependency lock file", "What the lock file selects does not fit the configuration:\n  - %s\n\n%s", strings.Join(undecided, "\n  - "), how)
	}
	// Init, which decides on the others, installs these too.
	if len(broken) > 0 && len(undecided) == 0 {
		diags = diags.Errorf(nil, "Required plugins are not installed", "What is installed is not what the lock file selects:\n  - %s\n\nTo install the plugins that this configuration needs, run the command \"init\".", strings.Join(broken, "\n  - "))
	}
	return programs, diags
}

// overridden finds the program of a provider under development.
func overridden(dir, typ string) (string, error) {
	program, err := packages.Program(dir, typ)
	if err != nil {
		return "", err
	}
	return filepath.Abs(program)
}

func installed(folder packages.Folder, p addr.Provider, locked lockfile.Entry) (program, problem string) {
	program, h, err := folder.Installed(p, locked.Version)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Sprintf("there is no package for %s %s cached in %s", p, locked.Version, folder.Dir)
	case err != nil:
		return "", fmt.Sprintf("the package of %s %s in %s cannot be used: %s", p, locked.Version, folder.Dir, err)
	case !slices.Contains(locked.Hashes, h):
		return "", fmt.Sprintf("the package of %s %s in %s has none of the checksums of the lock file", p, locked.Version, folder.Dir)
	}
	return program, ""
}
