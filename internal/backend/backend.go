// Package backend holds the types of backends, their arguments, and the record of a backend block that init keeps in
// the data folder. The record reveals that the block has changed: with another place the state would be missing, and
// apply would create everything again. It equals Terraform's byte for byte.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// Backend is the location of states: the settings of a backend block, or init's record of them.
type Backend struct {
	Type string
	// Config has a value for every argument of the type, or null for those that are not set. For an unknown type it is
	// cty.NilVal. It may contain passwords.
	Config cty.Value
	// Hash is the hash of the block as written. It equals Terraform's, so that each program accepts the record of the
	// other.
	Hash uint64
	// block is the configuration of the block itself, without settings from other sources.
	block cty.Value
	// record is the configuration as a program recorded it, with the arguments of that program.
	record json.RawMessage
	// ranges holds the source ranges of arguments, except for secret ones, whose code must not be shown.
	ranges map[string]hcl.Range
}

// Of returns the backend of a root module's block, or nil if there is none.
func Of(root *config.Module) (*Backend, diag.List) {
	var diags diag.List
	b := &Backend{Type: cloudType}
	var body hcl.Body
	switch {
	case root.Cloud != nil:
		body = root.Cloud.Body
	case root.Backend == nil:
		return nil, nil
	case kinds[root.Backend.Type] == nil, root.Backend.Type == cloudType:
		return nil, diags.Errorf(&root.Backend.Range, "Unsupported backend type", "%s", noBackend(root.Backend.Type))
	default:
		b.Type, body = root.Backend.Type, root.Backend.Body
	}
	attrs, diags := b.Body(body)
	if root.EarlyVariables() {
		var more diag.List
		attrs, more = settled(root, attrs)
		diags = diags.Extend(more)
	}
	diags = diags.Extend(b.Set(attrs))
	b.block = b.Config
	b.Hash = hash(b.Type, b.recorded())
	return b, diags
}

// Body returns the arguments of a block, or of a file with settings. Objects may be written as blocks, which the other
// programs allow for some arguments.
func (b *Backend) Body(body hcl.Body) (attrs hcl.Attributes, diags diag.List) {
	schema := &hcl.BodySchema{}
	for _, name := range slices.Sorted(maps.Keys(b.kind().Blocks)) {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: name})
	}
	content, _, hclDiags := body.PartialContent(schema)
	if len(content.Blocks) == 0 || hclDiags.HasErrors() {
		attrs, hclDiags = body.JustAttributes()
		return attrs, diags.AppendHCL(hclDiags)
	}
	for _, name := range b.Arguments() {
		if !b.kind().Blocks[name] {
			schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
		}
	}
	content, hclDiags = body.Content(schema)
	diags = diags.AppendHCL(hclDiags)
	attrs = content.Attributes
	if attrs == nil {
		attrs = hcl.Attributes{}
	}
	for _, block := range content.Blocks {
		several := b.attributes()[block.Type].ImpliedType().IsSetType()
		if attrs[block.Type] != nil && !several {
			diags = diags.Errorf(&block.DefRange, "Duplicate "+block.Type+" block", "The backend can have only one "+
				"%s block. Remove the others.", block.Type)
			continue
		}
		inner, hclDiags := block.Body.JustAttributes()
		diags = diags.AppendHCL(hclDiags)
		values := map[string]cty.Value{}
		for name, a := range inner {
			v, hclDiags := a.Expr.Value(nil)
			if diags = diags.Extend(constant(name, hclDiags)); hclDiags.HasErrors() {
				v = cty.DynamicVal
			}
			values[name] = v
		}
		value := cty.ObjectVal(values)
		if several {
			all := []cty.Value{value}
			if before := attrs[block.Type]; before != nil {
				v, _ := before.Expr.Value(nil) // it is a constant
				all = append(v.AsValueSlice(), value)
			}
			value = cty.TupleVal(all)
		}
		attrs[block.Type] = &hcl.Attribute{Name: block.Type, Range: block.DefRange, NameRange: block.TypeRange,
			Expr: hcl.StaticExpr(value, block.DefRange)}
	}
	return attrs, diags
}

