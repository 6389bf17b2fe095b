package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// InternalValidate returns an error that lists all mistakes in the description of a provider, one per line. Call it in
// a unit test:
//
//	func TestProvider(t *testing.T) {
//		if err := Provider().InternalValidate(); err != nil {
//			t.Fatal(err)
//		}
//	}
func (p *Provider) InternalValidate() error {
	var c inspection
	c.fields(where{what: "provider", kind: configuration}, p.Schema)
	c.meta(p.ProviderMetaSchema)
	if p.ConfigureFunc != nil && p.ConfigureContextFunc != nil {
		c.add("provider", "ConfigureFunc and ConfigureContextFunc are both set: use one of them")
	}
	if len(strings.Split(p.Address, "/")) != 3 && p.Address != "" {
		c.add("provider", "the Address %q is not of the form host/namespace/type", p.Address)
	}
	for _, name := range slices.Sorted(maps.Keys(p.ResourcesMap)) {
		c.resource(where{what: "resource " + name, name: name, kind: managed}, p.ResourcesMap[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.DataSourcesMap)) {
		c.resource(where{what: "data source " + name, name: name, kind: data}, p.DataSourcesMap[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.EphemeralResourcesMap)) {
		c.ephemeral(where{what: "ephemeral resource " + name, name: name, kind: ephemeral},
			p.EphemeralResourcesMap[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.ListResourcesMap)) {
		c.list(where{what: "list " + name, name: name, kind: listing}, p.ListResourcesMap[name], p.ResourcesMap[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.ActionsMap)) {
		c.action(where{what: "action " + name, name: name, kind: acting}, p.ActionsMap[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Functions)) {
		c.function(name, p.Functions[name])
	}
	return errors.Join(c.problems...)
}

// meta checks the schema of provider_meta blocks: arguments only, because the language allows no blocks there.
func (c *inspection) meta(fields map[string]*Schema) {
	c.fields(where{what: "provider_meta", kind: metaBlock}, fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s := fields[name]
		if s == nil {
			continue
		}
		if _, nested := s.Elem.(*Resource); nested && s.Type != TypeMap && s.ConfigMode != SchemaConfigModeAttr {
			c.add("provider_meta, "+name,
				"it would be a block, but only arguments are allowed here: set ConfigMode to SchemaConfigModeAttr")
		}
	}
}

// InternalValidate returns the mistakes in the description of a resource type or, if writable is false, of a data
// source.
func (r *Resource) InternalValidate(writable bool) error {
	var c inspection
	w := where{what: "data source", name: "x_y", kind: data}
	if writable {
		w = where{what: "resource", name: "x_y", kind: managed}
	}
	c.resource(w, r)
	return errors.Join(c.problems...)
}

var nameForm = regex.Lazy(`^[a-z][a-z0-9_]*$`)

// reserved are the names that the language uses for itself.
var reserved = map[kind][]string{
	configuration: {"alias", "version"},
	managed:       {"connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"},
	data:          {"count", "depends_on", "for_each", "lifecycle", "provider"},
	ephemeral:     {"count", "depends_on", "for_each", "lifecycle", "provider"},
}

// where is the current position of an inspection.
type where struct {
	what string // for messages
	name string // of the type
	kind kind
	// top are the fields of the type; prefix is the path from there to the current ones.
	top    map[string]*Schema
	prefix string
	// single means that a key can refer to this place: no list on the path has more than one element.
	single bool
	// value is set within attributes, whose members are all configured or all computed.
	value bool
	// inSet is set within sets, computedBy within a computed field.
	inSet, computedBy bool
}

// deepest is the maximum nesting of resources: only a recursive description is deeper.
const deepest = 100

type inspection struct {
	problems []error
	// inside are the nested resources on the path to the current one.
	inside []*Resource
}

func (c *inspection) add(what, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s: %s", what, fmt.Sprintf(format, args...)))
}

// which returns the keys that are true, in order.
func which(all map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool { return !all[key] })
}

func (c *inspection) typeName(w where) {
	if !nameForm().MatchString(w.name) {
		c.add(w.what, "the name is not in lower case, or does not begin with a letter")
	}
}

func (c *inspection) resource(w where, r *Resource) {
	c.typeName(w)
	if r == nil {
		c.add(w.what, "the resource is nil")
		return
	}
	c.callbacks(w, r)
	c.upgraders(w, r)
	c.identity(w, r)
	fields := r.SchemaMap()
	if r.Schema != nil && r.SchemaFunc != nil {
		c.add(w.what, "Schema and SchemaFunc are both set: use one of them")
	}
	if s := fields[idField]; s != nil && (s.Type != TypeString || !s.Computed || s.Optional || s.Required) {
		c.add(w.what+", id", "the id is set with SetId: it can only be described as a computed string")
	}
	if fields[timeoutsField] != nil && r.Timeouts != nil {
		c.add(w.what+", timeouts", "the name is reserved for the block that Timeouts adds")
	}
	c.timeouts(w, r)
	c.fields(w, fields)
}

// callbacks checks that all necessary callbacks are set, and none that is never called.
func (c *inspection) callbacks(w where, r *Resource) {
	for _, op := range []struct {
		name                  string
		plain, context, timed bool // timed means without a time limit of the engine
		need                  bool
	}{
		{"Create", r.Create != nil, r.CreateContext != nil, r.CreateWithoutTimeout != nil, w.kind == managed},
		{"Read", r.Read != nil, r.ReadContext != nil, r.ReadWithoutTimeout != nil, true},
		{"Update", r.Update != nil, r.UpdateContext != nil, r.UpdateWithoutTimeout != nil, false},
		{"Delete", r.Delete != nil, r.DeleteContext != nil, r.DeleteWithoutTimeout != nil, w.kind == managed},
	} {
		var set []string
		for _, form := range []struct {
			given  bool
			suffix string
		}{{op.plain, ""}, {op.context, "Context"}, {op.timed, "WithoutTimeout"}} {
			if form.given {
				set = append(set, op.name+form.suffix)
			}
		}
		switch {
		case len(set) > 1:
			c.add(w.what, "%s are both set: use one of them", strings.Join(set[:2], " and "))
		case w.kind == data && op.name != "Read" && len(set) > 0:
			c.add(w.what, "a data source is only read: it has no %s", op.name)
		case len(set) == 0 && op.need:
			c.add(w.what, "there is no %s", op.name)
		}
	}
	if i := r.Importer; i != nil && i.State != nil && i.StateContext != nil {
		c.add(w.what, "State and StateContext of the Importer are both set: use one of them")
	}
	if w.kind == data {
		for _, name := range which(map[string]bool{"Importer": r.Importer != nil,
			"CustomizeDiff": r.CustomizeDiff != nil, "Exists": r.Exists != nil,
			"Identity": r.Identity != nil, "StateUpgraders": len(r.StateUpgraders) > 0,
			"SchemaVersion": r.SchemaVersion != 0}) {
			c.add(w.what, "a data source has no %s", name)
		}
	}
	if w.kind == managed && r.update() != nil && len(r.SchemaMap()) > 0 && r.CustomizeDiff == nil &&
		onlyForceNew(r.SchemaMap()) {
		c.add(w.what, "Update is never called: each attribute that can be configured is ForceNew")
	}
}

// onlyForceNew reports whether a change of any argument replaces the object.
func onlyForceNew(fields map[string]*Schema) bool {
	for _, s := range fields {
		if s != nil && !s.ForceNew && (s.Required || s.Optional) {
			return false
		}
	}
	return true
}

func (c *inspection) upgraders(w where, r *Resource) {
	if r.SchemaVersion < 0 {
		c.add(w.what, "the SchemaVersion %d is below zero", r.SchemaVersion)
	}
	seen := map[int]bool{}
	for _, u := range r.StateUpgraders {
		switch {
		case u.Version < 0 || u.Version >= r.SchemaVersion:
			c.add(w.what, "the StateUpgrader of version %d does not lead to the SchemaVersion %d", u.Version,
				r.SchemaVersion)
		case seen[u.Version]:
			c.add(w.what, "there are two StateUpgraders of version %d", u.Version)
		case u.Upgrade == nil:
			c.add(w.what, "the StateUpgrader of version %d has no Upgrade", u.Version)
		}
		seen[u.Version] = true
	}
	for v := 0; len(seen) > 0 && v < r.SchemaVersion; v++ {
		if !seen[v] && slices.ContainsFunc(r.StateUpgraders, func(u StateUpgrader) bool { return u.Version < v }) {
			c.add(w.what, "there is a StateUpgrader before version %d, but none for that version", v)
		}
	}
}

func (c *inspection) identity(w where, r *Resource) {
	id := r.Identity
	switch {
	case id == nil || w.kind == data:
		return
	case id.SchemaFunc == nil || len(id.SchemaFunc()) == 0:
		c.add(w.what+", identity", "it has no attributes")
		return
	}
	fields := id.SchemaFunc()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s, what := fields[name], w.what+", identity, "+name
		switch {
		case s == nil:
			c.add(what, "the schema is nil")
			continue
		case !s.RequiredForImport && !s.OptionalForImport, s.RequiredForImport && s.OptionalForImport:
			c.add(what, "exactly one of RequiredForImport and OptionalForImport must be set")
		case s.Required || s.Optional || s.Computed || s.ForceNew || s.WriteOnly || s.Sensitive || s.Default != nil:
			c.add(what,
				"attributes of an identity only have a type, a description and RequiredForImport or OptionalForImport")
		}
		e, _ := s.Elem.(*Schema)
		if !s.Type.primitive() && (s.Type != TypeList || e == nil || !e.Type.primitive()) {
			c.add(what, "the type must be simple, or a list of a simple one")
		}
	}
}

func (c *inspection) timeouts(w where, r *Resource) {
	all := r.Timeouts.all()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		d := all[key]
		switch {
		case d == nil:
		case *d <= 0:
			c.add(w.what+", timeouts", "%s must be greater than zero", key)
		case w.kind == data && key != TimeoutRead && key != TimeoutDefault:
			c.add(w.what+", timeouts", "a data source is only read: it has no timeout to %s", key)
		case key == TimeoutUpdate && r.update() == nil:
			c.add(w.what+", timeouts", "there is a timeout for updates, but no Update")
		}
	}
}

func (c *inspection) function(name string, f *Function) {
	what := "function " + name
	if !nameForm().MatchString(name) {
		c.add(what, "the name is not in lower case, or does not begin with a letter")
	}
	switch {
	case f == nil:
		c.add(what, "the function is nil")
		return
	case f.Call == nil:
		c.add(what, "there is no Call")
	}
	if f.Return == nil {
		c.add(what, "there is no Return")
	} else {
		c.plainType(what+", result", f.Return.Type, f.Return.Elem)
	}
	params := slices.Clone(f.Parameters)
	if f.Variadic != nil {
		params = append(params, *f.Variadic)
	}
	seen := map[string]bool{}
	for i, p := range params {
		at := fmt.Sprintf("%s, parameter %d", what, i)
		switch {
		case !nameForm().MatchString(p.Name):
			c.add(at, "the name %q is not in lower case, or does not begin with a letter", p.Name)
		case seen[p.Name]:
			c.add(at, "there are two parameters %q", p.Name)
		}
		seen[p.Name] = true
		c.plainType(at, p.Type, p.Elem)
	}
}

// plainType checks the type of a parameter or a result.
func (c *inspection) plainType(what string, t ValueType, elem interface{}) {
	c.elem(where{what: what, value: true}, &Schema{Type: t, Elem: elem})
}

// fields checks the members of a type or of nested resources.
func (c *inspection) fields(w where, fields map[string]*Schema) {
	if w.prefix == "" {
		w.top, w.single = fields, true
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s, at := fields[name], w
		at.what = w.what + ", " + w.prefix + name
		switch {
		case !nameForm().MatchString(name):
			c.add(at.what, "the name is not in lower case, or does not begin with a letter")
		case w.prefix == "" && slices.Contains(reserved[w.kind], name):
			c.add(at.what, "the name is reserved by the language")
		}
		if s == nil {
			c.add(at.what, "the schema is nil")
			continue
		}
		c.field(at, w.prefix+name, s)
	}
}

func (c *inspection) field(w where, key string, s *Schema) {
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			c.add(w.what, format, args...)
		}
	}
	onlyComputed := s.Computed && !s.Optional && !s.Required
	bad(!s.Required && !s.Optional && !s.Computed, "one of Required, Optional and Computed must be set")
	bad(s.Required && s.Optional, "it cannot be both Required and Optional")
	bad(s.Required && s.Computed, "it cannot be both Required and Computed")
	bad(s.Stable && !s.Computed, "Stable is only for Computed attributes")
	bad(s.Required && s.Deprecated != "",
		"a Required attribute cannot be removed from configurations, so it cannot be Deprecated")
	bad(s.RequiredForImport || s.OptionalForImport, "RequiredForImport and OptionalForImport are for identities")
	bad(s.ValidateFunc != nil && s.ValidateDiagFunc != nil,
		"ValidateFunc and ValidateDiagFunc are both set: use one of them")
	bad(onlyComputed && (s.ValidateFunc != nil || s.ValidateDiagFunc != nil),
		"a value that is only Computed is never validated")
	bad(onlyComputed && (s.DiffSuppressFunc != nil || s.StateFunc != nil),
		"a value that is only Computed has no changes to suppress")
	bad(onlyComputed && (s.MaxItems > 0 || s.MinItems > 0), "MaxItems and MinItems are for configured values")
	bad(s.DiffSuppressOnRefresh && (s.DiffSuppressFunc == nil || w.prefix != ""),
		"DiffSuppressOnRefresh is for attributes of the resource itself that have a DiffSuppressFunc")
	bad(s.StateFunc != nil && !s.Type.primitive(), "StateFunc is for simple types")
	c.kinds(w, s)
	c.defaults(w, s, onlyComputed)
	c.writeOnly(w, s)
	c.groups(w, key, s)
	c.elem(w, s)
	c.nested(w, key, s, onlyComputed)
}

