package provider

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Schema describes a provider. It is immutable once returned.
type Schema struct {
	Provider  *Block // nil if there is nothing to configure, like an empty block
	Meta      *Block // nil if the provider has no provider_meta block
	Resources map[string]*ResourceType
	Data      map[string]*ResourceType
	Ephemeral map[string]*ResourceType
	Functions map[string]*Function
	// Lists describes the config blocks of list blocks, by the managed resource type that they list.
	Lists map[string]*ResourceType
	// Actions describes the config blocks of actions.
	Actions map[string]*ResourceType

	// StateOnly means that an apply changes nothing outside of the state (terraform_data), so that no intent is
	// recorded in the journal before.
	StateOnly bool
	// PlanDestroy means that Plan is also called for deletes. GetProviderSchemaOptional and MoveResourceState are as in
	// the protocol.
	PlanDestroy               bool
	GetProviderSchemaOptional bool
	MoveResourceState         bool
	// GenerateConfig means that the provider generates configurations of imported objects.
	GenerateConfig bool
}

// Type returns a resource type of a kind, or nil if there is none.
func (s *Schema) Type(kind ResourceKind, name string) *ResourceType {
	switch kind {
	case ManagedResource:
		return s.Resources[name]
	case DataSource:
		return s.Data[name]
	case EphemeralResource:
		return s.Ephemeral[name]
	case ListResource:
		return s.Lists[name]
	case Action:
		return s.Actions[name]
	}
	return nil
}

// ResourceType describes a type of one of the kinds.
type ResourceType struct {
	Version int64
	Block   *Block
	// Identity describes the permanent identity of objects of this type; nil if the type has none.
	Identity *IdentitySchema
	// Newer names attributes and blocks that this version of the schema has only in newer engines; older ones refuse
	// them in a state. States omit them if they are null. The plugin protocol does not transport it.
	Newer []string
}

// IdentitySchema describes an identity: a flat object.
type IdentitySchema struct {
	Version    int64
	Attributes map[string]*IdentityAttribute
}

// IdentityAttribute describes one part of an identity.
type IdentityAttribute struct {
	Type              cty.Type
	Description       string
	RequiredForImport bool
	OptionalForImport bool
}

// ImpliedType returns the object type of the identity.
func (s *IdentitySchema) ImpliedType() cty.Type {
	atys := make(map[string]cty.Type, len(s.Attributes))
	for name, a := range s.Attributes {
		atys[name] = a.Type
	}
	return cty.Object(atys)
}

// DescriptionKind is how a description is written.
type DescriptionKind uint8

// The kinds of description.
const (
	PlainText DescriptionKind = iota
	Markdown
)

// Nesting is the form of the value of nested blocks or attributes with one name.
type Nesting uint8

// The nesting modes. NestingGroup is a block that is never null: its attributes are null instead.
const (
	NestingSingle Nesting = iota + 1
	NestingGroup
	NestingList
	NestingSet
	NestingMap
)

// Block describes the content of a block. Do not change it after first use: derived data is computed once.
type Block struct {
	Attributes map[string]*Attribute
	Blocks     map[string]*NestedBlock

	Description     string
	DescriptionKind DescriptionKind
	Deprecated      bool
	// DeprecationMessage names the replacement; Deprecated is set as well.
	DeprecationMessage string
	// Computed is for nested blocks: the provider may fill them in if the configuration has none. Plan then gets null
	// in their place, even for a list, set or map of blocks, and may answer with any other value, including unknown.
	// Everything in them must be Computed, too, and they have no MinItems. Engines without
	// ClientCapabilities.ComputedBlocksAllowed do not support this: return an error where it is needed.
	Computed bool

	once    sync.Once
	implied cty.Type
	facts   blockFacts
}

