package eval

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
)

// arguments caches converted large values of module variables, so that instances of a module with the same argument
// share the conversion. It keeps the last value of each variable.
type arguments struct{ bySlot sync.Map } // *linking.Slot -> *argument

type argument struct {
	mu    sync.Mutex // held while a value is converted, because other instances need the same result
	of    ctyfast.Identity
	value cty.Value
}

// largeArgument is the minimum number of elements of a value that is cached.
const largeArgument = 16

// converted returns the value of a variable for an argument, and calls convert if it is not cached.
func (a *arguments) converted(s *linking.Slot, raw cty.Value, convert func() (cty.Value, diag.List)) (cty.Value,
	diag.List) {
	id, ok := identityOfArgument(raw)
	if !ok {
		return convert()
	}
	found, _ := a.bySlot.LoadOrStore(s, &argument{})
	known := found.(*argument)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.of == id {
		return known.value, nil
	}
	val, diags := convert()
	if len(diags) == 0 {
		known.of, known.value = id, val
	}
	return val, diags
}

// identityOfArgument returns the identity of a value; ok is false if caching it is not worthwhile.
func identityOfArgument(v cty.Value) (ctyfast.Identity, bool) {
	if v == cty.NilVal || v.IsMarked() || !v.IsKnown() || v.IsNull() ||
		!v.CanIterateElements() || v.LengthInt() < largeArgument && !v.Type().IsObjectType() {
		return ctyfast.Identity{}, false
	}
	id, _, ok := ctyfast.IdentityOf(v)
	return id, ok
}
