// Package external is the provider `external`: data and objects that come from programs in any language.
//
//   - data `external` runs a program that reads one JSON object of strings and writes another. It is a drop-in for the
//     published provider of that name; data `external_data_source` is the same, with the program and its interpreter
//     as separate arguments.
//   - resource `external_resource` runs a program with one extra argument, create, read, update or delete.
//
// docs/programs.md documents both protocols. The differences from the published data source are deliberate: programs
// run in their own process group, which gets SIGTERM, then SIGKILL; they do not get the variables of the plugin
// handshake; children that outlive a program with complete output are not waited for; errors show the beginning of
// invalid output.
//
// The data sources use sdk/schema (data.go). The resource does not, because its results may differ from the plan, which
// that framework does not allow. It implements the provider interface directly (resource.go).
//
// This package converts values to requests, and output to values. Package program runs the programs. No code here
// starts a goroutine or keeps state between calls.
//
//	p := external.New(external.Options{})
//	resp := p.ReadData(ctx, provider.ReadDataRequest{Type: "external", Config: config})
package external

import (
	"context"
	"errors"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// The names of the provider's types.
const (
	typeData       = "external"
	typeDataSource = "external_data_source"
	typeResource   = "external_resource"
)

// Line is a line that a program writes to standard error.
type Line struct {
	Object addr.Object // of the program's call
	Label  string      // type, program and action
	Text   string
	// Fleeting lines are only shown while the program is running: its type is the data source that Terraform has as
	// well, which shows no output of successful programs.
	Fleeting bool
}

// Options holds the environment of programs. The zero value means that of this process.
type Options struct {
	// Env is the environment of the programs as "key=value"; nil means that of this process.
	Env []string
	// Dir is the directory of programs and of relative names; "" means the current directory.
	Dir string
	// Grace is how long a program may take to end after a signal; 0 means 10 s.
	Grace time.Duration
	// Stderr is called with each line that a program writes to standard error, immediately and concurrently. Messages
	// of failed programs are also in the diagnostics; those of successful ones are only passed here.
	Stderr func(Line)
	// Spool returns the folder in which output of programs that create and update outlives this process. If it is nil,
	// or returns an empty name, the output does not.
	Spool func() program.Spool
	// MayRead is called with the command line of a program that only reads, before it is started; an error refuses it.
	// If the program runs in another directory, the words begin with the shell commands that change to it: cd, the
	// directory, &&. Nil allows all.
	MayRead func(words []string) error
}

// New returns the provider. It needs no configuration and holds no resources to be closed.
func New(opts Options) provider.Provider {
	p := &external{opts: opts, stopping: provider.NewStopping()}
	p.Provider = schema.New(p.dataSources())
	data, diags := p.Provider.Schema(context.Background())
	if diags.HasErrors() {
		panic("external: " + diags.Err().Error())
	}
	all := *data
	all.Resources = map[string]*provider.ResourceType{typeResource: {Block: resourceBlock()}}
	p.schema = &all
	return p
}

type external struct {
	provider.Provider // the data sources
	opts              Options
	schema            *provider.Schema
	object            addr.Object // of the current call

	stopping *provider.Stopping
}

// about returns the provider for a call that concerns an object.
func (p *external) about(o addr.Object) *external {
	c := *p
	c.object = o
	return &c
}

// ReadData implements provider.Provider. The callbacks of a data source do not get its address, so they are created for
// each call.
func (p *external) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	ctx, done := p.stopping.Interruptible(ctx)
	defer done()
	return schema.New(p.about(req.Object).dataSources()).ReadData(ctx, req)
}

func (p *external) Schema(context.Context) (*provider.Schema, diag.List) { return p.schema, nil }

// Stop cancels the contexts of programs that only read. It does not stop programs that change something, because they
// could leave unknown objects behind. A caller that cannot wait for them cancels the context of their call.
func (p *external) Stop(ctx context.Context) error {
	return errors.Join(p.stopping.Stop(ctx), p.Provider.Stop(ctx))
}
