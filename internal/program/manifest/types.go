package manifest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/message"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// actions holds, for each kind of type, the actions that it can implement, the default ones, and the required one.
var actions = map[provider.ResourceKind]struct {
	known, usual []string
	needed       string
}{
	provider.ManagedResource: {[]string{"validate", "plan", "create", "read", "update", "delete", "import", "upgrade",
		"list"}, []string{"create", "read", "update", "delete"}, "create"},
	provider.DataSource:        {[]string{"validate", "data"}, []string{"data"}, "data"},
	provider.EphemeralResource: {[]string{"validate", "open", "renew", "close"}, []string{"open"}, "open"},
	provider.ListResource:      {[]string{"list"}, []string{"list"}, "list"},
	provider.Action:            {[]string{"validate", "plan", "invoke"}, []string{"invoke"}, "invoke"},
}

// inConfig reports whether the attributes of a kind of type are in a nested block config, which only has configured
// attributes.
func inConfig(kind provider.ResourceKind) bool {
	return kind == provider.ListResource || kind == provider.Action
}

// reserved are the names that the language itself uses in blocks.
var reserved = []string{"count", "for_each", "provider", "depends_on", "lifecycle", "connection", "provisioner"}

// blockReader decodes the members of a block, which may have its own object or be beside other members.
type blockReader struct {
	r     *reader
	block *provider.Block
	typ   *Type // our keywords for attributes; nil for the provider's own blocks
	// managed means that the block belongs to a resource.
	managed bool
	// own means that all values in the block come from the user: the provider block, and those of lists and actions.
	own bool
	// computed means that the attributes belong to an object that only the provider creates.
	computed bool
	taken    []string
}

func (b blockReader) fields(into fields) fields {
	maps.Copy(into, fields{
		"attributes":          func(v *node) { b.block.Attributes = b.attributes(v, b.taken) },
		"block_types":         func(v *node) { b.block.Blocks = b.blocks(v) },
		"description":         b.r.text(&b.block.Description),
		"description_kind":    b.r.descriptionKind(&b.block.DescriptionKind),
		"deprecated":          b.r.flag(&b.block.Deprecated),
		"deprecation_message": b.r.deprecation(&b.block.DeprecationMessage, &b.block.Deprecated),
	})
	return into
}

// finish performs the checks that need the complete block.
func (b blockReader) finish(v *node) {
	if v.Get("block") != nil && (v.Get("attributes") != nil || v.Get("block_types") != nil) {
		b.r.errorf(at(v, "block"),
			`Put all attributes and blocks either in "block" or next to it, not in both places.`)
	}
	for _, name := range slices.Sorted(maps.Keys(b.block.Blocks)) {
		if b.block.Attributes[name] != nil {
			b.r.errorf(v, "Both an attribute and a block are named %q.", name)
		}
	}
}

func (r *reader) providerBlock(v *node) *provider.Block {
	b := blockReader{r: r, block: &provider.Block{}, own: true, taken: []string{"alias", "version"}}
	ignored := 0
	r.object(v, "The provider's block", b.fields(fields{
		"version": r.count(&ignored), // schema documents have one, which is ignored
		"block":   func(v *node) { r.object(v, "The block", b.fields(fields{})) },
	}))
	b.finish(v)
	return b.block
}

// types decodes the types of one kind.
func (r *reader) types(kind provider.ResourceKind, to map[string]*provider.ResourceType) func(*node) {
	return func(v *node) {
		r.each(v, "The list of types", func(name string, at int, v *node) {
			r.checkName(at, "type", name)
			if r.m.Name != "" && name != r.m.Name && !strings.HasPrefix(name, r.m.Name+"_") {
				r.errorAt(at, "The name of the type %q must begin with the name of the provider: %q.", name,
					r.m.Name+"_"+name)
			}
			to[name] = r.resourceType(kind, name, v)
		})
	}
}

