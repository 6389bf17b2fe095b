package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	hclv1 "github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/scanner"
	"github.com/hashicorp/hcl/hcl/token"
	hcl "github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/nesting"
)

// reader converts one file to settings.
type reader struct {
	*Settings
	path  string
	diags diag.List
}

// file is one file that was parsed.
type file struct {
	path string
	root *ast.ObjectList
}

// addFile parses another file. err is the error of opening it.
func addFile(files []file, path string, src []byte, err error) ([]file, diag.List) {
	if err != nil {
		return files, diag.List{}.Errorf(nil, "Unreadable CLI configuration",
			"The CLI configuration file %s cannot be read: %s.", path, err)
	}
	root, diags := parse(path, src)
	if diags.HasErrors() {
		return files, diags
	}
	return append(files, file{path, root}), nil
}

// flavor returns the flavor that the file sets, which affects the rest of the file.
func (f file) flavor() (chosen flavor.Flavor) {
	r := &reader{path: f.path} // a problem of the setting is reported when all settings are decoded
	for _, item := range f.root.Items {
		if name, _ := keys(item); name == "flavor" {
			chosen = r.flavor(item)
		}
	}
	return chosen
}

// flavor decodes the flavor setting.
func (r *reader) flavor(item *ast.ObjectItem) flavor.Flavor {
	text, ok := r.text(item)
	if !ok {
		return flavor.Unset
	}
	f, ok := flavor.Parse(text)
	if !ok {
		r.errorf(item, "Invalid CLI configuration", "\"flavor\" is %q: expected %s.", text, flavor.Names)
	}
	return f
}

func (r *reader) progress(item *ast.ObjectItem) {
	text, ok := r.text(item)
	if !ok {
		return
	}
	if r.Progress, ok = ParseProgress(text); !ok {
		r.errorf(item, "Invalid CLI configuration", "\"progress\" is %q: expected %s.", text, ProgressNames)
	}
}

// ParseProgress reads the name of a Progress.
func ParseProgress(text string) (Progress, bool) {
	switch p := Progress(text); p {
	case ProgressPlain, ProgressLive, ProgressNone:
		return p, true
	}
	return "", false
}

// ProgressNames lists the names for messages.
const ProgressNames = "plain, live or none"

// add adds the settings of a file.
func (s *Settings) add(f file) diag.List {
	r := &reader{Settings: s, path: f.path}
	for _, item := range f.root.Items {
		r.item(item)
	}
	return r.diags
}

// parse returns the tree of a file. The library is not safe for hostile input, so nesting is limited before, and panics
// are recovered.
func parse(path string, src []byte) (root *ast.ObjectList, diags diag.List) {
	if diags := nesting.Check(src, path); diags.HasErrors() {
		return nil, diags
	}
	bad := func(problem string) diag.List {
		return diag.List{}.Errorf(nil, "Invalid CLI configuration",
			"The CLI configuration file %s cannot be parsed: %s.", path, problem)
	}
	defer func() {
		if recover() != nil {
			root, diags = nil, bad("it is not valid HCL, or the parser has a bug")
		}
	}()
	file, err := hclv1.ParseBytes(src)
	if err != nil {
		return nil, bad(syntaxProblem(err))
	}
	list, ok := file.Node.(*ast.ObjectList)
	if !ok || endsEarly(src) {
		return nil, bad("it ends in the middle of a setting")
	}
	return list, nil
}

// syntaxProblem returns the position of a syntax error. It omits the library's message, which quotes the text: that may
// be a token without quotation marks.
func syntaxProblem(err error) string {
	const expected = `NAME = "VALUE" or NAME "LABEL" { ... } was expected`
	if at := (*parser.PosError)(nil); errors.As(err, &at) {
		return fmt.Sprintf("line %d, column %d: %s", at.Pos.Line, at.Pos.Column, expected)
	}
	return expected
}