// Attribute describes an argument or a computed attribute. Exactly one of Type and Nested is set.
type Attribute struct {
	Type   cty.Type
	Nested *NestedObject

	Required  bool
	Optional  bool
	Computed  bool
	Sensitive bool
	WriteOnly bool

	Description     string
	DescriptionKind DescriptionKind
	Deprecated      bool
	// DeprecationMessage names the replacement; Deprecated is set as well.
	DeprecationMessage string
}

// NestedObject describes an attribute whose value consists of objects with their own attributes.
type NestedObject struct {
	Nesting    Nesting
	Attributes map[string]*Attribute
}

// NestedBlock describes nested blocks of one name.
type NestedBlock struct {
	Block
	Nesting  Nesting
	MinItems int
	MaxItems int // 0: no limit
}

// blockFacts is derived data, computed once for each block.
type blockFacts struct {
	// sensitiveAttributes and sensitiveBlocks are the names of those that are sensitive, or contain a sensitive
	// attribute at any depth.
	sensitiveAttributes, sensitiveBlocks []string
	writeOnly                            bool // some attribute at any depth is write-only
	dynamic                              bool // some attribute at any depth may be of any type
	computed                             bool // some nested block at any depth is computed
}

func (b *Block) prepare() {
	b.once.Do(func() {
		atys := make(map[string]cty.Type, len(b.Attributes)+len(b.Blocks))
		for name, a := range b.Attributes {
			atys[name] = a.ImpliedType()
			s, w := a.contains()
			if s {
				b.facts.sensitiveAttributes = append(b.facts.sensitiveAttributes, name)
			}
			b.facts.writeOnly = b.facts.writeOnly || w
		}
		for name, nb := range b.Blocks {
			atys[name] = nb.ImpliedType()
			if nb.Block.HasSensitive() {
				b.facts.sensitiveBlocks = append(b.facts.sensitiveBlocks, name)
			}
			b.facts.writeOnly = b.facts.writeOnly || nb.Block.HasWriteOnly()
			b.facts.computed = b.facts.computed || nb.Computed || nb.HasComputedBlocks()
		}
		b.implied = cty.Object(atys)
		b.facts.dynamic = dynamic(b.implied)
	})
}

// ImpliedType returns the type of values that conform to the block.
func (b *Block) ImpliedType() cty.Type {
	if b == nil {
		return cty.EmptyObject
	}
	b.prepare()
	return b.implied
}

// HasSensitive reports whether any attribute at any depth is sensitive.
func (b *Block) HasSensitive() bool {
	attributes, blocks := b.Sensitive()
	return len(attributes)+len(blocks) > 0
}

// Sensitive returns the names of the attributes and blocks that are sensitive, or contain a sensitive attribute at any
// depth, in no particular order. The slices must not be modified.
func (b *Block) Sensitive() (attributes, blocks []string) {
	b.prepare()
	return b.facts.sensitiveAttributes, b.facts.sensitiveBlocks
}

// HasWriteOnly reports whether any attribute at any depth is write-only.
func (b *Block) HasWriteOnly() bool { b.prepare(); return b.facts.writeOnly }

// HasComputedBlocks reports whether any nested block at any depth is computed.
func (b *Block) HasComputedBlocks() bool { b.prepare(); return b.facts.computed }

// HasDynamic reports whether any attribute at any depth may be of any type.
func (b *Block) HasDynamic() bool {
	if b == nil {
		return false
	}
	b.prepare()
	return b.facts.dynamic
}

// EmptyValue returns the value of an empty block: null attributes, empty collections of blocks.
func (b *Block) EmptyValue() cty.Value {
	vals := make(map[string]cty.Value, len(b.Attributes)+len(b.Blocks))
	for name, a := range b.Attributes {
		vals[name] = cty.NullVal(a.ImpliedType())
	}
	for name, nb := range b.Blocks {
		vals[name] = nb.EmptyValue()
	}
	return cty.ObjectVal(vals)
}

// ImpliedType returns the type of the attribute's value.
func (a *Attribute) ImpliedType() cty.Type {
	if a.Nested != nil {
		return a.Nested.ImpliedType()
	}
	return a.Type
}

