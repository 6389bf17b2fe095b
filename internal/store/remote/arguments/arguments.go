// Package arguments reads the values of backend blocks and of environment variables, and collects the problems with
// them. It also has the attributes of which the schemas of blocks are composed.
//
//	r := arguments.New(config, o)
//	s := &settings{bucket: r.Text("bucket"), region: r.Text("region", "ALICLOUD_REGION")}
//	return s, r.Diags()
package arguments

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
)

// Attribute returns an optional attribute of a type.
func Attribute(ty cty.Type, about string) *provider.Attribute {
	return &provider.Attribute{Type: ty, Optional: true, Description: about}
}

// Text returns an attribute of type string.
func Text(about string) *provider.Attribute { return Attribute(cty.String, about) }

// Flag returns an attribute of type bool.
func Flag(about string) *provider.Attribute { return Attribute(cty.Bool, about) }

// Number returns an attribute of type number.
func Number(about string) *provider.Attribute { return Attribute(cty.Number, about) }

// Secret returns a sensitive attribute of type string.
func Secret(about string) *provider.Attribute {
	a := Text(about)
	a.Sensitive = true
	return a
}

// Blocks returns an attribute with a set of objects, which is written as blocks.
func Blocks(about string, of map[string]*provider.Attribute) *provider.Attribute {
	return &provider.Attribute{Optional: true, Description: about,
		Nested: &provider.NestedObject{Nesting: provider.NestingSet, Attributes: of}}
}

// Complete returns the surroundings with defaults for unset fields.
func Complete(o remote.Surroundings) remote.Surroundings {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o
}

// Secrets collects texts that messages must not contain. Its methods may be called concurrently.
type Secrets struct {
	mu  sync.Mutex
	all []string
}

// Add adds texts.
func (s *Secrets) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if !slices.Contains(s.all, text) {
			s.all = append(s.all, text)
		}
	}
}

// Clean removes the secrets from a text, including their forms in URLs.
func (s *Secrets) Clean(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Hide(text, s.all)
}

// Hide removes secrets from a text, including their forms in URLs. It ignores short ones, which would match too much.
// It removes the longest first, because shorter ones may be parts of them.
func Hide(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "(hidden)")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "(hidden)")
		}
	}
	return text
}

// Reader reads values from a block or the environment.
type Reader struct {
	values cty.Value
	path   cty.Path
	o      remote.Surroundings
	diags  *diag.List
}

// New returns a reader of the values of a block. The surroundings must be complete.
func New(config cty.Value, o remote.Surroundings) Reader {
	return Reader{values: config, o: o, diags: &diag.List{}}
}

// Diags returns the problems.
func (r Reader) Diags() diag.List { return *r.diags }

// Wrong adds a problem with an argument. The text must not contain the value of a secret argument.
func (r Reader) Wrong(name, summary, format string, args ...any) {
	path := slices.Clone(r.path)
	var names []string
	if name != "" {
		path = path.GetAttr(name)
	}
	for _, step := range path {
		if at, ok := step.(cty.GetAttrStep); ok {
			names = append(names, at.Name)
		}
	}
	detail := fmt.Sprintf(format, args...)
	if len(names) > 0 {
		detail = fmt.Sprintf("The argument %s: %s", strings.Join(names, "."), detail)
	}
	*r.diags = r.diags.Append(&diag.Diagnostic{Severity: diag.Error, Summary: summary, Detail: detail, Path: path})
}

// Needed adds a problem if a required text is "". The problem names the variables that can replace the argument.
func (r Reader) Needed(name, value string, variables ...string) {
	if value != "" {
		return
	}
	text := "It must be set."
	if len(variables) > 0 {
		text = "It must be set, here or with the environment variable " + variables[0] + "."
	}
	r.Wrong(name, "Missing Required Value", "%s", text)
}

// Value returns the value of an argument, and whether it is set.
func (r Reader) Value(name string) (v cty.Value, ok bool) {
	if r.values == cty.NilVal || r.values.IsNull() || !r.values.Type().HasAttribute(name) {
		return cty.NilVal, false
	}
	v, _ = r.values.GetAttr(name).UnmarkDeep()
	return v, !v.IsNull() && v.IsWhollyKnown()
}

// Text returns an argument, or the first of the environment variables that is set.
func (r Reader) Text(name string, variables ...string) string {
	if v, ok := r.Value(name); ok && v.AsString() != "" {
		return v.AsString()
	}
	return r.variable(variables)
}

// Given returns an argument, even if it is "", or the first of the environment variables that is set.
func (r Reader) Given(name string, variables ...string) string {
	if v, ok := r.Value(name); ok {
		return v.AsString()
	}
	return r.variable(variables)
}

// Getenv returns an environment variable.
func (r Reader) Getenv(name string) string { return r.o.Getenv(name) }

// Path resolves a file name from a block.
func (r Reader) Path(name string) string { return r.o.Path(name) }

func (r Reader) variable(names []string) string {
	for _, name := range names {
		if s := r.o.Getenv(name); s != "" {
			return s
		}
	}
	return ""
}

// Is returns a boolean argument, or the first of the environment variables that is set.
func (r Reader) Is(name string, variables ...string) bool { return r.Flag(name, false, variables...) }

// Flag is like Is, with a default. If name is "", it only reads variables.
func (r Reader) Flag(name string, missing bool, variables ...string) bool {
	if v, ok := r.Value(name); ok {
		return v.True()
	}
	s := r.variable(variables)
	if s == "" {
		return missing
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		r.Wrong(name, "Invalid Value", "The environment variable %s must be true or false.", variables[0])
	}
	return b
}

// Number returns an argument, or the first of the environment variables that is set, or the default.
func (r Reader) Number(name string, missing, least, most int64, variables ...string) int64 {
	n, exact := missing, true
	if v, ok := r.Value(name); ok {
		got, accuracy := v.AsBigFloat().Int64()
		n, exact = got, accuracy == 0
	} else if s := r.variable(variables); s != "" {
		got, err := strconv.ParseInt(s, 10, 64)
		n, exact = got, err == nil
	}
	if n != missing && (n < least || n > most) || !exact {
		r.Wrong(name, "Invalid Value", "The value must be a whole number from %d to %d.", least, most)
		return missing
	}
	return n
}

// Block returns a reader of a nested block, or of the first of several. If there is none, the reader finds no values.
func (r Reader) Block(name string) (Reader, bool) {
	v, ok := r.Value(name)
	if ok && !v.Type().IsObjectType() {
		if ok = v.LengthInt() > 0; ok {
			v = v.AsValueSlice()[0]
		}
	}
	if !ok {
		v = cty.NilVal
	}
	r.values, r.path = v, append(slices.Clone(r.path), cty.GetAttrStep{Name: name})
	return r, ok
}

// File returns the content of a file that an argument or a variable names.
func (r Reader) File(argument, name string) []byte {
	if name == "" {
		return nil
	}
	b, err := regular.Read(r.o.Path(name), regular.Record)
	if err != nil {
		r.Wrong(argument, "Unreadable file", "%v. Name a file that can be read.", err)
	}
	return b
}
