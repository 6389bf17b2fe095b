// Package regex compiles regular expressions when they are first used. A command uses few of the program's expressions,
// and compiling all of them at startup costs a megabyte.
//
//	var name = regex.Lazy(`^[a-z]+$`)
//
//	if name().MatchString(text) {
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns a function that returns the compiled expression and may be called concurrently. It panics if the
// expression is invalid: TestExpressionsAreCompiledWhenFirstUsed compiles all expressions that are constants.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
