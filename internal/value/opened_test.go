package value

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// opening is an ephemeral resource with canaries that are secret, and lures that its configuration has in plain.
func opening() (block *provider.Block, config, opened cty.Value, marks MarkedPaths) {
	text := func(sensitive bool) *provider.Attribute {
		return &provider.Attribute{Type: cty.String, Optional: true, Computed: true, Sensitive: sensitive}
	}
	list, table := cty.List(cty.String), cty.Map(cty.String)
	block = &provider.Block{Attributes: map[string]*provider.Attribute{
		"name": text(false), "token": text(false), "given": text(false), "pin": text(true), "key": text(false),
		"zones": {Type: list, Optional: true, Computed: true}, "tags": {Type: table, Optional: true, Computed: true},
	}}
	texts := func(list ...string) (out []cty.Value) {
		for _, t := range list {
			out = append(out, cty.StringVal(t))
		}
		return out
	}
	vals := map[string]cty.Value{"name": cty.StringVal("lure-of-name"), "token": cty.NullVal(cty.String),
		"given": cty.StringVal("canary-from-variable"), "pin": cty.StringVal("canary-of-schema"),
		"key": cty.UnknownVal(cty.String), "zones": cty.ListVal(texts("lure-of-zone")),
		"tags": cty.MapVal(map[string]cty.Value{"lure-of-key": cty.StringVal("lure-of-tag")})}
	config = cty.ObjectVal(vals)
	vals["token"], vals["key"] = cty.StringVal("canary-of-token"), cty.StringVal("canary-of-key")
	vals["zones"] = cty.ListVal(texts("lure-of-zone", "canary-of-zone"))
	vals["tags"] = cty.MapVal(map[string]cty.Value{"lure-of-key": cty.StringVal("lure-of-tag"),
		"canary-key": cty.StringVal("canary-of-tag")})
	return block, config, cty.ObjectVal(vals), MarkedPaths{Ephemeral: []cty.Path{cty.GetAttrPath("given")}}
}

func TestWhatAnEphemeralResourceReturnsIsSecretExceptForItsPlainArguments(t *testing.T) {
	block, config, opened, marks := opening()
	lures := "lure-of-name lure-of-zone lure-of-key lure-of-tag"
	canaries := "canary-from-variable canary-of-schema canary-of-token canary-of-key canary-of-zone canary-key " +
		"canary-of-tag"
	for _, tt := range []struct {
		name  string
		learn func(s *Secrets)
	}{
		{"opened", func(*Secrets) {}},
		{"a local value with the object", func(s *Secrets) { s.LearnDerived(opened.Mark(Ephemeral)) }},
		{"an output with the object", func(s *Secrets) { s.LearnOutput(opened.Mark(Ephemeral)) }},
		{"an argument with a part of it", func(s *Secrets) {
			s.Unmark(block, config.GetAttr("name").Mark(Ephemeral))
		}},
	} {
		var s Secrets
		s.AddOpened(block, opened.Mark(Ephemeral), config, marks)
		tt.learn(&s)
		if got := s.Redact(lures); got != lures && tt.name != "an output with the object" {
			t.Errorf("%s: %q of the plain arguments is left: %q", tt.name, lures, got)
		}
		if got := s.Redact(canaries); strings.Contains(got, "canary") {
			t.Errorf("%s: secrets are shown: %q", tt.name, got)
		}
	}
}

// A string in plain does not stay in plain if something else says that it is secret.
func TestPlainArgumentsAreSecretIfSomethingElseSaysSo(t *testing.T) {
	for name, learn := range map[string]func(s *Secrets, v cty.Value){
		"a sensitive variable":    func(s *Secrets, v cty.Value) { s.Learn(v.Mark(Sensitive)) },
		"an ephemeral variable":   func(s *Secrets, v cty.Value) { s.Learn(v.Mark(Ephemeral)) },
		"a sensitive local value": func(s *Secrets, v cty.Value) { s.LearnDerived(v.Mark(Sensitive)) },
		"a secret ephemeral local": func(s *Secrets, v cty.Value) {
			s.LearnDerived(v.Mark(Ephemeral).Mark(Sensitive))
		},
		"a sensitive path of objects": func(s *Secrets, v cty.Value) { s.Add(v, []cty.Path{{}}) },
	} {
		block, config, opened, marks := opening()
		var s Secrets
		s.AddOpened(block, opened.Mark(Ephemeral), config, marks)
		learn(&s, cty.StringVal("lure-of-name"))
		if got := s.Redact("lure-of-name"); got != "(sensitive value)" {
			t.Errorf("%s: it is shown: %q", name, got)
		}
	}
}