// settled returns the arguments of a block with references replaced by their values. It omits those with an error.
func settled(root *config.Module, attrs hcl.Attributes) (hcl.Attributes, diag.List) {
	var diags diag.List
	out := maps.Clone(attrs)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := *attrs[name]
		if _, problems := attr.Expr.Value(nil); !problems.HasErrors() {
			continue
		}
		v, more := root.Early(attr.Expr, name)
		if diags = diags.Extend(more); !v.IsWhollyKnown() {
			delete(out, name)
			continue
		}
		attr.Expr = hcl.StaticExpr(v, attr.Expr.Range())
		out[name] = &attr
	}
	return out, diags
}

// FromValue returns a backend whose arguments are in an object or a map; they may be null.
func FromValue(name string, config cty.Value) (*Backend, diag.List) {
	b := &Backend{Type: name}
	if b.kind() == nil {
		return nil, diag.List{}.Errorf(nil, "Unsupported backend type", "%s", noBackend(name))
	}
	attrs := hcl.Attributes{}
	if !config.IsNull() {
		for it := config.ElementIterator(); it.Next(); {
			k, v := it.Element()
			attrs[k.AsString()] = &hcl.Attribute{Name: k.AsString(), Expr: hcl.StaticExpr(v, hcl.Range{})}
		}
	}
	return b, b.Set(attrs)
}

// Types returns the backends by name, each as an object type with its arguments.
func Types() map[string]cty.Type {
	types := map[string]cty.Type{}
	for name := range kinds {
		arguments := map[string]cty.Type{}
		for argument, a := range (&Backend{Type: name}).attributes() {
			arguments[argument] = a.ConfigType()
		}
		types[name] = cty.Object(arguments)
	}
	return types
}

// Place describes the kind of storage, for messages.
func (b *Backend) Place() string { return b.kind().Place }

// kind returns the kind of the backend, or nil for an unknown type.
func (b *Backend) kind() *remote.Kind { return kinds[b.Type] }

// attributes returns the arguments of the type.
func (b *Backend) attributes() map[string]*provider.Attribute {
	all := maps.Clone(b.kind().Schema.Attributes)
	maps.Copy(all, b.kind().More)
	return all
}

// Arguments returns the names of all arguments of the type.
func (b *Backend) Arguments() []string { return slices.Sorted(maps.Keys(b.attributes())) }

// recorded returns the configuration as Terraform records it. If it sets an argument that Terraform lacks, it is
// recorded as by OpenTofu: with all of OpenTofu's arguments, set or not.
func (b *Backend) recorded() cty.Value {
	values := b.Config.AsValueMap()
	more := b.kind().More
	for name := range more {
		if !values[name].IsNull() {
			return b.Config
		}
	}
	for name := range more {
		delete(values, name)
	}
	return cty.ObjectVal(values)
}

// Simple reports whether an argument is a string, a number or a bool, so that the command line can set it as text.
func (b *Backend) Simple(name string) bool {
	a := b.attributes()[name]
	return a == nil || a.ImpliedType().IsPrimitiveType()
}

// Text returns a string argument, or "" if it is not set.
func (b *Backend) Text(name string) string {
	if v := b.Config.GetAttr(name); !v.IsNull() {
		return v.AsString()
	}
	return ""
}