// kinds checks the rules of each kind of type.
func (c *inspection) kinds(w where, s *Schema) {
	if w.kind == managed {
		return
	}
	for _, name := range which(map[string]bool{"ForceNew": s.ForceNew, "Stable": s.Stable,
		"DiffSuppressFunc": s.DiffSuppressFunc != nil,
		"StateFunc":        s.StateFunc != nil, "WriteOnly": s.WriteOnly, "Computed": s.Computed &&
			slices.Contains([]kind{configuration, metaBlock, listing, acting}, w.kind)}) {
		c.add(w.what, "%s is for attributes of resources", name)
	}
}

func (c *inspection) defaults(w where, s *Schema, onlyComputed bool) {
	if !s.defaults() {
		return
	}
	switch {
	case s.Default != nil && s.DefaultFunc != nil:
		c.add(w.what, "Default and DefaultFunc are both set: use one of them")
	case s.Default != nil && s.Required:
		c.add(w.what, "a Required attribute cannot have a Default")
	case onlyComputed:
		c.add(w.what, "an attribute that is only Computed cannot have a Default")
	case s.Computed:
		c.add(w.what, "an attribute cannot be Computed and have a Default")
	case !s.Type.primitive():
		c.add(w.what, "only simple types have a Default")
	case w.value:
		c.add(w.what, "values inside of an attribute cannot have a Default")
	case s.Default != nil:
		f := (&compiler{}).field("", s, true)
		if _, err := f.encode(nil, s.Default, cty.NilVal); err != nil {
			c.add(w.what, "the Default does not have the type of the attribute: %s", err)
		}
	}
}

