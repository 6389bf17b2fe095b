package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/provider"
)

const badManifest = "Invalid provider manifest"

type node = strictjson.Value

// reader decodes a manifest.
type reader struct {
	src   []byte
	file  string
	m     *Manifest
	diags diag.List

	env     map[string]bool // environment variables that templates read
	pending []func()        // checks that need all types
}

// root parses the text and passes its object to a function.
func (r *reader) root(use func(*node)) {
	v, err := strictjson.Parse(r.src)
	if err != nil {
		at := 0
		if e, ok := err.(*strictjson.Error); ok {
			at = e.Offset
		}
		r.errorAt(at, "This is not JSON: %s.", err)
		return
	}
	use(v)
}

func (r *reader) errorAt(offset int, format string, args ...any) {
	line, column := strictjson.Position(r.src, offset)
	pos := hcl.Pos{Line: line, Column: column, Byte: offset}
	r.diags = r.diags.Errorf(&hcl.Range{Filename: r.file, Start: pos, End: pos}, badManifest, format, args...)
}

func (r *reader) errorf(v *node, format string, args ...any) { r.errorAt(v.Offset, format, args...) }

// fields maps the members of an object to functions that decode them.
type fields map[string]func(v *node)

// object decodes an object, whose members must all be known. It reports whether the value is an object.
func (r *reader) object(v *node, what string, known fields) bool {
	if v.Kind != strictjson.Object {
		r.errorf(v, "%s must be an object, not %s.", what, v.Kind)
		return false
	}
	for _, m := range v.Members {
		if use := known[m.Name]; use != nil {
			use(m.Value)
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		hint := diag.DidYouMean(m.Name, names)
		if hint == "" {
			hint = fmt.Sprintf(" The members are %s.", strings.Join(names, ", "))
		}
		r.errorAt(m.Offset, "%s has no member %q.%s", what, m.Name, hint)
	}
	return true
}

// each calls visit for the members of an object with arbitrary names.
func (r *reader) each(v *node, what string, visit func(name string, at int, v *node)) {
	if v.Kind != strictjson.Object {
		r.errorf(v, "%s must be an object, not %s.", what, v.Kind)
		return
	}
	for _, m := range v.Members {
		visit(m.Name, m.Offset, m.Value)
	}
}

func (r *reader) text(to *string) func(*node) {
	return func(v *node) {
		if v.Kind != strictjson.String {
			r.errorf(v, "A string was expected here, not %s.", v.Kind)
			return
		}
		*to = v.Text
	}
}

func (r *reader) flag(to *bool) func(*node) {
	return func(v *node) {
		if v.Kind != strictjson.Bool {
			r.errorf(v, "true or false was expected here, not %s.", v.Kind)
			return
		}
		*to = v.True
	}
}

func (r *reader) count(to *int) func(*node) {
	return func(v *node) {
		n, err := strconv.Atoi(v.Text)
		if v.Kind != strictjson.Number || err != nil || n < 0 || n > 1<<30 {
			r.errorf(v, "A whole number that is not negative was expected here.")
			return
		}
		*to = n
	}
}

func (r *reader) texts(v *node, what string) (list []string, ok bool) {
	if v.Kind != strictjson.Array {
		r.errorf(v, "%s must be an array of strings, not %s.", what, v.Kind)
		return nil, false
	}
	for _, item := range v.Items {
		if item.Kind != strictjson.String {
			r.errorf(item, "%s must be an array of strings, but has %s.", what, item.Kind)
			return nil, false
		}
		list = append(list, item.Text)
	}
	return list, true
}

// oneOf decodes a string that must be one of several.
func (r *reader) oneOf(v *node, what string, known []string) (string, bool) {
	if v.Kind != strictjson.String || !slices.Contains(known, v.Text) {
		r.errorf(v, "%s must be one of %s.%s", what, quotedList(known), diag.DidYouMean(v.Text, known))
		return "", false
	}
	return v.Text, true
}

func quotedList(words []string) string {
	out := ""
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			out += " or "
		case i > 0:
			out += ", "
		}
		out += strconv.Quote(w)
	}
	return out
}

