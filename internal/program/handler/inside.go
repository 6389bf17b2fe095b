package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
)

// guest is the program of a manifest if it is a module, which is compiled when it is first needed.
type guest struct {
	m     *manifest.Manifest
	base  string // the directory of relative folders
	cache string // the folder of compiled code; "" if there is none
	open  func() (*sandbox.Module, error)

	mu     sync.Mutex // guards opened
	opened *sandbox.Module
}

func newGuest(m *manifest.Manifest, s Surroundings) *guest {
	g := &guest{m: m, base: s.Dir, cache: sandbox.CacheDir()}
	if s.Cache != "" {
		g.cache = filepath.Join(s.Cache, "modules")
	}
	g.open = sync.OnceValues(func() (*sandbox.Module, error) {
		if missing := Missing(m, s); len(missing) > 0 {
			return nil, g.notGranted(s, missing)
		}
		module, err := sandbox.Open(context.Background(), sandbox.Options{Path: m.Module(), Memory: m.Memory,
			Cache: g.cache, Hosts: m.Permissions.Hosts, Folders: g.folders()})
		if err != nil {
			return nil, g.notReady(err)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.opened = module
		return module, nil
	})
	return g
}

// Missing returns the permissions that the module of a manifest asks for and does not have, one line for each.
func Missing(m *manifest.Manifest, s Surroundings) []string {
	granted := slices.Concat(s.Granted, manifest.GrantsTo(variable(s.Env, m.GrantsVariable()), func(name string) bool {
		return names(name, m, s.Source)
	}))
	if slices.Contains(granted, "*") {
		return nil
	}
	return m.Permissions.Missing(granted)
}

// names reports whether a user means this provider: by its address, which may omit the host of a public registry, or by
// its folder.
func names(name string, m *manifest.Manifest, source string) bool {
	if filepath.IsAbs(name) {
		return m.Dir != "" && resolved(name) == resolved(m.Dir)
	}
	return source != "" && (name == source || name == shortened(source))
}

// shortened returns an address without the host of a public registry.
func shortened(source string) string {
	for _, f := range []flavor.Flavor{flavor.Terraform, flavor.OpenTofu} {
		if short, ok := strings.CutPrefix(source, f.RegistryHost()+"/"); ok {
			return short
		}
	}
	return source
}

// GrantText returns the value of the variable that grants a module its permissions.
func GrantText(m *manifest.Manifest, s Surroundings) string {
	name := shortened(s.Source)
	if name == "" {
		name = resolved(m.Dir)
	}
	return manifest.ProviderWord + name + ", " + strings.Join(m.Permissions.Lines(), ", ")
}

// variable returns a variable of an environment; nil is that of this process.
func variable(env []string, name string) string {
	if env == nil {
		return os.Getenv(name)
	}
	for _, entry := range slices.Backward(env) {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			return text
		}
	}
	return ""
}

// folders returns the folders that the module can use.
func (g *guest) folders() (list []sandbox.Folder) {
	for _, f := range g.m.Permissions.Folders {
		place, below := filepath.FromSlash(f.Path), ""
		if filepath.IsLocal(place) {
			below = cmp.Or(g.base, ".")
		}
		if !filepath.IsAbs(place) {
			place = filepath.Join(g.base, place)
		}
		list = append(list, sandbox.Folder{Path: place, As: f.As, Write: f.Write, Below: below})
	}
	return list
}

func (g *guest) notGranted(s Surroundings, missing []string) error {
	return &NotReadyError{Summary: "Permissions of a provider are not granted", Ours: true,
		Detail: fmt.Sprintf("The module of provider %s asks for permissions that it does not have:\n  %s", g.m.Name,
			strings.Join(missing, "\n  ")),
		Advice: diag.Advise("If you trust it with them, run \"%s\", which asks and records the answer. For Terraform "+
			"and OpenTofu, set this variable of the environment:\n  %s='%s'", diag.Run("init"), g.m.GrantsVariable(),
			GrantText(g.m, s))}
}

