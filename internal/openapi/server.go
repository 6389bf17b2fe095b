package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// variable returns the name of the environment variable for a setting of the provider.
func (p *Provider) variable(name string) string { return strings.ToUpper(p.Name + "_" + name) }

// setting adds an attribute of the provider block and returns its name.
func (p *Provider) setting(name, description, kind string) string {
	if contains(reserved, name) || contains(reservedProvider, name) {
		name = "api_" + name
	}
	if p.attributes.get(name) != nil {
		return name
	}
	attr := members{{"type", "string"}, {"optional", true}}
	if kind == "secret" {
		attr.add("sensitive", true)
	}
	description = strings.TrimSuffix(sentenceOf(description), ".") + ". Without it, `" + p.variable(name) +
		"` is taken."
	attr.add("description", strings.TrimPrefix(description, ". "))
	p.attributes.add(name, attr)
	return name
}

// given returns the expression of a setting from the provider block, or else from the environment.
func (p *Provider) given(name string, usual ...string) string {
	return "coalesce(" + strings.Join(append([]string{"provider." + name, "env." + p.variable(name)}, usual...),
		", ") + ")"
}

// serve creates the common part of all requests.
func (p *Provider) serve() {
	address := strings.TrimSuffix(text(p.doc.server["url"]), "/")
	var usual []string
	if variables, ok := p.doc.server["variables"].(map[string]any); ok {
		expr := literal(address)
		for _, name := range sorted(variables) {
			v, _ := variables[name].(map[string]any)
			setting := p.setting(snake(name), text(v["description"]), "")
			expr = strings.ReplaceAll(expr, "{"+name+"}", "${"+p.given(setting, quoted(scalarText(v["default"])))+"}")
		}
		address = expr
	} else {
		address = literal(address)
	}
	switch {
	case strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://"):
		usual = []string{`"` + address + `"`}
	case address != "":
		p.note("", "the address of the server is not whole: the `url` has to end with `%s`", address)
	}
	name := p.setting("url", "The address of the API", "")
	p.http.add("url", "${"+p.given(name, usual...)+"}")
	if auth := p.auth(); len(auth) > 0 {
		p.http.add("auth", auth)
	}
	p.http.add("error_message", "${"+p.message()+"}")
}

func scalarText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// auth selects the authentication: the first one in the document that a manifest supports.
func (p *Provider) auth() members {
	choices := slices.Clone(p.doc.security)
	if len(choices) == 0 {
		for _, op := range p.doc.Operations {
			choices = append(choices, op.Security...)
		}
	}
	if len(choices) == 0 {
		for _, name := range sorted(p.doc.schemes) {
			choices = append(choices, requirement{name: nil})
		}
	}
	seen := map[string]bool{}
	for _, one := range choices {
		way, why := p.way(one)
		if way != nil {
			p.schemes = append(p.schemes, sorted(one)...)
			return way
		}
		if why != "" && !seen[why] {
			seen[why] = true
			p.note("", "%s", why)
		}
	}
	if len(p.doc.schemes) > 0 {
		p.note("", "no way to say who asks was mapped: add `auth` to the manifest")
	}
	return nil
}

// way returns the authentication for one requirement, or the reason why it cannot.
func (p *Provider) way(one requirement) (members, string) {
	all := sorted(one)
	if len(all) == 1 {
		return p.scheme(all[0], one[all[0]])
	}
	headers := members{}
	for _, name := range all {
		s := p.doc.schemes[name]
		if text(s["type"]) != "apiKey" || text(s["in"]) != "header" {
			return nil, "the schemes " + strings.Join(all, " and ") + " are needed together, which is not mapped"
		}
	}
	for _, name := range all {
		s := p.doc.schemes[name]
		header := text(s["name"])
		headers.add(header, "${"+p.given(p.setting(snake(header), text(s["description"]), "secret"))+"}")
	}
	if len(headers) == 0 {
		return nil, "" // no authentication
	}
	return members{{"header", headers}}, ""
}

func (p *Provider) scheme(name string, scopes []string) (members, string) {
	s := p.doc.schemes[name]
	secret := func(setting, description string) string {
		return "${" + p.given(p.setting(setting, either(description, text(s["description"])), "secret")) + "}"
	}
	scheme := strings.ToLower(text(s["scheme"]))
	switch kind := text(s["type"]); {
	case s == nil:
		return nil, "the security scheme " + name + " is not described"
	case kind == "http" && scheme == "basic":
		user := p.given(p.setting("username", "The name of the user", ""))
		return members{{"basic", members{{"username", "${" + user + "}"}, {"password", secret("password",
			"The password of the user")}}}}, ""
	case kind == "http" && scheme == "bearer", kind == "openIdConnect":
		return members{{"bearer", secret("token", "The token")}}, ""
	case kind == "apiKey" && text(s["in"]) == "header":
		header, setting := text(s["name"]), snake(text(s["name"]))
		if setting == "authorization" {
			setting = "token"
		}
		return members{{"header", members{{header, secret(setting, "")}}}}, ""
	case kind == "apiKey":
		return nil, "the security scheme " + name + " has a key in the " + text(s["in"]) +
			": add it to the requests, or ask for one in a header"
	case kind == "oauth2":
		return p.oauth(s, scopes, secret), ""
	}
	return nil, "the security scheme " + name + " (" + strings.TrimSpace(text(s["type"])+" "+scheme) + ") is not mapped"
}

// oauth returns an authentication that requests tokens with client credentials. Tokens of other flows are settings.
func (p *Provider) oauth(s map[string]any, scopes []string, secret func(setting, description string) string) members {
	flows, _ := s["flows"].(map[string]any)
	flow, _ := flows["clientCredentials"].(map[string]any)
	address := text(flow["tokenUrl"])
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		p.note("", "the API has tokens of OAuth that a person asks for: users give one as `token`")
		return members{{"bearer", secret("token", "The token of OAuth")}}
	}
	id := p.given(p.setting("client_id", "The client of OAuth", ""))
	url := p.given(p.setting("token_url", "The address that gives out tokens", ""), quoted(address))
	out := members{{"token_url", "${" + url + "}"}, {"client_id", "${" + id + "}"},
		{"client_secret", secret("client_secret", "The secret of the client")}}
	if len(scopes) > 0 {
		out.add("scopes", scopes)
	}
	return members{{"oauth", out}}
}

// message returns the expression for the text of an error.
func (p *Provider) message() string {
	var tries []string
	for _, op := range p.doc.Operations {
		if op.Error == nil {
			continue
		}
		s, _ := op.Error.united()
		for _, place := range strings.Fields("message error/message error_description detail error title msg " +
			"description errors") {
			if inner, expr := inside(s, strings.Split(place, "/")); inner != nil {
				tries = append(tries, expr)
			}
		}
		break
	}
	if len(tries) == 0 {
		tries = []string{"answer.body.message"}
	}
	return "try(" + strings.Join(tries, ", ") + ", null)"
}
