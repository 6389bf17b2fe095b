package schema

import (
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// kind is the kind of block that a Resource describes.
type kind uint8

const (
	managed kind = iota + 1
	data
	ephemeral
	listing       // the config block of a list
	acting        // the config block of an action
	configuration // a provider block
	metaBlock     // a provider_meta block
	callee        // a function
)

// resourceType is a compiled Resource.
type resourceType struct {
	name     string
	kind     kind
	resource *Resource
	object   *object
	wire     *provider.ResourceType
	// fields maps each attribute of the schema to its description, at any depth.
	fields map[*provider.Attribute]*field
	blocks map[*provider.NestedBlock]*field // the same for computed blocks
}

func (t *resourceType) block() *provider.Block { return t.wire.Block }

// object is the compiled content of a block.
type object struct {
	fields map[string]*field
	names  []string // sorted
	ty     cty.Type
	block  *provider.Block
}

// field is an attribute or nested blocks.
type field struct {
	schema *Schema
	name   string
	ty     cty.Type
	elem   *field  // of a collection of values
	object *object // of nested resources
	block  bool    // encoded as nested blocks on the wire
	// implicit fields are id and timeouts, which authors do not declare and set with their own methods.
	implicit bool
}

const (
	idField       = "id"
	timeoutsField = "timeouts"
)

// compile compiles a resource. It accepts any description: InternalValidate reports its problems.
func compile(name string, r *Resource, k kind) *resourceType {
	c := compiler{fields: map[*provider.Attribute]*field{}, blocks: map[*provider.NestedBlock]*field{}}
	o := c.object(r.SchemaMap(), false)
	if k == managed || k == data {
		if o.fields[idField] == nil {
			c.add(o, &field{name: idField, schema: &Schema{Type: TypeString, Computed: true, Stable: true,
				Description: "The id of the object in the system that manages it."}, ty: cty.String})
		}
		o.fields[idField].implicit = true
		c.timeouts(o, r.Timeouts)
	}
	c.finish(o, r)
	t := &resourceType{name: name, kind: k, resource: r, object: o, fields: c.fields, blocks: c.blocks}
	t.wire = &provider.ResourceType{Version: int64(r.SchemaVersion), Block: o.block,
		Identity: identitySchema(r.Identity)}
	return t
}

type compiler struct {
	fields map[*provider.Attribute]*field
	blocks map[*provider.NestedBlock]*field
}

// object compiles the fields of a block; finish completes it.
func (c *compiler) object(schema map[string]*Schema, nestedAttr bool) *object {
	o := &object{fields: make(map[string]*field, len(schema)), block: &provider.Block{
		Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{},
	}}
	for name, s := range schema {
		if s == nil {
			s = &Schema{}
		}
		c.add(o, c.field(name, s, nestedAttr))
	}
	return o
}

func (c *compiler) finish(o *object, r *Resource) {
	o.names = slices.Sorted(maps.Keys(o.fields))
	o.block.Description = r.Description
	if r.DeprecationMessage != "" {
		o.block.Deprecated, o.block.DeprecationMessage = true, r.DeprecationMessage
	}
	o.ty = o.block.ImpliedType()
}

// add adds a field to a block, as an attribute or as nested blocks.
func (c *compiler) add(o *object, f *field) {
	o.fields[f.name] = f
	s := f.schema
	if !f.block {
		a := attribute(s, f.ty)
		o.block.Attributes[f.name] = a
		c.fields[a] = f
		return
	}
	nb := &provider.NestedBlock{Block: provider.Block{
		Attributes: f.object.block.Attributes, Blocks: f.object.block.Blocks, Description: s.Description,
		Deprecated: s.Deprecated != "", DeprecationMessage: s.Deprecated, Computed: s.Computed,
	}, Nesting: nesting(s.Type), MinItems: s.MinItems, MaxItems: s.MaxItems}
	switch {
	case s.Required && s.MinItems == 0:
		nb.MinItems = 1
	case !s.Required:
		nb.MinItems = 0 // no blocks satisfy the minimum
	}
	o.block.Blocks[f.name] = nb
	if nb.Computed {
		c.blocks[nb] = f
	}
}

func nesting(t ValueType) provider.Nesting {
	if t == TypeSet {
		return provider.NestingSet
	}
	return provider.NestingList
}

// attribute describes a field to the engine. With a default, it is computed, too.
func attribute(s *Schema, ty cty.Type) *provider.Attribute {
	a := &provider.Attribute{
		Type: ty, Required: s.Required, Optional: s.Optional, Computed: s.Computed, Sensitive: s.Sensitive,
		WriteOnly:   s.WriteOnly,
		Description: s.Description, Deprecated: s.Deprecated != "", DeprecationMessage: s.Deprecated,
	}
	if s.defaults() {
		a.Required, a.Optional, a.Computed = false, true, true
	}
	return a
}

// field compiles one member. Within an attribute, all nested resources are values.
func (c *compiler) field(name string, s *Schema, insideAttr bool) *field {
	f := &field{schema: s, name: name}
	switch s.Type {
	case TypeBool:
		f.ty = cty.Bool
	case TypeInt, TypeFloat:
		f.ty = cty.Number
	case TypeString:
		f.ty = cty.String
	case TypeList, TypeSet, TypeMap:
		c.collection(f, insideAttr)
	default:
		f.ty = cty.DynamicPseudoType
	}
	return f
}

func (c *compiler) collection(f *field, insideAttr bool) {
	s := f.schema
	ety := cty.String // the default for maps
	switch e := s.Elem.(type) {
	case *Schema:
		f.elem = c.field("", e, true)
		ety = f.elem.ty
	case ValueType:
		f.elem = c.field("", &Schema{Type: e}, true)
		ety = f.elem.ty
	case *Resource:
		f.block = s.Type != TypeMap && !insideAttr && (s.ConfigMode == SchemaConfigModeBlock ||
			s.ConfigMode == SchemaConfigModeAuto && !s.Computed)
		f.object = c.object(e.SchemaMap(), !f.block)
		c.finish(f.object, e)
		ety = f.object.ty
	}
	if f.elem == nil && f.object == nil {
		f.elem = c.field("", &Schema{Type: TypeString}, true)
	}
	switch s.Type {
	case TypeList:
		f.ty = cty.List(ety)
		if f.block && ety.HasDynamicTypes() {
			f.ty = cty.DynamicPseudoType
		}
	case TypeSet:
		f.ty = cty.Set(ety)
	default:
		f.ty = cty.Map(ety)
	}
}

// timeouts adds the block with the time limits of operations.
func (c *compiler) timeouts(o *object, t *ResourceTimeout) {
	all := t.all()
	maps.DeleteFunc(all, func(_ string, d *time.Duration) bool { return d == nil })
	if len(all) == 0 || o.fields[timeoutsField] != nil {
		return
	}
	f := &field{name: timeoutsField, schema: &Schema{Type: TypeMap, Optional: true}, implicit: true, object: &object{
		fields: map[string]*field{}}}
	block := &provider.Block{Attributes: map[string]*provider.Attribute{}, Blocks: map[string]*provider.NestedBlock{}}
	for key := range all {
		s := &Schema{Type: TypeString, Optional: true,
			Description: "How long this may take, such as \"30s\" or \"1h\"."}
		member := &field{name: key, schema: s, ty: cty.String}
		a := attribute(s, cty.String)
		block.Attributes[key], f.object.fields[key], c.fields[a] = a, member, member
	}
	f.object.block, f.object.names, f.object.ty = block, slices.Sorted(maps.Keys(all)), block.ImpliedType()
	f.ty = f.object.ty
	o.fields[f.name] = f
	o.block.Blocks[f.name] = &provider.NestedBlock{
		Block: provider.Block{Attributes: block.Attributes, Blocks: block.Blocks}, Nesting: provider.NestingSingle}
}

// elemType returns the type of the members of a collection.
func (f *field) elemType() cty.Type {
	if f.object != nil {
		return f.object.ty
	}
	return f.elem.ty
}

// computedBlocks checks nested blocks that are Computed.
func (c *inspection) computedBlocks(w where, s *Schema, fields map[string]*Schema) {
	switch {
	case w.kind != managed && w.kind != data:
		c.add(w.what, "Computed blocks are for resources and data sources")
	case !s.Optional:
		c.add(w.what, "blocks can always be written, so Computed blocks must also be Optional")
	case s.MinItems > 0:
		c.add(w.what, "Computed blocks cannot have MinItems, because a configuration may write none of them")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[name]; n != nil && !n.Computed {
			c.add(w.what+"."+name, "everything in Computed blocks must be Computed, too")
		}
	}
}