// Set applies settings from a block, a file or the command line.
func (b *Backend) Set(attrs hcl.Attributes) (diags diag.List) {
	schema := b.attributes()
	values := map[string]cty.Value{}
	for name, a := range schema {
		if ty := a.ImpliedType(); b.Config != cty.NilVal {
			values[name] = b.Config.GetAttr(name)
		} else if values[name] = cty.NullVal(ty); b.kind().Blocks[name] && ty.IsSetType() {
			values[name] = cty.SetValEmpty(ty.ElementType()) // there is no such block
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		a := schema[name]
		if a == nil {
			names := b.Arguments()
			diags = diags.Errorf(&attr.NameRange, "Unsupported argument",
				"The backend %q has no argument named %q. It has %s.%s", b.Type, name, listed(names),
				diag.DidYouMean(name, names))
			continue
		}
		v, hclDiags := attr.Expr.Value(nil)
		if diags = diags.Extend(constant(name, hclDiags)); hclDiags.HasErrors() {
			continue
		}
		v, err := convert.Convert(v, a.ConfigType())
		if err != nil {
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Incorrect attribute value type",
				"The argument %s of the backend has the wrong type: %s.", name, wanted(a.ImpliedType(), err))
			continue
		}
		values[name] = v
		if at := attr.Expr.Range(); at.Filename != "" && !secret(a) {
			if b.ranges == nil {
				b.ranges = map[string]hcl.Range{}
			}
			b.ranges[name] = at
		}
	}
	b.Config = cty.ObjectVal(values)
	return diags
}

// constant returns the problems of a setting that is not a constant.
func constant(name string, of hcl.Diagnostics) (diags diag.List) {
	for _, d := range of {
		if d.Summary == "Variables not allowed" {
			diags = diags.Errorf(d.Subject, d.Summary, "The backend is set up before expressions are evaluated, so "+
				"its arguments must be constants. Remove %s from the block, and set it with "+
				"-backend-config=%[1]s=VALUE, "+
				"with a file of settings (-backend-config=FILE), or with its environment variable if it has one.", name)
			continue
		}
		diags = diags.AppendHCL(hcl.Diagnostics{d})
	}
	return diags
}

// Located copies the source ranges of the arguments from the block of which this is the record.
func (b *Backend) Located(block *Backend) *Backend {
	located := *b
	located.ranges = block.ranges
	return &located
}

// listed returns the names of arguments for messages, or only the first if there are many.
func listed(names []string) string {
	const few = 8
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > few:
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d others", len(names)-few)
	}
	return strings.Join(names, " and ")
}

// wanted returns the expected type of an argument, and the path at which a value differs from it.
func wanted(want cty.Type, err error) string {
	if want.IsPrimitiveType() {
		return "it must be a " + want.FriendlyName()
	}
	var at cty.PathError
	if errors.As(err, &at) {
		return fmt.Sprintf("%s%s", ctypath(at.Path), at.Error())
	}
	return err.Error()
}

func ctypath(p cty.Path) (text string) {
	for _, step := range p {
		if name, ok := step.(cty.GetAttrStep); ok {
			text += name.Name + ": "
		}
	}
	return text
}

// Check reports invalid settings, after those of the command line have been applied.
func (b *Backend) Check(block *config.Backend) (diags diag.List) {
	if block == nil || b.Type != "local" {
		return nil
	}
	attrs, _ := block.Body.JustAttributes() // Of has reported the problems
	for _, one := range [][2]string{{"path", "Invalid local state file path"},
		{"workspace_dir", "Invalid local workspace directory path"}} {
		name, summary := one[0], one[1]
		if v := b.Config.GetAttr(name); v.IsNull() || v.AsString() != "" {
			continue
		}
		at := block.Range
		if attr := attrs[name]; attr != nil {
			at = attr.Expr.Range()
		}
		diags = diags.Errorf(&at, summary,
			"The %q attribute value must not be empty. Remove the argument to use the default, or set a path.", name)
	}
	return diags
}

// hash returns the hash of a block as Terraform and OpenTofu compute it, from the type and all arguments, sorted by
// name.
func hash(label string, config cty.Value) uint64 {
	return uint64(cty.TupleVal([]cty.Value{cty.StringVal(label), config}).Hash())
}

