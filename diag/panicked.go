package diag

import (
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"
)

// PanicError is the panic of code that the program which uses the library has brought. The engine calls such code in
// other goroutines; the panic of a provider or of a sink of events continues in the one that called the library, as a
// *PanicError. That of a store or a function is the cause of an error.
type PanicError struct {
	// Value is the value of the panic, and Stack the stack of the goroutine in which it happened.
	Value any
	Stack []byte
	// Provider is the source of the provider that panicked, if it is known.
	Provider string
}

// AsPanic returns the value of a panic as a *PanicError, with the present stack if it is not one already.
func AsPanic(value any) *PanicError {
	if p, ok := value.(*PanicError); ok {
		return p
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// Error implements error.
func (p *PanicError) Error() string {
	of, place := "", ""
	if p.Provider != "" {
		of = "provider " + p.Provider + ": "
	}
	if at := panickedAt(string(p.Stack)); at != "" {
		place = " in " + at
	}
	return fmt.Sprintf("%spanic%s: %v", of, place, p.Value)
}

// Unwrap returns the value as an error; nil for other values.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// panickedCall returns the text for a call of a function that panicked, instead of the library's, which has the whole
// stack of the goroutine.
func panickedCall(d *Diagnostic) (string, bool) {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](&hcl.Diagnostic{Extra: d.Extra})
	if !ok {
		return "", false
	}
	problem, ok := errors.AsType[function.PanicError](call.FunctionCallError())
	if !ok {
		return "", false
	}
	place := ""
	if at := panickedAt(string(problem.Stack)); at != "" {
		place = " in " + at
	}
	return fmt.Sprintf("Call to function %q failed: it panicked%s: %v. This is a bug in the function.",
		call.CalledFunctionName(), place, problem.Value), true
}

// panickedAt returns the function that panicked, with the name of its file and the line, from a stack as package
// runtime/debug prints it: two lines a call, the newest first. It returns an empty text if it finds none.
func panickedAt(stack string) string {
	lines := strings.Split(stack, "\n")
	from := -1
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			from = i + 2
		}
	}
	if from < 0 {
		return ""
	}
	for i := from; i+1 < len(lines); i += 2 {
		name := path.Base(lines[i])
		name = name[:max(strings.LastIndexByte(name, '('), 0)]
		if strings.HasPrefix(name, "runtime.") {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return fmt.Sprintf("%s (%s)", name, path.Base(file))
	}
	return ""
}
