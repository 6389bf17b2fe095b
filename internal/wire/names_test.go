package wire

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

// Names that cannot be written in a configuration are refused everywhere in a schema, and quoted in the error.
func TestNamesOfSchemasAreWritable(t *testing.T) {
	text := []byte(`"string"`)
	attribute := func(name string) []*plugin6.Attribute {
		return []*plugin6.Attribute{{Name: name, Type: text, Optional: true}}
	}
	body := func(b *plugin6.Block) *plugin6.SchemaResponse {
		return &plugin6.SchemaResponse{Provider: &plugin6.Schema{Block: b}}
	}
	empty := &plugin6.Schema{Block: &plugin6.Block{}}
	places := map[string]func(name string) *plugin6.SchemaResponse{
		"attribute ": func(name string) *plugin6.SchemaResponse {
			return body(&plugin6.Block{Attributes: attribute(name)})
		},
		"nested, attribute ": func(name string) *plugin6.SchemaResponse {
			return body(&plugin6.Block{Attributes: []*plugin6.Attribute{{Name: "nested", Optional: true,
				Nested: &plugin6.NestedAttributes{Nesting: nestingModes[1], Attributes: attribute(name)}}}})
		},
		"block ": func(name string) *plugin6.SchemaResponse {
			return body(&plugin6.Block{Blocks: []*plugin6.NestedBlock{{Name: name, Block: &plugin6.Block{},
				Nesting: nestingModes[1]}}})
		},
		"resource ": func(name string) *plugin6.SchemaResponse {
			m := body(nil)
			m.Resources = map[string]*plugin6.Schema{name: empty}
			return m
		},
		"data source ": func(name string) *plugin6.SchemaResponse {
			m := body(nil)
			m.DataSources = map[string]*plugin6.Schema{name: empty}
			return m
		},
		"ephemeral resource ": func(name string) *plugin6.SchemaResponse {
			m := body(nil)
			m.EphemeralResources = map[string]*plugin6.Schema{name: empty}
			return m
		},
		"list resource ": func(name string) *plugin6.SchemaResponse {
			m := body(nil)
			m.ListResources = map[string]*plugin6.Schema{name: empty}
			return m
		},
		"action ": func(name string) *plugin6.SchemaResponse {
			m := body(nil)
			m.Actions = map[string]*plugin6.ActionSchema{name: {Schema: empty}}
			return m
		},
	}
	for place, of := range places {
		for _, good := range []string{"name", "a_b", "a-b", "2fa", "größe", "_x"} {
			if _, errs := decodeSchema(of(good), nil); len(errs) > 0 {
				t.Errorf("%s%q: %v", place, good, errs)
			}
		}
		for bad, quoted := range map[string]string{"a\x1b[2J": `"a\x1b[2J"`, "a b": `"a b"`, "a\nb": `"a\nb"`,
			"a.b": `"a.b"`, "a\u202eb": `"a\u202eb"`, "\x00": `"\x00"`} {
			_, errs := decodeSchema(of(bad), nil)
			problem := schemaProblems("example", errs).Err()
			if problem == nil || !strings.Contains(problem.Error(), place+quoted) {
				t.Errorf("%s%q: got %v, want %s", place, bad, problem, place+quoted)
			}
		}
	}
}
