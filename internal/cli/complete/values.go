package complete

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/state"
)

// platforms are those for which providers are usually published.
var platforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "freebsd_arm64",
	"linux_386", "linux_amd64", "linux_arm", "linux_arm64", "windows_386", "windows_amd64", "windows_arm64",
}

// values returns the possible values of a placeholder in a usage. The flag is nil for an argument.
func (t *typed) values(ctx context.Context, word string, flag *command.Flag) []string {
	word = strings.Trim(strings.TrimSuffix(strings.Trim(word, "[]"), "..."), "[]")
	switch {
	case flag != nil && flag.Value == "" && flag.Name != "help":
		return []string{"true", "false"}
	case flag != nil && flag.Name == "var-file":
		return files(t.current, func(name string) bool {
			return strings.HasSuffix(name, ".tfvars") || strings.HasSuffix(name, ".tfvars.json")
		})
	}
	if known, ok := t.fixed()[word]; ok {
		return known
	}
	switch word {
	case "FILE", "FILE or NAME=VALUE", "PLANFILE", "TARGET":
		return files(t.current, func(string) bool { return true })
	case "DIR", "DIRECTORY", "FOLDER":
		return files(t.current, func(string) bool { return false })
	case "WORKSPACE":
		return t.workspaces(ctx)
	case "OUTPUT":
		if s := t.snapshot(ctx); s != nil {
			return s.OutputNames()
		}
	case "PROVIDER", "FROM", "TO":
		return t.providers(ctx)
	case "NAME=VALUE":
		if flag != nil && flag.Name == "var" {
			return t.variables(ctx)
		}
	case "DESTINATION":
		return t.configured(ctx, addr.Managed)
	case "ADDRESS", "SOURCE":
		return t.objects(ctx, word, flag)
	}
	return nil
}

// objects returns the addresses that the command accepts in this place: most commands look for objects in the state,
// and some for blocks of the configuration.
func (t *typed) objects(ctx context.Context, word string, flag *command.Flag) (out []string) {
	name := ""
	if flag != nil {
		name = flag.Name
	}
	switch {
	case name == "provider":
		return append(t.providers(ctx), files(t.current, func(string) bool { return true })...)
	case name == "source":
		return t.providers(ctx)
	case name != "" && word == "SOURCE":
		return files(t.current, func(string) bool { return false })
	case name == "invoke":
		return t.configured(ctx, addr.Action)
	case t.path == "import":
		return t.blocks(ctx)
	case name == "target" || name == "exclude":
		out = t.configured(ctx, addr.Managed, addr.Data)
	}
	if s := t.snapshot(ctx); s != nil {
		out = append(out, t.addresses(s, flag)...)
	}
	return out
}

// fixed returns the fixed values of placeholders.
func (t *typed) fixed() map[string][]string {
	return map[string][]string{
		"OS_ARCH": platforms,
		"MODE":    {"readonly"},
		"SHELL":   shells,
		"TYPE":    {"plan", "plan-refresh-only", "plan-destroy", "apply"},
	}
}

// files returns the files and folders whose paths begin with the given text. A single folder is followed by its
// content, so that no shell treats its name as a complete word.
func files(beginning string, wanted func(name string) bool) []string {
	list := filesIn(beginning, wanted)
	if len(list) == 1 && strings.HasSuffix(list[0], "/") {
		list = append(list, filesIn(list[0], wanted)...)
	}
	return list
}

func filesIn(beginning string, wanted func(name string) bool) (out []string) {
	dir, base := beginning[:strings.LastIndex(beginning, "/")+1], beginning[strings.LastIndex(beginning, "/")+1:]
	place := cmp.Or(dir, ".")
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		place = filepath.Join(home, rest)
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" {
			continue
		}
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(place, name))
			isDir = err == nil && info.IsDir()
		}
		switch {
		case isDir:
			out = append(out, dir+name+"/")
		case wanted(name):
			out = append(out, dir+name)
		}
	}
	return out
}

func (t *typed) workspaces(ctx context.Context) []string {
	st, diags := t.call.Open(ctx, command.StateFiles{})
	if diags.HasErrors() {
		return nil
	}
	list, err := st.Workspaces(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(name string) bool {
		_, err := st.Workspace(name)
		return err != nil
	})
}

// snapshot reads the state of the selected workspace without its lock, or nil if there is none.
func (t *typed) snapshot(ctx context.Context) *state.State {
	st, diags := t.call.Open(ctx, command.StateFiles{In: t.state})
	if diags.HasErrors() {
		return nil
	}
	ws, diags := t.call.Selected(st)
	if diags.HasErrors() {
		return nil
	}
	s, err := ws.Read(ctx)
	if err != nil || s == nil {
		return nil
	}
	return s.State
}

// addresses returns the addresses in the state that the command accepts.
func (t *typed) addresses(s *state.State, flag *command.Flag) (out []string) {
	marking := t.path == "taint" || t.path == "untaint" || flag != nil && flag.Name == "replace"
	instancesOnly := marking || t.path == "state show" || t.path == "recover"
	for _, r := range s.Resources() {
		if marking && r.Addr.Resource.Mode != addr.Managed {
			continue
		}
		for _, key := range r.Keys() {
			out = append(out, r.Addr.Instance(key).String())
		}
		if instancesOnly {
			continue
		}
		out = append(out, r.Addr.String())
		for m := r.Addr.Module; !m.IsRoot(); m, _, _ = m.Parent() {
			out = append(out, m.String())
		}
	}
	return out
}

// blocks returns the addresses of the root module's resources, as targets of an import.
func (t *typed) blocks(ctx context.Context) (out []string) {
	root, diags := t.call.RootModule(ctx)
	if diags.HasErrors() {
		return nil
	}
	for r := range root.Resources {
		if r.Mode == addr.Managed {
			out = append(out, r.String())
		}
	}
	return out
}
