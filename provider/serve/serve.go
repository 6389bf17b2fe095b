// Package serve makes any provider.Provider a plugin: a program that Terraform, OpenTofu and Tombolo start and use over
// the plugin protocol, version 5 or 6.
//
//	func main() {
//		serve.Main(serve.Options{
//			Address: "registry.terraform.io/example/demo",
//			New:     func(context.Context) (provider.Provider, error) { return demo.New(), nil },
//		})
//	}
//
// The plugin works with any host that uses the go-plugin library, as Terraform and OpenTofu do: handshake, mutual TLS,
// sockets, health checks, forwarding of output and the shutdown request. In addition, it ends when it is no longer
// used: when its parent process has ended or, in case that was only a wrapper, soon after its only client has
// disconnected. The contexts of calls under way are then cancelled, and the calls get some time to end.
//
// With the flag -debug, the plugin can be started by hand; it prints the value for TF_REATTACH_PROVIDERS. Started by
// hand without the flag, it explains its use.
package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/provider"
)

// The magic cookie shows a plugin that a host started it. Its key and value are the same for all providers.
const (
	CookieKey   = handshake.CookieKey
	CookieValue = handshake.CookieValue
)

// ReattachEnv names the variable that makes a host use plugins that already run.
const ReattachEnv = "TF_REATTACH_PROVIDERS"

// Options describe a plugin. New is required.
type Options struct {
	// New starts a provider. It is usually called once, and again each time a client configures the plugin again, as in
	// debug mode.
	New provider.Factory
	// Address is the source address of the provider, with its host. A plugin that a host starts does not need it; with
	// Debug, and for Attach, it shows hosts which provider this is.
	Address string
	// Debug runs the plugin without a host, for a debugger, until it is interrupted.
	Debug bool
	// Grace is how long the plugin waits for calls when it has to end; 0 means fifteen seconds.
	Grace time.Duration
}

// Main is a plugin's complete main function: it reads the flags, runs the plugin and exits.
func Main(o Options) {
	flags := flag.NewFlagSet(filepath.Base(os.Args[0]), flag.ExitOnError)
	flags.BoolVar(&o.Debug, "debug", o.Debug, "run on its own, for a debugger")
	_ = flags.Parse(os.Args[1:]) // exits on errors
	os.Exit(Run(o))
}

// Run runs the plugin until its end and returns the exit status. It takes control of the process: standard output,
// standard error and signals.
func Run(o Options) int {
	stderr := os.Stderr // the handshake replaces it
	if !o.Debug && os.Getenv(CookieKey) != CookieValue {
		explain(stderr, filepath.Base(os.Args[0]), o.Address)
		return 1
	}
	p, err := newPlugin(o)
	if err == nil && o.Debug && o.Address == "" {
		err = errNoAddress
	}
	if err != nil {
		fmt.Fprintf(stderr, "The provider cannot start: %s.\n", err)
		return 1
	}
	signals := []os.Signal{syscall.SIGTERM}
	if o.Debug {
		signals = append(signals, os.Interrupt) // otherwise the host decides about interrupts
	}
	ctx, cancel := signal.NotifyContext(context.Background(), signals...)
	defer cancel()
	if o.Debug {
		err = p.serveDebug(ctx, os.Stdout)
	} else {
		err = p.serve(ctx)
	}
	if err != nil {
		fmt.Fprintf(stderr, "The provider did not stop cleanly: %s.\n", err)
		return 1
	}
	return 0
}

var errNoAddress = errors.New(
	"it has no Address, such as registry.terraform.io/example/demo, which identifies it to hosts")

func explain(w io.Writer, program, address string) {
	if address == "" {
		address = "an infrastructure provider"
	} else {
		address = "the provider " + address
	}
	fmt.Fprintf(w, `%s is a plugin: %s for Terraform, OpenTofu and Tombolo, which start it themselves.
Require the provider in a configuration, and put this file where they find it, such as in a filesystem mirror
or a directory of dev_overrides.

To attach a debugger, start it with -debug and follow its instructions.
`, program, address)
}

// newPlugin starts the provider, because its schema determines the protocol versions.
func newPlugin(o Options) (*running, error) {
	if o.Grace == 0 {
		o.Grace = 15 * time.Second
	}
	ctx := context.Background()
	first, err := o.New(ctx)
	if err != nil {
		return nil, err
	}
	schema, diags := first.Schema(ctx)
	if diags.HasErrors() && o.Debug {
		return nil, errors.Join(diags.Err(), first.Close())
	}
	if diags.HasErrors() {
		// Hosts show answers of a provider, but little output of one that ends before the first call.
		schema = &provider.Schema{}
	}
	// The provider that returned the schema is used first.
	unused := make(chan provider.Provider, 1)
	unused <- first
	factory := func(ctx context.Context) (provider.Provider, error) {
		select {
		case p := <-unused:
			return p, nil
		default:
			return o.New(ctx)
		}
	}
	p := &running{opts: o, servers: map[int]*wire.Server{}}
	var problems []string
	for _, v := range wire.Versions() {
		if err := wire.Serves(v, schema); err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if p.servers[v], err = wire.NewServer(factory, v); err != nil {
			return nil, err
		}
		p.best = v
	}
	if p.best == 0 {
		return nil, fmt.Errorf("its schema cannot be represented in any version of the plugin protocol: %s",
			strings.Join(problems, "; "))
	}
	return p, nil
}
