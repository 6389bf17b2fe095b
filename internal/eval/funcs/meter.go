package funcs

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/iteration"
)

var nativeWork = reflect.TypeFor[Work]()

// Metered returns an expression with the same result, except that a text or `for` expression that gets too large is an
// error, and that a `for` expression ends with the Work of its functions. It parses JSON strings and changes nothing.
func Metered(e hcl.Expression) hcl.Expression {
	native, ok := e.(hclsyntax.Expression)
	if !ok {
		return meteredJSON(e)
	}
	return metered(native, outside)
}

// metered copies the nodes above the metered and shared ones.
func metered(e hclsyntax.Expression, s surroundings) hclsyntax.Expression {
	part := s.shareable(e)
	if part == nil {
		return meteredNode(e, s)
	}
	s.within = part
	part.Expression = meteredNode(e, s)
	return part
}

func meteredNode(e hclsyntax.Expression, s surroundings) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.ForExpr:
		c := *e
		s.inside(&c.CollExpr)
		s.loopOf(e).inside(&c.KeyExpr, &c.ValExpr, &c.CondExpr)
		return &loop{Expression: e, of: &c}
	case *hclsyntax.TemplateExpr:
		c := *e
		c.Parts = s.all(e.Parts)
		return &text{Expression: e, of: &c}
	case *hclsyntax.TemplateJoinExpr:
		return &join{Expression: e, tuple: metered(e.Tuple, s)}
	case *hclsyntax.FunctionCallExpr:
		return meteredCall(e, s)
	case *hclsyntax.ConditionalExpr:
		c := *e
		s.inside(&c.Condition, &c.TrueResult, &c.FalseResult)
		return &c
	case *hclsyntax.IndexExpr:
		c := *e
		s.inside(&c.Collection, &c.Key)
		return &c
	case *hclsyntax.SplatExpr:
		c := *e
		s.inside(&c.Source)
		s.fixed = true // the part that is evaluated for each element has no name for it
		s.inside(&c.Each)
		return &splat{Expression: e, of: &c}
	case *hclsyntax.TupleConsExpr:
		c := *e
		c.Exprs = s.all(e.Exprs)
		return &c
	case *hclsyntax.ObjectConsExpr:
		c := *e
		c.Items = make([]hclsyntax.ObjectConsItem, len(e.Items))
		for i, item := range e.Items {
			s.inside(&item.KeyExpr, &item.ValueExpr)
			c.Items[i] = item
		}
		return &c
	case *hclsyntax.BinaryOpExpr:
		c := *e
		s.inside(&c.LHS, &c.RHS)
		return &c
	}
	return meteredSingle(e, s)
}

// meteredSingle is like metered, for nodes with one child.
func meteredSingle(e hclsyntax.Expression, s surroundings) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.TemplateWrapExpr:
		c := *e
		s.inside(&c.Wrapped)
		return &c
	case *hclsyntax.ParenthesesExpr:
		c := *e
		s.inside(&c.Expression)
		return &c
	case *hclsyntax.RelativeTraversalExpr:
		c := *e
		s.inside(&c.Source)
		return &c
	case *hclsyntax.ObjectConsKeyExpr:
		c := *e
		if hcl.ExprAsKeyword(c.Wrapped) == "" {
			s.inside(&c.Wrapped)
		}
		return &c
	case *hclsyntax.UnaryOpExpr:
		c := *e
		s.inside(&c.Val)
		return &c
	}
	if guarded, ok := iteration.With(e, func(e hclsyntax.Expression) hclsyntax.Expression {
		return metered(e, s)
	}, elementsApart); ok {
		return guarded
	}
	return e
}

// meteredCall is like metered, for function calls.
func meteredCall(e *hclsyntax.FunctionCallExpr, s surroundings) hclsyntax.Expression {
	if len(e.Args) == 0 {
		return e
	}
	s.fixed = s.fixed || reads(e.Name)
	c := *e
	c.Args = typesAsWritten(e, s.all(e.Args))
	return quick(&c, s)
}

func (s surroundings) inside(children ...*hclsyntax.Expression) {
	for _, child := range children {
		if *child != nil {
			*child = metered(*child, s)
		}
	}
}

func (s surroundings) all(children []hclsyntax.Expression) []hclsyntax.Expression {
	out := make([]hclsyntax.Expression, len(children))
	for i, child := range children {
		out[i] = metered(child, s)
	}
	return out
}

// Unmetered returns the original of a metered expression.
func Unmetered(e hcl.Expression) hcl.Expression {
	switch e := e.(type) {
	case *loop:
		return e.Expression
	case *text:
		return e.Expression
	case *join:
		return e.Expression
	case *splat:
		return e.Expression
	case *fastCall:
		return e.Expression
	case *share:
		return Unmetered(e.Expression)
	}
	return e
}

