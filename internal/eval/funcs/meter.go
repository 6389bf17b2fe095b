package funcs

import (
	"math"
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/iteration"
)

var nativeWork = reflect.TypeFor[Work]()

// Metered returns an expression with the same result, except that a text or a `for` expression that gets too large is
// an error, and that a `for` expression ends with the Work of its functions. The expression itself is not changed.
//
// What is written in the JSON syntax is parsed here for that.
func Metered(e hcl.Expression) hcl.Expression {
	native, ok := e.(hclsyntax.Expression)
	if !ok {
		return meteredJSON(e)
	}
	return metered(native)
}

// metered copies the nodes above the measured ones.
func metered(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.ForExpr:
		c := *e
		inside(&c.CollExpr, &c.KeyExpr, &c.ValExpr, &c.CondExpr)
		return &loop{Expression: e, of: &c}
	case *hclsyntax.TemplateExpr:
		c := *e
		c.Parts = all(e.Parts)
		return &text{Expression: e, of: &c}
	case *hclsyntax.TemplateJoinExpr:
		return &join{Expression: e, tuple: metered(e.Tuple)}
	case *hclsyntax.FunctionCallExpr:
		if len(e.Args) == 0 {
			return e
		}
		c := *e
		c.Args = all(e.Args)
		return &c
	case *hclsyntax.ConditionalExpr:
		c := *e
		inside(&c.Condition, &c.TrueResult, &c.FalseResult)
		return &c
	case *hclsyntax.IndexExpr:
		c := *e
		inside(&c.Collection, &c.Key)
		return &c
	case *hclsyntax.SplatExpr:
		c := *e
		inside(&c.Source, &c.Each)
		return &c
	case *hclsyntax.TupleConsExpr:
		c := *e
		c.Exprs = all(e.Exprs)
		return &c
	case *hclsyntax.ObjectConsExpr:
		c := *e
		c.Items = make([]hclsyntax.ObjectConsItem, len(e.Items))
		for i, item := range e.Items {
			inside(&item.KeyExpr, &item.ValueExpr)
			c.Items[i] = item
		}
		return &c
	case *hclsyntax.BinaryOpExpr:
		c := *e
		inside(&c.LHS, &c.RHS)
		return &c
	}
	return meteredSingle(e)
}

// meteredSingle is metered for nodes with one child.
func meteredSingle(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.TemplateWrapExpr:
		c := *e
		inside(&c.Wrapped)
		return &c
	case *hclsyntax.ParenthesesExpr:
		c := *e
		inside(&c.Expression)
		return &c
	case *hclsyntax.RelativeTraversalExpr:
		c := *e
		inside(&c.Source)
		return &c
	case *hclsyntax.ObjectConsKeyExpr:
		c := *e
		if hcl.ExprAsKeyword(c.Wrapped) == "" {
			inside(&c.Wrapped)
		}
		return &c
	case *hclsyntax.UnaryOpExpr:
		c := *e
		inside(&c.Val)
		return &c
	}
	if guarded, ok := iteration.With(e, metered); ok {
		return guarded
	}
	return e
}

func inside(children ...*hclsyntax.Expression) {
	for _, child := range children {
		if *child != nil {
			*child = metered(*child)
		}
	}
}

func all(children []hclsyntax.Expression) []hclsyntax.Expression {
	out := make([]hclsyntax.Expression, len(children))
	for i, child := range children {
		out[i] = metered(child)
	}
	return out
}

// Unmetered returns the expression inside of a measured one.
func Unmetered(e hcl.Expression) hcl.Expression {
	switch e := e.(type) {
	case *loop:
		return e.Expression
	case *text:
		return e.Expression
	case *join:
		return e.Expression
	}
	return e
}

// exceeded ends a `for` expression from within one of its rounds: the library would run all the others first. The
// outermost loop catches it.
type exceeded struct{ diagnostic *hcl.Diagnostic }

