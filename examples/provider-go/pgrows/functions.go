package pgrows

import (
	"context"
	"strings"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

func functionQuoteIdent() *schema.Function {
	return &schema.Function{
		Summary: "Quotes names for SQL.",
		Description: "Joins names, such as those of a schema and a table, to one as SQL writes it. Names that need " +
			"quotes get them.",
		Variadic: &schema.Parameter{Name: "names", Type: schema.TypeString, Description: "The names."},
		Return:   &schema.Schema{Type: schema.TypeString},
		Call: func(_ context.Context, args []interface{}) (interface{}, error) {
			var parts []string
			for i, a := range args {
				if a.(string) == "" {
					return nil, schema.ArgumentError(i, "a name is empty")
				}
				parts = append(parts, quoteIdent(a.(string)))
			}
			return strings.Join(parts, "."), nil
		},
	}
}