// IsRecordOf reports whether this is init's record of a block, perhaps with additional settings. Each program hashes
// all arguments that it has, set or not, so if the record has arguments that ours lacks, IsRecordOf compares the hash
// of those.
func (b *Backend) IsRecordOf(block *Backend) bool {
	if b == nil || block == nil || b.Type != block.Type {
		return false
	}
	if b.Hash == block.Hash {
		return true
	}
	config, ok := shaped(block.block, b.record)
	return ok && b.Hash == hash(b.Type, config)
}

// shaped returns a value with the attributes of the recorded objects. It also reports whether the value sets no others.
func shaped(v cty.Value, record json.RawMessage) (cty.Value, bool) {
	var names map[string]json.RawMessage
	if v == cty.NilVal || v.IsNull() || !v.Type().IsObjectType() || json.Unmarshal(record, &names) != nil {
		return v, v != cty.NilVal
	}
	all, ok := v.AsValueMap(), true
	values := map[string]cty.Value{}
	for name, part := range names {
		if values[name] = cty.NullVal(cty.DynamicPseudoType); all[name] != cty.NilVal {
			var same bool
			values[name], same = shaped(all[name], part)
			ok = ok && same
		}
		delete(all, name)
	}
	for _, more := range all {
		ok = ok && more.IsNull()
	}
	return cty.ObjectVal(values), ok
}

// SamePlace reports whether two backends keep their states in the same location.
func (b *Backend) SamePlace(other *Backend) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.Type == other.Type && b.kind() != nil && ctyfast.RawEquals(b.Config, other.Config)
}

// IsCloud reports whether the backend comes from a cloud block, or from the record of one.
func (b *Backend) IsCloud() bool { return b != nil && b.Type == cloudType }

// Block returns the kind of block that configures the backend, for messages.
func (b *Backend) Block() string {
	if b.IsCloud() {
		return "a cloud block"
	}
	return fmt.Sprintf("a backend block of the type %q", b.Type)
}

// InMemory reports whether states are lost when the process ends.
func (b *Backend) InMemory() bool { return b != nil && b.Type == "inmem" }

// InService reports whether a service that a driver reaches keeps the states.
func (b *Backend) InService() bool { return b != nil && b.kind() != nil && b.kind().Open != nil }

// Readable reports whether the states of a backend can be read: a record may be of a backend that only Terraform has.
func (b *Backend) Readable() bool { return b == nil || b.kind() != nil }

// Programs returns the programs that are started to access the states because the working directory names them.
func (b *Backend) Programs(o remote.Surroundings) []remote.Program {
	if !b.InService() || b.kind().Programs == nil {
		return nil
	}
	return b.kind().Programs(b.Config, o)
}

// Driver returns the driver of the service. Problems of arguments have their source ranges.
func (b *Backend) Driver(ctx context.Context, o remote.Surroundings) (remote.Driver, diag.List) {
	driver, diags := b.kind().Open(ctx, b.Config, o)
	for i, d := range diags {
		if d.Subject != nil || len(d.Path) == 0 {
			continue
		}
		name, _ := d.Path[0].(cty.GetAttrStep)
		if at, ok := b.ranges[name.Name]; ok {
			located := *d
			located.Subject = &at
			diags[i] = &located
		}
	}
	return driver, diags
}

// Asked returns the required arguments that are not set, sorted by name, and their descriptions, for prompts.
func (b *Backend) Asked(getenv func(string) string) (names, texts []string) {
	for _, name := range slices.Sorted(maps.Keys(b.kind().Needed)) {
		variable := b.kind().Needed[name]
		if b.Config.GetAttr(name).IsNull() && (variable == "" || getenv(variable) == "") {
			names, texts = append(names, name), append(texts, b.attributes()[name].Description)
		}
	}
	return names, texts
}

// Options returns the options of the local store. A nil backend means the layout of the working directory.
func (b *Backend) Options() (o BackendOptions) {
	if b == nil || b.Type != "local" {
		return o
	}
	return BackendOptions{Path: b.Text("path"), WorkspaceDir: b.Text("workspace_dir")}
}

// BackendOptions holds the options of a store that depend on the backend.
type BackendOptions struct{ Path, WorkspaceDir string }

