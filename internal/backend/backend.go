// Package backend knows the places where states can be kept: what a backend block may say, and the record that init
// keeps of it in the data folder. The record keeps a change of the block from going unnoticed: with another place the
// state would be missing, and apply would create everything once more. It is Terraform's, byte for byte.
package backend

import (
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

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
)

// Backend says where states are: the settings of a backend block, or what init recorded of them.
type Backend struct {
	Type   string
	Config map[string]*string // every setting of the type; nil is null
	// Hash stands for the block as it is written. It is Terraform's, so that both accept the record of the other.
	Hash uint64
}

// backendTypes are the backends that there are, with their settings, which all are strings.
var backendTypes = map[string][]string{
	"local": {"path", "workspace_dir"},
	"inmem": {"lock_id"}, // states live as long as the process; with lock_id there is a lock that nobody gives back
}

// Of returns what the backend block of a root module says, or nil where there is none.
func Of(root *config.Module) (*Backend, diag.List) {
	var diags diag.List
	switch {
	case root.Cloud != nil:
		return nil, diags.Errorf(&root.Cloud.Range, "Unsupported cloud block", "%s", noCloud("A cloud block"))
	case root.Backend == nil:
		return nil, nil
	case backendTypes[root.Backend.Type] == nil:
		return nil, diags.Errorf(&root.Backend.Range, "Unsupported backend type", "%s", noBackend(root.Backend.Type))
	}
	attrs, hclDiags := root.Backend.Body.JustAttributes()
	diags = diags.AppendHCL(hclDiags)
	b := &Backend{Type: root.Backend.Type, Config: map[string]*string{}}
	for _, name := range backendTypes[b.Type] {
		b.Config[name] = nil
	}
	diags = diags.Extend(b.Set(attrs))
	b.Hash = b.hash()
	return b, diags
}

// Set takes over settings: those of a block, of a file or of the command line.
func (b *Backend) Set(attrs hcl.Attributes) (diags diag.List) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		if names := backendTypes[b.Type]; !slices.Contains(names, name) {
			diags = diags.Errorf(&attr.NameRange, "Unsupported argument",
				"The backend %q has no argument named %q, only %s.%s", b.Type, name, strings.Join(names, " and "),
				diag.DidYouMean(name, names))
			continue
		}
		v, hclDiags := attr.Expr.Value(nil)
		if diags = diags.AppendHCL(hclDiags); hclDiags.HasErrors() {
			continue
		}
		v, err := convert.Convert(v, cty.String)
		switch {
		case err != nil:
			diags = diags.Errorf(attr.Expr.Range().Ptr(), "Incorrect attribute value type",
				"The argument %s of the backend must be a string.", name)
		case v.IsNull():
			b.Config[name] = nil
		default:
			text := v.AsString()
			b.Config[name] = &text
		}
	}
	return diags
}

// Check finds settings that cannot be meant, once the command line has had its say.
func (b *Backend) Check(block *config.Backend) (diags diag.List) {
	if b.Type != "local" {
		return nil
	}
	attrs, _ := block.Body.JustAttributes() // Of has reported what is wrong with them
	for _, one := range [][2]string{{"path", "Invalid local state file path"},
		{"workspace_dir", "Invalid local workspace directory path"}} {
		name, summary := one[0], one[1]
		if text := b.Config[name]; text == nil || *text != "" {
			continue
		}
		at := block.Range
		if attr := attrs[name]; attr != nil {
			at = attr.Expr.Range()
		}
		diags = diags.Errorf(&at, summary,
			"The %q attribute value must not be empty. Leave the argument out for the usual place, or name one.", name)
	}
	return diags
}

func (b *Backend) hash() uint64 {
	values := map[string]cty.Value{}
	for _, name := range backendTypes[b.Type] {
		values[name] = cty.NullVal(cty.String)
		if text := b.Config[name]; text != nil {
			values[name] = cty.StringVal(*text)
		}
	}
	return uint64(cty.TupleVal([]cty.Value{cty.StringVal(b.Type), cty.ObjectVal(values)}).Hash())
}

// SamePlace reports whether two backends keep their states at the same place.
func (b *Backend) SamePlace(other *Backend) bool {
	if b == nil || other == nil {
		return b == other
	}
	same := func(x, y *string) bool { return x == nil && y == nil || x != nil && y != nil && *x == *y }
	return b.Type == other.Type && maps.EqualFunc(b.Config, other.Config, same)
}

// InMemory reports that states end with the process.
func (b *Backend) InMemory() bool { return b != nil && b.Type == "inmem" }

// Readable reports whether the states of a backend can be read: a record may be of one that only Terraform has.
func (b *Backend) Readable() bool { return b == nil || backendTypes[b.Type] != nil }

// Options are those of the store. No backend at all is the layout of the working directory.
func (b *Backend) Options() (o BackendOptions) {
	if b == nil {
		return o
	}
	if text := b.Config["path"]; text != nil {
		o.Path = *text
	}
	if text := b.Config["workspace_dir"]; text != nil {
		o.WorkspaceDir = *text
	}
	return o
}

// BackendOptions are the part of a store's options that a backend decides.
type BackendOptions struct{ Path, WorkspaceDir string }

// Store returns the options of a store with all else left as usual.
func (o BackendOptions) Store() store.Options {
	return store.Options{Path: o.Path, WorkspaceDir: o.WorkspaceDir}
}

// backendFile is the record as it stands on disk: Terraform's, which once was a state file.
type backendFile struct {
	Version          int             `json:"version"`
	TerraformVersion string          `json:"terraform_version"`
	Backend          *backendSection `json:"backend,omitempty"`
}

type backendSection struct {
	Type   string         `json:"type"`
	Config map[string]any `json:"config"`
	Hash   uint64         `json:"hash"`
}

// recordName is the record's name in the data folder.
const recordName = "terraform.tfstate"

// Recorded returns what init recorded in a data folder; nil when there is no record, or when it names no backend.
func Recorded(dataDir string) (*Backend, error) {
	name := filepath.Join(dataDir, recordName)
	text, err := regular.Read(name, regular.Note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file backendFile
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of the backend in %s: %w", name, err)
	}
	if file.Backend == nil || file.Backend.Type == "" {
		return nil, nil
	}
	b := &Backend{Type: file.Backend.Type, Hash: file.Backend.Hash, Config: map[string]*string{}}
	for _, name := range backendTypes[b.Type] {
		b.Config[name] = nil
		if text, ok := file.Backend.Config[name].(string); ok {
			b.Config[name] = &text
		}
	}
	return b, nil
}

// Record writes down where states are; a nil backend is the layout of the working directory. Links in the name of the
// data folder may not lead out of base.
func Record(base, dataDir string, b *Backend) error {
	file := backendFile{Version: 3, TerraformVersion: state.LanguageVersion}
	if b != nil {
		file.Backend = &backendSection{Type: b.Type, Hash: b.Hash, Config: map[string]any{}}
		for _, name := range backendTypes[b.Type] {
			file.Backend.Config[name] = b.Config[name]
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return replace.Own(base, filepath.Join(dataDir, recordName), 0o666, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
