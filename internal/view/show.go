package view

import (
	"io"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
	"github.com/tombolo-iac/tombolo/state"
)

// State writes a whole state as text: what `show` prints without a plan file.
func State(o Options, s *state.State, schemas tfjson.Schemas) error { return nil }

// Object writes one instance as text: what `state show ADDRESS` prints.
func Object(o Options, s *state.State, a addr.AbsResourceInstance, schemas tfjson.Schemas) error {
	return nil
}

// Outputs writes the root output values as text, sensitive ones withheld: what `output` prints. It writes nothing for a state
// without outputs.
func Outputs(w io.Writer, s *state.State) error { return nil }

// OutputValue writes one value, even a sensitive one, in the syntax of the language: what `output NAME` prints.
func OutputValue(w io.Writer, o *state.Output) error { return nil }

// RawOutput writes one value as it is, without a line end: what `output -raw NAME` prints. It fails for what has no single text form:
// null, unknown, and anything but strings, numbers and bools.
func RawOutput(w io.Writer, name string, o *state.Output) error { return nil }

// FormatValue gives a value in the syntax of the language, as `output NAME` and the console print it.
func FormatValue(v cty.Value) string { return "" }