// Store returns the options of a store, with defaults for all others.
func (o BackendOptions) Store() store.Options {
	return store.Options{Path: o.Path, WorkspaceDir: o.WorkspaceDir}
}

// backendFile is the record on disk, in Terraform's format, which derives from an old format of states.
type backendFile struct {
	Version          int             `json:"version"`
	TerraformVersion string          `json:"terraform_version"`
	Backend          *backendSection `json:"backend,omitempty"`
	Remote           json.RawMessage `json:"remote,omitempty"` // written by versions before 0.9
}

type backendSection struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Hash   uint64          `json:"hash"`
}

// recordName is the record's name in the data folder.
const recordName = "terraform.tfstate"

// Recorded returns init's record in a data folder, or nil if there is no record or if it names no backend.
func Recorded(dataDir string) (*Backend, error) {
	name := filepath.Join(dataDir, recordName)
	text, err := regular.Read(name, regular.Note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file backendFile
	if err == nil {
		err = file.read(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of the backend in %s: %w", name, err)
	}
	if file.Backend == nil || file.Backend.Type == "" {
		return nil, nil
	}
	b := &Backend{Type: file.Backend.Type, Hash: file.Backend.Hash, record: file.Backend.Config}
	if !b.Readable() {
		return b, nil
	}
	if b.Config, err = recordedConfig(file.Backend.Config, b.attributes()); err != nil {
		return nil, diag.Advised(fmt.Errorf("the record of the backend in %s: %w", name, err),
			"Set up the directory again with \"%s\".", diag.Run("init", "-reconfigure"))
	}
	return b, nil
}

// recordedConfig decodes a recorded configuration. Another program may have more or fewer arguments.
func recordedConfig(text json.RawMessage, schema map[string]*provider.Attribute) (cty.Value, error) {
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(text, &recorded); err != nil {
		return cty.NilVal, err
	}
	values := map[string]cty.Value{}
	for name, a := range schema {
		values[name] = cty.NullVal(a.ImpliedType())
		if recorded[name] == nil {
			continue
		}
		v, err := ctyjson.Unmarshal(recorded[name], a.ImpliedType())
		if err != nil {
			return cty.NilVal, fmt.Errorf("the argument %s has the wrong type", name)
		}
		values[name] = v
	}
	return cty.ObjectVal(values), nil
}

// Record writes the record; a nil backend means the local layout in the working directory. Links in the path of the
// data folder must not lead out of base.
func Record(base, dataDir string, b *Backend) error {
	file := backendFile{Version: 3, TerraformVersion: state.LanguageVersion}
	perm := fs.FileMode(0o666)
	if b != nil {
		value := b.recorded()
		config, err := ctyjson.Marshal(value, b.typeOf(value))
		if err != nil {
			return err
		}
		file.Backend = &backendSection{Type: b.Type, Hash: b.Hash, Config: config}
		if b.secret() {
			perm = 0o600
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return replace.Own(base, filepath.Join(dataDir, recordName), perm, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// typeOf returns the type of a configuration according to the schema: a value of a dynamic type is recorded with its
// type.
func (b *Backend) typeOf(value cty.Value) cty.Type {
	types := map[string]cty.Type{}
	for name, a := range b.attributes() {
		if value.Type().HasAttribute(name) {
			types[name] = a.ImpliedType()
		}
	}
	return cty.Object(types)
}

// secret reports whether a sensitive argument is set.
func (b *Backend) secret() bool {
	for name, a := range b.attributes() {
		if a.Sensitive && !b.Config.GetAttr(name).IsNull() {
			return true
		}
	}
	return false
}

// secret reports whether an argument, or a part of it, is sensitive.
func secret(a *provider.Attribute) bool {
	if a.Sensitive || a.Nested == nil {
		return a.Sensitive
	}
	for _, part := range a.Nested.Attributes {
		if secret(part) {
			return true
		}
	}
	return false
}
