package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/value"
)

// ResourceData is the object of a callback: its configured, planned or stored values, and those that the callback sets.
// Only the goroutine of the callback may use it.
type ResourceData struct {
	reader
	typ  *resourceType
	kind string // the type of an imported object
	ctx  context.Context
	cut  bool // the context ended before the callback returned
	id   string
	// fresh means that the object is new.
	fresh bool
	// partial is the partial mode: only values that a key accepts are recorded.
	partial  bool
	accepted [][]string
	mistakes []error
	identity *IdentityData
	suppress bool // DiffSuppressFunc keeps planned values
	reading  bool // it keeps stored values with DiffSuppressOnRefresh
	// providerMeta is the provider_meta value of the module, or cty.NilVal; providerMetaType is its type.
	providerMeta     cty.Value
	providerMetaType *resourceType
	// record, if set, reports a new object to the engine before the callback returns.
	record func(state cty.Value, private []byte)
}

func newData(t *resourceType, r reader) *ResourceData {
	r.written = map[string]cty.Value{}
	d := &ResourceData{reader: r, typ: t, kind: t.name, ctx: context.Background()}
	if f := t.object.fields[idField]; f != nil && f.implicit {
		d.id = f.decode(d.find(idField, d.before).value).(string)
	}
	return d
}

// Context is the context of the callback: it ends on an interrupt or after the time limit.
func (d *ResourceData) Context() context.Context { return d.ctx }

// Id returns the ID of the object, or "" if there is none.
func (d *ResourceData) Id() string { return d.id }

// SetId sets the ID of the object. The empty ID means that the object does not exist. In process, the engine records a
// new object as soon as its ID is set, so that it is not lost if the callback does not finish.
func (d *ResourceData) SetId(id string) {
	d.id = id
	if d.record != nil && id != "" {
		d.record(d.State(), nil)
	}
}

// SetType sets the type of an imported object.
func (d *ResourceData) SetType(name string) { d.kind = name }

// IsNewResource reports whether the object is being created.
func (d *ResourceData) IsNewResource() bool { return d.fresh }

// MarkNewResource marks the object as new.
func (d *ResourceData) MarkNewResource() { d.fresh = true }

// Set sets a top-level attribute or all blocks of a name. The package documentation lists the Go values of each type;
// nil is null. An error makes the callback's operation fail even if it is ignored: a wrong key or type is a bug of the
// provider.
func (d *ResourceData) Set(key string, v interface{}) error {
	err := d.set(key, v)
	if err != nil {
		err = &setError{err}
		d.mistakes = append(d.mistakes, err)
	}
	return err
}

// inside returns a phrase that names the wrong part of an attribute, or "" if all of it is wrong.
func inside(err error) string {
	var p cty.PathError
	if errors.As(err, &p) && len(p.Path) > 1 {
		return "at " + strings.TrimPrefix(value.FormatPath(p.Path), ".") + ", "
	}
	return ""
}

// setError is the error of Set.
type setError struct{ error }

func (e *setError) Unwrap() error { return e.error }

func (d *ResourceData) set(key string, v interface{}) error {
	f := d.object.fields[key]
	switch {
	case f == nil && strings.Contains(key, "."):
		return fmt.Errorf("set %q: only a whole attribute can be set: set %q", key, strings.SplitN(key, ".", 2)[0])
	case f == nil:
		return fmt.Errorf("set %q: the schema has no such attribute.%s", key, diag.DidYouMean(key, d.object.names))
	case f.implicit && key == idField:
		id, ok := indirect(v).(string)
		if !ok {
			return fmt.Errorf("set \"id\": an id is a string, not %T", v)
		}
		d.SetId(id)
		return nil
	case f.implicit:
		return fmt.Errorf("set %q: only the configuration can set it", key)
	case f.schema.WriteOnly:
		return fmt.Errorf("set %q: it is write-only, so it is not stored", key)
	}
	path := cty.GetAttrPath(key)
	like := member(d.now, key, f.ty)
	if d.unknown != cty.NilVal {
		like = member(d.unknown, key, f.ty) // old values need not be kept
	}
	encoded, err := f.encode(path, v, like)
	if err != nil {
		return fmt.Errorf("set %q: %s%w", key, inside(err), err)
	}
	if nb := d.object.block.Blocks[key]; nb != nil && encoded.IsNull() {
		encoded = nb.EmptyValue()
	}
	suppress := d.suppress || d.reading && f.schema.DiffSuppressOnRefresh
	if suppress && f.schema.DiffSuppressFunc != nil && like.IsWhollyKnown() && !like.IsNull() &&
		f.suppressed(key, like, encoded, d) {
		encoded = like
	}
	d.written[key] = encoded
	return nil
}

