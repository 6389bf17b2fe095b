package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// preparing holds the running preparations.
type preparing struct {
	// refused returns the reason why a program must not run, or nil.
	refused func(p addr.Provider, words []string) error
	// ofProject reports whether a provider came with the working directory, so that its command needs approval.
	ofProject func(p addr.Provider) bool
}

// projectMirror is the folder of the working directory that is a source of providers by default.
var projectMirror = filepath.Join("terraform.d", "plugins")

// ofProject returns a function that reports whether a provider is part of the working directory and was not in the lock
// file with these hashes. A directory may have been cloned from a stranger, and init is the first command that users
// run in it.
func ofProject(needed bool, before, now lockfile.File) func(addr.Provider) bool {
	if needed {
		return func(addr.Provider) bool { return false } // the user has configured the sources of providers
	}
	return func(p addr.Provider) bool {
		old, _ := before.Entry(p)
		entry, ok := now.Entry(p)
		if ok && old.Version == entry.Version && len(old.Hashes) > 0 {
			return false
		}
		found, err := packages.Search(projectMirror, p)
		return err == nil && len(found) > 0
	}
}

// approve asks whether the command that prepares a provider of the project may run.
func (i *initCommand) approve(ctx context.Context, c *command.Call, p addr.Provider, m *manifest.Manifest) (bool,
	diag.List) {
	words := handler.Preparation(m)
	why := fmt.Sprintf("The provider %s is part of this directory, in %s, and was not in the lock file. To prepare "+
		"it, this command must run:", p.ForDisplay(), projectMirror)
	if i.setup.input && c.InputAllowed() && !c.JSON {
		text := why + "\n\n" + words + "\n\nEnter \"yes\" to run it now."
		answer, err := c.Ask(ctx, "Do you want to run a program of this directory?", text, false)
		if err == nil && answer == "yes" {
			return true, nil
		}
	}
	return false, diag.List{}.Warnf(nil, "Provider program was not prepared",
		"%s\n  %s\n\nIt was not run.", why, words).
		Advise("If you trust this directory, run \"%s\" again: the provider is now in the lock file. Commands that "+
			"need the program also run it.", diag.Run("init"))
}

// prepareProviders installs the dependencies of program providers in folders, which their first use would install
// otherwise. The providers then work without a network. Commands that must not run are not run here either.
func (i *initCommand) prepareProviders(ctx context.Context, c *command.Call, folders map[addr.Provider]string,
	how preparing) (diags diag.List) {
	list := make([]addr.Provider, 0, len(folders))
	for p := range folders {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b addr.Provider) int { return strings.Compare(a.String(), b.String()) })
	for _, p := range list {
		m, mistakes := manifest.Load(folders[p])
		if mistakes.HasErrors() || how.refused(p, nil) != nil {
			continue // errors are reported when the provider is used
		}
		if handler.Preparation(m) != "" && how.ofProject(p) {
			approved, more := i.approve(ctx, c, p, m)
			if diags = diags.Extend(more); !approved {
				continue
			}
		}
		say := func(line string) { tell(c, p.ForDisplay()+": "+line) }
		if _, _, err := handler.Prepare(ctx, m, handler.Surroundings{}, false, say); err != nil {
			diags = diags.Errorf(nil, "Provider program cannot be prepared", "%s\n\nThe provider %s is installed, "+
				"but its program cannot run without preparation. Commands that do not need the program, such as "+
				"validate, work.", err, p.ForDisplay()).
				Advise("To install without the preparation, run \"%s\".", diag.Run("init", "-prepare=false"))
		}
		if ctx.Err() != nil {
			return diags
		}
	}
	return diags
}

// programFolders returns the folders of the wanted providers that are programs: those that are used directly from their
// folders, and packages with a manifest.
func programFolders(ctx context.Context, installed packages.Folder, elsewhere map[addr.Provider]string,
	wanted plugins.Wanted, lock lockfile.File) map[addr.Provider]string {
	out := map[addr.Provider]string{}
	for _, e := range lock.Entries() {
		if _, ok := wanted[e.Provider]; !ok {
			continue
		}
		if program, _, err := installed.Installed(ctx, e.Provider, e.Version); err == nil {
			out[e.Provider] = filepath.Dir(program)
		}
	}
	for p, dir := range elsewhere {
		if _, ok := wanted[p]; ok {
			out[p] = dir
		}
	}
	for p, dir := range out {
		if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); errors.Is(err, fs.ErrNotExist) {
			delete(out, p)
		}
	}
	return out
}
