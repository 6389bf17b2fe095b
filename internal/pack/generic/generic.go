// Package generic makes one binary the plugin of every program provider: a copy of it under the name of a plugin,
// terraform-provider-NAME, beside a manifest, serves the provider that the manifest describes to Terraform, OpenTofu
// and Tombolo. Package pack makes archives of such copies; the binary is that of the command tombolo, whose main
// function first calls Started.
//
// Problems of a package, such as an invalid manifest or an interpreter that is not installed, are reported through the
// protocol, because hosts show one line at best of a plugin that exits before that.
//
//	if dir, ok := generic.Started(os.Args[0]); ok {
//		os.Exit(generic.Serve(dir, nil, serve.Options{}))
//	}
package generic

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/hashicorp/go-hclog"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/sandbox"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// Prefix begins the names of plugins.
const Prefix = "terraform-provider-"

// Pointer returns the name of a file beside a plugin that contains the path of its provider's folder. It replaces a
// manifest for providers under development, several of which may share a folder. The plugin's name begins with Prefix.
func Pointer(plugin string) string {
	dir, base := filepath.Split(plugin)
	return filepath.Join(dir, "tombolo-provider-dir-"+strings.TrimSuffix(base[len(Prefix):], ".exe"))
}

// Started reports whether this process is a plugin, and returns the folder of the provider. name is the first argument
// of the process. The manifest, or the pointer to it, is first searched beside that name, which may be a link to the
// binary, and then beside the binary itself.
func Started(name string) (dir string, ok bool) {
	real, err := os.Executable()
	if err != nil {
		real = ""
	}
	if !isPlugin(name) && !isPlugin(real) {
		return "", false
	}
	var places []string
	if filepath.Base(name) != name {
		places = append(places, name)
	}
	if real != "" {
		places = append(places, real)
	}
	for _, place := range places {
		dir = filepath.Dir(place)
		if _, err := os.Stat(filepath.Join(dir, manifest.FileName)); err == nil {
			return dir, true
		}
		if !isPlugin(place) {
			continue
		}
		if text, err := os.ReadFile(Pointer(place)); err == nil {
			return strings.TrimRight(string(text), "\r\n"), true
		}
	}
	return dir, true
}

func isPlugin(name string) bool {
	return strings.HasPrefix(strings.ToLower(filepath.Base(name)), Prefix)
}

// Serve serves the provider in a folder until its host ends the session, and returns the exit status. states gives the
// program access to states. Serve sets New in the options, and compiles a module if the process was started for that.
// Messages of programs are written to standard error as log lines, which hosts show according to TF_LOG; there is no
// other channel.
func Serve(dir string, states handler.RemoteState, o serve.Options) int {
	if status, is := sandbox.Child(); is {
		return status
	}
	// Hosts read lines in this format.
	log := hclog.New(&hclog.LoggerOptions{Name: "program", Output: os.Stderr, JSONFormat: true, Level: hclog.Trace})
	o.New = func(context.Context) (provider.Provider, error) {
		p, diags := New(dir, states, log)
		if diags.HasErrors() && o.Debug {
			return nil, diags.Err()
		}
		if diags.HasErrors() {
			return broken{diags: diags}, nil
		}
		return p, nil
	}
	return serve.Run(o)
}

// RefuseStates is the handler.RemoteState of hosts without backends, which are most of the command tombolo. It returns
// an error that says what the author of the provider can do.
func RefuseStates(context.Context, string, string, cty.Value) (cty.Value, diag.List) {
	return cty.NilVal, diag.List{}.Errorf(nil, "Cannot read a remote state for a program", "The package of the "+
		"provider has a small host, which has no backends.").Advise("The author of the provider can make a package "+
		"that reads states: omit -hosts from \"%s\", or set -host with the complete program for each platform.",
		diag.Run("provider", "build"))
}

// New returns the provider in a folder. states gives its program access to states.
func New(dir string, states handler.RemoteState, log hclog.Logger) (provider.Provider, diag.List) {
	_, p, diags := Open(dir, states, granted(), func(o handler.Output) {
		log.Log(levelOf(o.Level), o.Line, "program", o.Label)
	})
	return p, diags
}

// Open returns the provider in a folder, and its manifest. granted are the permissions of a module; "*" means all. say
// is called with output of its program.
func Open(dir string, states handler.RemoteState, granted []string, say func(handler.Output)) (*manifest.Manifest,
	provider.Provider, diag.List) {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Granted: granted, Source: sourceOf(dir)}),
		handler.Options{Output: say,
			MayRead: refusal(), RemoteState: states})
	return m, p, diags
}

// sourceOf returns the address of an installed provider from the folder into which an engine unpacked its package,
// HOST/NAMESPACE/NAME/VERSION/OS_ARCH, or "" for another folder. The package does not choose this path.
func sourceOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	if len(parts) < 5 {
		return ""
	}
	parts = parts[len(parts)-5:]
	if _, err := versions.ParseVersion(parts[3]); err != nil || parts[4] != runtime.GOOS+"_"+runtime.GOARCH {
		return ""
	}
	p, err := addr.ParseProvider(strings.Join(parts[:3], "/"))
	if err != nil {
		return ""
	}
	return p.String()
}

// RefusalVariable is the environment variable in which Tombolo passes the reason why a plugin must not run programs
// during a plan, because the protocol does not carry the user's plan_programs.
const RefusalVariable = "TOMBOLO_PLAN_REFUSED"

// refusal returns a function that allows or refuses calls that change nothing; nil allows all. Programs do not inherit
// the variable: if one runs an engine, the plugins of that have their own policy.
var refusal = sync.OnceValue(func() func() error {
	why := os.Getenv(RefusalVariable)
	if why == "" {
		return nil
	}
	_ = os.Unsetenv(RefusalVariable) // it exists, so this succeeds
	return func() error { return errors.New(why) }
})

// GrantedVariable is the environment variable in which Tombolo passes the permissions of a module to a plugin. Under
// other engines, users set the variable of the provider; see manifest.GrantsVariable.
const GrantedVariable = "TOMBOLO_GRANTED"

// granted returns the permissions that Tombolo has passed. Programs do not inherit the variable.
var granted = sync.OnceValue(func() []string {
	lines := manifest.ParseGrants(os.Getenv(GrantedVariable))
	_ = os.Unsetenv(GrantedVariable) // its name is valid, so this succeeds
	return lines
})

func levelOf(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}

// broken replaces a provider that cannot be created.
type broken struct {
	provider.Base
	diags diag.List
}

// Schema returns the reason, as every call would.
func (b broken) Schema(context.Context) (*provider.Schema, diag.List) {
	out := make(diag.List, len(b.diags))
	for i, d := range b.diags {
		c := *d
		if c.Subject != nil { // the protocol does not carry source ranges
			c.Detail += " (" + c.Subject.String() + ")"
			c.Subject = nil
		}
		out[i] = &c
	}
	return nil, out
}
