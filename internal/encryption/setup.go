package encryption

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/diag"
)

// Scope evaluates an expression of the settings, with variables, local values and functions. more contains values for
// further roots of references.
type Scope func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics)

// Options holds the environment in which the settings are used.
type Options struct {
	Scope Scope
	// Kinds holds additional key providers by kind.
	Kinds map[string]*Kind
	// Dir is the working directory of programs of the settings. MayRun allows or refuses their commands before they
	// run; nil allows all.
	Dir    string
	MayRun func(words []string) error
	// MayDo allows or refuses actions of other key providers that their block, or a file that it names, requires:
	// starting a program, or sending a token of the user. The line describes the action. Nil allows all.
	MayDo func(line string) error
}

// Programs holds the environment of programs.
type Programs struct {
	dir      string
	mayRun   func(words []string) error
	mayDo    func(line string) error
	failures *failures
}

// setup creates the methods that blocks configure.
type setup struct {
	config   *Config
	o        Options
	failures failures

	mu     sync.Mutex
	opened map[[sha256.Size]byte]method // the most recent methods with keys for a document
}

// New returns the encryption that the settings configure; c may be nil. Keys are requested when the first document is
// encrypted or decrypted. Problems contain no secrets.
func New(c *Config, o Options) (*Encryption, diag.List) {
	var diags diag.List
	if c == nil {
		return nil, nil
	}
	s := &setup{config: c, o: o}
	e := &Encryption{named: map[string]*Cipher{}}
	open := func(t *target, name string) (cipher *Cipher) {
		if t != nil {
			var more diag.List
			cipher, more = s.cipher(t, name)
			diags = diags.Extend(more)
		}
		return cipher
	}
	e.state, e.plan = open(c.state, "state"), open(c.plan, "plan")
	e.others = open(c.others, "states of data sources")
	for _, name := range slices.Sorted(maps.Keys(c.named)) {
		e.named[name] = open(c.named[name], "state of "+name)
	}
	if diags.HasErrors() {
		return nil, diags
	}
	for _, m := range c.methods {
		if m.kind == unencrypted {
			diags = diags.Warnf(&m.rng, "Unencrypted method configured",
				"The method %s writes documents without encryption%s. Use it only while you migrate to or from "+
					"encryption, then remove it.", m.address(), m.ignored())
		}
	}
	return e, diags
}