func (g *guest) notReady(err error) error {
	detail := fmt.Sprintf("The module of provider %s cannot be used: %s.", g.m.Name, err)
	if errors.Is(err, os.ErrNotExist) {
		detail = fmt.Sprintf("The manifest of provider %s names the module %s, which is not in %s. Build it, or "+
			"correct \"wasm\" in %s.", g.m.Name, g.m.Wasm, g.m.Dir, manifest.FileName)
	}
	return &NotReadyError{Summary: sumNotReady, Detail: detail, Ours: true}
}

// into sets the module as the program of a command, if the manifest names a module.
func (g *guest) into(cmd *program.Command) error {
	if g.m.Wasm == "" {
		return nil
	}
	module, err := g.open()
	if err != nil {
		return err
	}
	for _, f := range g.folders() {
		if what := g.endangers(f); what != "" {
			return &NotReadyError{Summary: sumNotReady, Ours: true, Detail: fmt.Sprintf("The module of provider %s "+
				"may write to the folder %s, and so to %s. Write to a folder of its own.", g.m.Name, f.Path, what)}
		}
		if info, err := os.Stat(f.Path); err != nil || !info.IsDir() {
			return &NotReadyError{Summary: sumNotReady, Ours: true, Detail: fmt.Sprintf("The module of provider %s "+
				"may use the folder %s, which does not exist, or is not a folder. Create it.", g.m.Name, f.Path)}
		}
	}
	cmd.Inside = module
	return nil
}

// CheckProgram returns why the program of a manifest cannot be started at all: a *NotReadyError, for example because
// its module is missing. A program with a preparation is only checked when it is prepared, and HTTP providers have
// none.
func CheckProgram(m *manifest.Manifest, s Surroundings) error {
	switch {
	case m.HTTP != nil || len(m.Prepare) > 0 || len(m.PrepareFrom) > 0:
		return nil
	case m.Wasm == "":
		start, err := NewStart(m, s)
		if err == nil && !strings.ContainsAny(start.Argv[0], `/\`) {
			if _, missing := program.LookPath(start.Argv[0], start.Env, s.Dir); missing != nil {
				err = &NotReadyError{Summary: sumNotReady, Ours: true, Detail: fmt.Sprintf("The program %q of "+
					"provider %s was not found in PATH. Install it, or add its folder to PATH.", start.Argv[0], m.Name)}
			}
		}
		return err
	}
	g := newGuest(m, s)
	return errors.Join(g.into(&program.Command{}), g.close())
}

// endangers returns what of the project or of Tombolo a module could change in a folder to which it writes: with the
// configuration, the lock file or the machine code of modules it would get all permissions. It returns "" for none.
func (g *guest) endangers(f sandbox.Folder) string {
	if !f.Write {
		return ""
	}
	folder := resolved(f.Path)
	for _, protected := range []struct{ what, path string }{{"the configuration", cmp.Or(g.base, ".")},
		{"its own program", g.m.Dir}, {"the compiled code of modules", g.cache}} {
		if protected.path != "" && within(resolved(protected.path), folder) {
			return protected.what
		}
	}
	for _, name := range []string{".terraform", ".git"} {
		if within(folder, resolved(filepath.Join(g.base, name))) {
			return "the files in " + name
		}
	}
	if g.cache != "" && within(folder, resolved(g.cache)) {
		return "the compiled code of modules"
	}
	return ""
}

// resolved returns a path without links, as far as it exists.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	dir, name := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path {
		return path
	}
	return filepath.Join(resolved(dir), name)
}

// within reports whether a path is a folder or inside of it.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}

// close frees the module, after its last run.
func (g *guest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return nil
	}
	return g.opened.Close()
}

// startInside is NewStart for a module. Its environment has the version of the protocol, and the variables for which it
// has permissions.
func startInside(m *manifest.Manifest, s Surroundings) Start {
	env := []string{fmt.Sprintf("TOMBOLO_PROTOCOL=%d", manifest.Protocol)}
	for _, name := range m.Permissions.Env {
		if text := variable(s.Env, name); text != "" {
			env = append(env, name+"="+text)
		}
	}
	return Start{Argv: []string{m.Wasm}, Env: env}
}
