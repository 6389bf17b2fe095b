// Package external is the provider `external`: data and objects that come from programs in any language.
//
//   - data `external` runs a program that answers one JSON object of strings with another. It is a drop-in for the
//     published provider of that name; data `external_data_source` is the same, with the program and its interpreter
//     apart.
//   - resource `external_resource` runs a program with one extra argument, create, read, update or delete.
//
// docs/programs.md holds both protocols. The differences from the published data source are deliberate:
// programs run in a process group of their own, which gets SIGTERM, then SIGKILL; they do not see the variables of the
// plugin handshake; children that outlive a program with a complete answer are not awaited; errors show the beginning
// of an invalid output.
//
// The data sources are written with sdk/schema (data.go). The resource is not: its answers may differ from the plan,
// which that framework does not allow. It implements the provider interface itself (resource.go).
//
// The package turns values into requests and answers into values. Package program runs the programs. Nothing here
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

// Line is a line that a program writes on standard error.
type Line struct {
	Object addr.Object // of the program's call
	Label  string      // type, program and action
	Text   string
	// Fleeting lines matter only while the program runs: it is one of the data source that Terraform has, too, which
	// shows nothing of programs that succeed.
	Fleeting bool
}

// Options holds the surroundings of programs. The zero value is that of this process.
type Options struct {
	// Env is the environment of the programs, "key=value" each; nil means that of this process.
	Env []string
	// Dir is the directory of programs and the base of relative names; empty means the current directory.
	Dir string
	// Grace is the time that a program has to end after a signal; 0 means 10 s.
	Grace time.Duration
	// Stderr gets each line that a program writes on standard error, as it is written, from several goroutines at once.
	// Messages of failed programs are in the diagnostics, too; those of successful ones are only here.
	Stderr func(Line)
	// Spool returns the folder in which answers of programs that create and update outlive this process; nil, or an
	// empty name, means that they do not.
	Spool func() program.Spool
	// MayRead decides about the command line of a program that reads something, before it is started: an error refuses
	// it. Where the program runs in another directory, the words begin with those of a shell that goes there: cd, the
	// directory, &&. Nil allows all.
	MayRead func(words []string) error
}

// New returns the provider. It needs no configuration and holds nothing that must be closed.
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

// about returns the provider for a call about an object.
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

// Stop ends the programs that only read, by their context. Those that change something are not stopped: they could
// leave unknown objects behind. A caller that cannot wait for them ends the context of their call.
func (p *external) Stop(ctx context.Context) error {
	return errors.Join(p.stopping.Stop(ctx), p.Provider.Stop(ctx))
}