// Partial turns the partial mode on or off. In this mode, an update or creation that ends with an error only records
// the values that SetPartial names; otherwise it records all.
func (d *ResourceData) Partial(on bool) { d.partial = on }

// SetPartial records that the change of an attribute has happened, and of all with the key as a prefix, step by step:
// "rule" includes "rule.0.port".
func (d *ResourceData) SetPartial(key string) {
	d.find(key, d.current)
	d.accepted = append(d.accepted, strings.Split(key, "."))
}

// Timeout returns the time limit of an operation: that of the user, otherwise that of the resource, otherwise twenty
// minutes.
func (d *ResourceData) Timeout(key string) time.Duration {
	if f := d.object.fields[timeoutsField]; f != nil && f.implicit {
		block := d.current(f)
		for _, k := range []string{key, TimeoutDefault} {
			if v := member(block, k, cty.String); v.IsKnown() && !v.IsNull() {
				if t, err := time.ParseDuration(v.AsString()); err == nil {
					return t
				}
			}
		}
	}
	all := d.typ.resource.Timeouts.all()
	for _, k := range []string{key, TimeoutDefault} {
		if all[k] != nil {
			return *all[k]
		}
	}
	return otherwise
}

// State returns the object as it would be stored now, or null if it has no id.
func (d *ResourceData) State() cty.Value {
	f := d.object.fields[idField]
	if f == nil || !f.implicit {
		return value.UnknownAsNull(d.whole())
	}
	if d.id == "" {
		return cty.NullVal(d.object.ty)
	}
	d.written[idField] = cty.StringVal(d.id)
	return value.UnknownAsNull(d.whole())
}

// dropped adds the errors that a callback ignored to its diagnostics. Errors that it returned unchanged get their path.
func dropped(mistakes []error, reported diag.List) diag.List {
	all := reported
	for _, err := range mistakes {
		switch i := slices.IndexFunc(all, func(d *diag.Diagnostic) bool {
			return d.Summary == err.Error() &&
				d.Detail == ""
		}); {
		case i >= 0:
			all = slices.Clone(all)
			all[i] = setProblem(err)
		case !tells(all, err):
			all = all.Append(setProblem(err))
		}
	}
	return all
}

func tells(diags diag.List, err error) bool {
	for _, d := range diags {
		if strings.Contains(d.Summary, err.Error()) || strings.Contains(d.Detail, err.Error()) {
			return true
		}
	}
	return false
}

func setProblem(err error) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: diag.Error, Summary: "Invalid value from the provider",
		Detail: fmt.Sprintf("The provider set a value that its schema does not allow: %s %s", stopped(err.Error()),
			value.ProviderBug)}
	var p cty.PathError
	if errors.As(err, &p) {
		d.Path = p.Path
	}
	return d
}

// TestResourceDataRaw returns data for a unit test of a callback: the attributes of a configuration, as Go values for
// Set.
func TestResourceDataRaw(t interface{ Fatalf(string, ...interface{}) }, fields map[string]*Schema,
	raw map[string]interface{}) *ResourceData {
	rt := compile("test", &Resource{Schema: fields}, managed)
	config, err := rt.object.encode(nil, raw, cty.NilVal)
	if err == nil {
		config, err = rt.withDefaults(config)
	}
	if err != nil {
		t.Fatalf("the configuration does not fit the schema: %s", sentence(err))
	}
	null := cty.NullVal(rt.object.ty)
	d := newData(rt, reader{object: rt.object, old: null, now: config, config: config})
	d.fresh = true
	return d
}
