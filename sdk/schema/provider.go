package schema

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// Provider describes a provider. Nil fields are features that it does not have.
type Provider struct {
	// Address is the source address that configurations name, with its host: registry.terraform.io/example/demo.
	Address string

	// Schema describes the provider block.
	Schema map[string]*Schema
	// ResourcesMap and DataSourcesMap are the resource types and data sources, by their names: demo_note.
	ResourcesMap   map[string]*Resource
	DataSourcesMap map[string]*Resource
	// EphemeralResourcesMap holds the ephemeral resources, which exist for one run and are never stored.
	EphemeralResourcesMap map[string]*EphemeralResource
	// ListResourcesMap holds the lists, by the resource types whose objects they find.
	ListResourcesMap map[string]*ListResource
	// ActionsMap holds the actions, which have an effect and are not stored: demo_send.
	ActionsMap map[string]*Action
	// Functions are called as provider::demo::name.
	Functions map[string]*Function

	// ProviderMetaSchema describes the provider_meta block of modules: arguments, no blocks. Callbacks read it with
	// ResourceData.GetProviderMeta.
	ProviderMetaSchema map[string]*Schema

	// ConfigureFunc returns the last parameter of the callbacks, usually a client. It may be nil. If its result is an
	// io.Closer, it is closed at the end of the run.
	ConfigureFunc        ConfigureFunc
	ConfigureContextFunc ConfigureContextFunc

	// TerraformVersion is the language version of the engine, set when the provider is configured.
	TerraformVersion string

	Description string

	meta interface{}
}

// The callbacks of a Provider.
type (
	ConfigureFunc        func(*ResourceData) (interface{}, error)
	ConfigureContextFunc func(context.Context, *ResourceData) (interface{}, diag.List)
)

// Meta returns the result of ConfigureFunc.
func (p *Provider) Meta() interface{} { return p.meta }

// SetMeta replaces the result of ConfigureFunc, in tests.
func (p *Provider) SetMeta(v interface{}) { p.meta = v }

// UserAgent returns a User-Agent header with a program, its version, which may be empty, and the engine.
// TF_APPEND_USER_AGENT in the environment is appended.
func (p *Provider) UserAgent(name, version string) string {
	agent := "Terraform/" + cmp.Or(p.TerraformVersion, "unknown")
	if name != "" {
		agent += " " + strings.TrimSuffix(name+"/"+version, "/")
	}
	return strings.TrimSpace(agent + " " + strings.TrimSpace(os.Getenv("TF_APPEND_USER_AGENT")))
}

// Factory returns a function that starts providers, for Tombolo as a library and for tests.
func Factory(describe func() *Provider) provider.Factory {
	return func(context.Context) (provider.Provider, error) { return New(describe()), nil }
}

// Serve is a plugin's complete main function. It does not return.
func Serve(describe func() *Provider) {
	serve.Main(serve.Options{Address: describe().Address, New: Factory(describe)})
}
