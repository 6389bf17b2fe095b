package install

import (
	"context"
	"errors"
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

// prepareProviders makes ready what program providers in folders need beside their own files, as their first use would: a machine without a network
// then has all of it. What is refused while nothing is to be changed is not run here either.
func prepareProviders(ctx context.Context, c *command.Call, folders map[addr.Provider]string, refused func(p addr.Provider, words []string) error) (diags diag.List) {
	list := make([]addr.Provider, 0, len(folders))
	for p := range folders {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b addr.Provider) int { return strings.Compare(a.String(), b.String()) })
	for _, p := range list {
		m, mistakes := manifest.Load(folders[p])
		if mistakes.HasErrors() || refused(p, nil) != nil {
			continue // mistakes are told by what uses the provider
		}
		say := func(line string) { tell(c, p.ForDisplay()+": "+line) }
		if _, _, err := handler.Prepare(ctx, m, handler.Surroundings{}, false, say); err != nil {
			diags = diags.Errorf(nil, "Provider program cannot be prepared", "%s\n\nThe provider %s is installed, but its program cannot run before that. What does not need the program, such as validate, works all the same; init -prepare=false leaves this out.", err, p.ForDisplay())
		}
		if ctx.Err() != nil {
			return diags
		}
	}
	return diags
}

// programFolders gives the folders of the wanted providers that are programs: those that are used from their folders, and packages with a manifest.
func programFolders(installed packages.Folder, elsewhere map[addr.Provider]string, wanted plugins.Wanted, lock lockfile.File) map[addr.Provider]string {
	out := map[addr.Provider]string{}
	for _, e := range lock.Entries() {
		if _, ok := wanted[e.Provider]; !ok {
			continue
		}
		if program, _, err := installed.Installed(e.Provider, e.Version); err == nil {
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
