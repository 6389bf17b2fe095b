package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/fetch/pins"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// grant asks for the permissions that sandboxed providers in folders want and do not have, and records those that the
// user grants in the lock file. A refused provider gets none. has returns the permissions of a provider.
func (i *initCommand) grant(ctx context.Context, c *command.Call, folders map[addr.Provider]string,
	refused func(p addr.Provider, words []string) error, has func(lock pins.File, p addr.Provider) []string) (
	diags diag.List) {
	lock, diags := pins.Load(".")
	if diags.HasErrors() {
		return diags
	}
	before := lock
	for _, p := range engine.SortedProviders(folders) {
		m, mistakes := manifest.Load(folders[p])
		if mistakes.HasErrors() || refused(p, nil) != nil {
			continue // errors are reported when the provider is used
		}
		surroundings := handler.Surroundings{Granted: has(lock, p), Source: p.String()}
		missing := handler.Missing(m, surroundings)
		if had := lock.Granted(p); len(had) > 0 && i.lockfile != readOnly { // what is not wanted any more ends
			lock = lock.Grant(p, stillWanted(m, had))
		}
		switch {
		case len(missing) == 0:
		case i.grants(ctx, c, p, missing):
			lock = lock.Grant(p, slices.Concat(stillWanted(m, lock.Granted(p)), missing))
		default:
			diags = diags.Warnf(nil, "Permissions were not granted", "The provider %s is sandboxed, and asks for "+
				"permissions:\n  %s\n\nCommands that need its program will fail.", p.ForDisplay(),
				strings.Join(missing, "\n  ")).
				Advise("If you trust it with them, run \"%s\" again and answer \"yes\", or set this variable of the "+
					"environment:\n  %s='%s'", diag.Run("init"), m.GrantsVariable(), handler.GrantText(m, surroundings))
		}
	}
	if string(lock.Bytes()) == string(before.Bytes()) {
		return diags
	}
	return diags.AppendError("The permissions cannot be recorded", lock.Save("."))
}

// stillWanted returns the permissions that a provider asks for and was granted.
func stillWanted(m *manifest.Manifest, granted []string) []string {
	missing := m.Permissions.Missing(granted)
	return slices.DeleteFunc(m.Permissions.Lines(), func(line string) bool { return slices.Contains(missing, line) })
}

// grants asks whether a provider gets permissions. With a lock file that must not be written, it gets none.
func (i *initCommand) grants(ctx context.Context, c *command.Call, p addr.Provider, lines []string) bool {
	if !i.setup.input || !c.InputAllowed() || c.JSON || i.lockfile == readOnly {
		return false
	}
	text := fmt.Sprintf("The provider %s is a sandboxed program. It asks for these permissions:\n\n%s\n\nEnter "+
		"\"yes\" to grant them. They are recorded in %s.", p.ForDisplay(), strings.Join(lines, "\n"), pins.Name)
	answer, err := c.Ask(ctx, "Do you want to grant permissions to a provider?", text, false)
	return err == nil && answer == "yes"
}
