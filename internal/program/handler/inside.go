package handler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
)

// guest is the program of a manifest if it is a module, which is compiled when it is first needed.
type guest struct {
	m    *manifest.Manifest
	base string // the directory of relative folders
	open func() (*sandbox.Module, error)

	mu     sync.Mutex // guards opened
	opened *sandbox.Module
}

func newGuest(m *manifest.Manifest, s Surroundings) *guest {
	g := &guest{m: m, base: s.Dir}
	g.open = sync.OnceValues(func() (*sandbox.Module, error) {
		if missing := Missing(m, s); len(missing) > 0 {
			return nil, g.notGranted(missing)
		}
		o := sandbox.Options{Path: m.Module(), Memory: m.Memory, Cache: sandbox.CacheDir(), Hosts: m.Permissions.Hosts,
			Folders: g.folders()}
		if s.Cache != "" {
			o.Cache = filepath.Join(s.Cache, "modules")
		}
		module, err := sandbox.Open(context.Background(), o)
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
	granted := slices.Concat(s.Granted, manifest.ParseGrants(variable(s.Env, m.GrantsVariable())))
	if slices.Contains(granted, "*") {
		return nil
	}
	return m.Permissions.Missing(granted)
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
		place := filepath.FromSlash(f.Path)
		if !filepath.IsAbs(place) {
			place = filepath.Join(g.base, place)
		}
		list = append(list, sandbox.Folder{Path: place, As: f.As, Write: f.Write})
	}
	return list
}

func (g *guest) notGranted(missing []string) error {
	return &NotReadyError{Summary: "Permissions of a provider are not granted", Ours: true,
		Detail: fmt.Sprintf("The module of provider %s asks for permissions that it does not have:\n  %s", g.m.Name,
			strings.Join(missing, "\n  ")),
		Advice: diag.Advise("If you trust it with them, run \"%s\", which asks and records the answer. For Terraform "+
			"and OpenTofu, set this variable of the environment:\n  %s='%s'", diag.Run("init"), g.m.GrantsVariable(),
			strings.Join(g.m.Permissions.Lines(), ", "))}
}

func (g *guest) notReady(err error) error {
	detail := fmt.Sprintf("The module of provider %s cannot be used: %s.", g.m.Name, err)
	if errors.Is(err, os.ErrNotExist) {
		detail = fmt.Sprintf("The manifest of provider %s names the module %s, which is not in %s. Build it, or "+
			"correct \"wasm\" in %s.", g.m.Name, g.m.Wasm, g.m.Dir, manifest.FileName)
	}
	return &NotReadyError{Summary: sumNotReady, Detail: detail, Ours: true}
}

// into makes a command that of the module, if the program is one.
func (g *guest) into(cmd *program.Command) error {
	if g.m.Wasm == "" {
		return nil
	}
	module, err := g.open()
	if err != nil {
		return err
	}
	for _, f := range g.folders() {
		if info, err := os.Stat(f.Path); err != nil || !info.IsDir() {
			return &NotReadyError{Summary: sumNotReady, Ours: true, Detail: fmt.Sprintf("The module of provider %s "+
				"may use the folder %s, which does not exist, or is not a folder. Create it.", g.m.Name, f.Path)}
		}
	}
	cmd.Inside = module
	return nil
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
