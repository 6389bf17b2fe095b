package eval

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/eval/linking"
)

// arguments remembers what variables of modules have become of large values, so that the instances of a module that are
// all given the same one share what it was converted to. Each variable remembers the last.
type arguments struct{ bySlot sync.Map } // *linking.Slot -> *argument

type argument struct {
	mu    sync.Mutex // held while a value is converted: others want the same
	of    ctyfast.Identity
	value cty.Value
}

// largeArgument is from how many elements on a value is remembered.
const largeArgument = 16

// converted returns the value of a variable for what it was given, by convert if it is not known yet.
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

// identityOfArgument returns what tells a value from others; ok is false where it is not worth while.
func identityOfArgument(v cty.Value) (ctyfast.Identity, bool) {
	if v == cty.NilVal || v.IsMarked() || !v.IsKnown() || v.IsNull() ||
		!v.CanIterateElements() || v.LengthInt() < largeArgument && !v.Type().IsObjectType() {
		return ctyfast.Identity{}, false
	}
	id, _, ok := ctyfast.IdentityOf(v)
	return id, ok
}
