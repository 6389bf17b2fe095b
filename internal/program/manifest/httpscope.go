package manifest

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/provider"
)

// scope returns the variables of templates, as unknown values of their types.
type scope func(r *reader) Variables

// want is the required type of a template.
type want struct{ ty cty.Type }

var (
	asAny       = want{cty.DynamicPseudoType}
	asText      = want{cty.String}
	asCondition = want{cty.Bool}
)

func unknown(ty cty.Type) cty.Value { return cty.UnknownVal(ty) }

// answerType is the type of the variable answer.
var answerType = cty.Object(map[string]cty.Type{"status": cty.Number, "headers": cty.DynamicPseudoType,
	"body": cty.DynamicPseudoType, "text": cty.String})

// inRequests returns the variables of all requests, inAnswers those of responses, inTokens those of requests with a
// token.
func inRequests(r *reader) Variables {
	block := &provider.Block{}
	if r.m.Schema != nil && r.m.Schema.Provider != nil {
		block = r.m.Schema.Provider
	}
	return Variables{"provider": unknown(block.ImpliedType()), "env": r.environment()}
}

func inAnswers(r *reader) Variables { return with(inRequests(r), "answer", unknown(answerType)) }

func inTokens(r *reader) Variables { return with(inRequests(r), "token", unknown(cty.String)) }

func with(vars Variables, name string, v cty.Value) Variables {
	vars[name] = v
	return vars
}

// environment returns the environment variables that templates read.
func (r *reader) environment() cty.Value {
	vals := map[string]cty.Value{}
	for name := range r.env {
		vals[name] = unknown(cty.String)
	}
	return cty.ObjectVal(vals)
}

// subject is the object or function that a request concerns.
type subject struct {
	block    *provider.Block
	identity *provider.IdentitySchema // nil if there is none
	function *provider.Function
}

// scope returns the variables of the request for an action, or of its response.
func (s subject) scope(action string, answered bool) scope {
	return func(r *reader) Variables {
		vars := inRequests(r)
		object := cty.EmptyObject
		if s.block != nil {
			object = s.block.ImpliedType()
		}
		names := map[string][]string{
			"create": {"self", "planned", "config"}, "update": {"self", "planned", "config", "prior"},
			"read": {"self"}, "delete": {"self"}, "data": {"self", "config"}, "open": {"self", "config"},
			"list": {"config"}, "invoke": {"config"},
		}[action]
		for _, name := range names {
			vars[name] = unknown(object)
		}
		switch action {
		case "create", "update":
			vars["fields"], vars["changes"] = cty.DynamicVal, cty.DynamicVal
			if action == "create" {
				delete(vars, "changes")
			}
			vars["intent"], vars["private"] = unknown(cty.String), cty.DynamicVal
		case "read", "delete", "close":
			vars["private"] = cty.DynamicVal
		case "import":
			vars["id"], vars["identity"] = unknown(cty.String), cty.DynamicVal
			if s.identity != nil {
				vars["identity"] = unknown(s.identity.ImpliedType())
			}
		case "call":
			vars["args"] = unknown(s.arguments())
		}
		if answered {
			vars["answer"], vars["items"] = unknown(answerType), cty.DynamicVal
			vars["object"] = cty.DynamicVal
		}
		return vars
	}
}

// items returns the variables of one item of a list.
func (s subject) items() scope {
	return func(r *reader) Variables { return with(s.scope("list", false)(r), "item", cty.DynamicVal) }
}

// arguments returns the type of a function's arguments, as an object.
func (s subject) arguments() cty.Type {
	types := map[string]cty.Type{}
	for _, p := range s.function.Params {
		types[p.Name] = p.Type
	}
	if p := s.function.VarParam; p != nil {
		types[p.Name] = cty.DynamicPseudoType
	}
	return cty.Object(types)
}

