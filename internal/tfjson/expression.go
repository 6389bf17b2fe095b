package tfjson

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
)

// expressions writes the member expressions of a body, or nothing if it has none.
func (c *configWriter) expressions(body hcl.Body, block *provider.Block) {
	content := contentOf(body, block)
	if len(content.attributes) == 0 && len(content.blocks) == 0 {
		return
	}
	c.key("expressions")
	c.body(content, block)
}

// bodyContent is the content of a body that the schema describes.
type bodyContent struct {
	attributes hcl.Attributes
	blocks     map[string][]*hcl.Block
}

func contentOf(body hcl.Body, block *provider.Block) bodyContent {
	schema := &hcl.BodySchema{}
	for _, name := range slices.Sorted(maps.Keys(block.Attributes)) {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(block.Blocks)) {
		header := hcl.BlockHeaderSchema{Type: name}
		if block.Blocks[name].Nesting == provider.NestingMap {
			header.LabelNames = []string{"key"}
		}
		schema.Blocks = append(schema.Blocks, header)
	}
	// these are not written, but in an override file they replace others, which are then not written either
	if block.Blocks["dynamic"] == nil {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}})
	}
	content, _, _ := body.PartialContent(schema) // problems were reported by the validation
	out := bodyContent{attributes: content.Attributes, blocks: map[string][]*hcl.Block{}}
	for _, b := range content.Blocks {
		if block.Blocks[b.Type] == nil {
			continue
		}
		out.blocks[b.Type] = append(out.blocks[b.Type], b)
	}
	return out
}

func (c *configWriter) body(content bodyContent, block *provider.Block) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(content.attributes)), maps.Keys(content.blocks))
	slices.Sort(names)
	c.open('{')
	for _, name := range names {
		c.key(name)
		if a := content.attributes[name]; a != nil {
			c.expression(a.Expr)
			continue
		}
		c.blocks(content.blocks[name], block.Blocks[name])
	}
	c.close('}')
}

func (c *configWriter) blocks(blocks []*hcl.Block, nb *provider.NestedBlock) {
	switch nb.Nesting {
	case provider.NestingList, provider.NestingSet:
		c.open('[')
		for _, b := range blocks {
			c.body(contentOf(b.Body, &nb.Block), &nb.Block)
		}
		c.close(']')
	case provider.NestingMap:
		c.open('{')
		for _, b := range blocks {
			if len(b.Labels) > 0 {
				c.key(b.Labels[0])
				c.body(contentOf(b.Body, &nb.Block), &nb.Block)
			}
		}
		c.close('}')
	default:
		last := blocks[len(blocks)-1]
		c.body(contentOf(last.Body, &nb.Block), &nb.Block)
	}
}

// optionalExpression writes a member unless the expression has neither a value nor references.
func (c *configWriter) optionalExpression(name string, e hcl.Expression) {
	if e == nil {
		return
	}
	if x := c.understand(e); len(x.references) > 0 || x.constant != cty.NilVal {
		c.key(name)
		c.understood(x)
	}
}

// expression writes the value of a constant, and the references of any other expression. A call of functions without
// references has neither.
func (c *configWriter) expression(e hcl.Expression) { c.understood(c.understand(e)) }

// understanding holds the constant value and the references of an expression.
type understanding struct {
	references []string
	constant   cty.Value // NilVal if it is not constant
}

func (c *configWriter) understand(e hcl.Expression) understanding {
	var out understanding
	if variables := e.Variables(); len(variables) > 0 {
		out.references = mentioned(variables)
	}
	out.constant = constant(e, c.files[e.Range().Filename])
	return out
}

func (c *configWriter) understood(x understanding) {
	c.open('{')
	if x.constant != cty.NilVal {
		c.key("constant_value")
		c.value(x.constant)
	}
	if len(x.references) > 0 {
		c.key("references")
		c.open('[')
		for _, r := range x.references {
			c.str(r)
		}
		c.close(']')
	}
	c.close('}')
}

// mentioned lists references from the most to the least specific: terraform_data.a[0].output.x,
// terraform_data.a[0].output, terraform_data.a[0], terraform_data.a.
func mentioned(variables []hcl.Traversal) []string {
	var out []string
	for _, t := range variables {
		ref, diags := addr.ParseReference(t)
		if diags.HasErrors() {
			continue
		}
		subject := ref.String()
		for rest := ref.Remaining; len(rest) > 0; rest = rest[:len(rest)-1] {
			out = append(out, subject+steps(rest))
		}
		out = append(out, subject)
		switch {
		case ref.Kind == addr.RefOutput:
			ref.Kind = addr.RefModule
			out = append(out, ref.String())
		case ref.HasKey:
			ref.HasKey = false
			out = append(out, ref.String())
		}
	}
	return out
}

// steps returns the rest of a traversal in the syntax of the language.
func steps(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			b.WriteByte('[')
			switch {
			case step.Key.IsNull() || !step.Key.IsKnown():
			case step.Key.Type() == cty.String:
				b.WriteString(strconv.Quote(step.Key.AsString()))
			case step.Key.Type() == cty.Number:
				b.WriteString(step.Key.AsBigFloat().Text('f', -1))
			}
			b.WriteByte(']')
		}
	}
	return b.String()
}