// endsEarly reports whether a native text ends where a value must follow. The parser treats this as the end of the
// file, and silently omits the unfinished setting.
func endsEarly(src []byte) bool {
	if bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		return false // the library treats it as JSON, too
	}
	scan := scanner.New(src)
	scan.Error = func(token.Pos, string) {} // the parser has already reported errors
	last := token.EOF
	for {
		switch t := scan.Scan(); t.Type {
		case token.EOF:
			return last == token.ASSIGN || last == token.IDENT
		case token.ILLEGAL:
			return true
		case token.COMMENT:
		default:
			last = t.Type
		}
	}
}

func (r *reader) at(pos token.Pos) *hcl.Range {
	if !pos.IsValid() {
		return nil
	}
	here := hcl.Pos{Line: pos.Line, Column: pos.Column, Byte: pos.Offset}
	return &hcl.Range{Filename: r.path, Start: here, End: here}
}

func (r *reader) errorf(node ast.Node, summary, format string, args ...any) {
	r.diags = r.diags.Errorf(r.at(node.Pos()), summary, format, args...)
}

// item decodes one setting or block of the top level. It ignores unknown ones, because versions and tools share the
// files.
func (r *reader) item(item *ast.ObjectItem) {
	name, labels := keys(item)
	switch name {
	case "flavor":
		r.flavor(item) // it was already decoded
	case "progress":
		r.progress(item)
	case "plugin_cache_dir":
		if text, ok := r.text(item); ok {
			r.PluginCacheDir = os.ExpandEnv(text)
		}
	case "plugin_cache_may_break_dependency_lock_file":
		r.flag(item, &r.PluginCacheMayBreakLockFile)
	case "disable_checkpoint":
		r.flag(item, &r.DisableCheckpoint)
	case "disable_checkpoint_signature":
		r.flag(item, &r.DisableCheckpointSignature)
	case "provider_installation":
		r.blocks(item, labels, r.installation)
	case "program_providers":
		r.blocks(item, labels, r.programProviders)
	case "plan_programs":
		r.blocks(item, labels, r.planPrograms)
	case "encryption":
		if text, ok := r.text(item); ok {
			r.Encryption, r.EncryptionFile = text, r.path
		}
	case "credentials":
		r.labelled(item, labels, r.credentials)
	case "credentials_helper":
		r.labelled(item, labels, r.helper)
	case "oci_credentials":
		r.labelled(item, labels, r.ociCredentials)
	case "oci_default_credentials":
		r.blocks(item, labels, r.ociDefaults)
	case "host":
		r.labelled(item, labels, r.host)
	}
}

// keys returns the name of an item and its labels.
func keys(item *ast.ObjectItem) (name string, labels []string) {
	for i, key := range item.Keys {
		text := valueOf(key.Token)
		if i == 0 {
			name = text
		} else {
			labels = append(labels, text)
		}
	}
	return name, labels
}

// valueOf returns the text of a token, or its source if that is invalid: the parser accepts escapes for which Value
// panics.
func valueOf(t token.Token) (text string) {
	defer func() {
		if recover() != nil {
			text = t.Text
		}
	}()
	text, ok := t.Value().(string)
	if !ok {
		return t.Text
	}
	return text
}

// blocks calls f for each body of an item: in JSON, several blocks are a list.
func (r *reader) blocks(item *ast.ObjectItem, labels []string, f func(item *ast.ObjectItem, labels []string,
	body *ast.ObjectType)) {
	switch value := item.Val.(type) {
	case *ast.ObjectType:
		f(item, labels, value)
	case *ast.ListType:
		for _, element := range value.List {
			if body, ok := element.(*ast.ObjectType); ok {
				f(item, labels, body)
			} else {
				r.errorf(element, "Invalid CLI configuration", "Expected a block here.")
			}
		}
	default:
		name, _ := keys(item)
		r.errorf(item, "Invalid CLI configuration", "%q must be a block: write %s { … }.", name, name)
	}
}

