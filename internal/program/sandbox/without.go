//go:build without_modules

package sandbox

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// Module cannot exist in a program without modules, such as a host for other kinds of providers.
type Module struct{}

// Open returns an error. Manifests with modules are refused before it is called.
func Open(context.Context, Options) (*Module, error) {
	return nil, errors.New("this program runs no modules")
}

// Run panics: there is no Module.
func (*Module) Run(context.Context, program.Streams) program.Exit {
	panic("this program runs no modules")
}

// Close does nothing.
func (*Module) Close() error { return nil }

// Child reports that this process compiles no module.
func Child() (status int, is bool) { return 0, false }

// CacheDir returns "": there is no compiled code.
func CacheDir() string { return "" }