func (r *reader) resourceType(kind provider.ResourceKind, name string, v *node) *provider.ResourceType {
	rt := &provider.ResourceType{Block: &provider.Block{}}
	t := &Type{Implements: actions[kind].usual, Timeouts: map[string]time.Duration{}}
	r.m.types[typeName{kind, name}] = t
	b := blockReader{r: r, block: rt.Block, typ: t, managed: kind == provider.ManagedResource, taken: reserved}
	if inConfig(kind) {
		b.own, b.taken = true, nil
	}
	version := 0
	known := b.fields(fields{
		"version":    r.count(&version),
		"block":      func(v *node) { r.object(v, "The block", b.fields(fields{})) },
		"implements": func(v *node) { t.Implements = r.implements(v, "the type", actions[kind].known) },
		"timeouts":   func(v *node) { r.timeouts(v, kind, t) },
		"retry": func(v *node) {
			t.Retry = Retry{Attempts: 3, Delay: time.Second}
			r.object(v, "The retry", fields{
				"attempts": func(v *node) {
					if r.count(&t.Retry.Attempts)(v); v.Text == "0" {
						r.errorf(v, "At least one attempt is required; this includes the first.")
					}
				},
				"delay": func(v *node) { t.Retry.Delay = r.duration(v, "The delay") },
			})
		},
	})
	if kind == provider.ManagedResource {
		known["import"] = r.text(&t.Import)
		known["identity"] = func(v *node) { rt.Identity = r.identity(v) }
	}
	if kind == provider.DataSource {
		known["cache"] = func(v *node) { t.Cache = r.duration(v, "The time in the cache") }
	}
	known["http"] = func(*node) {} // needs the complete block
	r.object(v, "The type", known)
	b.finish(v)
	if r.checkAPI(v, "The type"); ServesRequests && r.m.HTTP != nil && v.Get("http") != nil {
		r.api(v.Get("http"), kind, rt, t)
	}
	rt.Version = int64(version)
	if given := v.Get("import"); given != nil && given.Kind == strictjson.String {
		r.checkImport(v, t, rt)
	}
	if needed := actions[kind].needed; !t.Does(needed) {
		r.errorf(at(v, "implements"), `The type must implement %q.`, needed)
	}
	for _, action := range slices.Sorted(maps.Keys(t.Timeouts)) {
		if !t.Does(action) {
			r.errorf(v.Get("timeouts").Get(action), "There is a timeout for %q, which the type does not implement.",
				action)
		}
	}
	if kind != provider.ManagedResource && !b.own && rt.Block.HasWriteOnly() {
		r.errorf(v, "Only resources have write-only attributes: the values of other types are never stored.")
	}
	return rt
}

func isTrue(v *node) bool { return v != nil && v.Kind == strictjson.Bool && v.True }

// at returns a member, or the object itself if the member does not exist.
func at(v *node, member string) *node {
	if m := v.Get(member); m != nil {
		return m
	}
	return v
}

func (r *reader) checkImport(v *node, t *Type, rt *provider.ResourceType) {
	a := rt.Block.Attributes[t.Import]
	switch {
	case t.Does("import"):
		r.errorf(v.Get("import"), `The program implements the action "import", so the id goes to it and not into an `+
			`attribute. Remove one of the two.`)
	case a == nil:
		r.errorf(v.Get("import"), "There is no attribute %q to put the id of an import into.%s", t.Import,
			diag.DidYouMean(t.Import, slices.Sorted(maps.Keys(rt.Block.Attributes))))
	case a.Type != cty.String:
		r.errorf(v.Get("import"), "The attribute %q that takes the id of an import must be a string.", t.Import)
	case a.WriteOnly:
		r.errorf(v.Get("import"), "The attribute %q is write-only, so the id of an import would not be stored.",
			t.Import)
	}
}

func (r *reader) timeouts(v *node, kind provider.ResourceKind, t *Type) {
	r.each(v, "The timeouts", func(action string, at int, v *node) {
		if known := actions[kind].known; !slices.Contains(known, action) {
			r.errorAt(at, "There is no action %q; the actions are %s.%s", action, quotedList(known),
				diag.DidYouMean(action, known))
			return
		}
		t.Timeouts[action] = r.duration(v, "The timeout")
	})
}