func (c *inspection) writeOnly(w where, s *Schema) {
	if !s.WriteOnly {
		return
	}
	_, nested := s.Elem.(*Resource)
	for _, what := range which(map[string]bool{
		"be Computed": s.Computed, "have a Default": s.defaults(), "be ForceNew": s.ForceNew,
		"have a DiffSuppressFunc or StateFunc": s.DiffSuppressFunc != nil || s.StateFunc != nil,
		"be in a set":                          w.inSet, "be a set": s.Type == TypeSet,
		"be inside of an attribute": w.value,
		"have nested resources":     nested,
	}) {
		c.add(w.what, "a WriteOnly attribute cannot %s: its old value is not stored", what)
	}
}

// groups checks the references of a field to others.
func (c *inspection) groups(w where, key string, s *Schema) {
	for _, g := range []struct {
		name string
		keys []string
		self bool // it may name itself
	}{{"ConflictsWith", s.ConflictsWith, false}, {"RequiredWith", s.RequiredWith, true},
		{"ExactlyOneOf", s.ExactlyOneOf, true}, {"AtLeastOneOf", s.AtLeastOneOf, true}} {
		if len(g.keys) > 0 && s.Required && g.name != "RequiredWith" {
			c.add(w.what, "a Required attribute cannot have %s", g.name)
		}
		for _, other := range g.keys {
			switch found, problem := lookUp(w.top, other); {
			case problem != "":
				c.add(w.what, "%s names %q: %s", g.name, other, problem)
			case other == concrete(key) && !g.self:
				c.add(w.what, "%s names the attribute itself", g.name)
			case found.Required && other != concrete(key) && g.name != "RequiredWith":
				c.add(w.what, "%s names %q, which is Required", g.name, other)
			case found.Computed && !found.Optional:
				c.add(w.what, "%s names %q, which cannot be configured", g.name, other)
			}
		}
		if len(g.keys) > 0 && !w.single {
			c.add(w.what, "%s cannot be used where there may be several blocks: its keys would be ambiguous", g.name)
		}
	}
}