// templateOf decodes a template, which is checked when all types are known.
func (r *reader) templateOf(to **Template, as want, in scope) func(*node) {
	return func(v *node) {
		t := r.template(v)
		if t == nil {
			return
		}
		*to = t
		r.noteEnvironment(t)
		r.pending = append(r.pending, func() { r.checked(t, in(r), as.ty) })
	}
}

// noteEnvironment collects the names of environment variables in a template, which are constants.
func (r *reader) noteEnvironment(t *Template) {
	for _, ref := range t.traversals() {
		if ref.RootName() != "env" {
			continue
		}
		if len(ref) > 1 {
			if step, ok := ref[1].(hcl.TraverseAttr); ok {
				r.env[step.Name] = true
				continue
			}
		}
		r.errorAt(r.inFile(t, ref.SourceRange().Start.Byte),
			"Name the variable of the environment here: env.NAME. Only variables that a manifest names are read.")
	}
}

// api decodes the requests of a type.
func (r *reader) api(v *node, kind provider.ResourceKind, rt *provider.ResourceType, t *Type) {
	api := &API{Operations: map[string]*Operation{}}
	t.API = api
	of := subject{block: rt.Block, identity: rt.Identity}
	general := func(r *reader) Variables {
		return with(with(with(inAnswers(r), "object", cty.DynamicVal), "items", cty.DynamicVal), "self",
			unknown(rt.Block.ImpliedType()))
	}
	known := fields{}
	for _, action := range actions[kind].known {
		if slices.Contains([]string{"validate", "plan", "upgrade", "renew"}, action) {
			continue
		}
		known[action] = func(v *node) { api.Operations[action] = r.operation(v, action, of) }
	}
	if kind == provider.ManagedResource || kind == provider.DataSource {
		known["object"] = r.templateOf(&api.Object, asAny, general)
		known["state"] = func(v *node) { api.State = r.state(v, rt.Block, general) }
	}
	r.object(v, "The member http of the type", known)
	t.Implements = slices.Sorted(maps.Keys(api.Operations))
	for action, o := range api.Operations {
		polls := o.Wait != nil && o.Wait.Request == nil
		if (o.ReadBack || polls) && api.Operations["read"] == nil {
			r.errorf(v.Get(action), `This requires the request "read" of the type, which is missing.`)
		}
	}
}

// withoutProgram reports members that require a program, and members that are missing without one.
func (r *reader) withoutProgram(v *node) {
	for _, name := range []string{"command", "wasm", "memory", "permissions", "prepare", "prepare_from", "requires",
		"mode", "implements"} {
		if given := v.Get(name); given != nil {
			r.errorf(given, `A provider with "http" has no program: remove %q, or remove "http".`, name)
		}
	}
}

// checkTemplates performs the checks that need all types.
func (r *reader) checkTemplates() {
	for _, check := range r.pending {
		check()
	}
	r.pending = nil
	if r.m.HTTP != nil {
		r.m.HTTP.Env = slices.Sorted(maps.Keys(r.env))
	}
}

// checkAPI reports a type without requests in a manifest without a program, and vice versa.
func (r *reader) checkAPI(v *node, what string) {
	given := v.Get("http")
	switch {
	case v.Kind != strictjson.Object:
	case r.m.HTTP == nil && given != nil:
		r.errorf(given, `Requests need the member "http" of the manifest, with the "url" of the server.`)
	case r.m.HTTP != nil && given == nil:
		r.errorf(v, `%s needs the member "http" with its requests, since the provider has no program.`, what)
	case r.m.HTTP != nil && v.Get("implements") != nil:
		r.errorf(v.Get("implements"), `Remove "implements": the requests in "http" define what the type implements.`)
	}
}

func nearestAttribute(name string, b *provider.Block) string {
	return diag.DidYouMean(name, slices.Concat(slices.Sorted(maps.Keys(b.Attributes)),
		slices.Sorted(maps.Keys(b.Blocks))))
}
