package encryption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
)

// Variable is the environment variable with settings that override those of the configuration.
const Variable = "TF_ENCRYPTION"

// Config is an encryption block, or several merged ones.
type Config struct {
	keys    []*block
	methods []*block
	state   *target
	plan    *target
	others  *target            // terraform_remote_state, the default for all data sources
	named   map[string]*target // by the name of the data source
	rng     hcl.Range
}

// block is a key provider or a method. Arguments in later bodies override those in earlier ones.
type block struct {
	root   string // "key_provider" or "method", the first part of references
	kind   string // the first label
	name   string
	bodies []hcl.Body
	rng    hcl.Range
}

// address returns the reference to a block.
func (b *block) address() string { return b.root + "." + b.kind + "." + b.name }

// ignored returns, as part of a sentence, that the block of a method has arguments without effect.
func (b *block) ignored() string {
	for _, body := range b.bodies {
		if _, problems := body.Content(&hcl.BodySchema{}); problems.HasErrors() {
			return "; it takes no arguments, so those in its block are ignored"
		}
	}
	return ""
}

// target configures the encryption of one kind of document, and the other methods that may decrypt it.
type target struct {
	method   hcl.Expression // nil if it only overrides another
	fallback *target
	enforced bool // unencrypted documents are refused
	rng      hcl.Range
}

// Parse decodes settings from a text: the body of an encryption block, as HCL or as JSON. name identifies the text in
// messages.
func Parse(text, name string) (*Config, diag.List) {
	var diags diag.List
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var file *hcl.File
	var problems hcl.Diagnostics
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		file, problems = json.Parse([]byte(text), name)
	} else {
		file, problems = hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
	}
	if problems.HasErrors() {
		// The text may contain a passphrase, so no part of it is shown.
		at := problems[0].Subject
		where := ""
		if at != nil {
			where = fmt.Sprintf(" at line %d, column %d", at.Start.Line, at.Start.Column)
		}
		return nil, diags.Errorf(nil, "Invalid encryption settings",
			"The text in %s cannot be read%s: %s. It must be the content of an encryption block, in HCL or JSON.", name,
			where, problems[0].Summary)
	}
	return Decode(file.Body, hcl.Range{Filename: name})
}

var (
	rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "key_provider", LabelNames: []string{"type", "name"}}, {Type: "method", LabelNames: []string{
			"type", "name"}},
		{Type: "state"}, {Type: "plan"}, {Type: "remote_state_data_sources"},
	}}
	targetSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "method"}},
		Blocks: []hcl.BlockHeaderSchema{{Type: "fallback"}}}
	enforceableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
		Blocks: []hcl.BlockHeaderSchema{{Type: "fallback"}}}
	othersSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "default"},
		{Type: "remote_state_data_source", LabelNames: []string{"name"}}}}
)

// Decode decodes the body of an encryption block. rng is the source range of the block.
func Decode(body hcl.Body, rng hcl.Range) (*Config, diag.List) {
	var diags diag.List
	content, problems := body.Content(rootSchema)
	diags = diags.AppendHCL(problems)
	c := &Config{named: map[string]*target{}, rng: rng}
	for _, b := range content.Blocks {
		switch b.Type {
		case "key_provider", "method":
			diags = diags.Extend(c.add(b))
		case "state":
			diags = diags.Extend(only(b, &c.state, enforceableSchema))
		case "plan":
			diags = diags.Extend(only(b, &c.plan, enforceableSchema))
		case "remote_state_data_sources":
			diags = diags.Extend(c.addOthers(b))
		}
	}
	return c, diags
}

// add adds a key provider or a method.
func (c *Config) add(b *hcl.Block) (diags diag.List) {
	all := &c.methods
	if b.Type == "key_provider" {
		all = &c.keys
	}
	for _, label := range b.Labels {
		if !hclsyntax.ValidIdentifier(label) {
			return diags.Errorf(&b.DefRange, "Invalid "+b.Type,
				"The label %q is not a valid name. A name begins with a letter or an underscore, followed by "+
					"letters, digits, underscores and hyphens.", label)
		}
	}
	one := &block{root: b.Type, kind: b.Labels[0], name: b.Labels[1], bodies: []hcl.Body{b.Body}, rng: b.DefRange}
	if find(*all, one.kind, one.name) != nil {
		return diags.Errorf(&b.DefRange, "Duplicate "+b.Type, "There are two %s blocks. Rename one of them.",
			one.address())
	}
	*all = append(*all, one)
	return nil
}