// exceeded ends a `for` expression from within one of its rounds: otherwise the library would run all other rounds
// first. The outermost loop recovers it.
type exceeded struct{ diagnostic *hcl.Diagnostic }

// counter counts the work of a `for` expression and of those within it.
type counter struct {
	work  *Work
	held  int          // elements of the running loops
	text  int          // bytes of the texts of templates in them
	total int64        // rounds
	fresh int64        // rounds that are not yet added to work
	over  *exceeded    // the panic that ended it: functions such as try treat it as an error
	alone *atomic.Bool // whether it is abandoned; nil if it cannot be
}

// counterName is the variable in which inner loops find the counter.
const counterName = "\x00\x00\x00\x00\x00\x00 counter of the loop"

var counterType = cty.Capsule("counter", reflect.TypeFor[counter]())

// counterOf returns the counter of the enclosing loop, or nil outside of loops.
func counterOf(ctx *hcl.EvalContext) *counter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if found, ok := ctx.Variables[counterName]; ok {
			return found.EncapsulatedValue().(*counter)
		}
	}
	return nil
}

// longText returns the error for a text that is too long. It ends the enclosing loops: the next round would exceed the
// limit, too.
func longText(ctx *hcl.EvalContext, diags hcl.Diagnostics, at hcl.Expression) (cty.Value, hcl.Diagnostics) {
	problem := limitError(errText(), at)
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
				v, diags = cty.DynamicVal, append(diags, limitError(err, e.Expression))
			}
		}()
	}
	of := *e.of
	coll, collDiags := of.CollExpr.Value(ctx)
	of.CollExpr = &found{visible(of.CollExpr), coll, collDiags}
	if isLongSet(coll) {
		return e.sortedApart(&of, c, ctx)
	}
	return withRounds(&of, c).Value(ctx)
}

// withRounds returns a loop whose rounds are counted.
func withRounds(of *hclsyntax.ForExpr, c *counter) *hclsyntax.ForExpr {
	of.ValExpr = &round{Expression: of.ValExpr, counter: c, keeps: true}
	if of.CondExpr != nil {
		of.CondExpr = &round{Expression: of.CondExpr, counter: c}
	}
	return of
}

// sortedApart evaluates a loop over a long set, which the library sorts before the first round. It has its own counter,
// so that an abandoned evaluation ends in that round.
func (e *loop) sortedApart(of *hclsyntax.ForExpr, c *counter, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	own := *c
	own.alone = new(atomic.Bool)
	ctx = ctx.NewChild()
	ctx.Variables = map[string]cty.Value{counterName: cty.CapsuleVal(counterType, &own)}
	a, ok := interruptible(c.work, true, func() answer {
		v, diags := withRounds(of, &own).Value(ctx)
		return answer{v, diags}
	})
	if !ok {
		own.alone.Store(true)
		c.over = &exceeded{limitError(ErrStopped, e.Expression)}
		panic(*c.over)
	}
	own.alone = c.alone
	*c = own
	return a.v, a.diags
}

// round wraps the expressions that a loop evaluates for each element: its condition, or the key and value that it
// stores.
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
	if c.alone != nil && c.alone.Load() {
		err = ErrStopped
	}
	if err != nil && c.over == nil {
		c.over = &exceeded{limitError(err, e.Expression)}
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

// leftText returns the maximum number of bytes of a round's texts that its result may hold.
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

// left returns the maximum number of elements of inner loops that their results may hold.
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

// text is a template.
type text struct {
	hclsyntax.Expression
	of *hclsyntax.TemplateExpr
}

func (e *text) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if len(e.of.Parts) == 1 {
		return e.single(ctx)
	}
	left := limits.text
	parts := make([]found, len(e.of.Parts))
	texts, marks := make([]string, len(parts)), []cty.ValueMarks{}
	whole := true
	for i, p := range e.of.Parts {
		v, diags := p.Value(ctx)
		parts[i] = found{visible(p), v, diags}
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
		// Its length is known, so it is written once. The library would grow a buffer and copy it.
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

// single evaluates a template that is one literal text, or the body of a `for` directive with one interpolation. The
// text is not copied.
func (e *text) single(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	p := e.of.Parts[0]
	v, diags := p.Value(ctx)
	if bare, _ := v.Unmark(); bare.Type() != cty.String || !bare.IsKnown() || bare.IsNull() || len(diags) > 0 {
		of := *e.of
		of.Parts = []hclsyntax.Expression{&found{visible(p), v, diags}}
		v, diags = of.Value(ctx)
	}
	return held(ctx, v, diags, e.Expression)
}

// held counts the text of a template in a loop, which keeps the texts of all its rounds.
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
	left *int // the remaining limit
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

// join is a `for` directive of a template.
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
	done := &hclsyntax.TemplateJoinExpr{Tuple: &found{visible(e.tuple), v, diags}}
	v, diags = done.Value(ctx)
	return held(ctx, v, diags, e.Expression)
}

// found is the result of an evaluated expression.
type found struct {
	*hclsyntax.ParenthesesExpr
	value cty.Value
	diags hcl.Diagnostics
}

func (e *found) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return e.value, e.diags }

