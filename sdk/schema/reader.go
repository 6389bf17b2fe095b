package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// reader provides the old and the new values of an object, in a plan or after changes of a callback.
type reader struct {
	object *object
	// old is the object before; now is the object as planned or stored, and config its configuration. Values that the
	// callback sets replace those of now.
	old, now, config cty.Value
	written          map[string]cty.Value
	// planning means that unknown values end the callback, instead of being read as zero.
	planning bool
	// unknown is the value of now before unknown values were filled in with old ones.
	unknown cty.Value
}

// problem ends a callback that cannot continue. The framework makes it a diagnostic.
type problem struct{ d *diag.Diagnostic }

// Error returns the problem as text, for callers outside of a callback.
func (p problem) Error() string { return p.d.Error() }

func fail(path cty.Path, summary, format string, args ...any) {
	panic(problem{&diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: fmt.Sprintf(format, args...),
		Path: path}})
}

// current returns the new value of a top-level field.
func (r *reader) current(f *field) cty.Value {
	if v, ok := r.written[f.name]; ok {
		return v
	}
	if f.schema.WriteOnly && r.config != cty.NilVal {
		return member(r.config, f.name, f.ty)
	}
	return member(r.now, f.name, f.ty)
}

func (r *reader) before(f *field) cty.Value { return member(r.old, f.name, f.ty) }

// find returns the value at a key in the fields of the given view. It ends the callback if the key does not exist.
func (r *reader) find(key string, view func(*field) cty.Value) place {
	p, err := r.object.find(key, view)
	if err != nil {
		fail(nil, "Unknown attribute", "The provider reads an attribute that its schema does not have: %s %s",
			stopped(sentence(err)), value.ProviderBug)
	}
	if p.field != nil && p.field.schema.WriteOnly && r.config != cty.NilVal && len(p.path) > 1 {
		if q, err := r.object.find(key, func(f *field) cty.Value {
			return member(r.config, f.name, f.ty)
		}); err == nil {
			return q
		}
	}
	return p
}

// known ends the callback if a value is unknown where it must be known.
func (r *reader) known(key string, p place) place {
	if !r.planning || p.value.IsWhollyKnown() || p.counts && p.value.IsKnown() {
		return p
	}
	path := p.path
	if len(path) > 0 {
		if inner := value.UnknownPaths(p.value); len(inner) > 0 {
			path = append(path.Copy(), inner[0]...)
		}
	}
	fail(path, "Value not known yet", "The provider needs %q now, but it is known only after apply. Use a known "+
		"value, or first apply the objects that it comes from with -target. (The provider can check this with "+
		"GetKnown and IsUnknown.)", key)
	return p
}

// Get returns the value at a key such as "name", "rule.0.port" or "tags.owner", in the Go form that the package
// documentation lists. Null becomes zero. The last step "#" returns the number of elements of a list, set or map. An
// unknown value ends the callback while planning; see GetKnown.
func (r *reader) Get(key string) interface{} {
	return r.known(key, r.find(key, r.current)).goValue()
}

// GetOk is like Get, and reports whether the value is neither null nor zero.
func (r *reader) GetOk(key string) (interface{}, bool) {
	v := r.Get(key)
	return v, !isZero(v)
}

// GetOkExists is like Get, and reports whether the value is not null.
func (r *reader) GetOkExists(key string) (interface{}, bool) {
	p := r.known(key, r.find(key, r.current))
	return p.goValue(), !p.value.IsNull()
}

// GetKnown is like Get, and reports whether the value is wholly known. Otherwise it returns zero.
func (r *reader) GetKnown(key string) (interface{}, bool) {
	p := r.find(key, r.current)
	return p.goValue(), p.value.IsWhollyKnown() && !r.IsUnknown(key)
}

// GetChange returns the old and the new value.
func (r *reader) GetChange(key string) (before, after interface{}) {
	return r.find(key, r.before).goValue(), r.Get(key)
}

