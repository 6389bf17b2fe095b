package plan

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

// List is the query of an instance of a list block, and its results.
type List struct {
	Addr addr.AbsResourceInstance
	// Config is the configuration of the query; its value is null without a config block.
	Config Value
	// Found holds the objects in the order of the provider.
	Found []*Listed
}

// Listed is one existing object, managed or not.
type Listed struct {
	// DisplayName is a name for people; it may be empty.
	DisplayName     string
	Identity        cty.Value
	IdentityVersion int64
	// Object is the whole object; its value is cty.NilVal if it was not requested.
	Object Value
	// Generated are a resource block for the object and an import block for it, if they were requested.
	GeneratedConfig, GeneratedImport string
}