// ConfigType returns the type of the attribute in a configuration: nested objects may leave out attributes that are not
// required.
func (a *Attribute) ConfigType() cty.Type {
	if a.Nested == nil {
		return a.Type
	}
	atys := make(map[string]cty.Type, len(a.Nested.Attributes))
	var optional []string
	for name, n := range a.Nested.Attributes {
		atys[name] = n.ConfigType()
		if !n.Required {
			optional = append(optional, name)
		}
	}
	return a.Nested.Nesting.of(cty.ObjectWithOptionalAttrs(atys, optional))
}

func (a *Attribute) contains() (sensitive, writeOnly bool) {
	sensitive, writeOnly = a.Sensitive, a.WriteOnly
	if a.Nested != nil {
		for _, n := range a.Nested.Attributes {
			s, w := n.contains()
			sensitive, writeOnly = sensitive || s, writeOnly || w
		}
	}
	return sensitive, writeOnly
}

// ObjectType returns the type of one nested object.
func (o *NestedObject) ObjectType() cty.Type {
	atys := make(map[string]cty.Type, len(o.Attributes))
	for name, a := range o.Attributes {
		atys[name] = a.ImpliedType()
	}
	return cty.Object(atys)
}

// ImpliedType returns the type of the whole attribute: one object, or a collection of them.
func (o *NestedObject) ImpliedType() cty.Type { return o.Nesting.of(o.ObjectType()) }

// of returns the type of nested attributes with the given object type.
func (n Nesting) of(ty cty.Type) cty.Type {
	switch n {
	case NestingList:
		return cty.List(ty)
	case NestingSet:
		return cty.Set(ty)
	case NestingMap:
		return cty.Map(ty)
	}
	return ty
}

// dynamic reports whether a type contains the dynamic pseudo-type: collections of such blocks must be tuples and
// objects.
func dynamic(ty cty.Type) bool { return ty.HasDynamicTypes() }

// ImpliedType returns the type of all nested blocks of the name together.
func (nb *NestedBlock) ImpliedType() cty.Type {
	ty := nb.Block.ImpliedType()
	switch nb.Nesting {
	case NestingList:
		if dynamic(ty) {
			return cty.DynamicPseudoType
		}
		return cty.List(ty)
	case NestingSet:
		return cty.Set(ty)
	case NestingMap:
		if dynamic(ty) {
			return cty.DynamicPseudoType
		}
		return cty.Map(ty)
	}
	return ty
}

// EmptyValue returns the value without any such block.
func (nb *NestedBlock) EmptyValue() cty.Value {
	ty := nb.Block.ImpliedType()
	switch nb.Nesting {
	case NestingGroup:
		return nb.Block.EmptyValue()
	case NestingList:
		if dynamic(ty) {
			return cty.EmptyTupleVal
		}
		return cty.ListValEmpty(ty)
	case NestingSet:
		return cty.SetValEmpty(ty)
	case NestingMap:
		if dynamic(ty) {
			return cty.EmptyObjectVal
		}
		return cty.MapValEmpty(ty)
	}
	return cty.NullVal(ty)
}

// AttributeAt returns the last attribute on a path, or nil if the path does not exist or has only blocks.
func (b *Block) AttributeAt(path cty.Path) *Attribute {
	var found *Attribute
	block := b
	var nested *NestedObject
	for _, step := range path {
		get, ok := step.(cty.GetAttrStep)
		if !ok {
			continue
		}
		switch {
		case nested != nil:
			a := nested.Attributes[get.Name]
			if a == nil {
				return found
			}
			found, nested = a, a.Nested
		case block != nil:
			if a := block.Attributes[get.Name]; a != nil {
				found, nested, block = a, a.Nested, nil
			} else if nb := block.Blocks[get.Name]; nb != nil {
				block = &nb.Block
			} else {
				return found
			}
		default:
			return found
		}
	}
	return found
}
