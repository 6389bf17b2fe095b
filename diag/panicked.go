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

// PanicError is a panic in code of the program that uses the library. The engine calls such code in other goroutines; a
// panic of a provider or an event sink continues as a *PanicError in the goroutine that called the library. A panic of
// a store or a function becomes the cause of an error.
type PanicError struct {
	// Value is the value of the panic, and Stack the stack of the panicking goroutine.
	Value any
	Stack []byte
	// Provider is the source of the provider that panicked, if it is known.
	Provider string
}

// AsPanic returns the value of a panic as a *PanicError, with the current stack if it is not one already.
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

// Unwrap returns the value as an error, or nil if it is not an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// panickedCall returns the text for a function call that panicked. It replaces the text of the library, which has the
// whole stack of the goroutine.
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
// runtime/debug prints it: two lines for each call, the newest first. It returns "" if there is none.
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