// IsUnknown reports whether the value, or part of it, is known only after apply. During Create and Update these are the
// computed values that the callback has not set yet.
func (r *reader) IsUnknown(key string) bool {
	view := r.current
	if r.unknown != cty.NilVal {
		view = func(f *field) cty.Value {
			if v, ok := r.written[f.name]; ok {
				return v
			}
			return member(r.unknown, f.name, f.ty)
		}
	}
	return !r.find(key, view).value.IsWhollyKnown()
}

// NewValueKnown is the opposite of IsUnknown.
func (r *reader) NewValueKnown(key string) bool { return !r.IsUnknown(key) }

// HasChange reports whether the old and the new value differ. Null and zero differ, and unknown values differ from all
// others. The old value of a write-only attribute is unknown; it never differs.
func (r *reader) HasChange(key string) bool {
	p := r.find(key, r.current)
	if p.field != nil && p.field.schema.WriteOnly {
		return false
	}
	before := r.find(key, r.before)
	if p.counts {
		return p.goValue() != before.goValue()
	}
	return !p.value.RawEquals(before.value)
}

// HasChanges reports whether any of the values differs.
func (r *reader) HasChanges(keys ...string) bool {
	for _, key := range keys {
		if r.HasChange(key) {
			return true
		}
	}
	return false
}

// HasChangeExcept reports whether any other top-level attribute differs.
func (r *reader) HasChangeExcept(key string) bool { return r.HasChangesExcept(key) }

// HasChangesExcept reports whether any other top-level attributes differ.
func (r *reader) HasChangesExcept(keys ...string) bool {
	except := map[string]bool{}
	for _, key := range keys {
		r.find(key, r.current)
		except[key] = true
	}
	for _, name := range r.object.names {
		if !except[name] && !r.object.fields[name].implicit && r.HasChange(name) {
			return true
		}
	}
	return false
}

// GetRawConfig returns the configuration as written, with null for unset values. It is null while an object is read or
// deleted.
func (r *reader) GetRawConfig() cty.Value { return r.or(r.config) }

// GetRawState returns the stored object, or null if there is none yet.
func (r *reader) GetRawState() cty.Value { return r.or(r.old) }

// GetRawPlan returns the planned object, with unknown values for those that the callback computes. It is null while an
// object is read or deleted.
func (r *reader) GetRawPlan() cty.Value { return r.or(r.unknown) }

func (r *reader) or(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return cty.NullVal(r.object.ty)
	}
	return v
}

// GetRawConfigAt returns the part of the configuration at a path.
func (r *reader) GetRawConfigAt(path cty.Path) (cty.Value, diag.List) {
	v, err := path.Apply(r.GetRawConfig())
	if err != nil {
		return cty.DynamicVal, diag.List{{Severity: diag.Error, Summary: "No such value in the configuration",
			Path:   path,
			Detail: fmt.Sprintf("The provider reads %s from the configuration: %s.", value.FormatPath(path), err)}}
	}
	return v, nil
}

// whole returns the new value of the object.
func (r *reader) whole() cty.Value {
	if len(r.written) == 0 {
		return r.now
	}
	vals := make(map[string]cty.Value, len(r.object.fields))
	for name, f := range r.object.fields {
		if v, ok := r.written[name]; ok {
			vals[name] = v
		} else {
			vals[name] = member(r.now, name, f.ty)
		}
	}
	return cty.ObjectVal(vals)
}

// isZero reports whether a value is the zero value of its type.
func isZero(v interface{}) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []interface{}:
		return len(v) == 0
	case map[string]interface{}:
		return len(v) == 0
	case *Set:
		return v.Len() == 0
	}
	return v == false || v == 0 || v == 0.0 || v == ""
}

// sentence returns an error as a part of a sentence.
func sentence(err error) string {
	var p cty.PathError
	if errors.As(err, &p) && len(p.Path) > 0 {
		return value.FormatPath(p.Path)[1:] + ": " + err.Error()
	}
	return err.Error()
}

// stopped adds a full stop to a sentence unless it has an end: suggestions of a name end with a question mark.
func stopped(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