// counter counts the work of a `for` expression, including those inside of it.
type counter struct {
	work  *Work
	held  int       // elements of the running loops
	text  int       // bytes of the texts that templates have made for them
	total int64     // rounds
	fresh int64     // rounds that are not yet added to work
	over  *exceeded // what has ended it: functions such as try treat a panic as an error
}

// counterName is the variable through which inner loops find the counter.
const counterName = "\x00\x00\x00\x00\x00\x00 counter of the loop"

var counterType = cty.Capsule("counter", reflect.TypeFor[counter]())

// counterOf returns the counter of the enclosing loop; nil outside of loops.
func counterOf(ctx *hcl.EvalContext) *counter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if found, ok := ctx.Variables[counterName]; ok {
			return found.EncapsulatedValue().(*counter)
		}
	}
	return nil
}

// longText reports that a text is too long. It ends the enclosing loops: in the next round it would be as long.
func longText(ctx *hcl.EvalContext, diags hcl.Diagnostics, at hcl.Expression) (cty.Value, hcl.Diagnostics) {
	problem := tooMuch(errText(), at)
	if c := counterOf(ctx); c != nil {
		c.over = &exceeded{problem}
		panic(*c.over)
	}
	return cty.UnknownVal(cty.String), append(diags, problem)
}

// loop is a `for` expression.
type loop struct {
	hclsyntax.Expression
	of *hclsyntax.ForExpr
}

func (e *loop) Value(ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	c := counterOf(ctx)
	if c == nil {
		c = &counter{work: workOf(ctx)}
		ctx = ctx.NewChild()
		ctx.Variables = map[string]cty.Value{counterName: cty.CapsuleVal(counterType, c)}
		defer func() {
			switch r := recover().(type) {
			case nil:
				if c.over != nil {
					v, diags = cty.DynamicVal, hcl.Diagnostics{c.over.diagnostic}
				}
			case exceeded:
				v, diags = cty.DynamicVal, hcl.Diagnostics{r.diagnostic}
			default:
				panic(r)
			}
			if err := c.work.spend(c.fresh); err != nil && !diags.HasErrors() {
				v, diags = cty.DynamicVal, append(diags, tooMuch(err, e.Expression))
			}
		}()
	}
	of := *e.of
	of.ValExpr = &round{Expression: of.ValExpr, counter: c, keeps: true}
	if of.CondExpr != nil {
		of.CondExpr = &round{Expression: of.CondExpr, counter: c}
	}
	return of.Value(ctx)
}

// round is the work of a loop for each element: to test it, or to store something for it.
type round struct {
	hclsyntax.Expression
	counter *counter
	keeps   bool
}

func (e *round) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	c, err := e.counter, error(nil)
	c.total++
	if c.fresh++; c.fresh == 1<<10 {
		if err, c.fresh = c.work.spend(c.fresh), 0; err == nil {
			err = c.work.stoppedLong(c.total)
		}
	}
	if e.keeps {
		if c.held++; c.held > limits.elements {
			err = errElements()
		}
	}
	if err != nil && c.over == nil {
		c.over = &exceeded{tooMuch(err, e.Expression)}
	}
	if c.over != nil {
		panic(*c.over)
	}
	before, text := c.held, c.text
	v, diags := e.Expression.Value(ctx)
	c.held = before + c.left(v, c.held-before)
	c.text = text + c.leftText(v, c.text-text)
	return v, diags
}

// leftText returns how many bytes of a round's texts may still be in its result.
func (c *counter) leftText(v cty.Value, made int) int {
	if made == 0 || v == cty.NilVal {
		return 0
	}
	s := size{parts: made, text: made}
	if s.take(v) != nil {
		return made
	}
	return made - s.text
}

// left returns how many elements of inner loops may still be in their results.
func (c *counter) left(v cty.Value, made int) int {
	if made == 0 || v == cty.NilVal {
		return 0
	}
	s := size{parts: made, text: math.MaxInt}
	if s.take(v) != nil {
		return made
	}
	return made - max(0, s.parts)
}

