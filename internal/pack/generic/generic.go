// Package generic makes one binary the plugin of every program provider: a copy of it under the name of a plugin,
// terraform-provider-NAME, beside a manifest, serves what the manifest describes to Terraform, OpenTofu and Tombolo.
// Package pack makes archives of such copies; the binary is that of the command tombolo, whose main asks Started first.
//
// What is wrong with a package, a manifest that cannot be read or an interpreter that is not installed, is told through
// the protocol: of a plugin that dies before that, hosts show one line at best.
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
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// Prefix is how the names of plugins begin.
const Prefix = "terraform-provider-"

// Pointer is the name of the file beside a plugin that holds the folder of its provider, instead of a manifest: for
// providers under development, of which several may share a folder. The name of the plugin begins with Prefix.
func Pointer(plugin string) string {
	dir, base := filepath.Split(plugin)
	return filepath.Join(dir, "tombolo-provider-dir-"+strings.TrimSuffix(base[len(Prefix):], ".exe"))
}

// Started reports whether this process is a plugin, and returns the folder of the provider. name is the first of the
// arguments of the process. The manifest, or the pointer to it, is searched beside that name first, which may be a link
// to the binary, and then beside the binary itself.
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

// Serve serves the provider in a folder until its host is done with it, and returns the status to exit with. The
// program may ask for states. New of the options is set here. Messages of programs go to standard error as log lines,
// which hosts show as TF_LOG asks; there is no other channel.
func Serve(dir string, states handler.RemoteState, o serve.Options) int {
	// Lines are written as hosts read them.
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

// New returns the provider in a folder, whose program may ask for states.
func New(dir string, states handler.RemoteState, log hclog.Logger) (provider.Provider, diag.List) {
	_, p, diags := Open(dir, states, func(o handler.Output) { log.Log(levelOf(o.Level), o.Line, "program", o.Label) })
	return p, diags
}

// Open returns the provider in a folder, and its manifest. say gets what its program says.
func Open(dir string, states handler.RemoteState, say func(handler.Output)) (*manifest.Manifest, provider.Provider,
	diag.List) {
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{}), handler.Options{Output: say, MayRead: refusal(),
		RemoteState: states})
	return m, p, diags
}

// RefusalVariable is the environment variable in which Tombolo passes a plugin the reason why it may not run programs
// during a plan: the protocol does not carry the user's plan_programs.
const RefusalVariable = "TOMBOLO_PLAN_REFUSED"

// refusal returns a function that decides about calls that change nothing; nil allows all. Programs do not inherit the
// variable: one that runs an engine has plugins with their own policy.
var refusal = sync.OnceValue(func() func() error {
	why := os.Getenv(RefusalVariable)
	if why == "" {
		return nil
	}
	_ = os.Unsetenv(RefusalVariable) // it was there, so it can be removed
	return func() error { return errors.New(why) }
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
		if c.Subject != nil { // places in files do not travel over the protocol
			c.Detail += " (" + c.Subject.String() + ")"
			c.Subject = nil
		}
		out[i] = &c
	}
	return nil, out
}
