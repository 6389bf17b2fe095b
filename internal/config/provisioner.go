package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
)

var provisionerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "when"}, {Name: "on_failure"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "connection"}, {Type: "lifecycle"}},
}

var removedProvisioners = []string{"chef", "habitat", "puppet", "salt-masterless"}

func decodeProvisioner(block *hcl.Block) (*Provisioner, diag.List) {
	content, rest, hclDiags := block.Body.PartialContent(provisionerSchema)
	diags := diag.List(nil).AppendHCL(hclDiags)
	p := &Provisioner{Type: block.Labels[0], When: WhenCreate, Range: block.DefRange, TypeRange: block.LabelRanges[0]}
	if slices.Contains(removedProvisioners, p.Type) {
		return nil, diags.Errorf(&p.TypeRange, fmt.Sprintf("The %q provisioner has been removed", p.Type),
			"Provisioners of this type are no longer part of the language. Run the tool with local-exec or "+
				"remote-exec, or include it in the image.")
	}
	if attr, ok := content.Attributes["when"]; ok {
		destroys, moreDiags := oneOfTwo(attr, "create", "destroy")
		if diags = diags.Extend(moreDiags); destroys {
			p.When = WhenDestroy
		}
	}
	if attr, ok := content.Attributes["on_failure"]; ok {
		var moreDiags diag.List
		p.Continue, moreDiags = oneOfTwo(attr, "fail", "continue")
		diags = diags.Extend(moreDiags)
	}
	for _, b := range content.Blocks {
		switch b.Type {
		case "connection":
			if p.Connection != nil {
				diags = diags.Errorf(b.DefRange.Ptr(), "Duplicate connection block",
					"This provisioner already has a connection block at %s.", p.Connection.Range)
				continue
			}
			p.Connection = &Connection{Body: b.Body, Range: b.DefRange}
		case "lifecycle":
			diags = diags.Extend(reservedBlock(b, "provisioner"))
		}
	}
	body, moreDiags := escaped(rest, content.Blocks, "provisioner", "arguments of the provisioner")
	p.Body = body
	diags = diags.Extend(moreDiags)
	if p.When == WhenDestroy {
		diags = diags.Extend(checkDestroyRefs(p.Body))
		if p.Connection != nil {
			diags = diags.Extend(checkDestroyRefs(p.Connection.Body))
		}
	}
	return p, diags
}

// oneOfTwo decodes an argument with two possible keywords, and reports whether it is the second.
func oneOfTwo(attr *hcl.Attribute, first, second string) (isSecond bool, diags diag.List) {
	word, diags := decodeKeyword(attr.Expr)
	if word != first && word != second {
		diags = diags.Errorf(attr.Expr.Range().Ptr(), fmt.Sprintf("Invalid %q keyword", attr.Name),
			"The %q argument must be %s or %s, without quotes.", attr.Name, first, second)
	}
	return word == second, diags
}

// checkDestroyConnection applies the rule for destroy-time provisioners to the connection that they inherit: their own
// connection overrides only arguments of the same name.
func checkDestroyConnection(c *Connection, provisioners []*Provisioner) diag.List {
	atDestroy := func(p *Provisioner) bool { return p.When == WhenDestroy }
	if c == nil || !slices.ContainsFunc(provisioners, atDestroy) {
		return nil
	}
	return checkDestroyRefs(c.Body)
}

// ConnectionBody returns the connection of the provisioner: its own block merged over the block around it, or nil if
// there is neither.
func (p *Provisioner) ConnectionBody(inherited *Connection) hcl.Body {
	switch {
	case p.Connection == nil && inherited == nil:
		return nil
	case p.Connection == nil:
		return inherited.Body
	case inherited == nil:
		return p.Connection.Body
	}
	return overrideBody(inherited.Body, p.Connection.Body)
}

// checkDestroyRefs returns errors for references to other objects, which may already be destroyed when the object is.
func checkDestroyRefs(body hcl.Body) (diags diag.List) {
	attrs, _ := body.JustAttributes() // the schema checks nested blocks
	for _, attr := range inOrder(attrs) {
		var bad []string
		for _, t := range funcs.Mentions(attr.Expr) {
			if text := traversalText(t); !ownReference(t) && !slices.Contains(bad, text) {
				bad = append(bad, text)
			}
		}
		if len(bad) > 0 {
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Invalid reference from destroy provisioner",
				"A provisioner that runs before its object is destroyed can refer only to self, count.index, "+
					"each.key, path and terraform.workspace. Found: %s. Other objects may already be destroyed by "+
					"then, or may have to be destroyed after this one. Store the value in an attribute of the "+
					"object, "+
					"or in a terraform_data resource.", strings.Join(bad, ", "))
		}
	}
	return diags
}

func ownReference(t hcl.Traversal) bool {
	second := ""
	if len(t) > 1 {
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			second = attr.Name
		}
	}
	switch t.RootName() {
	case "self", "path", "terraform", "tofu":
		return true
	case "count":
		return second == "index"
	case "each":
		return second == "key"
	}
	return false
}

// traversalText returns the names in a traversal as text, for messages.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		default:
			b.WriteString("[...]")
		}
	}
	return b.String()
}