func find(all []*block, kind, name string) *block {
	for _, b := range all {
		if b.kind == kind && b.name == name {
			return b
		}
	}
	return nil
}

// only stores a block that may occur once.
func only(b *hcl.Block, to **target, schema *hcl.BodySchema) (diags diag.List) {
	if *to != nil {
		return diags.Errorf(&b.DefRange, "Duplicate "+b.Type+" block", "There can be only one %q block here.", b.Type)
	}
	*to, diags = decodeTarget(b, schema)
	return diags
}

func decodeTarget(b *hcl.Block, schema *hcl.BodySchema) (*target, diag.List) {
	var diags diag.List
	content, problems := b.Body.Content(schema)
	diags = diags.AppendHCL(problems)
	t := &target{rng: b.DefRange}
	if a := content.Attributes["method"]; a != nil {
		t.method = a.Expr
	}
	if a := content.Attributes["enforced"]; a != nil {
		value, problems := a.Expr.Value(nil)
		diags = diags.AppendHCL(problems)
		if value, err := convert.Convert(value, cty.Bool); err != nil || !value.IsKnown() || value.IsNull() {
			diags = diags.Errorf(a.Expr.Range().Ptr(), "Unsuitable value type",
				"The argument enforced must be true or false.")
		} else {
			t.enforced = value.True()
		}
	}
	for _, f := range content.Blocks {
		diags = diags.Extend(only(f, &t.fallback, targetSchema))
	}
	return t, diags
}

// addOthers adds the settings for states that data sources read.
func (c *Config) addOthers(b *hcl.Block) (diags diag.List) {
	content, problems := b.Body.Content(othersSchema)
	diags = diags.AppendHCL(problems)
	for _, inner := range content.Blocks {
		if inner.Type == "default" {
			diags = diags.Extend(only(inner, &c.others, targetSchema))
			continue
		}
		name := inner.Labels[0]
		t := c.named[name]
		diags = diags.Extend(only(inner, &t, targetSchema))
		c.named[name] = t
	}
	return diags
}

// Merge merges two settings. If both have an argument or a target, that of over takes precedence. Either may be nil.
func Merge(c, over *Config) *Config {
	if c == nil || over == nil {
		if c == nil {
			return over
		}
		return c
	}
	m := &Config{keys: mergeBlocks(c.keys, over.keys), methods: mergeBlocks(c.methods, over.methods),
		state: c.state.merge(over.state), plan: c.plan.merge(over.plan), others: c.others.merge(over.others),
		named: map[string]*target{}, rng: c.rng}
	for _, side := range []map[string]*target{c.named, over.named} {
		for name, t := range side {
			m.named[name] = m.named[name].merge(t)
		}
	}
	return m
}

func mergeBlocks(all, over []*block) []*block {
	all = slices.Clone(all)
	for _, o := range over {
		i := slices.IndexFunc(all, func(b *block) bool { return b.kind == o.kind && b.name == o.name })
		if i < 0 {
			all = append(all, o)
			continue
		}
		merged := *all[i]
		merged.bodies = append(slices.Clone(merged.bodies), o.bodies...)
		all[i] = &merged
	}
	return all
}

// merge merges two targets. The result is enforced if one of them is.
func (t *target) merge(over *target) *target {
	if t == nil || over == nil {
		if t == nil {
			return over
		}
		return t
	}
	m := &target{method: t.method, fallback: t.fallback, enforced: t.enforced || over.enforced, rng: t.rng}
	if over.method != nil {
		m.method = over.method
	}
	if over.fallback != nil {
		m.fallback = over.fallback
	}
	return m
}
