package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// ActionEvent is an event of an object that can invoke actions.
type ActionEvent string

// The events, as in the language.
const (
	BeforeCreate ActionEvent = "before_create"
	AfterCreate  ActionEvent = "after_create"
	BeforeUpdate ActionEvent = "before_update"
	AfterUpdate  ActionEvent = "after_update"

	BeforeDestroy ActionEvent = "before_destroy"
	AfterDestroy  ActionEvent = "after_destroy"
)

var actionEvents = []ActionEvent{BeforeCreate, AfterCreate, BeforeUpdate, AfterUpdate, BeforeDestroy, AfterDestroy}

// Before reports whether the event comes before the object is changed.
func (e ActionEvent) Before() bool { return strings.HasPrefix(string(e), "before_") }

// OfDestruction reports whether the event is about the destruction of an object.
func (e ActionEvent) OfDestruction() bool { return e == BeforeDestroy || e == AfterDestroy }

// OnActionFailure is the effect of a failed action on its change.
type OnActionFailure string

// The effects, as in the language. Without on_failure, dependents do not wait for an action after a change.
const (
	ActionUnsaid   OnActionFailure = ""
	ActionHalt     OnActionFailure = "halt"     // dependents of the change are not applied
	ActionTaint    OnActionFailure = "taint"    // also, the next apply replaces a new object
	ActionContinue OnActionFailure = "continue" // a warning
)

var actionFailures = []string{string(ActionHalt), string(ActionTaint), string(ActionContinue)}

// ActionTrigger is an action_trigger block of a resource.
type ActionTrigger struct {
	Events    []ActionEvent
	Condition hcl.Expression // nil if there is none
	// Actions are invoked one after another. Instance keys may refer to count and each.
	Actions []hcl.Expression
	// OnFailure is the effect on the change if one of them fails.
	OnFailure OnActionFailure
	Range     hcl.Range // the block's header
}

// Before reports whether some event of the trigger comes before the object is changed.
func (t *ActionTrigger) Before() bool {
	return slices.ContainsFunc(t.Events, func(e ActionEvent) bool { return e.Before() && !e.OfDestruction() })
}

// OfDestruction reports whether some event of the trigger is about the destruction of an object.
func (t *ActionTrigger) OfDestruction() bool {
	return slices.ContainsFunc(t.Events, ActionEvent.OfDestruction)
}

var actionSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "config"}},
}

// decodeAction decodes an action block. The provider's schema describes its config block.
func decodeAction(block *hcl.Block, override bool) (*Resource, diag.List) {
	content, hclDiags := block.Body.Content(actionSchema)
	r, diags := newResource(block, addr.Action, content, override)
	diags = diag.List(nil).AppendHCL(hclDiags).Extend(diags)
	r.Body = hcl.EmptyBody()
	var first *hcl.Block
	for _, b := range content.Blocks {
		if first != nil {
			diags = diags.Extend(twice(b, first, "This action"))
			continue
		}
		first, r.Body = b, b.Body
	}
	return r, diags
}

var triggerSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "events", Required: true}, {Name: "condition"}, {Name: "actions", Required: true},
	{Name: "on_failure"}}}

// decodeActionTrigger decodes an action_trigger block of a managed resource.
func decodeActionTrigger(block *hcl.Block) (*ActionTrigger, diag.List) {
	content, hclDiags := block.Body.Content(triggerSchema)
	t := &ActionTrigger{Range: block.DefRange}
	var diags diag.List
	if attr, ok := content.Attributes["condition"]; ok {
		t.Condition = attr.Expr
	}
	if attr, ok := content.Attributes["events"]; ok {
		diags = diags.Extend(t.decodeEvents(attr))
	}
	if t.Condition != nil && slices.Contains(t.Events, BeforeCreate) {
		if name := objectIn(t.Condition); name != "" {
			diags = diags.Errorf(t.Condition.Range().Ptr(), "Reference to self in before_create condition",
				"Before the object is created, %s has no object to refer to. Move the other events to a separate "+
					"action_trigger block.", name)
		}
	}
	if t.Condition != nil && t.OfDestruction() {
		diags = diags.Errorf(t.Condition.Range().Ptr(), "Condition on destroy action", "A trigger with destroy "+
			"events cannot have a condition: the objects that it refers to may already be destroyed. Move the "+
			"destroy events to an action_trigger block without a condition.")
	}
	if attr, ok := content.Attributes["on_failure"]; ok {
		diags = diags.Extend(t.decodeFailure(attr))
	}
	wrong := false
	if attr, ok := content.Attributes["actions"]; ok {
		moreDiags := t.decodeActions(attr)
		_, isList := hcl.ExprList(attr.Expr)
		wrong = moreDiags.HasErrors() && !isList.HasErrors()
		diags = diags.Extend(moreDiags)
	}
	if len(t.Actions) == 0 && !wrong {
		at := block.DefRange
		if attr, ok := content.Attributes["actions"]; ok {
			if exprs, _ := hcl.ExprList(attr.Expr); len(exprs) > 0 {
				at = exprs[0].Range()
			}
		}
		diags = diags.Errorf(&at, "No actions specified", "An action_trigger block needs at least one action.")
	}
	if len(t.Events) == 0 {
		diags = diags.Errorf(block.DefRange.Ptr(), "No events specified",
			"An action_trigger block needs at least one event.")
	}
	return t, diags.AppendHCL(hclDiags)
}

