package config

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
)

// Query files have list blocks, which find objects, and the blocks that these need. Only the command query and
// "validate -query" read them.
const (
	queryExtension     = ".tfquery.hcl"
	queryExtensionJSON = ".tfquery.json"
)

// isQuery reports whether a file is a query file.
func isQuery(name string) bool {
	return strings.HasSuffix(name, queryExtension) || strings.HasSuffix(name, queryExtensionJSON)
}

// queryFiles lists the query files in a directory by name.
func queryFiles(files Files, dir string, f flavor.Flavor) ([]string, error) {
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range WithoutTwins(names, f) {
		if isQuery(name) && !isLeftByEditor(name) {
			out = append(out, path.Join(dir, name))
		}
	}
	return out, nil
}

// querySchema is the schema of query files.
var querySchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "list", LabelNames: []string{"type", "name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

var listSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"},
	{Name: "provider"}}}

// decodeList reads a list block. The Body has the arguments of the language that may be expressions (limit,
// include_resource), and the config block, which the provider's schema describes.
func decodeList(block *hcl.Block) (*Resource, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(listSchema)
	r, diags := newResource(block, addr.List, content, false)
	diags = diag.List(nil).AppendHCL(hclDiags).Extend(diags)
	if _, ok := content.Attributes["provider"]; !ok {
		diags = diags.Errorf(block.DefRange.Ptr(), "Missing \"provider\" attribute", "A list block needs a provider: "+
			"add an argument such as provider = %s.", impliedProvider(r.Addr.Type))
	}
	r.Body = rest
	return r, diags
}
