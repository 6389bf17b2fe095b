package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
)

func (d *decoder) resources(s *State) error {
	if null, err := d.null(); null || err != nil {
		return err
	}
	return d.array(func(i int) error {
		d.resource, d.instance, d.address = i, -1, ""
		at := d.offset()
		r, err := d.readResource()
		if err != nil {
			return err
		}
		if s.resources[r.Addr] != nil {
			if err := merge(s.resources[r.Addr], r); err != nil {
				return &scanError{at, err.Error()}
			}
			return nil
		}
		s.resources[r.Addr] = r
		return nil
	})
}

// merge adds the instances of a resource that is listed twice, as some tools write it.
func merge(into, from *Resource) error {
	if into.Provider != from.Provider {
		return fmt.Errorf("the resource is listed twice, with different providers")
	}
	for _, key := range from.Keys() {
		i, old := from.Instances[key], into.Instances[key]
		if old == nil {
			into.Instances[key] = i
			continue
		}
		if i.Current != nil && old.Current != nil {
			return fmt.Errorf("the instance %s is listed twice", from.Addr.Instance(key))
		}
		if i.Current != nil {
			old.Current = i.Current
		}
		for _, k := range i.DeposedKeys() {
			if old.Deposed[k] != nil {
				return fmt.Errorf("the deposed object %s of %s is listed twice", k, from.Addr.Instance(key))
			}
			if old.Deposed == nil {
				old.Deposed = map[addr.DeposedKey]*Object{}
			}
			old.Deposed[k] = i.Deposed[k]
		}
	}
	return nil
}

var resourceFields = []string{"module", "mode", "type", "name", "provider", "instances"}

func (d *decoder) readResource() (*Resource, error) {
	at := d.offset()
	r := &Resource{Instances: map[addr.Key]*Instance{}}
	var owners []*Object // objects with their own provider
	total := 0
	err := d.fields(resourceFields, func(i int) (err error) {
		if i < 5 {
			err = d.resourceHead(r, i)
			if r.Addr.Resource.Name != "" && r.Addr.Resource.Type != "" {
				d.address = r.Addr.String()
			}
			return err
		}
		if null, err := d.null(); null || err != nil {
			return err
		}
		return d.array(func(i int) error {
			d.instance = i
			at := d.offset()
			key, deposed, o, err := d.readObject()
			if err != nil {
				return err
			}
			total++
			if o.Provider != nil {
				owners = append(owners, o)
			}
			if !r.place(key, deposed, o) {
				return &scanError{
					at, fmt.Sprintf("%s is listed twice", addr.Object{Instance: r.Addr.Instance(key),
						Deposed: deposed})}
			}
			return nil
		})
	}, nil)
	if err != nil {
		return nil, err
	}
	d.instance = -1
	if msg := r.settle(owners, total); msg != "" {
		return nil, &scanError{at, msg}
	}
	return r, nil
}

// resourceHead decodes a member that identifies the resource or its provider.
func (d *decoder) resourceHead(r *Resource, i int) (err error) {
	at := d.offset()
	word := ""
	if i != 0 && i != 4 {
		if word, err = d.word(); err != nil {
			return err
		}
	}
	switch i {
	case 0:
		r.Addr.Module, err = intern(d, &d.modules, parseModule)
	case 1:
		switch {
		case word == "action" && d.actions:
			r.Addr.Resource.Mode = addr.Action
		case word == "managed":
			r.Addr.Resource.Mode = addr.Managed
		case word == "data":
			r.Addr.Resource.Mode = addr.Data
		default:
			return &scanError{at, fmt.Sprintf(`unknown resource mode %q: expected "managed" or "data"`, word)}
		}
	case 2:
		r.Addr.Resource.Type = word
	case 3:
		r.Addr.Resource.Name = word
	case 4:
		r.Provider, err = intern(d, &d.providers, parseProvider)
	}
	if (i == 2 || i == 3) && !validName(word) {
		return &scanError{at, fmt.Sprintf("%q is not a valid name for a resource or its type", word)}
	}
	return err
}

