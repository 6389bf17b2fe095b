package conformance

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/external"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// A plugin is a provider that a case uses with a line "plugin: NAME" among its steps. For our own plugins the
// executable is the test binary itself, under another name. Both sides find it in a mirror in the user's home
// directory.
type plugin struct {
	source  string // below registry.terraform.io
	version string
	builtIn bool // into tombolo, which then gets no plugin: results must be the same in process and over the protocol
	five    bool // it only offers version 5 of the protocol
	new     provider.Factory
	folder  string // below providers, for a plugin that is not ours: see providers_test.go
	script  string // of one in Python
}

var plugins = map[string]plugin{
	"external": {source: "hashicorp/external", version: "2.4.0", builtIn: true,
		new: func(context.Context) (provider.Provider, error) {
			return external.New(external.Options{}), nil
		}},
	"groups":  {source: "tombolo/groups", version: "1.0.0", new: schema.Factory(groups)},
	"groups5": {source: "tombolo/groups5", version: "1.0.0", five: true, new: schema.Factory(groups)},
	"world":   {source: "tombolo/world", version: "1.0.0", new: world.Factory(world.Options{})},
	"acts": {source: "tombolo/acts", version: "1.0.0", new: func(context.Context) (provider.Provider, error) {
		return &acts{}, nil
	}},
	"lab": {source: "tombolo/lab", version: "1.0.0", new: func(context.Context) (provider.Provider, error) {
		return lab{}, nil
	}},
	"fills": {source: "tombolo/fills", version: "1.0.0", new: func(context.Context) (provider.Provider, error) {
		return fills{}, nil
	}},
	"plain": {source: "tombolo/plain", version: "1.0.0",
		new: func(context.Context) (provider.Provider, error) {
			return nameless{world.New(world.Options{})}, nil
		}},
	"world5": {source: "tombolo/world5", version: "1.0.0", five: true, new: world.Factory(world.Options{Five: true})},

	"archive":   {source: "hashicorp/archive", version: "1.3.0", folder: "archive"},
	"cloudinit": {source: "hashicorp/cloudinit", version: "2.3.5", folder: "cloudinit"},
	"http":      {source: "hashicorp/http", version: "1.2.0", folder: "http"},
	"local":     {source: "hashicorp/local", version: "2.9.0", folder: "local"},
	"notes":     {source: "tombolo/notes", version: "1.0.0", script: "../internal/cli/testdata/plugins/notes.py"},
	"null":      {source: "hashicorp/null", version: "2.1.2", folder: "null"},
	// hashicorp/external is built into tombolo
	"old-external": {source: "published/external", version: "1.2.0", folder: "external"},
	"random":       {source: "hashicorp/random", version: "3.7.2", folder: "random"},
	"restapi":      {source: "mastercard/restapi", version: "1.20.0", folder: "restapi"},
	"shapes":       {source: "tombolo/shapes", version: "1.0.0", folder: "framework"},
	"time":         {source: "hashicorp/time", version: "0.14.2", folder: "time"},
	"tls":          {source: "hashicorp/tls", version: "4.2.1", folder: "tls"},
}

// nameless is the provider world with objects without identities: OpenTofu 1.12.6 cannot write a plan with an unknown
// one.
type nameless struct{ provider.Provider }

// Schema implements provider.Provider.
func (p nameless) Schema(ctx context.Context) (*provider.Schema, diag.List) {
	s, diags := p.Provider.Schema(ctx)
	const name = "world_object"
	object := *s.Resources[name]
	object.Identity = nil
	return &provider.Schema{Provider: s.Provider, Data: map[string]*provider.ResourceType{name: s.Data[name]},
		Resources: map[string]*provider.ResourceType{name: &object}}, diags
}

// Plan implements provider.Provider.
func (p nameless) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	resp := p.Provider.Plan(ctx, req)
	resp.Identity = cty.NilVal
	return resp
}

// Apply implements provider.Provider.
func (p nameless) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	resp := p.Provider.Apply(ctx, req)
	resp.Identity = cty.NilVal
	return resp
}

// Read implements provider.Provider.
func (p nameless) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	resp := p.Provider.Read(ctx, req)
	resp.Identity = cty.NilVal
	return resp
}

// Import implements provider.Provider.
func (p nameless) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	resp := p.Provider.Import(ctx, req)
	for i := range resp.Imported {
		resp.Imported[i].Identity = cty.NilVal
	}
	return resp
}

const pluginPrefix = "terraform-provider-"

func TestMain(m *testing.M) {
	file, isPlugin := strings.CutPrefix(filepath.Base(os.Args[0]), pluginPrefix)
	if !isPlugin {
		os.Exit(m.Run())
	}
	name, _, _ := strings.Cut(file, "_v")
	if plugins[name].five {
		os.Setenv("PLUGIN_PROTOCOL_VERSIONS", "5") // as if the host supported no other
	}
	serve.Main(serve.Options{Address: "registry.terraform.io/" + plugins[name].source, New: plugins[name].new})
}

// install adds a plugin to the mirror in a home directory, below a registry host.
func (p plugin) install(home, host, name string) error {
	exe, err := p.executable()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, ".terraform.d", "plugins", host, filepath.FromSlash(p.source),
		p.version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if p.folder != "" {
		name = path.Base(p.source)
	}
	program := filepath.Join(dir, fmt.Sprintf("%s%s_v%s", pluginPrefix, name, p.version))
	if p.script != "" {
		return copyProgram(exe, program) // committed files need not be executable
	}
	if err := os.Symlink(exe, program); err != nil {
		return fmt.Errorf("install plugin %s: %w", name, err)
	}
	return nil
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o777)
}

func (p plugin) executable() (string, error) {
	switch {
	case p.folder != "":
		return p.built()
	case p.script != "":
		return p.python()
	}
	return os.Executable()
}

// installPlugins installs the plugins of a case for a runner's binary.
func (r *runner) installPlugins() error {
	real, err := filepath.EvalSymlinks(r.bin) // both have the same name
	if err != nil {
		return err
	}
	base := filepath.Base(real)
	ours := !strings.HasPrefix(base, "terraform") && !strings.HasPrefix(base, "tofu")
	for _, name := range r.c.plugins {
		p := plugins[name]
		if p.builtIn && ours {
			continue
		}
		if err := p.install(r.scratch, r.c.oracle.flavor().RegistryHost(), name); err != nil {
			return err
		}
	}
	return nil
}