// typeRules are the rules about a type and the other properties of its field.
var typeRules = []struct {
	broken func(w where, s *Schema) bool
	text   func(s *Schema) string
}{
	{func(_ where, s *Schema) bool { return typeNames[s.Type] == "" || s.Type == TypeInvalid },
		says("there is no Type")},
	{func(_ where, s *Schema) bool { return typeNames[s.Type] != "" && !s.Type.collection() && s.Elem != nil },
		func(s *Schema) string { return fmt.Sprintf("%s has no Elem", s.Type) }},
	{func(w where, s *Schema) bool { return s.Type == TypeAny && s.Elem == nil && (w.value || w.inSet) },
		says("TypeAny is for attributes, not for values inside of them or of sets")},
	{func(_ where, s *Schema) bool {
		return s.MaxItems < 0 || s.MinItems < 0 || s.MaxItems > 0 && s.MinItems > s.MaxItems
	}, func(s *Schema) string {
		return fmt.Sprintf("MinItems %d is greater than MaxItems %d", s.MinItems, s.MaxItems)
	}},
	{func(_ where, s *Schema) bool {
		return (s.MaxItems > 0 || s.MinItems > 0) && s.Type != TypeList && s.Type != TypeSet
	}, says("MaxItems and MinItems are for lists and sets")},
	{func(_ where, s *Schema) bool { return s.Set != nil && s.Type != TypeSet }, says("the function Set is for sets")},
	{func(_ where, s *Schema) bool { return s.ConfigMode != SchemaConfigModeAuto && !s.holdsResource() },
		says("ConfigMode is for nested resources")},
	{func(_ where, s *Schema) bool {
		return s.DiffSuppressFunc != nil && (s.holdsResource() || s.Type == TypeSet || s.Type == TypeAny)
	}, says("DiffSuppressFunc is for simple types, and for lists and maps of them")},
}

