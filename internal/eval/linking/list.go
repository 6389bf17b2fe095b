package linking

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// The parts of a list block, and of its value.
const (
	ListLimit   = "limit"
	ListInclude = "include_resource"
	ListConfig  = "config"
	ListData    = "data"
)

// listType returns the schema of a list block around the provider's schema of its config block. The evaluation checks
// the types of the language's arguments.
func listType(searched *provider.ResourceType) *provider.ResourceType {
	argument := &provider.Attribute{Type: cty.DynamicPseudoType, Optional: true}
	config := &provider.NestedBlock{Nesting: provider.NestingSingle, Block: provider.Block{
		Attributes: searched.Block.Attributes, Blocks: searched.Block.Blocks}}
	for _, a := range searched.Block.Attributes {
		if a.Required {
			config.MinItems = 1 // otherwise the error would be about a missing argument
		}
	}
	return &provider.ResourceType{Version: searched.Version, Block: &provider.Block{
		Attributes: map[string]*provider.Attribute{ListLimit: argument, ListInclude: argument},
		Blocks:     map[string]*provider.NestedBlock{ListConfig: config},
	}}
}

// checkListReference returns errors for references to parts of a list block other than its results. Parts after an
// unknown key or a splat are not checked.
func checkListReference(ref addr.Reference, undeclared problemAt) diag.List {
	if len(ref.Remaining) == 0 {
		return nil
	}
	if step, ok := ref.Remaining[0].(hcl.TraverseAttr); ok && step.Name != ListData {
		return undeclared("Invalid list resource traversal", "Expressions can refer only to the results of a list "+
			"block: "+
			"%s.%s.", ref.Resource, ListData)
	}
	return nil
}

// Lists returns the list blocks, with all their dependencies.
func (p *Program) Lists() map[*Slot]bool {
	return p.Needed(func(s *Slot) bool { return s.Kind == SlotResource && s.Resource.Addr.Mode == addr.List })
}
