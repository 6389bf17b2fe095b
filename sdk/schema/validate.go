package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// ValidateConfig checks the provider block.
func (s *server) ValidateConfig(ctx context.Context,
	req provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	resp := provider.ValidateConfigResponse{Prepared: req.Config}
	resp.Diagnostics = s.guard(ctx, s.config, "validate", func(ctx context.Context) diag.List {
		return s.config.validate(ctx, req.Config, provider.ClientCapabilities{})
	})
	return resp
}

// ValidateResource checks the configuration of a resource, data source, ephemeral resource, list or action.
func (s *server) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	var t *resourceType
	switch req.Kind {
	case provider.ManagedResource:
		t = s.managed[req.Type]
	case provider.DataSource:
		t = s.data[req.Type]
	case provider.EphemeralResource:
		if e := s.ephemeral[req.Type]; e != nil {
			t = e.resourceType
		}
	case provider.ListResource:
		if l := s.lists[req.Type]; l != nil {
			t = l.resourceType
		}
	case provider.Action:
		if a := s.actions[req.Type]; a != nil {
			t = a.resourceType
		}
	}
	if t == nil {
		return diag.List{}.Errorf(nil, "Not supported by this provider", "The provider has no type %q.", req.Type)
	}
	return s.guard(ctx, t, "validate", func(ctx context.Context) diag.List {
		return t.validate(ctx, req.Config, req.Client)
	})
}

func (t *resourceType) validate(ctx context.Context, config cty.Value, client provider.ClientCapabilities) diag.List {
	if config.IsNull() || !config.IsKnown() {
		return nil
	}
	v := validation{typ: t, config: config}
	if m := t.resource.DeprecationMessage; m != "" {
		v.warnf(nil, "Deprecated", "%s", m)
	}
	for _, check := range t.resource.ValidateRawResourceConfigFuncs {
		var resp ValidateResourceConfigFuncResponse
		check(ctx, ValidateResourceConfigFuncRequest{WriteOnlyAttributesAllowed: client.WriteOnlyAttributesAllowed,
			RawConfig: config}, &resp)
		v.diags = v.diags.Extend(resp.Diagnostics)
	}
	v.object(t.object, nil, config)
	return v.diags
}

// missing reports required arguments without a value or a default. This only happens with a DefaultFunc.
func (t *resourceType) missing(config cty.Value) diag.List {
	var diags diag.List
	for _, name := range t.object.names {
		f := t.object.fields[name]
		if f.schema.Required && f.schema.defaults() && member(config, name, f.ty).IsNull() {
			diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Missing required argument",
				Path: cty.GetAttrPath(name),
				Detail: fmt.Sprintf("The argument %q is required, and has no default in this environment. Set it.",
					name)})
		}
	}
	return diags
}

// validation collects the problems of a configuration, parts of which may be unknown.
type validation struct {
	typ    *resourceType
	config cty.Value
	diags  diag.List
}

func (v *validation) errorf(path cty.Path, summary, format string, args ...any) {
	v.diags = v.diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary,
		Detail: fmt.Sprintf(format, args...), Path: path.Copy()})
}

func (v *validation) warnf(path cty.Path, summary, format string, args ...any) {
	v.diags = v.diags.Append(&diag.Diagnostic{Severity: diag.Warning, Summary: summary,
		Detail: fmt.Sprintf(format, args...), Path: path.Copy()})
}

func (v *validation) object(o *object, path cty.Path, config cty.Value) {
	for _, name := range o.names {
		f := o.fields[name]
		inner := append(path.Copy(), cty.GetAttrStep{Name: name})
		value := member(config, name, f.ty)
		v.groups(f, inner, value)
		if !given(f, value) {
			v.required(f, inner, value)
			continue
		}
		if f.implicit {
			v.timeouts(f, inner, value)
			continue
		}
		if f.schema.Deprecated != "" {
			v.warnf(inner, "Argument is deprecated", "%s", f.schema.Deprecated)
		}
		v.field(f, inner, value)
	}
}