// objectIn returns the name by which a condition refers to the changed object, or "".
func objectIn(condition hcl.Expression) string {
	for _, t := range condition.Variables() {
		if name := t.RootName(); name == "self" || name == "caller" {
			return name
		}
	}
	return ""
}

func (t *ActionTrigger) decodeFailure(attr *hcl.Attribute) (diags diag.List) {
	expr := attr.Expr
	if isJSON(expr) {
		expr, _ = unquote(expr, "keywords")
	}
	word := hcl.ExprAsKeyword(expr)
	if !slices.Contains(actionFailures, word) {
		return diags.Errorf(expr.Range().Ptr(), `Invalid "on_failure" keyword`,
			"on_failure is one of %s, without quotes.%s", strings.Join(actionFailures, ", "),
			diag.DidYouMean(word, actionFailures))
	}
	t.OnFailure = OnActionFailure(word)
	return nil
}

func (t *ActionTrigger) decodeEvents(attr *hcl.Attribute) (diags diag.List) {
	exprs, hclDiags := hcl.ExprList(attr.Expr)
	diags = diags.AppendHCL(hclDiags)
	for _, expr := range exprs {
		if isJSON(expr) {
			expr, _ = unquote(expr, "keywords")
		}
		event := ActionEvent(hcl.ExprAsKeyword(expr))
		switch {
		case !slices.Contains(actionEvents, event):
			words := make([]string, len(actionEvents))
			for i, e := range actionEvents {
				words[i] = string(e)
			}
			diags = diags.Errorf(expr.Range().Ptr(), fmt.Sprintf("Invalid \"event\" value %s", event),
				"An event must be one of %s, without quotes.%s", strings.Join(words, ", "),
				diag.DidYouMean(string(event), words))
		case slices.Contains(t.Events, event):
			diags = diags.Errorf(expr.Range().Ptr(), fmt.Sprintf("Duplicate %q event", event),
				"The block already has this event.")
		default:
			t.Events = append(t.Events, event)
		}
	}
	return diags
}

func (t *ActionTrigger) decodeActions(attr *hcl.Attribute) (diags diag.List) {
	exprs, hclDiags := hcl.ExprList(attr.Expr)
	diags = diags.AppendHCL(hclDiags)
	for _, expr := range exprs {
		if isJSON(expr) {
			var moreDiags diag.List
			if expr, moreDiags = unquote(expr, "references"); moreDiags.HasErrors() {
				diags = diags.Extend(moreDiags)
				continue
			}
		}
		if moreDiags := t.decodeAction(expr); moreDiags.HasErrors() {
			t.Actions = nil
			return diags.Extend(moreDiags)
		}
	}
	return diags
}

// decodeAction adds an element of actions, if it refers to an action.
func (t *ActionTrigger) decodeAction(expr hcl.Expression) (diags diag.List) {
	actions, others, at := 0, false, expr.Range()
	for _, traversal := range expr.Variables() {
		ref, moreDiags := addr.ParseReference(traversal)
		switch {
		case moreDiags.HasErrors() && traversal.RootName() == "action":
			return diags.Extend(moreDiags)
		case moreDiags.HasErrors():
			others = true
		case ref.Kind == addr.RefResource && ref.Resource.Mode == addr.Action:
			if len(ref.Remaining) > 0 {
				return diags.Errorf(&at, "Unexpected attribute in action reference",
					"An action has no attributes. Only its address can be here: action.TYPE.NAME, with a key if it "+
						"has instances.")
			}
			actions++
		case actionOfModule(traversal):
			return diags.Errorf(&at, "Invalid reference to action outside this module",
				"Only resources of the module that declares an action can invoke it.")
		case ref.Kind != addr.RefCount && ref.Kind != addr.RefEach:
			others = true
		}
	}
	if actions == 1 && !others {
		t.Actions = append(t.Actions, expr)
	} else if actions+len(expr.Variables()) > 0 {
		return diags.Errorf(&at, "Invalid action argument inside action_triggers",
			"Each element of actions must be the address of an action in this module: action.TYPE.NAME, with a key if "+
				"it has instances.")
	}
	return diags
}

// actionOfModule reports whether a reference is the address of an action in a called module.
func actionOfModule(traversal hcl.Traversal) bool {
	return traversal.RootName() == "module" && slices.ContainsFunc(traversal, func(step hcl.Traverser) bool {
		attr, ok := step.(hcl.TraverseAttr)
		return ok && attr.Name == "action"
	})
}

// missingActions reports actions in the triggers of a resource that the module does not have.
func (a *assembly) missingActions(r *Resource) (diags diag.List) {
	for _, t := range r.ActionTriggers {
		for _, expr := range t.Actions {
			for _, traversal := range expr.Variables() {
				ref, problems := addr.ParseReference(traversal)
				if problems.HasErrors() || ref.Kind != addr.RefResource || a.Resources[ref.Resource] != nil ||
					a.partial {
					continue
				}
				diags = diags.Append(&diag.Diagnostic{Severity: diag.Error,
					Summary: "action_trigger actions references non-existent action", Subject: expr.Range().Ptr(),
					Context: hcl.RangeBetween(r.DeclRange, expr.Range()).Ptr(),
					Detail:  fmt.Sprintf("The module has no %s.", ref.Resource)})
			}
		}
	}
	return diags
}
