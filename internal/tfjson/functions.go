package tfjson

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// functionsVersion is the version of the document of functions.
const functionsVersion = "1.0"

type functionDoc struct {
	Description string          `json:"description,omitempty"`
	ReturnType  json.RawMessage `json:"return_type"`
	Parameters  []parameterDoc  `json:"parameters,omitempty"`
	Variadic    *parameterDoc   `json:"variadic_parameter,omitempty"`
}

type parameterDoc struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	IsNullable  bool            `json:"is_nullable,omitempty"`
	Type        json.RawMessage `json:"type"`
}

// Functions writes the signatures of functions, in the form of "metadata functions -json".
func Functions(w io.Writer, table map[string]function.Function) error {
	doc := struct {
		FormatVersion string                 `json:"format_version"`
		Signatures    map[string]functionDoc `json:"function_signatures"`
	}{functionsVersion, make(map[string]functionDoc, len(table))}
	for name, f := range table {
		one := functionOf(f)
		documented(strings.TrimPrefix(name, "core::"), &one)
		doc.Signatures[name] = one
	}
	return json.NewEncoder(w).Encode(doc)
}

// documented changes signatures that differ from the documented ones of Terraform 1.11.
func documented(name string, doc *functionDoc) {
	switch name {
	// the result type is known even if an argument's type is not; in Terraform it is not
	case "format", "formatlist":
		doc.ReturnType = typeJSON(cty.DynamicPseudoType)
	case "templatestring": // accepts any value, to report its problem
		doc.Parameters[0].Type = typeJSON(cty.String)
	}
}

func functionOf(f function.Function) functionDoc {
	doc := functionDoc{Description: f.Description(), ReturnType: typeJSON(cty.DynamicPseudoType)}
	var arguments []cty.Type
	for _, p := range f.Params() {
		doc.Parameters = append(doc.Parameters, parameterOf(p))
		arguments = append(arguments, p.Type)
	}
	if p := f.VarParam(); p != nil {
		one := parameterOf(*p)
		doc.Variadic = &one
		arguments = append(arguments, p.Type)
	}
	if returns, err := f.ReturnType(arguments); err == nil { // otherwise it depends on the arguments
		doc.ReturnType = typeJSON(returns)
	}
	return doc
}

func parameterOf(p function.Parameter) parameterDoc {
	return parameterDoc{Name: p.Name, Description: p.Description, IsNullable: p.AllowNull, Type: typeJSON(p.Type)}
}