// given reports whether a configuration has a non-null value, or at least one block.
func given(f *field, v cty.Value) bool {
	if v.IsNull() {
		return false
	}
	return !f.block || !v.IsKnown() || v.LengthInt() > 0
}

// required reports missing arguments that are not required for the engine: those with a default that has no value, and
// members of object values.
func (v *validation) required(f *field, path cty.Path, value cty.Value) {
	if !f.schema.Required || f.block || v.hasError(path) {
		return
	}
	if f.schema.DefaultFunc != nil {
		if d, err := f.schema.DefaultFunc(); err == nil && d != nil {
			return
		}
	}
	v.errorf(path, "Missing required argument", "The argument %q is required, and has no value.", f.name)
}

// hasError reports whether there already is an error at a path: the author's message is better than the general one.
func (v *validation) hasError(path cty.Path) bool {
	return slices.ContainsFunc(v.diags, func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Error &&
			d.Path.Equals(path)
	})
}

func (v *validation) timeouts(f *field, path cty.Path, value cty.Value) {
	for _, name := range f.object.names {
		t := member(value, name, cty.String)
		if t.IsNull() || !t.IsKnown() {
			continue
		}
		if d, err := time.ParseDuration(t.AsString()); err != nil || d <= 0 {
			v.errorf(append(path.Copy(), cty.GetAttrStep{Name: name}), "Invalid timeout", "%q is not a duration. "+
				"Write a number with a unit, such as \"30s\", \"5m\" or \"1h30m\".", t.AsString())
		}
	}
}

// field checks a value that was given.
func (v *validation) field(f *field, path cty.Path, value cty.Value) {
	if !value.IsKnown() {
		return
	}
	s := f.schema
	switch s.Type {
	case TypeInt:
		if !isInt(value) {
			v.errorf(path, "Not an integer", "Expected an integer in the supported range, but found %s.",
				value.AsBigFloat().Text('g', 10))
			return
		}
	case TypeList, TypeSet, TypeMap:
		v.elements(f, path, value)
	}
	if value.IsWhollyKnown() {
		v.runChecks(f, path, value)
	}
}

func (v *validation) elements(f *field, path cty.Path, value cty.Value) {
	s := f.schema
	if n := value.LengthInt(); !f.block && s.Type != TypeMap && value.Length().IsKnown() {
		switch {
		case s.MaxItems > 0 && n > s.MaxItems:
			v.errorf(path, "Too many elements", "There are %d elements, but at most %d are allowed.", n, s.MaxItems)
		case n < s.MinItems:
			v.errorf(path, "Too few elements", "There are %d elements, but at least %d are required.", n, s.MinItems)
		}
	} else if f.block && n < s.MinItems && !s.Required {
		v.errorf(path, "Too few blocks", "There are %d blocks %q. If there are any, at least %d are required.", n,
			f.name, s.MinItems)
	}
	for it := value.ElementIterator(); it.Next(); {
		key, e := it.Element()
		inner := path
		if s.Type != TypeSet {
			inner = append(path.Copy(), cty.IndexStep{Key: key})
		}
		switch {
		case e.IsNull() || !e.IsKnown():
		case f.object != nil:
			v.object(f.object, inner, e)
		default:
			v.field(f.elem, inner, e)
		}
	}
}

// runChecks calls the author's checks.
func (v *validation) runChecks(f *field, path cty.Path, value cty.Value) {
	s := f.schema
	check := s.ValidateDiagFunc
	if s.ValidateFunc != nil {
		check = ToDiagFunc(s.ValidateFunc)
	}
	if check == nil {
		return
	}
	for _, d := range check(f.decode(value), path.Copy()) {
		found := *d
		if len(found.Path) == 0 {
			found.Path = path.Copy()
		}
		v.diags = v.diags.Append(&found)
	}
}

// keyOf returns a path as a key: rule.0.port.
func keyOf(path cty.Path) string {
	var steps []string
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			steps = append(steps, step.Name)
		case cty.IndexStep:
			if step.Key.Type().IsPrimitiveType() {
				steps = append(steps, textOf(step.Key))
			}
		}
	}
	return strings.Join(steps, ".")
}