func (r *reader) identity(v *node) *provider.IdentitySchema {
	s := &provider.IdentitySchema{Attributes: map[string]*provider.IdentityAttribute{}}
	version := 0
	r.object(v, "The identity", fields{
		"version": r.count(&version),
		"attributes": func(v *node) {
			r.each(v, "The attributes", func(name string, at int, v *node) {
				r.checkName(at, "attribute", name)
				a := &provider.IdentityAttribute{Type: cty.String}
				r.object(v, "The attribute", fields{
					"type": r.typ(&a.Type), "description": r.text(&a.Description),
					"required_for_import": r.flag(&a.RequiredForImport), "optional_for_import": r.flag(
						&a.OptionalForImport),
				})
				if a.RequiredForImport == a.OptionalForImport {
					r.errorAt(at,
						`An attribute of an identity must be either "required_for_import" or "optional_for_import".`)
				}
				if element := a.Type; element != cty.NilType {
					if element.IsListType() {
						element = element.ElementType()
					}
					if !element.IsPrimitiveType() {
						r.errorAt(at, `The attribute %q of the identity cannot be of this type: identities are of `+
							`strings, numbers and bools, and lists of these.`, name)
						return
					}
				}
				s.Attributes[name] = a
			})
		},
	})
	if len(s.Attributes) == 0 {
		r.errorf(v, `The identity needs "attributes".`)
	}
	s.Version = int64(version)
	return s
}

var nestings = map[string]provider.Nesting{
	"single": provider.NestingSingle, "group": provider.NestingGroup, "list": provider.NestingList,
	"set": provider.NestingSet, "map": provider.NestingMap,
}

func (r *reader) nesting(to *provider.Nesting, known ...string) func(*node) {
	return func(v *node) {
		if text, ok := r.oneOf(v, "The nesting mode", known); ok {
			*to = nestings[text]
		}
	}
}

func (b blockReader) blocks(v *node) map[string]*provider.NestedBlock {
	out := map[string]*provider.NestedBlock{}
	r := b.r
	r.each(v, "The nested blocks", func(name string, at int, v *node) {
		r.checkName(at, "block", name)
		b.checkTaken(at, name, append([]string{"dynamic"}, b.taken...))
		nb := &provider.NestedBlock{}
		inner := blockReader{r: r, block: &nb.Block, typ: b.typ, managed: b.managed, own: b.own}
		r.object(v, "The nested block", inner.fields(fields{
			"nesting_mode": r.nesting(&nb.Nesting, "single", "group", "list", "set", "map"),
			"min_items":    r.count(&nb.MinItems),
			"max_items":    r.count(&nb.MaxItems),
			"block":        func(v *node) { r.object(v, "The block", inner.fields(fields{})) },
		}))
		inner.finish(v)
		switch {
		case v.Get("nesting_mode") == nil:
			r.errorAt(at,
				`The block %q needs a "nesting_mode": one block ("single", "group"), or many ("list", "set", "map").`,
				name)
		case nb.MaxItems > 0 && nb.MinItems > nb.MaxItems:
			r.errorAt(at, "The minimum of %d blocks is greater than the maximum of %d.", nb.MinItems, nb.MaxItems)
		case nb.Nesting == provider.NestingSingle && (nb.MinItems > 1 || nb.MaxItems > 1),
			(nb.Nesting == provider.NestingGroup || nb.Nesting == provider.NestingMap) && nb.MinItems+nb.MaxItems > 0:
			r.errorAt(at, "Limits have no effect in this nesting mode.")
		case nb.Nesting == provider.NestingSet && (nb.HasWriteOnly() || nb.Block.ImpliedType().HasDynamicTypes()):
			r.errorAt(at, "A set of blocks cannot hold write-only attributes, or attributes of any type.")
		default:
			out[name] = nb
		}
	})
	return out
}

func (b blockReader) checkTaken(at int, name string, taken []string) {
	if slices.Contains(taken, name) {
		b.r.errorAt(at, "The name %q is reserved by the language. Choose another one.", name)
	}
}

func (b blockReader) attributes(v *node, taken []string) map[string]*provider.Attribute {
	out := map[string]*provider.Attribute{}
	b.r.each(v, "The attributes", func(name string, at int, v *node) {
		b.r.checkName(at, "attribute", name)
		b.checkTaken(at, name, taken)
		if a := b.attribute(name, at, v); a != nil {
			out[name] = a
		}
	})
	return out
}

