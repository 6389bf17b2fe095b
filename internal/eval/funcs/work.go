package funcs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// The results of expressions are limited, so that a mistake in a few lines of configuration is an error and does not
// exhaust the machine. The limits are documented in docs/functions.md.
const (
	// MaxText is the maximum size in bytes of a text, and of all texts of a value together.
	MaxText = 1 << 28
	// MaxParts is the maximum number of parts of a value: each string, number, bool and null counts as often as it can
	// be reached, each collection once.
	MaxParts = 1 << 24
	// MaxElements is the maximum number of elements that nested `for` expressions may hold at a time.
	MaxElements = 1 << 23
	// patience is the number of elements after which a `for` expression ends at the first interrupt.
	patience = 1 << 20
	// maxRounds is the maximum number of rounds of all `for` expressions in one walk.
	maxRounds = 1 << 30
	// maxCost limits the cost of bcrypt, which doubles with each step: this is about a minute.
	maxCost = 20
)

// limits are the limits of the functions of this package; tests lower them.
var limits = struct{ text, parts, elements, product, patience, set int }{MaxText, MaxParts, MaxElements, maxProduct,
	patience, longSet}

// tooLarge is the error for a value that exceeds a limit.
type tooLarge string

func (e tooLarge) Error() string { return string(e) }

func errText() error {
	return tooLarge(fmt.Sprintf("the text would be longer than the limit of %d bytes", limits.text))
}

func errEntries() error {
	return tooLarge(fmt.Sprintf("the search would read more than the limit of %d files and folders",
		limits.elements))
}

func errParts() error {
	return tooLarge(fmt.Sprintf("the value would have more than the limit of %d parts", limits.parts))
}

func errElements() error {
	return tooLarge(fmt.Sprintf("the for expression would have more than the limit of %d elements",
		limits.elements))
}

// ErrStopped is the error of work that an interrupt ended.
var ErrStopped = errors.New("the run was interrupted")

// Work counts the work of the expressions of one walk, and can end it. It may be used concurrently; nil means no
// limits.
type Work struct {
	ctx     context.Context
	asked   context.Context // cancelled when long work should end
	rounds  atomic.Int64
	fickle  atomic.Int64 // calls of functions whose results change
	read    atomic.Int64 // calls of functions that read files
	recalls sync.Map     // *share -> *cachedResult
	metered sync.Map     // hclsyntax.Expression -> result of Metered
}

// NewWork returns a Work that ends with a context.
func NewWork(ctx context.Context) *Work { return &Work{ctx: ctx, asked: ctx} }

// NewWorkWithGrace returns a Work that ends with ctx. Long work ends earlier, with asked.
func NewWorkWithGrace(asked, ctx context.Context) *Work { return &Work{ctx: ctx, asked: asked} }

// stopped returns the error if the work has to end.
func (w *Work) stopped() error {
	if w == nil || w.ctx.Err() == nil {
		return nil
	}
	return ErrStopped
}

// stoppedLong is like stopped, for work that has already taken some steps.
func (w *Work) stoppedLong(steps int64) error {
	if w != nil && steps >= int64(limits.patience) && w.asked.Err() != nil {
		return ErrStopped
	}
	return w.stopped()
}

// done returns a channel that is closed when the work has to end, which is earlier for long work.
func (w *Work) done(long bool) <-chan struct{} {
	switch {
	case w == nil:
		return nil
	case long:
		return w.asked.Done()
	}
	return w.ctx.Done()
}

// spend adds n rounds to the total of the walk.
func (w *Work) spend(n int64) error {
	if w == nil {
		return nil
	}
	if w.rounds.Add(n) > maxRounds {
		return fmt.Errorf("this run has reached a limit: %d elements read in for expressions, %d calls of functions "+
			"of the configuration, or %d GiB of files read", maxRounds, maxRounds/callSteps, maxRounds>>20)
	}
	return w.stopped()
}

// workName is the key of the Work in a function table: no expression can call it, and no mistyped name is similar.
const workName = "\x00\x00\x00\x00\x00\x00 work of the walk"

var workType = cty.Capsule("work", nativeWork)

