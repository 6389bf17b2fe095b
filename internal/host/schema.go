package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// checkSchema returns the first mistake in a schema that the engine cannot work with. Codecs create the schemas of
// plugins and programs, but an embedding program creates its own by hand.
func checkSchema(s *provider.Schema) error {
	if err := checkBlock(s.Provider, 0); err != nil {
		return fmt.Errorf("its configuration: %w", err)
	}
	if err := checkBlock(s.Meta, 0); err != nil {
		return fmt.Errorf("its provider_meta block: %w", err)
	}
	for _, family := range []struct {
		name  string
		types map[string]*provider.ResourceType
	}{{"resource type", s.Resources}, {"data source", s.Data}, {"ephemeral resource type", s.Ephemeral},
		{"list resource type", s.Lists}, {"action", s.Actions}} {
		for name, t := range family.types {
			if err := checkType(t); err != nil {
				return fmt.Errorf("the %s %q: %w", family.name, name, err)
			}
		}
	}
	for name, f := range s.Functions {
		if err := checkFunction(f); err != nil {
			return fmt.Errorf("the function %q: %w", name, err)
		}
	}
	return nil
}

func checkType(t *provider.ResourceType) error {
	switch {
	case t == nil:
		return errors.New("the ResourceType is nil")
	case t.Block == nil:
		return errors.New("it has no Block; a type without arguments has an empty one")
	}
	if err := checkBlock(t.Block, 0); err != nil || t.Identity == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Identity.Attributes)) {
		if a := t.Identity.Attributes[name]; a == nil || a.Type == cty.NilType {
			return fmt.Errorf("the attribute %q of its identity is nil or has no Type", name)
		}
	}
	return nil
}

// deepest limits the nesting of blocks and attributes, which is endless in a schema that contains itself.
const deepest = 1000

func checkBlock(b *provider.Block, depth int) error {
	if b == nil {
		return nil
	}
	if depth > deepest {
		return errors.New("blocks are nested too deeply")
	}
	if err := checkAttributes(b.Attributes, depth); err != nil {
		return err
	}
	for name, nested := range b.Blocks {
		if nested == nil {
			return fmt.Errorf("the block %q is nil", name)
		}
		if nested.Nesting < provider.NestingSingle || nested.Nesting > provider.NestingMap {
			return fmt.Errorf("the block %q has no Nesting", name)
		}
		if b.Attributes[name] != nil {
			return fmt.Errorf("%q is both an attribute and a block", name)
		}
		if err := checkBlock(&nested.Block, depth+1); err != nil {
			return fmt.Errorf("the block %q: %w", name, err)
		}
	}
	return nil
}

func checkAttributes(attributes map[string]*provider.Attribute, depth int) error {
	if depth > deepest {
		return errors.New("attributes are nested too deeply")
	}
	for name, a := range attributes {
		switch {
		case a == nil:
			return fmt.Errorf("the attribute %q is nil", name)
		case a.Nested == nil && a.Type == cty.NilType:
			return fmt.Errorf("the attribute %q has neither a Type nor Nested", name)
		case a.Nested == nil:
			continue
		case a.Type != cty.NilType:
			return fmt.Errorf("the attribute %q has both a Type and Nested", name)
		case a.Nested.Nesting < provider.NestingSingle || a.Nested.Nesting > provider.NestingMap:
			return fmt.Errorf("the attribute %q has Nested without a Nesting", name)
		}
		if err := checkAttributes(a.Nested.Attributes, depth+1); err != nil {
			return fmt.Errorf("the attribute %q: %w", name, err)
		}
	}
	return nil
}

func checkFunction(f *provider.Function) error {
	switch {
	case f == nil:
		return errors.New("the Function is nil")
	case f.Return == cty.NilType:
		return errors.New("it has no Return")
	case f.VarParam != nil && f.VarParam.Type == cty.NilType:
		return errors.New("its VarParam has no Type")
	}
	for i, p := range f.Params {
		if p.Type == cty.NilType {
			return fmt.Errorf("its parameter %d has no Type", i+1)
		}
	}
	return nil
}