// attribute decodes an attribute. It returns nil if further checks of it would only cause more errors.
func (b blockReader) attribute(name string, at int, v *node) *provider.Attribute {
	r := b.r
	a, w := &provider.Attribute{}, &Words{}
	encoding := ""
	ok := r.object(v, "The attribute", fields{
		"type": r.typ(&a.Type),
		"nested_type": func(nested *node) {
			inner := b
			inner.computed = b.computed || !isTrue(v.Get("required")) && !isTrue(v.Get("optional"))
			a.Nested = inner.nested(nested)
		},
		"required":            r.flag(&a.Required),
		"optional":            r.flag(&a.Optional),
		"computed":            r.flag(&a.Computed),
		"sensitive":           r.flag(&a.Sensitive),
		"write_only":          r.flag(&a.WriteOnly),
		"description":         r.text(&a.Description),
		"description_kind":    r.descriptionKind(&a.DescriptionKind),
		"deprecated":          r.flag(&a.Deprecated),
		"deprecation_message": r.deprecation(&a.DeprecationMessage, &a.Deprecated),
		"force_new":           r.flag(&w.ForceNew),
		"stable":              r.flag(&w.Stable),
		"encoding":            func(v *node) { encoding, _ = r.oneOf(v, "The encoding", []string{"string"}) },
		"json_schema":         func(v *node) { w.Check = r.check(v) },
		"default":             func(*node) {}, // needs the type
		"http":                func(v *node) { r.field(v, w) },
	})
	if !ok {
		return nil
	}
	if (v.Get("type") == nil) == (v.Get("nested_type") == nil) {
		r.errorAt(at, `The attribute %q needs either a "type" or a "nested_type".`, name)
		return nil
	}
	if a.Type == cty.NilType && a.Nested == nil {
		return nil // already reported
	}
	w.AsText = encoding == "string"
	r.fit(v.Get("json_schema"), a.ImpliedType())
	if b.own && (a.Computed && !a.Optional || a.WriteOnly) {
		r.errorAt(at, `The attribute %q is in a block that only users write. It is never computed or stored, so `+
			`it must be "required" or "optional", and cannot be "computed" or "write_only".`, name)
	}
	b.defaultValue(v.Get("default"), a, w)
	b.checkAttribute(name, at, a, w)
	if *w != noWords {
		r.m.words[a] = w
	}
	if b.typ != nil {
		b.typ.ForcesNew = b.typ.ForcesNew || w.ForceNew
	}
	return a
}

func (b blockReader) defaultValue(v *node, a *provider.Attribute, w *Words) {
	if v == nil {
		return
	}
	given, problems := message.DecodeValue(a.ImpliedType(), v, b.r.src)
	switch {
	case len(problems) > 0:
		b.r.errorf(v, "The default does not fit the type: %s",
			sentence(strings.TrimPrefix(value.FormatPath(problems[0].Path)+": ", ": ")+problems[0].Problem))
	case w.Check != nil && w.Check.Problem(given, true) != "":
		b.r.errorf(v, "The default does not satisfy the attribute's own keywords: %s",
			sentence(w.Check.Problem(given, true)))
	case given.IsNull():
		b.r.errorf(v, "A default of null is the same as no default. Remove it.")
	case !a.Optional && !(a.Required || a.WriteOnly):
		b.r.errorf(v, `Only an "optional" attribute can have a default.`)
	default:
		w.Default = given
		a.Computed = true // the plan may differ from the configuration
	}
}

// sentence returns a text with a full stop.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}

// checkAttribute reports invalid combinations.
func (b blockReader) checkAttribute(name string, at int, a *provider.Attribute, w *Words) {
	say := func(format string, args ...any) {
		b.r.errorAt(at, "The attribute %q "+format, append([]any{name}, args...)...)
	}
	switch {
	case !a.Required && !a.Optional && !a.Computed:
		say(`must be "required", "optional" or "computed".`)
	case a.Required && (a.Optional || a.Computed):
		say(`is "required", so it can be neither "optional" nor "computed", nor have a default.`)
	case a.WriteOnly && a.Computed:
		say("is write-only, so its value is not stored: it cannot be computed or have a default.")
	case a.WriteOnly && w.ForceNew:
		say("is write-only, so changes cannot be detected, and it cannot force a replacement. Set force_new on "+
			"another attribute, such as %q.", name+"_version")
	case w.Stable && !a.Computed:
		say(`is "stable", which only has an effect on a "computed" attribute.`)
	case w.ForceNew && !a.Required && !a.Optional:
		say(`cannot be set, so it cannot force a replacement: remove "force_new".`)
	case (w.Check != nil || w.ForceNew || w.Default != cty.NilVal) && (b.computed || !a.Required && !a.Optional):
		say(`cannot be set, so "force_new", "default" and "json_schema" have no effect.`)
	case w.Field != nil && b.r.m.HTTP == nil:
		say(`has a member "http", which only has an effect in a manifest with "http".`)
	case w.AsText && !HoldsNumbers(a.ImpliedType()):
		say(`contains no numbers, but the encoding is only for numbers.`)
	case !b.managed && (w.ForceNew || w.Stable):
		say("does not belong to a resource, and only resources can be changed or replaced: remove force_new and " +
			"stable.")
	}
}