// groups checks the rules of a field about other fields.
func (v *validation) groups(f *field, path cty.Path, value cty.Value) {
	s := f.schema
	if given(f, value) {
		for _, key := range s.ConflictsWith {
			if other, known := v.other(key); other && known && value.IsKnown() {
				v.errorf(path, "Conflicting arguments", "%q cannot be set together with %q.", keyOf(path), key)
			}
		}
		for _, key := range s.RequiredWith {
			if other, _ := v.other(key); !other {
				v.errorf(path, "Missing argument", "If %q is set, %q is also required.", keyOf(path), key)
			}
		}
	}
	set, unknown := v.count(f, path, s.ExactlyOneOf)
	switch {
	case len(s.ExactlyOneOf) == 0:
	case set == 0 && unknown == 0:
		v.errorf(path, "Missing argument", "One of %s must be set.", quoted(s.ExactlyOneOf))
	case set > 1 && given(f, value):
		v.errorf(path, "Conflicting arguments", "Only one of %s can be set, but %d are.", quoted(s.ExactlyOneOf), set)
	}
	if set, unknown := v.count(f, path, s.AtLeastOneOf); len(s.AtLeastOneOf) > 0 && set == 0 && unknown == 0 {
		v.errorf(path, "Missing argument", "At least one of %s must be set.", quoted(s.AtLeastOneOf))
	}
}

// other reports whether the argument at a key is set, and whether it is known.
func (v *validation) other(key string) (set, known bool) {
	p, err := v.typ.object.find(key, func(f *field) cty.Value { return member(v.config, f.name, f.ty) })
	if err != nil || p.field == nil {
		return false, true
	}
	return given(p.field, p.value), p.value.IsKnown()
}

func (v *validation) count(f *field, path cty.Path, keys []string) (set, unknown int) {
	if self := keyOf(path); len(keys) > 0 && !slices.Contains(keys, self) {
		keys = append(slices.Clone(keys), self)
	}
	for _, key := range keys {
		switch isSet, known := v.other(key); {
		case !known:
			unknown++
		case isSet:
			set++
		}
	}
	return set, unknown
}

func quoted(keys []string) string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = fmt.Sprintf("%q", key)
	}
	return strings.Join(out, ", ")
}

// ToDiagFunc converts a check without diagnostics to one with diagnostics.
func ToDiagFunc(check SchemaValidateFunc) SchemaValidateDiagFunc {
	return func(value interface{}, path cty.Path) diag.List {
		var diags diag.List
		warnings, errs := check(value, keyOf(path))
		for _, w := range warnings {
			diags = diags.Append(&diag.Diagnostic{Severity: diag.Warning, Summary: "Questionable value", Detail: w,
				Path: path})
		}
		for _, err := range errs {
			diags = diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: "Invalid value", Detail: err.Error(),
				Path: path})
		}
		return diags
	}
}

// concrete returns the key of a field in blocks that occur once, with their indexes.
func concrete(key string) string { return strings.ReplaceAll(key, ".", ".0.") }

// lookUp returns the field at a key, or the reason why there is none.
func lookUp(fields map[string]*Schema, key string) (*Schema, string) {
	steps := strings.Split(key, ".")
	for i := 0; ; i += 2 {
		s := fields[steps[i]]
		switch r := (*Resource)(nil); {
		case s == nil:
			return nil, fmt.Sprintf("there is no %q.%s", strings.Join(steps[:i+1], "."),
				diag.DidYouMean(steps[i], slices.Sorted(maps.Keys(fields))))
		case i == len(steps)-1:
			return s, ""
		default:
			if r, _ = s.Elem.(*Resource); r == nil || s.Type != TypeList || s.MaxItems != 1 {
				return nil, fmt.Sprintf("a key can only refer into lists of one block, and %q is not one", steps[i])
			}
			if steps[i+1] != "0" || i+2 >= len(steps) {
				return nil, fmt.Sprintf("after %q there must be \"0\" and a name", steps[i])
			}
			fields = r.SchemaMap()
		}
	}
}
