package world

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Apply implements provider.Provider. Every change is recorded in the ledger before it is made.
func (p *world) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if rt := shaped(req.Type); rt != nil {
		return p.applyShaped(rt, req)
	}
	switch {
	case req.Type != typeName:
		return p.Base.Apply(ctx, req)
	case req.Planned.IsNull():
		return p.delete(ctx, req)
	case req.Prior.IsNull():
		return p.create(ctx, req)
	}
	return p.update(ctx, req)
}

// failed returns the response of a failed change, with the object that exists after it.
func failed(o *Object, format string, args ...any) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: cty.NullVal(objectType()), Diagnostics: problem(nil, "The world refused",
		format, args...)}
	if o != nil {
		resp.State, resp.Identity = o.value(), o.identity()
	}
	return resp
}

// prepare records the start of a change and determines its behaviour.
func (p *world) prepare(op, name, id, token string, directives map[string]string) (b behaviour, try int, err error) {
	if try, err = p.world.begin(op, name, id, token); err != nil {
		return b, 0, err
	}
	if b, _, err = readDirectives(directives, op, try); err != nil {
		return b, 0, err
	}
	return p.rates.of(b, op, name, try), try, nil
}

// spoil ends a change that has no effect.
func (p *world) spoil(op, name, id, token string, why error) error {
	if err := p.world.append(Event{Kind: Failed, Op: op, Name: name, ID: id, Token: token}); err != nil {
		return err
	}
	return why
}

func (p *world) create(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	o := objectOf(req.Planned)
	o.Token, o.Password = req.Intent, text(req.Config.GetAttr("password"))
	b, try, err := p.prepare("create", o.Name, "", req.Intent, o.Behave)
	if err == nil && b.fail {
		err = p.spoil("create", o.Name, "", req.Intent, fmt.Errorf("the creation of %q was told to fail", o.Name))
	}
	if err == nil {
		if err = b.pause(ctx, p.stopped); err != nil {
			err = p.spoil("create", o.Name, "", req.Intent, err)
		}
	}
	if err != nil {
		return failed(nil, "The object %q was not created: %s.", o.Name, err)
	}
	o.ID, o.Revision = fmt.Sprintf("%s-%d", o.Name, try), 1
	if err := p.world.append(Event{Kind: Created, Op: "create", Name: o.Name, ID: o.ID, Token: req.Intent,
		Object: &o}); err != nil {
		return failed(nil, "The object %q may have been created: %s.", o.Name, err)
	}
	if b.early && req.Partial != nil {
		req.Partial(o.value(), nil)
	}
	switch b.half {
	case "error":
		return failed(&o, "The object %q was created, but not finished.", o.Name)
	case "lost":
		resp := failed(nil, "The answer about the object %q was lost.", o.Name)
		resp.State = cty.NilVal
		return resp
	}
	if err := b.pause(ctx, p.stopped); err != nil {
		return failed(&o, "The object %q was created, but not finished: %s.", o.Name, err)
	}
	return provider.ApplyResponse{State: o.value(), Private: req.PlannedPrivate, Identity: o.identity()}
}

func (p *world) update(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	before := objectOf(req.Prior)
	o := objectOf(req.Planned)
	o.Password = text(req.Config.GetAttr("password"))
	b, _, err := p.prepare("update", o.Name, o.ID, req.Intent, o.Behave)
	if err == nil && b.fail {
		err = p.spoil("update", o.Name, o.ID, req.Intent, fmt.Errorf("it was told to fail"))
	}
	if err == nil {
		if err = b.pause(ctx, p.stopped); err != nil {
			err = p.spoil("update", o.Name, o.ID, req.Intent, err)
		}
	}
	if err != nil {
		return withPrivate(failed(&before, "The object %q was not updated: %s.", o.ID, err), req.PlannedPrivate)
	}
	there, err := p.world.Object(o.ID)
	if err != nil || there == nil {
		return withPrivate(failed(&before, "The object %q was not updated, because it is not there any more.", o.ID),
			req.PlannedPrivate)
	}
	o.Revision, o.Drifted, o.Token = there.Revision+1, there.Drifted, there.Token
	if err := p.world.append(Event{Kind: Updated, Op: "update", Name: o.Name, ID: o.ID, Token: req.Intent,
		Object: &o}); err != nil {
		return withPrivate(failed(&before, "The object %q may have been updated: %s.", o.ID, err), req.PlannedPrivate)
	}
	if err := b.pause(ctx, p.stopped); err != nil {
		return withPrivate(failed(&o, "The object %q was updated, but not finished: %s.", o.ID, err),
			req.PlannedPrivate)
	}
	return provider.ApplyResponse{State: o.value(), Private: req.PlannedPrivate, Identity: o.identity()}
}

