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

// Provider describes a provider. Fields that are nil are things that it does not have.
type Provider struct {
	// Address is the source address that configurations name, with its host: registry.terraform.io/example/demo.
	Address string

	// Schema describes the provider block.
	Schema map[string]*Schema
	// ResourcesMap and DataSourcesMap are the resource types and data sources, by their names: demo_note.
	ResourcesMap   map[string]*Resource
	DataSourcesMap map[string]*Resource
	// EphemeralResourcesMap holds the ephemeral resources, which live for one run and are never stored.
	EphemeralResourcesMap map[string]*EphemeralResource
	// ListResourcesMap finds objects of resource types, by the names of these.
	ListResourcesMap map[string]*ListResource
	// ActionsMap holds the actions, which have an effect and are not stored: demo_send.
	ActionsMap map[string]*Action
	// Functions are called as provider::demo::name.
	Functions map[string]*Function

	// ProviderMetaSchema describes the provider_meta block of modules: arguments, no blocks. Callbacks get it by
	// ResourceData.GetProviderMeta.
	ProviderMetaSchema map[string]*Schema

	// ConfigureFunc returns the last parameter of the callbacks, usually a client. It may be nil. Its result is closed
	// at the end of the run when it is an io.Closer.
	ConfigureFunc        ConfigureFunc
	ConfigureContextFunc ConfigureContextFunc

	// TerraformVersion is the version of the language that the engine speaks, once the provider is being configured.
	TerraformVersion string

	Description string

	meta interface{}
}

// The callbacks of a Provider.
type (
	ConfigureFunc        func(*ResourceData) (interface{}, error)
	ConfigureContextFunc func(context.Context, *ResourceData) (interface{}, diag.List)
)

// Meta returns what ConfigureFunc returned.
func (p *Provider) Meta() interface{} { return p.meta }

// SetMeta replaces it, in tests.
func (p *Provider) SetMeta(v interface{}) { p.meta = v }

// UserAgent names a program and its version, which may be empty, to the service that it calls, with the engine that it
// works for. TF_APPEND_USER_AGENT in the environment is added to it.
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

// Serve is all of a plugin's main function. It does not return.
func Serve(describe func() *Provider) {
	serve.Main(serve.Options{Address: describe().Address, New: Factory(describe)})
}