// labelled calls f for blocks with one label; in JSON, the label is a key one level below.
func (r *reader) labelled(item *ast.ObjectItem, labels []string, f func(at ast.Node, label string,
	body *ast.ObjectType)) {
	r.blocks(item, labels, func(item *ast.ObjectItem, labels []string, body *ast.ObjectType) {
		if len(labels) > 0 {
			f(item, labels[0], body)
			return
		}
		for _, inner := range body.List.Items {
			label, _ := keys(inner)
			r.blocks(inner, nil, func(_ *ast.ObjectItem, _ []string, body *ast.ObjectType) { f(inner, label, body) })
		}
	})
}

func (r *reader) text(item *ast.ObjectItem) (string, bool) {
	name, _ := keys(item)
	literal, ok := item.Val.(*ast.LiteralType)
	if !ok || literal.Token.Type != token.STRING && literal.Token.Type != token.HEREDOC {
		r.errorf(item, "Invalid CLI configuration", "%q must be a string in quotes.", name)
		return "", false
	}
	return valueOf(literal.Token), true
}

func (r *reader) flag(item *ast.ObjectItem, to *bool) {
	name, _ := keys(item)
	if literal, ok := item.Val.(*ast.LiteralType); ok {
		switch strings.Trim(literal.Token.Text, `"`) {
		case "true", "1":
			*to = true
			return
		case "false", "0":
			*to = false
			return
		}
	}
	r.errorf(item, "Invalid CLI configuration", "%q must be true or false.", name)
}

func (r *reader) texts(item *ast.ObjectItem) []string {
	name, _ := keys(item)
	list, ok := item.Val.(*ast.ListType)
	if !ok {
		r.errorf(item, "Invalid CLI configuration", "%q must be a list of strings in brackets.", name)
		return nil
	}
	var texts []string
	for _, element := range list.List {
		literal, ok := element.(*ast.LiteralType)
		if !ok || literal.Token.Type != token.STRING {
			r.errorf(item, "Invalid CLI configuration", "%q must be a list of strings in brackets.", name)
			return nil
		}
		texts = append(texts, valueOf(literal.Token))
	}
	return texts
}

func (r *reader) hostname(at ast.Node, label string) (string, bool) {
	if p, err := addr.ParseProvider(label + "/any/any"); err == nil && label != "" {
		return p.Host, true
	}
	r.errorf(at, "Invalid hostname",
		"%q is not a hostname, optionally with a port, such as example.com or example.com:8443.", label)
	return "", false
}

func (r *reader) credentials(at ast.Node, label string, body *ast.ObjectType) {
	host, ok := r.hostname(at, label)
	if !ok {
		return
	}
	for _, item := range body.List.Items {
		if name, _ := keys(item); name == "token" {
			if token, ok := r.text(item); ok {
				if r.Credentials == nil {
					r.Credentials = map[string]string{}
				}
				r.Credentials[host] = token
			}
		}
	}
}

func (r *reader) helper(at ast.Node, label string, body *ast.ObjectType) {
	if r.Helper != nil {
		r.errorf(at, "Duplicate credentials_helper",
			"There is a credentials helper %q already, and only one can be used. Remove one of the blocks.",
			r.Helper.Name)
		return
	}
	r.Helper = &CredentialsHelper{Name: label}
	for _, item := range body.List.Items {
		if name, _ := keys(item); name == "args" {
			r.Helper.Args = r.texts(item)
		}
	}
}

func (r *reader) host(at ast.Node, label string, body *ast.ObjectType) {
	host, ok := r.hostname(at, label)
	if !ok {
		return
	}
	services := map[string]any{}
	for _, item := range body.List.Items {
		if name, _ := keys(item); name == "services" {
			var parsed map[string]any
			if err := hclv1.DecodeObject(&parsed, item.Val); err != nil {
				r.errorf(item, "Invalid CLI configuration", "The services of host %q cannot be read: %s.", host, err)
				continue
			}
			maps.Copy(services, parsed)
		}
	}
	if r.Hosts == nil {
		r.Hosts = map[string]map[string]any{}
	}
	r.Hosts[host] = services
}