// text is a template with several parts.
type text struct {
	hclsyntax.Expression
	of *hclsyntax.TemplateExpr
}

func (e *text) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if len(e.of.Parts) < 2 {
		return e.of.Value(ctx)
	}
	left := limits.text
	parts := make([]found, len(e.of.Parts))
	texts, marks := make([]string, len(parts)), []cty.ValueMarks{}
	whole := true
	for i, p := range e.of.Parts {
		v, diags := p.Value(ctx)
		parts[i] = found{Expression: p, value: v, diags: diags}
		bare, of := v.Unmark()
		if bare.Type() != cty.String || !bare.IsKnown() || bare.IsNull() || len(diags) > 0 {
			whole = false
			continue
		}
		texts[i], marks = bare.AsString(), append(marks, of)
		if left -= len(texts[i]); left < 0 {
			return longText(ctx, nil, p)
		}
	}
	if whole {
		// Its length is known, so it is written once. The library grows a buffer and copies it.
		return held(ctx, cty.StringVal(strings.Join(texts, "")).WithMarks(marks...), nil, e.Expression)
	}
	of := *e.of
	of.Parts = make([]hclsyntax.Expression, len(parts))
	left = limits.text
	for i := range parts {
		of.Parts[i] = &part{Expression: &parts[i], left: &left}
	}
	v, diags := of.Value(ctx)
	return held(ctx, v, diags, e.Expression)
}

// held counts the text of a template in a loop, which holds the texts of all its rounds.
func held(ctx *hcl.EvalContext, v cty.Value, diags hcl.Diagnostics, at hcl.Expression) (cty.Value, hcl.Diagnostics) {
	c := counterOf(ctx)
	if bare, _ := v.Unmark(); c != nil && bare.Type() == cty.String && bare.IsKnown() && !bare.IsNull() {
		if c.text += len(bare.AsString()); c.text > limits.text {
			return longText(ctx, diags, at)
		}
	}
	return v, diags
}

// part is a part of a template.
type part struct {
	hclsyntax.Expression
	left *int // of the limit
}

func (e *part) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	if bare, _ := v.Unmark(); bare.Type() == cty.String && bare.IsKnown() && !bare.IsNull() {
		if *e.left -= len(bare.AsString()); *e.left < 0 {
			return longText(ctx, diags, e.Expression)
		}
	}
	return v, diags
}

// join is the part of a template that repeats.
type join struct {
	hclsyntax.Expression
	tuple hclsyntax.Expression
}

func (e *join) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.tuple.Value(ctx)
	if bare, _ := v.Unmark(); bare.Type().IsTupleType() && bare.IsKnown() && !bare.IsNull() {
		left := limits.text
		for it := bare.ElementIterator(); it.Next(); {
			_, ev := it.Element()
			if ev, _ = ev.Unmark(); ev.Type() == cty.String && ev.IsKnown() && !ev.IsNull() {
				if left -= len(ev.AsString()); left < 0 {
					return longText(ctx, diags, e.Expression)
				}
			}
		}
	}
	done := &hclsyntax.TemplateJoinExpr{Tuple: &found{Expression: e.tuple, value: v, diags: diags}}
	v, diags = done.Value(ctx)
	return held(ctx, v, diags, e.Expression)
}

// found is an expression that has been evaluated.
type found struct {
	hclsyntax.Expression
	value cty.Value
	diags hcl.Diagnostics
}

func (e *found) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return e.value, e.diags }

// tooMuch returns the error of an expression. It shows no values: these are too large.
func tooMuch(err error, at hcl.Expression) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summaryOf(err), Detail: Detail(err),
		Subject: at.Range().Ptr()}
}

func summaryOf(err error) string {
	if err == ErrStopped {
		return "Operation canceled"
	}
	return "Too large a value"
}

// Detail returns an error of this file as a sentence.
func Detail(err error) string {
	text := err.Error()
	return "This is too much: " + text + "."
}