// duration decodes a duration such as "10m".
func (r *reader) duration(v *node, what string) time.Duration {
	d, err := time.ParseDuration(v.Text)
	if v.Kind != strictjson.String || err != nil || d <= 0 {
		r.errorf(v, `%s must be a time such as "30s", "10m" or "1h30m".`, what)
		return 0
	}
	return d
}

// typ decodes a type in JSON.
func (r *reader) typ(to *cty.Type) func(*node) {
	return func(v *node) {
		ty, err := ctyjson.UnmarshalType(r.raw(v))
		if err == nil && !ty.Equals(ty.WithoutOptionalAttributesDeep()) {
			r.errorf(v, `The members of an "object" cannot be optional; a value may leave them null. A "nested_type" `+
				`has optional attributes.`)
			return
		}
		if err != nil {
			r.errorf(v, `The type cannot be read: %s.%s Types are "string", "number", "bool", "dynamic", or an array `+
				`such as ["list", "string"], ["map", "number"], ["object", {"a": "string"}].`, err, nearestType(v))
			return
		}
		*to = ty
	}
}

// otherTypes maps names that types have elsewhere to ours.
var otherTypes = map[string]string{"integer": "number", "int": "number", "int64": "number", "float": "number",
	"double": "number", "boolean": "bool", "any": "dynamic", "str": "string", "text": "string"}

// nearestType finds the invalid word in a type, and suggests a valid one.
func nearestType(v *node) string {
	known := []string{"string", "number", "bool", "dynamic"}
	if v.Kind == strictjson.Array && len(v.Items) > 0 {
		head := v.Items[0]
		if kinds := []string{"list", "set", "map", "object", "tuple"}; head.Kind == strictjson.String &&
			!slices.Contains(kinds, head.Text) {
			return diag.DidYouMean(head.Text, kinds)
		}
		for _, item := range v.Items[1:] {
			if hint := nearestType(item); hint != "" {
				return hint
			}
		}
	}
	for _, m := range v.Members {
		if hint := nearestType(m.Value); hint != "" {
			return hint
		}
	}
	switch {
	case v.Kind != strictjson.String || slices.Contains(known, v.Text):
		return ""
	case otherTypes[v.Text] != "":
		return fmt.Sprintf(" Did you mean %q?", otherTypes[v.Text])
	}
	return diag.DidYouMean(v.Text, known)
}

func (r *reader) raw(v *node) json.RawMessage { return json.RawMessage(r.src[v.Offset:v.End]) }