// place stores an object under its keys, and reports whether there was none yet.
func (r *Resource) place(key addr.Key, deposed addr.DeposedKey, o *Object) bool {
	i := r.Instances[key]
	if i == nil {
		i = &Instance{}
		r.Instances[key] = i
	}
	if deposed == "" {
		free := i.Current == nil
		i.Current = o
		return free
	}
	if i.Deposed == nil {
		i.Deposed = map[addr.DeposedKey]*Object{}
	}
	free := i.Deposed[deposed] == nil
	i.Deposed[deposed] = o
	return free
}

// settle checks that the resource is complete. OpenTofu may store the provider in each instance instead of the
// resource; if all are the same, it is moved to the resource, where Terraform expects it.
func (r *Resource) settle(owners []*Object, total int) string {
	switch {
	case r.Addr.Resource.Mode == 0:
		return `the resource has no "mode"`
	case r.Addr.Resource.Type == "" || r.Addr.Resource.Name == "":
		return `the resource has no "type" or no "name"`
	}
	if r.Provider == (addr.AbsProviderConfig{}) {
		if len(owners) == 0 || len(owners) < total {
			return `the resource has no "provider", so its objects cannot be managed`
		}
		r.Provider = owners[0].Provider.Block()
	}
	for _, o := range owners {
		if *o.Provider == r.Provider {
			o.Provider = nil
		}
	}
	if !r.Provider.Key.IsNone() {
		r.Instances = r.withOwners().Instances // each object names its provider instance
		r.Provider = r.Provider.Block()
	}
	return ""
}

// ownedByInstances reports whether several instances of a provider block manage the objects of the resource.
func (r *Resource) ownedByInstances() bool {
	for _, i := range r.Instances {
		if i.Current != nil && i.Current.Provider != nil && !i.Current.Provider.Key.IsNone() {
			return true
		}
		for _, o := range i.Deposed {
			if o.Provider != nil && !o.Provider.Key.IsNone() {
				return true
			}
		}
	}
	return false
}

// Manager returns the provider configuration of an object of the resource in the form of edits: that of the resource,
// or the instance of it that the object names.
func (r *Resource) Manager(o *Object) addr.AbsProviderConfig {
	if o != nil && o.Provider != nil && !o.Provider.Key.IsNone() {
		return *o.Provider
	}
	return r.Provider
}

// withOwners returns the resource without a provider, and with the provider in each object, as OpenTofu writes it.
func (r *Resource) withOwners() *Resource {
	of := r.Provider
	owned := func(o *Object) *Object {
		if o == nil || o.Provider != nil {
			return o
		}
		c := *o
		c.Provider = &of
		return &c
	}
	out := &Resource{Addr: r.Addr, Instances: make(map[addr.Key]*Instance, len(r.Instances))}
	for key, i := range r.Instances {
		own := &Instance{Current: owned(i.Current), Deposed: make(map[addr.DeposedKey]*Object, len(i.Deposed))}
		for k, o := range i.Deposed {
			own.Deposed[k] = owned(o)
		}
		out.Instances[key] = own
	}
	return out
}

var objectFields = []string{"index_key", "status", "deposed", "schema_version", "attributes", "attributes_flat",
	"sensitive_attributes",
	"identity_schema_version", "identity", "private", "dependencies", "create_before_destroy", "provider",
	"skip_destroy", protectedField, readAtField}

// Fields that only this program writes.
const (
	protectedField = "tombolo_prevent_destroy"
	readAtField    = "tombolo_read_at"
)

// readObject decodes an element of "instances": one object, current or deposed.
func (d *decoder) readObject() (key addr.Key, deposed addr.DeposedKey, o *Object, err error) {
	made := &struct { // one allocation for values that are always needed together
		Object
		cache decoded
	}{}
	o = &made.Object
	err = d.fields(objectFields, func(i int) error {
		switch i {
		case 0:
			key, err = d.key()
		case 2:
			deposed, err = d.deposedKey()
		default:
			err = d.objectField(o, i)
		}
		return err
	}, nil)
	if err != nil {
		return key, deposed, nil, err
	}
	if o.Identity == nil {
		o.IdentityVersion = 0 // a version without an identity
	}
	if o.Attributes != nil {
		o.Flat = nil
	} else if o.Flat == nil {
		o.Attributes = json.RawMessage("{}") // as Terraform completes it
	}
	if o.Attributes != nil {
		o.decoded = made.cache.of(o.Attributes)
	}
	return key, deposed, o, nil
}

