package providertest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

var validName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// reserved are the argument names that the language uses itself.
var reserved = map[string]bool{
	"count": true, "for_each": true, "provider": true, "depends_on": true, "lifecycle": true, "connection": true,
	"provisioner": true,
}

// checkSchema finds descriptions that are invalid for the engine.
func checkSchema(s *session) {
	s.launch()
	schemaChecker{s.Errorf}.schema(s.schema)
}

type schemaChecker struct {
	errorf func(format string, args ...any)
}

func (c schemaChecker) schema(schema *provider.Schema) {
	c.block("provider", schema.Provider, map[string]bool{"alias": true, "version": true})
	c.block("provider_meta", schema.Meta, nil)
	for _, kind := range []struct {
		word  string
		types map[string]*provider.ResourceType
	}{{"resource", schema.Resources}, {"data source", schema.Data}, {"ephemeral resource", schema.Ephemeral},
		{"list", schema.Lists}, {"action", schema.Actions}} {
		for _, name := range slices.Sorted(maps.Keys(kind.types)) {
			c.resourceType(kind.word, name, kind.types[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Lists)) {
		if rt := schema.Resources[name]; rt == nil || rt.Identity == nil {
			c.errorf("list %s: there is no resource type of this name with an identity", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Functions)) {
		c.function(name, schema.Functions[name])
	}
}

func (c schemaChecker) resourceType(word, name string, rt *provider.ResourceType) {
	where := word + " " + name
	if !validName.MatchString(name) {
		c.errorf("%s: the name may only contain lower-case letters, digits and underscores", where)
	}
	if rt == nil || rt.Block == nil {
		c.errorf("%s: there is no block", where)
		return
	}
	if rt.Version < 0 {
		c.errorf("%s: the version %d is negative", where, rt.Version)
	}
	if word != "resource" && rt.Block.HasWriteOnly() {
		c.errorf("%s: only resources have write-only attributes", where)
	}
	taken := reserved
	if word == "list" || word == "action" {
		taken = nil // they have their own block
	}
	c.block(where, rt.Block, taken)
	if rt.Identity == nil {
		return
	}
	for _, attr := range slices.Sorted(maps.Keys(rt.Identity.Attributes)) {
		a := rt.Identity.Attributes[attr]
		if a.Type == cty.NilType || a.RequiredForImport == a.OptionalForImport {
			c.errorf("%s: identity attribute %q needs a type, and is either required or optional for import", where,
				attr)
		}
	}
}

func (c schemaChecker) block(where string, b *provider.Block, taken map[string]bool) {
	if b == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		at := where + "." + name
		if taken[name] {
			c.errorf("%s: the language has this name for itself", at)
		}
		if b.Blocks[name] != nil {
			c.errorf("%s: there are an attribute and a block of this name", at)
		}
		c.attribute(at, name, b.Attributes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		at := where + "." + name
		if !validName.MatchString(name) || taken[name] {
			c.errorf("%s: blocks cannot have this name", at)
		}
		c.nestedBlock(at, b.Blocks[name])
	}
}

func (c schemaChecker) nestedBlock(at string, nb *provider.NestedBlock) {
	if nb == nil {
		c.errorf("%s: there is no block", at)
		return
	}
	switch {
	case nb.Nesting < provider.NestingSingle || nb.Nesting > provider.NestingMap:
		c.errorf("%s: %d is no nesting mode", at, nb.Nesting)
		return
	case nb.MinItems < 0 || nb.MaxItems < 0 || nb.MaxItems > 0 && nb.MinItems > nb.MaxItems:
		c.errorf("%s: between %d and %d blocks is not possible", at, nb.MinItems, nb.MaxItems)
	case (nb.Nesting == provider.NestingSingle) && (nb.MinItems != nb.MaxItems && nb.MaxItems > 1 || nb.MinItems > 1):
		c.errorf("%s: a single block can be there once", at)
	case (nb.Nesting == provider.NestingGroup || nb.Nesting == provider.NestingMap) &&
		(nb.MinItems != 0 || nb.MaxItems != 0):
		c.errorf("%s: limits have no meaning in this nesting mode", at)
	}
	c.block(at, &nb.Block, nil)
	if nb.Computed {
		c.computed(at, nb)
	}
	if nb.Nesting == provider.NestingSet {
		if nb.Block.ImpliedType().HasDynamicTypes() {
			c.errorf("%s: sets of blocks cannot hold attributes of any type", at)
		}
		if nb.HasWriteOnly() {
			c.errorf("%s: sets cannot hold write-only attributes", at)
		}
	}
}

// computed checks nested blocks that the provider may fill in.
func (c schemaChecker) computed(at string, nb *provider.NestedBlock) {
	if nb.Nesting == provider.NestingGroup || nb.MinItems > 0 {
		c.errorf("%s: there always are such blocks, so they cannot be computed", at)
	}
	for _, name := range slices.Sorted(maps.Keys(nb.Attributes)) {
		if a := nb.Attributes[name]; a != nil && !a.Computed {
			c.errorf("%s.%s: everything in computed blocks must be computed", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nb.Blocks)) {
		if inner := nb.Blocks[name]; inner != nil && !inner.Computed {
			c.errorf("%s.%s: everything in computed blocks must be computed", at, name)
		}
	}
}

func (c schemaChecker) attribute(at, name string, a *provider.Attribute) {
	if a == nil {
		c.errorf("%s: there is no attribute", at)
		return
	}
	if !validName.MatchString(name) {
		c.errorf("%s: the name may only contain lower-case letters, digits and underscores", at)
	}
	if (a.Type != cty.NilType) == (a.Nested != nil) {
		c.errorf("%s: exactly one of Type and Nested must be set", at)
		return
	}
	switch {
	case !a.Required && !a.Optional && !a.Computed:
		c.errorf("%s: neither required, optional nor computed", at)
	case a.Required && (a.Optional || a.Computed):
		c.errorf("%s: required, and also optional or computed", at)
	case a.WriteOnly && a.Computed:
		c.errorf("%s: a write-only attribute is always null, so it cannot be computed", at)
	}
	if a.Nested == nil {
		return
	}
	if a.Nested.Nesting < provider.NestingSingle || a.Nested.Nesting > provider.NestingMap ||
		a.Nested.Nesting == provider.NestingGroup {
		c.errorf("%s: %d is no nesting mode of attributes", at, a.Nested.Nesting)
		return
	}
	for _, inner := range slices.Sorted(maps.Keys(a.Nested.Attributes)) {
		c.attribute(at+"."+inner, inner, a.Nested.Attributes[inner])
	}
	if a.Nested.Nesting == provider.NestingSet {
		if a.Nested.ObjectType().HasDynamicTypes() {
			c.errorf("%s: sets of objects cannot hold attributes of any type", at)
		}
		for _, inner := range slices.Sorted(maps.Keys(a.Nested.Attributes)) {
			if n := a.Nested.Attributes[inner]; n != nil && n.WriteOnly {
				c.errorf("%s.%s: sets cannot hold write-only attributes", at, inner)
			}
		}
	}
}

func (c schemaChecker) function(name string, f *provider.Function) {
	at := "function " + name
	if !validName.MatchString(name) {
		c.errorf("%s: the name may only contain lower-case letters, digits and underscores", at)
	}
	if f.Return == cty.NilType {
		c.errorf("%s: there is no type of the result", at)
	}
	params := slices.Clone(f.Params)
	if f.VarParam != nil {
		params = append(params, *f.VarParam)
	}
	seen := map[string]bool{}
	for i, p := range params {
		if p.Type == cty.NilType || p.Name == "" || seen[p.Name] {
			c.errorf("%s: parameter %d (%q) needs a type and a name of its own", at, i, p.Name)
		}
		seen[p.Name] = true
	}
}

// checkSchemaConcurrently requests the schema many times concurrently from an unconfigured provider.
func checkSchemaConcurrently(s *session) {
	s.begin()
	want := fingerprint(s.schema)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			schema, diags := s.p.Schema(s.ctx)
			if diags.HasErrors() || schema == nil {
				s.Errorf("asking for the schema again fails: %v", diags.Err())
				return
			}
			// Derived data is computed at first use.
			for _, rt := range schema.Resources {
				rt.Block.ImpliedType()
				rt.Block.HasSensitive()
			}
			if got := fingerprint(schema); got != want {
				s.Errorf("the schema has changed:\nfirst: %s\nnow:   %s", want, got)
			}
		})
	}
	wg.Wait()
}

// sameSchema checks that using a provider has not changed its schema.
func (s *session) sameSchema(before string) {
	s.Helper()
	schema, diags := s.p.Schema(s.ctx)
	if diags.HasErrors() || schema == nil {
		s.Errorf("asking for the schema again fails: %v", diags.Err())
		return
	}
	if now := fingerprint(schema); now != before {
		s.Errorf("using the provider changed its schema:\nbefore: %s\nafter:  %s", before, now)
	}
}

// fingerprint returns a text of a schema, for comparison.
func fingerprint(schema *provider.Schema) string {
	var b strings.Builder
	fmt.Fprintf(&b, "state only %t, plan destroy %t, optional %t, move %t\n", schema.StateOnly, schema.PlanDestroy,
		schema.GetProviderSchemaOptional, schema.MoveResourceState)
	printBlock(&b, schema.Provider)
	printBlock(&b, schema.Meta)
	for _, types := range []map[string]*provider.ResourceType{schema.Resources, schema.Data, schema.Ephemeral} {
		for _, name := range slices.Sorted(maps.Keys(types)) {
			rt := types[name]
			fmt.Fprintf(&b, "type %s version %d\n", name, rt.Version)
			printBlock(&b, rt.Block)
			if rt.Identity != nil {
				fmt.Fprintf(&b, "identity %d %#v\n", rt.Identity.Version, rt.Identity.ImpliedType())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Functions)) {
		f := schema.Functions[name]
		fmt.Fprintf(&b, "function %s %v %v %#v %q\n", name, f.Params, f.VarParam, f.Return, f.Summary)
	}
	return b.String()
}

func printBlock(b *strings.Builder, block *provider.Block) {
	if block == nil {
		b.WriteString("no block\n")
		return
	}
	fmt.Fprintf(b, "block %q %t %q {\n", block.Description, block.Deprecated, block.DeprecationMessage)
	printAttributes(b, block.Attributes)
	for _, name := range slices.Sorted(maps.Keys(block.Blocks)) {
		nb := block.Blocks[name]
		fmt.Fprintf(b, "%s nesting %d, %d to %d ", name, nb.Nesting, nb.MinItems, nb.MaxItems)
		printBlock(b, &nb.Block)
	}
	b.WriteString("}\n")
}

func printAttributes(b *strings.Builder, attrs map[string]*provider.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		fmt.Fprintf(b, "%s required %t optional %t computed %t sensitive %t write-only %t %q %t %q ",
			name, a.Required, a.Optional, a.Computed, a.Sensitive, a.WriteOnly, a.Description, a.Deprecated,
			a.DeprecationMessage)
		if a.Nested == nil {
			fmt.Fprintf(b, "%#v\n", a.Type)
			continue
		}
		fmt.Fprintf(b, "nesting %d {\n", a.Nested.Nesting)
		printAttributes(b, a.Nested.Attributes)
		b.WriteString("}\n")
	}
}