func withPrivate(resp provider.ApplyResponse, private []byte) provider.ApplyResponse {
	resp.Private = private
	return resp
}

// delete removes an object. A missing object is not an error.
func (p *world) delete(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	o := objectOf(req.Prior)
	b, _, err := p.prepare("delete", o.Name, o.ID, req.Intent, o.Behave)
	if err == nil && b.fail {
		err = p.spoil("delete", o.Name, o.ID, req.Intent, fmt.Errorf("it was told to fail"))
	}
	if err == nil {
		if err = b.pause(ctx, p.stopped); err != nil {
			err = p.spoil("delete", o.Name, o.ID, req.Intent, err)
		}
	}
	if err == nil {
		err = p.world.append(Event{Kind: Deleted, Op: "delete", Name: o.Name, ID: o.ID, Token: req.Intent})
	}
	if err != nil {
		return withPrivate(failed(&o, "The object %q was not deleted: %s.", o.ID, err), req.PlannedPrivate)
	}
	// The object is deleted, whether the call is interrupted or not.
	_ = b.pause(ctx, p.stopped)
	return provider.ApplyResponse{State: req.Planned}
}

// objectOf converts a value; it omits unknown attributes.
func objectOf(v cty.Value) Object {
	o := Object{ID: text(v.GetAttr("id")), Name: text(v.GetAttr("name")), Value: textOrNil(v.GetAttr("value")),
		Secret: textOrNil(v.GetAttr("secret"))}
	o.Tags, o.Behave = stringMap(v.GetAttr("tags")), stringMap(v.GetAttr("behave"))
	if size := v.GetAttr("size"); size.IsKnown() && !size.IsNull() {
		o.Size = size.AsBigFloat().Text('f', -1)
	}
	if rev := v.GetAttr("revision"); rev.IsKnown() && !rev.IsNull() {
		n, _ := rev.AsBigFloat().Int64()
		o.Revision = int(n)
	}
	return o
}

// value returns the object as a value of the resource type.
func (o *Object) value() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(o.ID), "name": cty.StringVal(o.Name), "value": nullableText(o.Value),
		"secret": nullableText(o.Secret),
		"size":   cty.MustParseNumberVal(o.Size), "tags": mapValue(o.Tags), "behave": mapValue(o.Behave),
		"revision": cty.NumberIntVal(int64(o.Revision)),
		"password": cty.NullVal(cty.String),
	})
}

// identity returns the identity of the object, which does not change.
func (o *Object) identity() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(o.ID)})
}

// State returns the object as a value of its resource type, for tests that write a state by hand.
func (o Object) State() cty.Value { return o.value() }

// Type returns the type of such values.
func Type() cty.Type { return objectType() }

func text(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

func textOrNil(v cty.Value) *string {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	s := v.AsString()
	return &s
}

func nullableText(s *string) cty.Value {
	if s == nil {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(*s)
}

// stringMap returns a map, which is nil only for a null value.
func stringMap(v cty.Value) map[string]string {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	out := map[string]string{}
	for k, e := range v.AsValueMap() {
		out[k] = text(e)
	}
	return out
}

func mapValue(m map[string]string) cty.Value {
	if m == nil {
		return cty.NullVal(cty.Map(cty.String))
	}
	if len(m) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	vals := map[string]cty.Value{}
	for k, s := range m {
		vals[k] = cty.StringVal(s)
	}
	return cty.MapVal(vals)
}
