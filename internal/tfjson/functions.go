package tfjson

import (
	"encoding/json"
	"io"

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

// Functions writes the signatures of functions, as "metadata functions -json" prints them.
func Functions(w io.Writer, table map[string]function.Function) error {
	doc := struct {
		FormatVersion string                 `json:"format_version"`
		Signatures    map[string]functionDoc `json:"function_signatures"`
	}{functionsVersion, make(map[string]functionDoc, len(table))}
	for name, f := range table {
		doc.Signatures[name] = functionOf(f)
	}
	return json.NewEncoder(w).Encode(doc)
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
	if returns, err := f.ReturnType(arguments); err == nil { // otherwise it depends on what the arguments are
		doc.ReturnType = typeJSON(returns)
	}
	return doc
}

func parameterOf(p function.Parameter) parameterDoc {
	return parameterDoc{Name: p.Name, Description: p.Description, IsNullable: p.AllowNull, Type: typeJSON(p.Type)}
}
