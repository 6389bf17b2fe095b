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
	// MaxText is how many bytes a text may have, and all texts of a value together.
	MaxText = 1 << 28
	// MaxParts is how many parts a value may have: each text, number, truth value and null counts as often as it can be
	// reached, each collection once.
	MaxParts = 1 << 24
	// MaxElements is how many elements `for` expressions inside of each other may hold at a time.
	MaxElements = 1 << 23
	// patience is the number of elements after which a `for` expression ends at the first interrupt.
	patience = 1 << 20
	// maxRounds is how often `for` expressions may look at an element in one walk.
	maxRounds = 1 << 30
	// maxCost bounds the work of bcrypt, which doubles with each step: this is about a minute.
	maxCost = 20
)

// limits are the limits of the functions of this package; tests lower them.
var limits = struct{ text, parts, elements, product, patience, set int }{MaxText, MaxParts, MaxElements, maxProduct,
	patience, longSet}

// tooLarge is the error of something that exceeds a limit.
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

// ErrStopped is the error of work that an interrupt has ended.
var ErrStopped = errors.New("the run was interrupted")

// Work counts the work of the expressions of one walk, and can end it. Many goroutines may use it at once; nil bounds
// nothing.
type Work struct {
	ctx     context.Context
	asked   context.Context // ends when long work should end
	rounds  atomic.Int64
	fickle  atomic.Int64 // calls of functions that give something else each time
	read    atomic.Int64 // calls of functions that read files
	recalls sync.Map     // *share -> *recollection
	metered sync.Map     // hclsyntax.Expression -> result of Metered
}

// NewWork returns work that ends with a context.
func NewWork(ctx context.Context) *Work { return &Work{ctx: ctx, asked: ctx} }

// NewWorkWithGrace returns work that ends with a context. Long work ends earlier, with asked.
func NewWorkWithGrace(asked, ctx context.Context) *Work { return &Work{ctx: ctx, asked: asked} }

// stopped returns the error of work that has to end.
func (w *Work) stopped() error {
	if w == nil || w.ctx.Err() == nil {
		return nil
	}
	return ErrStopped
}

// stoppedLong is stopped for work that has taken some steps already.
func (w *Work) stoppedLong(steps int64) error {
	if w != nil && steps >= int64(limits.patience) && w.asked.Err() != nil {
		return ErrStopped
	}
	return w.stopped()
}

// done is closed when the work has to end, which is sooner for long work.
func (w *Work) done(long bool) <-chan struct{} {
	switch {
	case w == nil:
		return nil
	case long:
		return w.asked.Done()
	}
	return w.ctx.Done()
}

// spend adds rounds to those of the walk.
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

// workName is the key of the Work in a table of functions: no expression can call it, and no mistyped name is close to
// it.
const workName = "\x00\x00\x00\x00\x00\x00 work of the walk"

var workType = cty.Capsule("work", nativeWork)

func (w *Work) function() function.Function {
	v := cty.CapsuleVal(workType, w)
	return function.New(&function.Spec{
		Type: function.StaticReturnType(workType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return v, nil },
	})
}

// workOf returns the work that an expression is part of, or nil if there is none.
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

// Evaluate returns the value of an expression, which is an error if it is too large, and whose evaluation ends with the
// Work of the functions in the scope.
func Evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	switch e.(type) {
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.LiteralValueExpr:
		return e.Value(ctx) // nothing is created here
	}
	w := workOf(ctx)
	if w == nil {
		return e.Value(ctx)
	}
	if err := w.stopped(); err != nil {
		return cty.DynamicVal, hcl.Diagnostics{tooMuch(err, e)}
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

// withinBounds returns what an expression came to if it is not larger than values may be.
func withinBounds(v cty.Value, diags hcl.Diagnostics, e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if !diags.HasErrors() {
		if err := CheckSize(v); err != nil {
			return cty.DynamicVal, append(diags, tooMuch(err, e))
		}
	}
	return v, diags
}

// CheckSize returns an error for a value that is too large. It visits no more parts than the limit.
func CheckSize(v cty.Value) error {
	s := size{parts: limits.parts, text: limits.text}
	return s.take(v)
}

// size is the rest of the limits while a value is measured.
type size struct {
	parts, text int
	visits      int
	taken       map[ctyfast.Identity]size // what collections have that occur more than once
}

// manyVisits is the number of visits after which collections are remembered: a few that have each other twice have many
// parts.
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

// callSteps is the work of a call of a function that is written in the language, in rounds of `for` expressions.
const callSteps = 64

// EvaluateCalled is Evaluate for the result of a function that is written in the language: each call counts as some
// work. Functions that call each other twice each double it with every level.
func EvaluateCalled(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if err := workOf(ctx).spend(callSteps); err != nil {
		return cty.DynamicVal, hcl.Diagnostics{tooMuch(err, e)}
	}
	return Evaluate(e, ctx)
}

// HasWork reports whether a table of functions has a Work that bounds what calls them.
func HasWork(table map[string]function.Function) bool {
	_, ok := table[workName]
	return ok
}