func (w *Work) function() function.Function {
	v := cty.CapsuleVal(workType, w)
	return function.New(&function.Spec{
		Type: function.StaticReturnType(workType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return v, nil },
	})
}

// workOf returns the work that a scope belongs to, or nil if there is none.
func workOf(ctx *hcl.EvalContext) *Work {
	for ; ctx != nil; ctx = ctx.Parent() {
		if f, ok := ctx.Functions[workName]; ok {
			if v, err := f.Call(nil); err == nil {
				return v.EncapsulatedValue().(*Work)
			}
		}
	}
	return nil
}

// Evaluate returns the value of an expression, or an error if it is too large. The evaluation ends with the Work of the
// scope's functions.
func Evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	switch e.(type) {
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.LiteralValueExpr:
		return e.Value(ctx) // no new value is created
	}
	w := workOf(ctx)
	if w == nil {
		return e.Value(ctx)
	}
	if err := w.stopped(); err != nil {
		return cty.DynamicVal, hcl.Diagnostics{limitError(err, e)}
	}
	if _, native := e.(hclsyntax.Expression); native || reflect.TypeOf(e) == jsonExpression {
		known, ok := w.metered.Load(e)
		if !ok {
			known, _ = w.metered.LoadOrStore(e, Metered(e))
		}
		e = known.(hcl.Expression)
	}
	if part, ok := e.(*share); ok {
		return part.bounded(ctx)
	}
	v, diags := e.Value(ctx)
	return withinBounds(v, diags, e)
}

// withinBounds returns the result of an expression, or an error if it is too large.
func withinBounds(v cty.Value, diags hcl.Diagnostics, e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if !diags.HasErrors() {
		if err := CheckSize(v); err != nil {
			return cty.DynamicVal, append(diags, limitError(err, e))
		}
	}
	return v, diags
}

// CheckSize returns an error for a value that is too large. It visits no more parts than the limit.
func CheckSize(v cty.Value) error {
	s := size{parts: limits.parts, text: limits.text}
	return s.take(v)
}

// size is the remaining limits while a value is measured.
type size struct {
	parts, text int
	visits      int
	taken       map[ctyfast.Identity]size // sizes of repeated collections
}

// manyVisits is the number of visits after which sizes of collections are cached: a few that each contain another one
// twice have many parts.
const manyVisits = 1 << 14

func (s *size) take(v cty.Value) error {
	v, _ = v.Unmark()
	if s.visits++; s.visits < manyVisits {
		return s.visit(v)
	}
	id, _, ok := ctyfast.IdentityOf(v)
	if !ok {
		return s.visit(v)
	}
	if had, ok := s.taken[id]; ok {
		if s.parts -= had.parts; s.parts < 0 {
			return errParts()
		}
		if s.text -= had.text; s.text < 0 {
			return errText()
		}
		return nil
	}
	before := *s
	if err := s.visit(v); err != nil {
		return err
	}
	if s.taken == nil {
		s.taken = map[ctyfast.Identity]size{}
	}
	s.taken[id] = size{parts: before.parts - s.parts, text: before.text - s.text}
	return nil
}

func (s *size) visit(v cty.Value) error {
	if s.parts--; s.parts < 0 {
		return errParts()
	}
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String:
		if s.text -= len(v.AsString()); s.text < 0 {
			return errText()
		}
	case v.CanIterateElements():
		if ty.IsCollectionType() && ty.ElementType().IsPrimitiveType() && ty.ElementType() != cty.String {
			s.parts -= v.LengthInt()
			return nil
		}
		for _, ev := range ctyfast.Each(v) {
			if err := s.take(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// callSteps is the work of a call of a function defined in a configuration, in rounds of `for` expressions.
const callSteps = 64

// EvaluateCalled is like Evaluate, for the result of a function defined in a configuration: each call counts as work,
// because functions that call each other twice double the work at every level.
func EvaluateCalled(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if err := workOf(ctx).spend(callSteps); err != nil {
		return cty.DynamicVal, hcl.Diagnostics{limitError(err, e)}
	}
	return Evaluate(e, ctx)
}

// HasWork reports whether a function table has a Work.
func HasWork(table map[string]function.Function) bool {
	_, ok := table[workName]
	return ok
}