func says(text string) func(*Schema) string { return func(*Schema) string { return text } }

// elem checks the type of a field, and that of its elements if these are values.
func (c *inspection) elem(w where, s *Schema) {
	for _, rule := range typeRules {
		if rule.broken(w, s) {
			c.add(w.what, "%s", rule.text(s))
		}
	}
	if !s.Type.collection() {
		return
	}
	switch e := s.Elem.(type) {
	case nil:
		if s.Type != TypeMap {
			c.add(w.what, "%s needs an Elem", s.Type)
		}
	case ValueType:
		if !e.primitive() {
			c.add(w.what, "an Elem that is a ValueType must be a simple one")
		}
	case *Schema:
		c.element(w, e)
	case *Resource:
		switch {
		case s.Type == TypeMap:
			c.add(w.what, "a map has no nested resources: use a list or set of them")
		case e == nil:
			c.add(w.what, "the Elem is nil")
		}
	default:
		c.add(w.what, "the Elem is a %T: a *Schema or *Resource is needed", e)
	}
}

// element checks an Elem that is only a type.
func (c *inspection) element(w where, e *Schema) {
	if e == nil {
		c.add(w.what, "the Elem is nil")
		return
	}
	if e.Required || e.Optional || e.Computed || e.Stable || e.ForceNew || e.defaults() || e.Sensitive || e.WriteOnly ||
		e.DiffSuppressFunc != nil ||
		e.StateFunc != nil || len(e.ConflictsWith)+len(e.ExactlyOneOf)+len(e.AtLeastOneOf)+len(e.RequiredWith) > 0 {
		c.add(w.what, "an Elem can only have a type and a ValidateFunc: everything else belongs to the attribute")
	}
	if _, ok := e.Elem.(*Resource); ok {
		c.add(w.what, "collections of collections cannot have nested resources")
	}
	w.what, w.value = w.what+", Elem", true
	c.elem(w, e)
}

