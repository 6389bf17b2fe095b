package reference

import (
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/provider"
)

// Signature returns a function with its parameters and its result on one line.
func Signature(name string, f *provider.Function) string {
	var params []string
	for _, p := range f.Params {
		params = append(params, p.Name+" "+strings.ToLower(typeName(p.Type)))
	}
	if p := f.VarParam; p != nil {
		params = append(params, p.Name+" "+strings.ToLower(typeName(p.Type))+"...")
	}
	return fenced("text", fmt.Sprintf("%s(%s) %s", name, strings.Join(params, ", "),
		strings.ToLower(typeName(f.Return))))
}

// Arguments lists the parameters of a function, or returns "" if it has none.
func Arguments(f *provider.Function) string {
	var b strings.Builder
	argument := func(p provider.FunctionParam, first string) {
		kinds := first + typeName(p.Type)
		if p.AllowNull {
			kinds += ", Nullable"
		}
		text := strings.TrimSpace(fmt.Sprintf("1. `%s` (%s) %s", p.Name, kinds, strings.TrimSpace(p.Description)))
		b.WriteString(strings.ReplaceAll(text, "\n", "\n   ") + "\n")
	}
	for _, p := range f.Params {
		argument(p, "")
	}
	if f.VarParam != nil {
		argument(*f.VarParam, "Variadic, ")
	}
	return strings.TrimRight(b.String(), "\n")
}
