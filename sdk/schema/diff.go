package schema

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
)

// ResourceDiff is a plan in a CustomizeDiff callback. Get of an unknown value ends the callback with a diagnostic: call
// NewValueKnown first, or use GetKnown.
type ResourceDiff struct {
	reader
	id       string
	planned  cty.Value
	forced   []cty.Path
	mistakes []error
}

func newDiff(t *resourceType, prior, planned, config cty.Value) *ResourceDiff {
	d := &ResourceDiff{planned: planned, reader: reader{
		object: t.object, old: prior, now: planned, config: config, unknown: planned, planning: true,
		written: map[string]cty.Value{},
	}}
	d.id = d.object.fields[idField].decode(member(prior, idField, cty.String)).(string)
	return d
}

// Id returns the id of the object, or "" for one that does not exist yet.
func (d *ResourceDiff) Id() string { return d.id }

// SetNew plans a value for a computed attribute that is not configured.
func (d *ResourceDiff) SetNew(key string, v interface{}) error {
	return d.record(d.setNew(key, func(f *field) (cty.Value, error) {
		return f.encode(cty.GetAttrPath(key), v, member(d.old, key, f.ty))
	}))
}

// SetNewComputed plans that a computed attribute that is not configured is unknown until apply.
func (d *ResourceDiff) SetNewComputed(key string) error {
	return d.record(d.setNew(key, func(f *field) (cty.Value, error) { return cty.UnknownVal(f.ty), nil }))
}

func (d *ResourceDiff) setNew(key string, planned func(*field) (cty.Value, error)) error {
	f := d.object.fields[key]
	switch {
	case f == nil && strings.Contains(key, "."):
		return fmt.Errorf("plan %q: only a whole attribute can be planned", key)
	case f == nil:
		return fmt.Errorf("plan %q: the schema has no such attribute.%s", key, diag.DidYouMean(key, d.object.names))
	case !f.schema.Computed:
		return fmt.Errorf("plan %q: it is not Computed, so its value is the configured one", key)
	case f.block:
		return fmt.Errorf("plan %q: blocks are planned as they are configured", key)
	case !member(d.config, key, f.ty).IsNull():
		return fmt.Errorf("plan %q: it is configured, so its planned value is the configured one", key)
	}
	v, err := planned(f)
	if err != nil {
		return fmt.Errorf("plan %q: %w", key, err)
	}
	d.written[key] = v
	return nil
}

// ForceNew makes the change of an attribute replace the object.
func (d *ResourceDiff) ForceNew(key string) error {
	p, err := d.object.find(key, d.current)
	switch {
	case err != nil:
		return d.record(fmt.Errorf("replace for %q: %w", key, err))
	case d.old.IsNull():
		return nil // a new object is not replaced
	case !d.HasChange(key):
		return d.record(fmt.Errorf("replace for %q: it does not change", key))
	}
	path := p.path
	for i, step := range path {
		if index, ok := step.(cty.IndexStep); ok && !index.Key.Type().IsPrimitiveType() {
			path = path[:i] // an element of a set
			break
		}
	}
	d.forced = append(d.forced, path)
	return nil
}

// Clear undoes SetNew, SetNewComputed and ForceNew for an attribute.
func (d *ResourceDiff) Clear(key string) error {
	if _, err := d.object.find(key, d.current); err != nil {
		return d.record(fmt.Errorf("clear %q: %w", key, err))
	}
	name := strings.SplitN(key, ".", 2)[0]
	delete(d.written, name)
	kept := d.forced[:0]
	for _, path := range d.forced {
		if path[0] != cty.PathStep(cty.GetAttrStep{Name: name}) {
			kept = append(kept, path)
		}
	}
	d.forced = kept
	return nil
}

// GetChangedKeysPrefix returns the top-level attributes that change and have a prefix.
func (d *ResourceDiff) GetChangedKeysPrefix(prefix string) []string {
	var keys []string
	for _, name := range d.object.names {
		if strings.HasPrefix(name, prefix) && d.HasChange(name) {
			keys = append(keys, name)
		}
	}
	return keys
}

// UpdatedKeys returns the top-level attributes that change.
func (d *ResourceDiff) UpdatedKeys() []string { return d.GetChangedKeysPrefix("") }

func (d *ResourceDiff) record(err error) error {
	if err != nil {
		err = &setError{err}
		d.mistakes = append(d.mistakes, err)
	}
	return err
}

// decided reports whether CustomizeDiff planned an attribute.
func (d *ResourceDiff) decided(key string) bool {
	_, ok := d.written[key]
	return ok
}

// over returns a plan with the changes of CustomizeDiff.
func (d *ResourceDiff) over(planned cty.Value) cty.Value {
	if len(d.written) == 0 {
		return planned
	}
	vals := planned.AsValueMap()
	for name, v := range d.written {
		vals[name] = v
	}
	return cty.ObjectVal(vals)
}