var (
	validName    = regex.Lazy(`^[a-z_][a-z0-9_]*$`)
	validVersion = regex.Lazy(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// manifest decodes the object of the file.
func (r *reader) manifest(v *node) {
	m, protocol := r.m, -1
	var schema, web *node
	var mode string
	ok := r.object(v, "The manifest", fields{
		"$schema":      func(*node) {}, // for editors
		"protocol":     r.count(&protocol),
		"name":         r.text(&m.Name),
		"version":      r.text(&m.Version),
		"description":  r.text(&m.Description),
		"command":      r.command(&m.Command),
		"prepare":      r.command(&m.Prepare),
		"prepare_from": func(v *node) { m.PrepareFrom = r.prepareFrom(v) },
		"requires":     r.requires,
		"wasm":         func(v *node) { m.Wasm = r.wasm(v) },
		"memory":       r.count(&m.Memory),
		"permissions":  r.permissions,
		"mode":         func(v *node) { mode, _ = r.oneOf(v, "The mode", []string{"one-shot", "session"}) },
		"concurrency":  r.count(&m.Concurrency),
		"implements": func(v *node) {
			m.Implements = r.implements(v, "the provider", []string{"configure", "validate", "schema"})
		},
		"http":   func(v *node) { web = v },
		"schema": func(v *node) { schema = v },
	})
	if !ok {
		return
	}
	if mode == "session" {
		m.Mode = Session
	}
	r.checkNames(v, protocol)
	r.checkNeeds(v)
	switch {
	case r.isLeftOut(v):
	case web != nil:
		r.withoutProgram(v)
		if ServesRequests { // constant, for the linker
			m.HTTP = r.http(web)
		}
	case v.Get("wasm") != nil:
		r.inSandbox(v)
	case v.Get("command") == nil:
		r.errorf(v, `The manifest needs a "command", such as ["bash", "./%s.sh"].`, m.Name)
	}
	switch {
	case schema != nil:
		r.schema(schema)
	case !m.Does("schema"):
		r.errorf(v, `The manifest needs a "schema" that describes the provider's types, or "implements": ["schema"] `+
			`if the program itself returns it.`)
	}
	r.checkTemplates()
}

// checkNeeds reports members that have no effect without another one.
func (r *reader) checkNeeds(v *node) {
	if from := v.Get("prepare_from"); from != nil && v.Get("prepare") == nil {
		r.errorf(from,
			`These files have no effect without "prepare". Add that command, or remove "prepare_from".`)
	}
	for _, name := range []string{"memory", "permissions"} {
		if given := v.Get(name); given != nil && v.Get("wasm") == nil && v.Get("http") == nil {
			r.errorf(given, `%q is for a module, and there is no "wasm". Remove it.`, name)
		}
	}
}

// checkNames reports problems with the required members of a manifest.
func (r *reader) checkNames(v *node, protocol int) {
	m := r.m
	switch {
	case v.Get("protocol") == nil:
		r.errorf(v, `The manifest needs "protocol": %d, the version of the protocol that the program uses.`, Protocol)
	case protocol != Protocol && protocol >= 0:
		r.errorf(v.Get("protocol"), "The program uses version %d of the protocol, but only version %d is supported. "+
			"A newer release may support it.", protocol, Protocol)
	}
	if name := v.Get("name"); name == nil || name.Kind == strictjson.String && !validName().MatchString(m.Name) {
		if name == nil {
			name = v
		}
		r.errorf(name, `The manifest needs a "name" of lower-case letters, digits and underscores, with which the `+
			`names of the provider's types begin.`)
	}
	if version := v.Get("version"); version != nil && version.Kind == strictjson.String &&
		!validVersion().MatchString(m.Version) {
		r.errorf(v.Get("version"), `The version must have three numbers, such as "0.1.0".`)
	}
}

// systems are the platforms for which there may be commands.
var systems = []string{"default", "linux", "darwin", "windows", "freebsd", "netbsd", "openbsd", "dragonfly", "solaris",
	"illumos", "aix", "android", "plan9"}

var architectures = []string{"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64",
	"ppc64le", "riscv64", "s390x", "wasm"}

// otherArchitectures maps names that architectures have elsewhere to Go's.
var otherArchitectures = map[string]string{"x86_64": "amd64", "x64": "amd64", "x86": "386", "i386": "386",
	"i686": "386", "aarch64": "arm64", "armv7": "arm", "armhf": "arm"}

// command returns a function that decodes a command line, or command lines by platform.
func (r *reader) command(to *Command) func(v *node) {
	return func(v *node) { r.readCommand(v, to) }
}

func (r *reader) readCommand(v *node, to *Command) {
	if v.Kind != strictjson.Object {
		if argv, ok := r.argv(v); ok {
			*to = Command{"default": argv}
		}
		return
	}
	*to = Command{}
	platform := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)?$`)
	r.each(v, "The command", func(name string, at int, v *node) {
		system, arch, has := strings.Cut(name, "_")
		switch {
		case system == "macos":
			r.errorAt(at, `Use the name "darwin" for macOS.`)
		case slices.Contains(systems, system) && has && otherArchitectures[arch] != "":
			r.errorAt(at, `Use the name %[2]q for the architecture %[1]q.`, arch, otherArchitectures[arch])
		case slices.Contains(systems[1:], system) && has && !slices.Contains(architectures, arch):
			r.errorAt(at, `There is no architecture %q; the architectures are %s.%s`, arch, quotedList(architectures),
				diag.DidYouMean(arch, architectures))
		case !platform.MatchString(name) || !slices.Contains(systems, system):
			r.errorAt(at, `The key of a command is "default", or an operating system such as "linux", "darwin" or `+
				`"windows", optionally with an architecture: "linux_arm64".%s`, diag.DidYouMean(system, systems))
		}
		if argv, ok := r.argv(v); ok {
			(*to)[name] = argv
		}
	})
	if len(v.Members) == 0 {
		r.errorf(v, `The command is empty; add at least "default".`)
	}
}

// placeholders are replaced in the words of a command. In words that do not name a file of the provider, other braces
// may have a meaning for the program.
var placeholders = []string{"{os}", "{arch}", "{cache}"}

var placeholder = regex.Lazy(`\{[A-Za-z_]+\}`)

func (r *reader) argv(v *node) ([]string, bool) {
	if v.Kind == strictjson.String {
		r.errorf(v, `A command must be an array with a string for each word, such as ["bash", "./provider.sh"]: `+
			`no shell splits it into words.`)
		return nil, false
	}
	argv, ok := r.texts(v, "A command")
	for i, word := range argv {
		if rest, inside := strings.CutPrefix(word, "./"); inside && !filepath.IsLocal(filepath.FromSlash(rest)) {
			r.errorf(v.Items[i], "The file %q is outside of the folder of the provider. A provider must contain all "+
				"of its files. Write the name of another program without a leading ./.", word)
			return nil, false
		}
	}
	for i, word := range argv {
		for _, given := range placeholder().FindAllString(word, -1) {
			if strings.HasPrefix(word, "./") && !slices.Contains(placeholders, given) {
				r.errorf(v.Items[i], "There is no placeholder %s; the placeholders are %s.%s", given,
					strings.Join(placeholders, ", "), diag.DidYouMean(given, placeholders))
			}
		}
	}
	if ok && (len(argv) == 0 || argv[0] == "") {
		r.errorf(v, "A command needs at least the name of a program.")
		return nil, false
	}
	return argv, ok
}

// prepareFrom decodes the names of the files on which a preparation depends.
func (r *reader) prepareFrom(v *node) []string {
	list, ok := r.texts(v, `"prepare_from"`)
	if !ok {
		return nil
	}
	if len(list) == 0 {
		r.errorf(v,
			`"prepare_from" is empty. List the files that the preparation reads, or remove it, so that the `+
				`preparation depends on all files.`)
	}
	for i, name := range list {
		if rest, inside := strings.CutPrefix(name, "./"); !inside || !filepath.IsLocal(filepath.FromSlash(rest)) {
			r.errorf(v.Items[i], `"prepare_from" lists files and folders of the provider with a leading ./, such as `+
				`"./requirements.txt"; %q is not one of them.`, name)
		}
	}
	return list
}

func (r *reader) requires(v *node) {
	if v.Kind != strictjson.Array {
		r.errorf(v, `"requires" must be an array of objects such as {"command": "jq", "hint": "apt install jq"}.`)
		return
	}
	for _, item := range v.Items {
		var q Requirement
		if item.Kind == strictjson.String {
			r.errorf(item, `A requirement must be an object such as {"command": %q, "hint": "how to install it"}.`,
				item.Text)
			continue
		}
		if r.object(item, "A requirement", fields{"command": r.text(&q.Command), "hint": r.text(&q.Hint)}) &&
			q.Command == "" {
			r.errorf(item, `A requirement needs a "command", the name of a program that must be found in PATH.`)
		}
		if slices.ContainsFunc(r.m.Requires, func(other Requirement) bool { return other.Command == q.Command }) &&
			q.Command != "" {
			r.errorf(item, "The program %q is required twice. Remove one of the two.", q.Command)
		}
		r.m.Requires = append(r.m.Requires, q)
	}
}

// implements decodes a list of implemented actions.
func (r *reader) implements(v *node, what string, known []string) []string {
	list, ok := r.texts(v, `"implements"`)
	if !ok {
		return nil
	}
	for i, action := range list {
		if slices.Contains(list[:i], action) {
			r.errorf(v.Items[i], "The action %q is listed twice. Remove one of the two.", action)
		}
		if !slices.Contains(known, action) {
			r.errorf(v.Items[i], "There is no action %q that %s could implement; the actions are %s.%s", action, what,
				quotedList(known), diag.DidYouMean(action, known))
		}
	}
	return list
}

// schema decodes the schema of the provider.
func (r *reader) schema(v *node) {
	s := &provider.Schema{
		Resources: map[string]*provider.ResourceType{}, Data: map[string]*provider.ResourceType{},
		Ephemeral: map[string]*provider.ResourceType{}, Functions: map[string]*provider.Function{},
		Lists: map[string]*provider.ResourceType{}, Actions: map[string]*provider.ResourceType{},
	}
	r.m.Schema = s
	var identities *node
	r.object(v, "The schema", fields{
		"provider":                   func(v *node) { s.Provider = r.providerBlock(v) },
		"provider_meta":              func(v *node) { s.Meta = r.providerBlock(v) },
		"resource_schemas":           r.types(provider.ManagedResource, s.Resources),
		"data_source_schemas":        r.types(provider.DataSource, s.Data),
		"ephemeral_resource_schemas": r.types(provider.EphemeralResource, s.Ephemeral),
		"list_resource_schemas":      r.types(provider.ListResource, s.Lists),
		"action_schemas":             r.types(provider.Action, s.Actions),
		"resource_identity_schemas":  func(v *node) { identities = v },
		"functions": func(v *node) {
			r.each(v, "The functions", func(name string, at int, v *node) {
				r.checkName(at, "function", name)
				s.Functions[name] = r.function(v)
			})
		},
	})
	if identities != nil {
		r.identities(identities, s)
	}
	r.lists(v, s)
	r.actionNames(v, s)
}

// identities decodes the member with the identities.
func (r *reader) identities(v *node, s *provider.Schema) {
	r.each(v, "The identities", func(name string, at int, v *node) {
		if s.Resources[name] == nil {
			r.errorAt(at, "The identity names the resource type %q, which the manifest does not declare.%s", name,
				diag.DidYouMean(name, slices.Sorted(maps.Keys(s.Resources))))
			return
		}
		if s.Resources[name].Identity != nil {
			r.errorAt(at, `The resource type %q already has its own "identity". Remove one of the two.`, name)
		}
		s.Resources[name].Identity = r.identity(v)
	})
}

// lists completes the types that can be listed: a type that implements list has a list without arguments unless the
// schema describes one.
func (r *reader) lists(v *node, s *provider.Schema) {
	described := v.Get("list_resource_schemas")
	for _, name := range slices.Sorted(maps.Keys(s.Lists)) {
		switch rt := s.Resources[name]; {
		case rt == nil:
			r.errorf(described.Get(name), "The list names the resource type %q, which the manifest does not declare.%s",
				name,
				diag.DidYouMean(name, slices.Sorted(maps.Keys(s.Resources))))
		case rt.Identity == nil:
			r.errorf(described.Get(name), `A list returns identities of objects, but the resource type %q has no `+
				`"identity".`, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Resources)) {
		t := r.m.types[typeName{provider.ManagedResource, name}]
		if s.Lists[name] != nil || !t.Does("list") {
			continue
		}
		if s.Resources[name].Identity == nil {
			r.errorf(at(v.Get("resource_schemas").Get(name), "implements"),
				`The type implements "list", which returns identities of objects, but it has no "identity".`)
		}
		s.Lists[name] = &provider.ResourceType{Block: &provider.Block{}}
		r.m.types[typeName{provider.ListResource, name}] = &Type{Implements: []string{"list"}, Timeouts: t.Timeouts,
			Retry: t.Retry}
	}
}

// actionNames reports actions with the name of another type, because the program could not distinguish their calls.
func (r *reader) actionNames(v *node, s *provider.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Actions)) {
		for _, other := range []struct {
			kind  string
			types map[string]*provider.ResourceType
		}{{"resource", s.Resources}, {"data source", s.Data}, {"ephemeral resource", s.Ephemeral}} {
			if other.types[name] != nil {
				r.errorf(v.Get("action_schemas").Get(name), "The %s has the name %q, too. A program receives the "+
					"name of a type but not its kind, so give the action another name, such as %q.", other.kind, name,
					name+"_now")
			}
		}
	}
}

func (r *reader) checkName(at int, what, name string) {
	if !validName().MatchString(name) {
		r.errorAt(at, "The name of the %s %q can only have lower-case letters, digits and underscores.", what, name)
	}
}