func (d *decoder) objectField(o *Object, i int) (err error) {
	if objectFields[i] == "attributes" { // null is a value here
		d.attrs, err = d.raw(d.attrs[:0])
		o.Attributes = bytes.Clone(d.attrs)
		return err
	}
	if null, err := d.null(); null || err != nil {
		return err
	}
	at := d.offset()
	switch objectFields[i] {
	case "status":
		o.Status, err = d.status()
	case "schema_version":
		o.SchemaVersion, err = d.natural()
	case "identity_schema_version":
		o.IdentityVersion, err = d.natural()
	case "attributes_flat":
		o.Flat = map[string]string{}
		err = d.object(func(name string) error {
			o.Flat[name], err = d.text()
			return err
		})
	case "sensitive_attributes":
		err = d.array(func(int) error {
			var p cty.Path
			p, err = d.path()
			o.Sensitive = append(o.Sensitive, p)
			return err
		})
	case "identity":
		o.Identity, err = d.raw(nil)
	case "private":
		var text []byte
		if text, err = d.string(); err != nil {
			return err
		}
		if o.Private, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
			return &scanError{at, "private data is not valid base64"}
		}
	case "dependencies":
		o.Dependencies, err = d.dependencies()
	case "create_before_destroy":
		o.CreateBeforeDestroy, err = d.bool()
	case "provider":
		var p addr.AbsProviderConfig
		if p, err = intern(d, &d.providers, parseProvider); p != (addr.AbsProviderConfig{}) {
			o.Provider = &p
		}
	case "skip_destroy":
		o.SkipDestroy, err = d.bool()
	case protectedField:
		o.Protected, err = d.bool()
	case readAtField:
		o.ReadAt, err = d.natural()
	}
	return err
}

// natural decodes a number that is not negative.
func (d *decoder) natural() (int64, error) {
	n, err := d.uint(math.MaxInt64)
	return int64(n), err
}

func (d *decoder) dependencies() (deps []addr.ConfigResource, err error) {
	at := d.offset()
	return deps, d.array(func(int) error {
		dep, err := intern(d, &d.deps, parseDependency)
		if err == nil && dep == (addr.ConfigResource{}) {
			err = &scanError{at, "a dependency is empty: expected the address of a resource in the configuration"}
		}
		deps = append(deps, dep)
		return err
	})
}

func (d *decoder) status() (Status, error) {
	at := d.offset()
	word, err := d.string()
	switch {
	case err != nil:
		return Ready, err
	case len(word) == 0:
		return Ready, nil
	case string(word) == "tainted":
		return Tainted, nil
	}
	return Ready, &scanError{at, fmt.Sprintf(`unknown status %q: expected none or "tainted"`, word)}
}

func (d *decoder) deposedKey() (addr.DeposedKey, error) {
	at := d.offset()
	word, err := d.text()
	if err != nil || word == "" {
		return "", err
	}
	hex := func(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' }
	if len(word) != 8 || strings.IndexFunc(word, func(r rune) bool { return !hex(r) }) >= 0 {
		return "", &scanError{at, fmt.Sprintf("deposed key %q: expected eight hexadecimal digits", word)}
	}
	return addr.DeposedKey(word), nil
}

// key decodes an instance key: a string or a whole number.
func (d *decoder) key() (addr.Key, error) {
	c, err := d.next()
	if err != nil {
		return addr.NoKey, err
	}
	switch {
	case c == '"':
		text, err := d.string()
		return addr.StringKey(string(text)), err
	case c == 'n':
		_, err := d.null()
		return addr.NoKey, err
	case c == '-' || c >= '0' && c <= '9':
		n, err := d.uint(math.MaxInt)
		return addr.IntKey(int(n)), err
	}
	return addr.NoKey, d.errorf("an instance key must be a string or a whole number that is not negative")
}

func (d *decoder) path() (cty.Path, error) {
	at := d.offset()
	raw, err := d.raw(d.attrs[:0])
	if err != nil {
		return nil, err
	}
	d.attrs = raw
	if p, ok := d.paths[string(raw)]; ok {
		return p, nil
	}
	p, err := ParsePath(raw)
	if err != nil {
		return nil, &scanError{at, "in a sensitive path, " + err.Error()}
	}
	if d.paths == nil {
		d.paths = map[string]cty.Path{}
	}
	d.paths[string(raw)] = slices.Clip(p)
	return p, nil
}