// cipher returns the cipher of a target.
func (s *setup) cipher(t *target, name string) (*Cipher, diag.List) {
	var diags diag.List
	c := &Cipher{target: name, setup: s}
	for f := t; f != nil; f = f.fallback {
		m, more := s.named(f)
		if diags = diags.Extend(more); m != nil {
			c.methods = append(c.methods, m)
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	for _, m := range c.methods {
		if t.enforced && m.kind == unencrypted {
			return nil, diags.Errorf(&t.rng, "Encryption is enforced",
				"The settings of the %s have enforced = true, but %s would not encrypt it.", name, m.address())
		}
	}
	return c, s.check(c.methods[0]) // fallbacks are checked when they are used, as in OpenTofu
}

// named returns the method to which a target refers.
func (s *setup) named(t *target) (*block, diag.List) {
	var diags diag.List
	if t.method == nil {
		return nil, diags.Errorf(&t.rng, "No encryption method", "It needs the argument method: method.TYPE.NAME.")
	}
	rng := t.method.Range()
	kind, name, ok := reference(t.method, "method")
	if !ok {
		return nil, diags.Errorf(&rng, "Not a reference to a method",
			"It must refer to a method block: method.TYPE.NAME.")
	}
	m := find(s.config.methods, kind, name)
	if m == nil {
		return nil, diags.Errorf(&rng, "Unknown encryption method", "There is no method block %q %q%s.",
			kind,
			name, diag.DidYouMean("method."+kind+"."+name, addresses(s.config.methods)))
	}
	return m, nil
}

func addresses(blocks []*block) (all []string) {
	for _, b := range blocks {
		all = append(all, b.address())
	}
	return all
}

// reference parses ROOT.KIND.NAME, which JSON contains as a string.
func reference(e hcl.Expression, root string) (kind, name string, ok bool) {
	t, problems := hcl.AbsTraversalForExpr(e)
	if problems.HasErrors() {
		return "", "", false
	}
	return split(t, root)
}

func split(t hcl.Traversal, root string) (kind, name string, ok bool) {
	if len(t) != 3 || t.RootName() != root {
		return "", "", false
	}
	k, isKind := t[1].(hcl.TraverseAttr)
	n, isName := t[2].(hcl.TraverseAttr)
	return k.Name, n.Name, isKind && isName
}

func (s *setup) programs() Programs { return Programs{s.o.Dir, s.o.MayRun, s.o.MayDo, &s.failures} }

// check reports problems of a method and of the key providers that it refers to, without requesting keys.
func (s *setup) check(b *block) diag.List {
	w := &walk{setup: s, keys: map[*block]cty.Value{}, out: metadata{}, dry: true}
	k := methods[b.kind]
	if b.kind == unencrypted {
		return nil // the content of the block is ignored, as in OpenTofu
	}
	if k == nil {
		return unknownMethod(b)
	}
	values, diags := w.arguments(b, k.Arguments, nil)
	if diags.HasErrors() || w.open {
		return diags
	}
	if _, err := k.make(values, s.programs()); err != nil {
		diags = invalidMethod(b, err)
	}
	return diags
}

func invalidMethod(b *block, err error) diag.List {
	return diag.List{}.Errorf(&b.rng, "Invalid method configuration", "%s: %s.", b.address(), err)
}

func unknownMethod(b *block) diag.List {
	return diag.List{}.Errorf(&b.rng, "Unknown encryption method type", "There is no method type %q. The types are: "+
		"%s.", b.kind,
		strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
}

// method returns a method with the keys of its key provider. in is the metadata of a document to decrypt; the metadata
// of newly encrypted documents is added to out.
func (s *setup) method(ctx context.Context, b *block, in, out metadata) (method, diag.List) {
	var diags diag.List
	k := methods[b.kind]
	if k == nil {
		return nil, unknownMethod(b)
	}
	w := &walk{setup: s, ctx: ctx, in: in, out: out, keys: map[*block]cty.Value{}}
	values, diags := w.arguments(b, k.Arguments, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	m, err := k.make(values, s.programs())
	if err != nil {
		return nil, invalidMethod(b, err)
	}
	return m, diags
}

// mostOpened is the maximum number of methods for documents that are cached.
const mostOpened = 16

// opening returns a method with the keys for a document. All documents written by one run have the same keys, and a run
// decrypts a dozen documents, so keys are derived or requested only once.
func (s *setup) opening(ctx context.Context, b *block, in metadata) (method, error) {
	text, err := json.Marshal(in) // sorted
	if err != nil {
		return nil, err
	}
	which := sha256.Sum256(append([]byte(b.address()+"\x00"), text...))
	s.mu.Lock()
	m := s.opened[which]
	s.mu.Unlock()
	if m != nil {
		return m, nil
	}
	m, diags := s.method(ctx, b, in, metadata{})
	if err := firstError(diags); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil || len(s.opened) >= mostOpened {
		s.opened = map[[sha256.Size]byte]method{}
	}
	s.opened[which] = m
	return m, nil
}

// walk requests the keys of one method, each once.
type walk struct {
	*setup
	ctx  context.Context
	in   metadata
	out  metadata
	keys map[*block]cty.Value
	dry  bool // do not request keys: use zeros if their size is known
	open bool // there are keys of unknown size
}

// arguments evaluates the arguments of a block. within lists the key providers that depend on it.
func (w *walk) arguments(b *block, schema map[string]Argument, within []*block) (values map[string]cty.Value,
	diags diag.List) {
	body := &hcl.BodySchema{}
	for name, a := range schema {
		if body.Attributes = append(body.Attributes, hcl.AttributeSchema{Name: name}); a.Block {
			body.Blocks = append(body.Blocks, hcl.BlockHeaderSchema{Type: name})
		}
	}
	values = map[string]cty.Value{}
	for _, one := range b.bodies {
		content, problems := one.Content(body)
		diags = diags.AppendHCL(problems)
		for name, a := range content.Attributes {
			value, more := w.value(a, schema[name], within)
			values[name] = value
			diags = diags.Extend(more)
		}
		for _, inner := range content.Blocks {
			value, more := w.object(inner, schema[inner.Type].Type, within)
			values[inner.Type] = value
			diags = diags.Extend(more)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		v, set := values[name]
		if set && !v.IsNull() {
			continue
		}
		values[name] = cty.NullVal(schema[name].Type)
		if schema[name].Required && !(set && w.dry) {
			diags = diags.Errorf(&b.rng, "Missing required argument", "%s needs the argument %q.", b.address(), name)
		}
	}
	return values, diags
}

// object evaluates a block that has the arguments of an object.
func (w *walk) object(b *hcl.Block, ty cty.Type, within []*block) (cty.Value, diag.List) {
	schema := map[string]Argument{}
	for name, t := range ty.AttributeTypes() {
		schema[name] = Argument{Type: t}
	}
	one := &block{root: b.Type, bodies: []hcl.Body{b.Body}, rng: b.DefRange}
	values, diags := w.arguments(one, schema, within)
	return cty.ObjectVal(values), diags
}

// value evaluates one argument. Errors do not contain its value.
func (w *walk) value(a *hcl.Attribute, want Argument, within []*block) (cty.Value, diag.List) {
	var diags diag.List
	rng := a.Expr.Range()
	value, more := w.expression(a.Expr, within)
	if diags = diags.Extend(more); more.HasErrors() {
		return cty.NullVal(want.Type), diags
	}
	value, _ = value.UnmarkDeep()
	// JSON contains references as strings.
	if value.Type() == cty.String && value.IsKnown() && !value.IsNull() && strings.HasPrefix(value.AsString(),
		"key_provider.") {
		if t, problems := hclsyntax.ParseTraversalAbs([]byte(value.AsString()), "",
			hcl.InitialPos); !problems.HasErrors() {
			value, more = w.expression(&hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: rng}, within)
			if diags = diags.Extend(more); more.HasErrors() {
				return cty.NullVal(want.Type), diags
			}
		}
	}
	if w.dry && mentionsKeys(a.Expr) && !value.IsWhollyKnown() {
		w.open = true
		return cty.NullVal(want.Type), diags
	}
	if !value.IsWhollyKnown() {
		return cty.NullVal(want.Type), diags.Errorf(&rng, "Unknown encryption setting",
			"The argument %s is needed before anything is evaluated. It can refer to variables with a value, to "+
				"local values that use only these, and to key providers.", a.Name)
	}
	converted, err := convert.Convert(value, want.Type)
	if err != nil {
		return cty.NullVal(want.Type), diags.Errorf(&rng, "Incorrect attribute value type",
			"The argument %s must be %s, but it is %s.", a.Name, want.Type.FriendlyNameForConstraint(),
			value.Type().FriendlyName())
	}
	return converted, diags
}

// mentionsKeys reports whether an expression refers to key providers, perhaps as a string.
func mentionsKeys(e hcl.Expression) bool {
	for _, t := range e.Variables() {
		if t.RootName() == "key_provider" {
			return true
		}
	}
	_, _, ok := reference(e, "key_provider")
	return ok
}

// expression evaluates an expression with the key providers to which it refers.
func (w *walk) expression(e hcl.Expression, within []*block) (cty.Value, diag.List) {
	var diags diag.List
	kinds := map[string]map[string]cty.Value{}
	for _, t := range e.Variables() {
		if t.RootName() != "key_provider" {
			continue
		}
		rng := t.SourceRange()
		kind, name, ok := split(t, "key_provider")
		if !ok {
			diags = diags.Errorf(&rng, "Not a reference to a key provider",
				"It must refer to a block: key_provider.TYPE.NAME.")
			continue
		}
		b := find(w.config.keys, kind, name)
		if b == nil {
			diags = diags.Errorf(&rng, "Unknown key provider",
				"There is no key_provider block %q %q%s.", kind, name,
				diag.DidYouMean("key_provider."+kind+"."+name, addresses(w.config.keys)))
			continue
		}
		value, more := w.key(b, within, &rng)
		diags = diags.Extend(more)
		if kinds[kind] == nil {
			kinds[kind] = map[string]cty.Value{}
		}
		kinds[kind][name] = value
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	more := map[string]cty.Value{}
	if len(kinds) > 0 {
		all := map[string]cty.Value{}
		for kind, names := range kinds {
			all[kind] = cty.ObjectVal(names)
		}
		more["key_provider"] = cty.ObjectVal(all)
	}
	value, problems := w.o.Scope(e, more)
	return value, diags.AppendHCL(problems)
}

// key returns the keys of a key provider, which it requests once.
func (w *walk) key(b *block, within []*block, rng *hcl.Range) (cty.Value, diag.List) {
	var diags diag.List
	if value, ok := w.keys[b]; ok {
		return value, nil
	}
	if i := slices.Index(within, b); i >= 0 {
		return cty.DynamicVal, diags.Errorf(rng, "Circular reference detected", "Key providers refer to each other "+
			"in a cycle: %s.",
			strings.Join(append(addresses(within[i:]), b.address()), " needs "))
	}
	k := w.kind(b.kind)
	if k == nil {
		return cty.DynamicVal, diags.Errorf(&b.rng, "Unknown key_provider type",
			"There is no key provider type %q. The types are: %s.",
			b.kind, strings.Join(w.kinds(), ", "))
	}
	schema := maps.Clone(k.Arguments)
	schema[alias] = Argument{Type: cty.String}
	before := w.open
	w.open = false
	values, diags := w.arguments(b, schema, append(slices.Clone(within), b))
	open := w.open
	w.open = open || before
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	value, diags := w.request(b, k, values, open)
	if !diags.HasErrors() {
		w.keys[b] = value
	}
	return value, diags
}

// request requests the keys of a key provider. In a dry walk it only checks them, unless its arguments contain keys of
// unknown size.
func (w *walk) request(b *block, k *Kind, values map[string]cty.Value, open bool) (cty.Value, diag.List) {
	var diags diag.List
	name := b.address()
	if v := values[alias]; !v.IsNull() && v.AsString() != "" {
		name = v.AsString()
	}
	var keys Keys
	var meta json.RawMessage
	var err error
	switch {
	case !w.dry:
		keys, meta, err = k.Keys(w.ctx, values, w.in[name], w.programs())
	case k.Check != nil && !open:
		var size int
		size, err = k.Check(values)
		keys.Encryption, meta = make([]byte, size), json.RawMessage{}
	}
	if err != nil {
		return cty.DynamicVal, diags.Errorf(&b.rng, "No encryption key", "%s: %s.", b.address(), err)
	}
	if meta != nil {
		if _, twice := w.out[name]; twice {
			return cty.DynamicVal, diags.Errorf(&b.rng, "Metadata with the same name",
				"Two key providers of one method use the metadata key %q: set a different encrypted_metadata_alias.",
				name)
		}
		w.out[name] = meta
	}
	if len(keys.Encryption) == 0 && w.dry {
		return cty.DynamicVal, diags
	}
	return keys.value(), diags
}

// alias is an argument of all key providers: another name for their metadata in documents.
const alias = "encrypted_metadata_alias"

func (s *setup) kind(name string) *Kind {
	if k := s.o.Kinds[name]; k != nil {
		return k
	}
	return builtin[name]
}

func (s *setup) kinds() (all []string) {
	set := maps.Clone(builtin)
	maps.Copy(set, s.o.Kinds)
	return slices.Sorted(maps.Keys(set))
}

// Kind is a kind of key provider.
type Kind struct {
	Arguments map[string]Argument
	// Check returns the size of the keys in bytes, or the problem with the arguments. It requests no keys. It is nil if
	// the size is only known with the keys.
	Check func(arguments map[string]cty.Value) (size int, err error)
	// Keys returns keys. in is the metadata of a document to decrypt, or nil; meta is the metadata for documents
	// encrypted with the keys, or nil if none is needed.
	Keys func(ctx context.Context, arguments map[string]cty.Value, in json.RawMessage, p Programs) (keys Keys,
		meta json.RawMessage, err error)
}

// Argument is an argument of a key provider or of a method.
type Argument struct {
	Type     cty.Type // cty.DynamicPseudoType accepts any value
	Required bool
	Block    bool // it may also be written as a block; its type is an object
}

// Keys holds the keys of a key provider: one for encryption, and one for the document to decrypt, which may be missing.
type Keys struct {
	Encryption []byte `json:"encryption_key,omitempty"`
	Decryption []byte `json:"decryption_key,omitempty"`
}

// value returns keys as values of expressions: lists of numbers, as in OpenTofu.
func (k Keys) value() cty.Value {
	list := func(key []byte) cty.Value {
		if len(key) == 0 {
			return cty.NullVal(cty.List(cty.Number))
		}
		all := make([]cty.Value, len(key))
		for i, b := range key {
			all[i] = cty.NumberIntVal(int64(b))
		}
		return cty.ListVal(all)
	}
	return cty.ObjectVal(map[string]cty.Value{"encryption_key": list(k.Encryption),
		"decryption_key": list(k.Decryption)})
}

// keysOf returns the keys in the value of an expression.
func keysOf(v cty.Value) (k Keys, err error) {
	if v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return k, fmt.Errorf("these are not keys: expected a reference to a key provider (key_provider.TYPE.NAME)")
	}
	all := v.AsValueMap()
	if all["encryption_key"] == cty.NilVal {
		return k, fmt.Errorf("these are not keys: there is no encryption_key")
	}
	if k.Encryption, err = bytesOf(all["encryption_key"]); err == nil && all["decryption_key"] != cty.NilVal {
		k.Decryption, err = bytesOf(all["decryption_key"])
	}
	return k, err
}

// bytesOf converts a list of numbers from 0 to 255.
func bytesOf(v cty.Value) ([]byte, error) {
	if v.IsNull() {
		return nil, nil
	}
	list, err := convert.Convert(v, cty.List(cty.Number))
	if err != nil {
		return nil, fmt.Errorf("expected a list of numbers")
	}
	var out []byte
	for _, e := range list.AsValueSlice() {
		n, accuracy := -1, 0
		if !e.IsNull() {
			i, a := e.AsBigFloat().Int64()
			n, accuracy = int(i), int(a)
		}
		if n < 0 || n > 255 || accuracy != 0 {
			return nil, fmt.Errorf("expected a list of whole numbers from 0 to 255")
		}
		out = append(out, byte(n))
	}
	return out, nil
}
