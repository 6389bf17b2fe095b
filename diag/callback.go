package diag

import "fmt"

// Diagnostics is a List under the name that Terraform's plugin SDK uses.
type Diagnostics = List

// FromErr returns a list of one error with the text of err, or an empty list for nil.
func FromErr(err error) List {
	switch err.(type) {
	case nil, *Diagnostic, listError:
		return List(nil).AppendError("", err)
	}
	return List{{Severity: Error, Summary: err.Error(), Err: err, Foreign: true}}
}

// Errorf returns a list of one error whose summary is formatted.
func Errorf(format string, args ...any) List { return FromErr(fmt.Errorf(format, args...)) }