// visible wraps an expression so that walks of the syntax tree visit it.
func visible(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
}

// limitError returns the error for an expression. It shows no values, because they are too large.
func limitError(err error, at hcl.Expression) *hcl.Diagnostic {
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
	return "The value is too large: " + text + "."
}

// jsonExpression is the library's type of JSON expressions, whose content is not exported.
var jsonExpression = func() reflect.Type {
	e, _ := json.ParseExpression([]byte("0"), "")
	return reflect.TypeOf(e)
}()

// meteredJSON returns a JSON expression with its templates parsed and metered. The library parses them at each
// evaluation.
func meteredJSON(e hcl.Expression) hcl.Expression {
	if reflect.TypeOf(e) != jsonExpression {
		return e
	}
	if list, diags := hcl.ExprList(e); !diags.HasErrors() {
		items := make([]hcl.Expression, len(list))
		for i, item := range list {
			items[i] = meteredJSON(item)
		}
		return &jsonArray{e, items}
	}
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		o := &jsonObject{Expression: e}
		for _, p := range pairs {
			o.members = append(o.members, jsonMember{key: meteredJSON(p.Key), value: meteredJSON(p.Value), of: p.Value,
				at: p.Key.Range()})
		}
		return o
	}
	template, ok := templateIn(e)
	if !ok {
		return e // which reports the error
	}
	return &jsonText{e, metered(template, outside)}
}

// templateIn returns the template in a JSON string; ok is false for other expressions and for invalid templates.
func templateIn(e hcl.Expression) (template hclsyntax.Expression, ok bool) {
	v, diags := e.Value(nil) // the literal text
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return nil, false
	}
	at := e.Range()
	begin := hcl.Pos{Line: at.Start.Line, Column: at.Start.Column + 1, Byte: at.Start.Byte + 1} // after the quote
	template, diags = hclsyntax.ParseTemplate([]byte(v.AsString()), at.Filename, begin)
	return template, len(diags) == 0
}

// jsonText is a JSON string with a template.
type jsonText struct {
	hcl.Expression
	template hclsyntax.Expression
}

func (e *jsonText) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return e.template.Value(ctx)
}

// jsonArray is a JSON array.
type jsonArray struct {
	hcl.Expression
	items []hcl.Expression
}

func (e *jsonArray) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values := make([]cty.Value, len(e.items))
	for i, item := range e.items {
		v, problems := item.Value(ctx)
		values[i], diags = v, append(diags, problems...)
	}
	return cty.TupleVal(values), diags
}

// jsonObject is a JSON object. Its keys are templates, too.
type jsonObject struct {
	hcl.Expression
	members []jsonMember
}

type jsonMember struct {
	key, value hcl.Expression
	of         hcl.Expression // the value as the library returns it
	at         hcl.Range      // range of the key
}

// Value evaluates like the library's, with the same messages.
func (e *jsonObject) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values, places := map[string]cty.Value{}, map[string]hcl.Range{}
	wrong := func(m jsonMember, about hcl.Expression, summary, format string, args ...any) {
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: m.at.Ptr(),
			Expression: about, EvalContext: ctx,
		})
	}
	known := true
	for _, m := range e.members {
		key, keyDiags := m.key.Value(ctx)
		v, valueDiags := m.value.Value(ctx)
		diags = append(append(diags, keyDiags...), valueDiags...)
		key, err := convert.Convert(key, cty.String)
		switch {
		case err != nil:
			wrong(m, m.of, "Invalid object key expression", "Cannot use this expression as an object key: %s.", err)
		case key.IsNull():
			wrong(m, m.of, "Invalid object key expression", "Cannot use null value as an object key.")
		case !key.IsKnown():
			known = false
		default:
			name := key.AsString()
			if _, defined := values[name]; defined {
				wrong(m, e.Expression, "Duplicate object attribute", "An attribute named %q was already defined at %s.",
					name, places[name])
				continue
			}
			values[name], places[name] = v, m.at
		}
	}
	if !known {
		return cty.DynamicVal, diags
	}
	return cty.ObjectVal(values), diags
}