// HoldsNumbers reports whether values of a type may be or contain numbers.
func HoldsNumbers(ty cty.Type) bool {
	found := false
	var look func(cty.Type)
	look = func(ty cty.Type) {
		switch {
		case ty == cty.Number || ty == cty.DynamicPseudoType:
			found = true
		case ty.IsCollectionType():
			look(ty.ElementType())
		case ty.IsTupleType():
			for _, e := range ty.TupleElementTypes() {
				look(e)
			}
		case ty.IsObjectType():
			for _, e := range ty.AttributeTypes() {
				look(e)
			}
		}
	}
	look(ty)
	return found
}

func (b blockReader) nested(v *node) *provider.NestedObject {
	o := &provider.NestedObject{}
	b.r.object(v, "The nested type", fields{
		"attributes":   func(v *node) { o.Attributes = b.attributes(v, nil) },
		"nesting_mode": b.r.nesting(&o.Nesting, "single", "list", "set", "map"),
	})
	if v.Kind == strictjson.Object && v.Get("attributes") == nil {
		b.r.errorf(v, `The nested type needs "attributes".`)
	}
	if v.Kind == strictjson.Object && v.Get("nesting_mode") == nil {
		b.r.errorf(v, `The nested type needs a "nesting_mode": "single", "list", "set" or "map".`)
	}
	if o.Nesting == provider.NestingSet {
		inner := &provider.Block{Attributes: o.Attributes}
		if inner.HasWriteOnly() || inner.ImpliedType().HasDynamicTypes() {
			b.r.errorf(v, "A set of objects cannot hold write-only attributes, or attributes of any type.")
		}
	}
	return o
}

func (r *reader) descriptionKind(to *provider.DescriptionKind) func(*node) {
	return func(v *node) {
		if text, _ := r.oneOf(v, "The kind of description", []string{"plain", "markdown"}); text == "markdown" {
			*to = provider.Markdown
		}
	}
}

func (r *reader) deprecation(to *string, deprecated *bool) func(*node) {
	return func(v *node) {
		r.text(to)(v)
		*deprecated = true
	}
}

func (r *reader) function(v *node) *provider.Function {
	f, seen := &provider.Function{}, map[string]bool{}
	param := func(v *node) provider.FunctionParam {
		var p provider.FunctionParam
		r.object(v, "The parameter", fields{
			"name": r.text(&p.Name), "type": r.typ(&p.Type), "description": r.text(&p.Description),
			"description_kind": r.descriptionKind(&p.DescriptionKind), "is_nullable": r.flag(&p.AllowNull),
		})
		switch {
		case v.Kind != strictjson.Object: // already reported
		case p.Name == "" || v.Get("type") == nil:
			r.errorf(v, `A parameter needs a "name" and a "type".`)
		default:
			r.checkName(v.Get("name").Offset, "parameter", p.Name)
		}
		if p.Name != "" && seen[p.Name] {
			r.errorf(v, "There are two parameters named %q.", p.Name)
		}
		seen[p.Name] = true
		return p
	}
	r.object(v, "The function", fields{
		"summary": r.text(&f.Summary), "description": r.text(&f.Description), "description_kind": r.descriptionKind(
			&f.DescriptionKind),
		"deprecation_message": r.text(&f.Deprecated), "return_type": r.typ(&f.Return),
		"parameters": func(v *node) {
			if v.Kind != strictjson.Array {
				r.errorf(v, "The parameters must be an array of objects.")
			}
			for _, item := range v.Items {
				f.Params = append(f.Params, param(item))
			}
		},
		"http":               func(*node) {}, // needs the parameters
		"cache":              func(v *node) { r.m.caches[f] = r.duration(v, "The time in the cache") },
		"variadic_parameter": func(v *node) { p := param(v); f.VarParam = &p },
	})
	if v.Kind == strictjson.Object && v.Get("return_type") == nil {
		r.errorf(v, `The function needs a "return_type".`)
	}
	if r.checkAPI(v, "The function"); ServesRequests && r.m.HTTP != nil && v.Get("http") != nil {
		r.m.calls[f] = r.operation(v.Get("http"), "call", subject{function: f})
	}
	return f
}
