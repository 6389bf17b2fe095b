// Package external is the provider `external`: data and objects that come from programs in any language.
//
//   - data `external` runs a program that answers one JSON object of strings with another. It is a drop-in for the published
//     provider of that name; data `external_data_source` is the same, with the program and its interpreter apart.
//   - resource `external_resource` runs a program with one extra argument, create, read, update or delete.
//
// docs/program-protocol.md holds both protocols. The differences from the published data source are deliberate: programs
// run in a process group of their own, which gets SIGTERM, then SIGKILL; they do not see the variables of the plugin
// handshake; nobody waits for children that outlive a program whose answer is whole; errors show the beginning of an
// output that cannot be read.
//
// The package turns values into requests and answers into values. Running programs, and surviving them, is the business
// of package program. Nothing here starts a goroutine or keeps state between calls.
//
//	p := external.New(external.Options{})
//	resp := p.ReadData(ctx, provider.ReadDataRequest{Type: "external", Config: config})
package external

import (
	"context"
	"errors"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// The names of what the provider has.
const (
	typeData       = "external"
	typeDataSource = "external_data_source"
	typeResource   = "external_resource"
)

// Options are what programs get from their surroundings. The zero value is that of this process.
type Options struct {
	// Env is the environment of the programs, "key=value" each; nil means that of this process.
	Env []string
	// Dir is where programs run and what relative names are relative to; empty means the current directory.
	Dir string
	// Grace is the time that a program has to end once it is told to; 0 means 10 s.
	Grace time.Duration
	// Stderr gets each line that a program writes on standard error, as it is written, from several goroutines at once.
	// The label tells type, program and action. Messages of programs that fail are in the diagnostics too; those of programs
	// that succeed are nowhere else. The context is that of the call that runs the program.
	Stderr func(ctx context.Context, label, line string)
}

// New makes the provider. It needs no configuration and holds nothing that must be closed.
func New(opts Options) provider.Provider {
	p := &external{opts: opts, schema: newSchema()}
	p.stopping, p.stop = context.WithCancelCause(context.Background())
	return p
}

type external struct {
	provider.Base
	opts   Options
	schema *provider.Schema

	stopping context.Context
	stop     context.CancelCauseFunc
}

var errStopping = errors.New("the run is being interrupted")

func newSchema() *provider.Schema {
	id := func(description string) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Computed: true, Description: description}
	}
	strings := cty.Map(cty.String)
	program := &provider.Attribute{
		Type: cty.DynamicPseudoType, Required: true,
		Description: "The program to run: a string, or a list of strings that also holds its first arguments. There is no shell.",
	}
	interpreter := &provider.Attribute{
		Type: cty.DynamicPseudoType, Optional: true,
		Description: "What the program is an argument of, such as \"python3\": a string, or a list of strings that also holds options.",
	}
	return &provider.Schema{
		Provider: &provider.Block{Description: "Programs in any language as data sources and resources."},
		Data: map[string]*provider.ResourceType{
			typeData: {Block: &provider.Block{
				Description: "Runs a program that reads a JSON object of strings and prints another. It must have no side effects.",
				Attributes: map[string]*provider.Attribute{
					"program": {Type: cty.List(cty.String), Required: true,
						Description: "The program to run and its arguments. There is no shell; null and empty elements are dropped."},
					"query": {Type: strings, Optional: true,
						Description: "What the program reads on standard input, as a JSON object."},
					"working_dir": {Type: cty.String, Optional: true,
						Description: "Where the program runs; by default in the current directory."},
					"result": {Type: strings, Computed: true, Description: "What the program printed."},
					"id":     id("Always \"-\"."),
				},
			}},
			typeDataSource: {Block: &provider.Block{
				Description: "Runs a program that reads a JSON object of strings and prints another. It must have no side effects, " +
					"and not depend on the directory that it runs in.",
				Attributes: map[string]*provider.Attribute{
					"program":     program,
					"interpreter": interpreter,
					"query": {Type: strings, Optional: true,
						Description: "What the program reads on standard input, as a JSON object."},
					"result": {Type: strings, Computed: true, Description: "What the program printed."},
					"id":     id("Always \"-\"."),
				},
			}},
		},
		Resources: map[string]*provider.ResourceType{
			typeResource: {Block: &provider.Block{
				Description: "An object that a program manages. The program is run with create, read, update or delete as its last " +
					"argument, and must not depend on the directory that it runs in.",
				Attributes: map[string]*provider.Attribute{
					"program":     program,
					"interpreter": interpreter,
					"arguments": {Type: strings, Optional: true,
						Description: "What the object should be like. After apply, what the program says that it is like."},
					"result": {Type: strings, Computed: true, Description: "What else the program tells of the object."},
					"id":     id("The name that the program gave to the object."),
				},
			}},
		},
		Ephemeral: map[string]*provider.ResourceType{},
		Functions: map[string]*provider.Function{},
	}
}

func (p *external) Schema(context.Context) (*provider.Schema, diag.List) { return p.schema, nil }

func (p *external) ValidateResource(_ context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Kind == provider.DataSource && req.Type == typeData {
		return validateList(req.Config.GetAttr("program"))
	}
	if p.schema.Type(req.Kind, req.Type) == nil {
		return nil
	}
	program, interpreter := req.Config.GetAttr("program"), req.Config.GetAttr("interpreter")
	if program.IsNull() {
		return diag.List{missingArgument("program")}
	}
	diags := validateWords("program", program).Extend(validateWords("interpreter", interpreter))
	if len(diags) == 0 && program.IsWhollyKnown() {
		if _, problem := newCommand(program); problem != nil {
			diags = diags.Append(problem)
		}
	}
	return diags
}

func (p *external) UpgradeState(_ context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	return provider.DecodeStored(p.schema.Resources[req.Type], req)
}

// Stop ends the programs that only read, by their context. Those that change something are left to finish: cut off, they
// would leave behind what nobody knows of. A caller that cannot wait for them ends the context of their call.
func (p *external) Stop(context.Context) error {
	p.stop(errStopping)
	return nil
}

// interruptible is a context that also ends with Stop. The caller must call the function returned.
func (p *external) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(p.stopping, func() { cancel(errStopping) })
	return ctx, func() { unhook(); cancel(nil) }
}
