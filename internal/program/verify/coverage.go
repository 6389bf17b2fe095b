package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Untried lists what the file does not test: types, attributes of resources that no step changes, and attributes of
// everything else that no configuration sets. An attribute within others is "rule.weight".
func (t *Trial) Untried() (list []string) {
	if b := t.schema.Provider; b != nil {
		for _, attr := range t.unset(b, []json.RawMessage{t.file.Provider}) {
			list = append(list, "the attribute "+attr+" of the provider block")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.schema.Resources)) {
		list = append(list, t.untriedOf(name)...)
	}
	rest := func(kind string, all map[string]*provider.ResourceType, tried []configured) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			var configs []json.RawMessage
			for _, one := range tried {
				if one.typ == name {
					configs = append(configs, one.config)
				}
			}
			if configs == nil {
				list = append(list, kind+" "+name)
				continue
			}
			for _, attr := range t.unset(all[name].Block, configs) {
				list = append(list, "a value of "+name+"."+attr)
			}
		}
	}
	rest("data source", t.schema.Data, configsOf(t.file.Data, read.configured))
	rest("ephemeral resource", t.schema.Ephemeral, configsOf(t.file.Ephemeral, read.configured))
	rest("list", t.schema.Lists, configsOf(t.file.Lists, asked.configured))
	rest("action", t.schema.Actions, configsOf(t.file.Actions, asked.configured))
	for _, name := range slices.Sorted(maps.Keys(t.schema.Functions)) {
		if !slices.ContainsFunc(t.file.Functions, func(f called) bool { return f.Name == name }) {
			list = append(list, "function "+name)
		}
	}
	return list
}

// configured is a configuration of a type.
type configured struct {
	typ    string
	config json.RawMessage
}

func (r read) configured() configured { return configured{r.Type, r.Config} }

func (a asked) configured() configured { return configured{a.Type, a.Config} }

func configsOf[T any](list []T, of func(T) configured) (out []configured) {
	for _, one := range list {
		c := of(one)
		if c.config == nil {
			c.config = json.RawMessage("{}")
		}
		out = append(out, c)
	}
	return out
}

// untriedOf lists the attributes of a resource type that no update and no replacement changes.
func (t *Trial) untriedOf(name string) (list []string) {
	v := values{mock: mark} // the value does not matter
	block := t.schema.Resources[name].Block
	changed, tried := map[string]bool{}, false
	for _, r := range t.file.Resources {
		if r.Type != name {
			continue
		}
		tried = true
		config := v.attrs(r.Config, 0)
		before := given{}
		before.block(block, cty.ObjectVal(config), "")
		for _, text := range slices.Concat(r.Updates, r.Replacements) {
			merged := maps.Clone(config)
			maps.Copy(merged, v.attrs(text, 0))
			after := given{}
			after.block(block, cty.ObjectVal(merged), "")
			for _, attr := range settable(block) {
				changed[attr] = changed[attr] || !slices.Equal(before[attr], after[attr])
			}
		}
	}
	if !tried {
		return []string{"resource " + name}
	}
	for _, attr := range settable(block) {
		if !changed[attr] {
			list = append(list, "a change of "+name+"."+attr)
		}
	}
	return list
}

// unset lists the attributes that no configuration sets.
func (t *Trial) unset(block *provider.Block, configs []json.RawMessage) (list []string) {
	v, set := values{mock: mark}, given{}
	for _, config := range configs {
		set.block(block, cty.ObjectVal(v.attrs(config, 0)), "")
	}
	for _, attr := range settable(block) {
		if len(set[attr]) == 0 {
			list = append(list, attr)
		}
	}
	return list
}

// settable returns the attributes that a configuration can set, in order. Attributes within others, and those of
// blocks, have paths without indexes.
func settable(block *provider.Block) []string {
	var list []string
	var attributes func(all map[string]*provider.Attribute, prefix string)
	attributes = func(all map[string]*provider.Attribute, prefix string) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			switch a := all[name]; {
			case !a.Required && !a.Optional:
			case a.Nested != nil && len(a.Nested.Attributes) > 0:
				attributes(a.Nested.Attributes, prefix+name+".")
			default:
				list = append(list, prefix+name)
			}
		}
	}
	var blocks func(b *provider.Block, prefix string)
	blocks = func(b *provider.Block, prefix string) {
		attributes(b.Attributes, prefix)
		for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
			blocks(&b.Blocks[name].Block, prefix+name+".")
		}
	}
	blocks(block, "")
	return list
}

// given maps attributes, as in settable, to all values that configurations give them.
type given map[string][]string

// block adds the attributes of a configuration, which may lack some and may have some that the schema does not know.
func (g given) block(b *provider.Block, v cty.Value, prefix string) {
	if !v.Type().IsObjectType() || v.IsNull() {
		return
	}
	for name, one := range v.AsValueMap() {
		if a := b.Attributes[name]; a != nil {
			g.attribute(a, one, prefix+name)
		} else if nb := b.Blocks[name]; nb != nil {
			for _, item := range items(one, nb.Nesting) {
				g.block(&nb.Block, item, prefix+name+".")
			}
		}
	}
}

func (g given) attribute(a *provider.Attribute, v cty.Value, path string) {
	switch {
	case v.IsNull():
	case a.Nested == nil || len(a.Nested.Attributes) == 0:
		g[path] = append(g[path], fmt.Sprintf("%#v", v))
	default:
		for _, item := range items(v, a.Nested.Nesting) {
			if !item.Type().IsObjectType() || item.IsNull() {
				continue
			}
			for name, one := range item.AsValueMap() {
				if inner := a.Nested.Attributes[name]; inner != nil {
					g.attribute(inner, one, path+"."+name)
				}
			}
		}
	}
}

// items returns the objects in a value of a nesting mode, as it is written in a test file.
func items(v cty.Value, nesting provider.Nesting) []cty.Value {
	switch {
	case v.IsNull():
		return nil
	case nesting == provider.NestingSingle || nesting == provider.NestingGroup:
		return []cty.Value{v}
	case !v.CanIterateElements():
		return nil
	}
	return v.AsValueSlice()
}