// nested checks nested resources.
func (c *inspection) nested(w where, key string, s *Schema, onlyComputed bool) {
	r, _ := s.Elem.(*Resource)
	if r == nil || s.Type != TypeList && s.Type != TypeSet {
		return
	}
	block := s.ConfigMode == SchemaConfigModeBlock
	value := w.value || s.Computed && !block || s.ConfigMode == SchemaConfigModeAttr
	fields := r.SchemaMap()
	if block && s.Computed {
		c.computedBlocks(w, s, fields)
	}
	switch {
	case block && w.value:
		c.add(w.what, "an attribute cannot contain blocks: this ConfigMode is not possible")
	case !value && s.Sensitive:
		c.add(w.what, "blocks cannot be Sensitive, but their attributes can")
	case slices.Contains(c.inside, r), len(c.inside) == deepest:
		c.add(w.what, "the resource contains itself")
		return
	case len(fields) == 0:
		c.add(w.what, "the nested resource has no Schema")
	}
	if !r.onlySchema() {
		c.add(w.what, "a nested resource can only have a Schema")
	}
	if value && !onlyComputed && !w.computedBy {
		c.noneComputed(w, fields)
	}
	inner := w
	inner.what = strings.TrimSuffix(w.what, ", "+key)
	inner.prefix = key + "."
	inner.single = w.single && s.Type == TypeList && s.MaxItems == 1
	inner.value, inner.inSet, inner.computedBy = value, w.inSet || s.Type == TypeSet, w.computedBy || onlyComputed
	c.inside = append(c.inside, r)
	c.fields(inner, fields)
	c.inside = c.inside[:len(c.inside)-1]
}

// noneComputed checks that an attribute that the user sets has no computed field.
func (c *inspection) noneComputed(w where, fields map[string]*Schema) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[name]; n != nil && n.Computed {
			c.add(w.what+"."+name, "values inside of an attribute cannot be Computed: either the configuration sets "+
				"all of the attribute, or the provider does")
		}
	}
}
