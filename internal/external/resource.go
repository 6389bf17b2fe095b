package external

import (
	"context"
	"fmt"
	"maps"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/provider"
)

func resourceBlock() *provider.Block {
	strings := cty.Map(cty.String)
	return &provider.Block{
		Description: "An object that a program manages. The program is run with create, read, update or delete as " +
			"its last " +
			"argument, and must not depend on the directory that it runs in.",
		Attributes: map[string]*provider.Attribute{
			"program":     {Type: cty.DynamicPseudoType, Required: true, Description: aboutProgram},
			"interpreter": {Type: cty.DynamicPseudoType, Optional: true, Description: aboutInterpreter},
			"arguments": {Type: strings, Optional: true,
				Description: "The arguments of the object. After apply, those that the program returned."},
			"result": {Type: strings, Computed: true,
				Description: "Further attributes of the object, from the program."},
			idAttribute: {Type: cty.String, Computed: true,
				Description: "The name that the program gave to the object."},
		},
	}
}

// ValidateResource checks the resource in the same way as the second data source.
func (p *external) ValidateResource(ctx context.Context, req provider.ValidateResourceRequest) diag.List {
	if req.Kind != provider.ManagedResource || req.Type != typeResource {
		return p.Provider.ValidateResource(ctx, req)
	}
	return validateProgram(req.Config)
}

// UpgradeState decodes a stored object: the schema has one version.
func (p *external) UpgradeState(ctx context.Context, req provider.UpgradeStateRequest) provider.UpgradeStateResponse {
	if req.Type != typeResource {
		return p.Provider.UpgradeState(ctx, req)
	}
	return provider.DecodeStored(p.schema.Resources[typeResource], req)
}

// object holds the attributes of a value of the resource. Attributes may be null, and unknown in plans.
type object struct {
	program, interpreter  cty.Value
	id, arguments, result cty.Value
}

func objectOf(v cty.Value) object {
	return object{
		program: v.GetAttr("program"), interpreter: v.GetAttr("interpreter"),
		id: v.GetAttr("id"), arguments: v.GetAttr("arguments"), result: v.GetAttr("result"),
	}
}

func (o object) value() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"program": o.program, "interpreter": o.interpreter,
		"id": o.id, "arguments": o.arguments, "result": o.result,
	})
}

// with returns the object with the attributes of an answer.
func (o object) with(a answer) object {
	o.id = cty.StringVal(a.id)
	o.arguments = stringsValue(a.arguments)
	o.result = stringsValue(a.result)
	return o
}

// wants reports whether applying a configuration needs a run of update: the arguments differ from those that the
// program reported, or it has never reported any, as after an import by a bare ID. A change of only the program needs
// none.
func (o object) wants(config object) bool {
	return o.result.IsNull() || !config.arguments.IsWhollyKnown() || !maps.Equal(stringMap(config.arguments),
		stringMap(o.arguments))
}

// command prepares a run of the object's program.
func (o object) command(action string, r request) (*command, *diag.Diagnostic) {
	c, problem := newCommand(o.interpreter, o.program)
	if problem != nil {
		return nil, problem
	}
	c.argv = append(c.argv, action)
	c.action = action
	c.stdin = r.encode()
	return c, nil
}

func encoded(arguments cty.Value) []byte { return program.WriteStrings(stringMap(arguments)) }

// Plan runs no program: the protocol has no such action. The results of programs may differ from plan and
// configuration, hence the legacy type system.
func (p *external) Plan(ctx context.Context, req provider.PlanRequest) provider.PlanResponse {
	if req.Type != typeResource {
		return p.Provider.Plan(ctx, req)
	}
	resp := provider.PlanResponse{Planned: req.Proposed, Private: req.PriorPrivate, Identity: req.PriorIdentity,
		LegacyTypeSystem: true}
	if req.Proposed.IsNull() {
		return resp
	}
	planned := objectOf(req.Config)
	if req.Prior.IsNull() {
		planned.id, planned.result = cty.UnknownVal(cty.String), cty.UnknownVal(cty.Map(cty.String))
		resp.Planned = planned.value()
		return resp
	}
	prior := objectOf(req.Prior)
	planned.id = prior.id
	if prior.wants(planned) {
		planned.result = cty.UnknownVal(cty.Map(cty.String))
	} else {
		planned.arguments, planned.result = prior.arguments, prior.result
	}
	resp.Planned = planned.value()
	return resp
}

func (p *external) Apply(ctx context.Context, req provider.ApplyRequest) provider.ApplyResponse {
	if req.Type != typeResource {
		return p.Provider.Apply(ctx, req)
	}
	p = p.about(req.Object)
	resp := provider.ApplyResponse{State: req.Prior, Private: req.PlannedPrivate, Identity: req.PlannedIdentity,
		LegacyTypeSystem: true}
	var planned object
	if !req.Planned.IsNull() {
		planned = settled(objectOf(req.Planned), objectOf(req.Config))
	}
	var problem *diag.Diagnostic
	switch {
	case req.Planned.IsNull():
		if problem = p.delete(ctx, objectOf(req.Prior)); problem == nil {
			resp.State = req.Planned
		}
	case req.Prior.IsNull():
		var created *object
		var knows bool
		if created, knows, problem = p.create(ctx, planned, p.spool(req)); created != nil {
			resp.State = created.value()
		} else if !knows {
			resp.State = cty.NilVal
		}
	default:
		prior := objectOf(req.Prior)
		if planned.result.IsKnown() {
			resp.State = planned.value()
			break
		}
		var updated object
		if updated, problem = p.update(ctx, prior, planned, p.spool(req)); problem == nil {
			resp.State = updated.value()
		}
	}
	if problem != nil {
		resp.Diagnostics = diag.List{problem}
	}
	return resp
}

// settled replaces values that were unknown in the plan with those of the configuration, which is known now.
func settled(planned, config object) object {
	for _, attr := range []struct{ planned, config *cty.Value }{
		{&planned.program, &config.program}, {&planned.interpreter, &config.interpreter},
		{&planned.arguments, &config.arguments},
	} {
		if !attr.planned.IsWhollyKnown() {
			*attr.planned = *attr.config
		}
	}
	return planned
}

// create returns the object, and also a problem if the program succeeded with invalid output that contains at least the
// ID. If there is no object, it reports whether the program is known to have created none: that is unknown if the
// program was stopped or its output is lost.
func (p *external) create(ctx context.Context, planned object, spool program.Spool) (_ *object, knows bool,
	_ *diag.Diagnostic) {
	c, problem := planned.command("create", request{Arguments: encoded(planned.arguments)})
	if problem != nil {
		return nil, true, problem
	}
	c.spool = spool
	res, problem := p.run(ctx, typeResource, c)
	if problem != nil {
		return nil, res == nil || c.answered, problem
	}
	a, err := readAnswer(res.Stdout)
	if err == nil && a.gone {
		err = fmt.Errorf(`there is no "id" of the new object`)
	}
	if err == nil {
		created := planned.with(a)
		return &created, true, nil
	}
	problem = c.badResults(res, err)
	half := planned.salvaged(res.Stdout)
	if half != nil {
		problem.Detail += fmt.Sprintf("\n\nThe object is recorded with the id %q that the output holds.", idOf(*half))
	}
	return half, false, problem
}

// salvaged returns the object of invalid output that contains at least its ID, or nil if it does not.
func (o object) salvaged(output []byte) *object {
	id := salvageID(output)
	if id == "" {
		return nil
	}
	half := o.with(answer{id: id, arguments: stringMap(o.arguments), result: map[string]string{}})
	return &half
}

// spool returns the place for the output of a call of Apply, which outlives this process.
func (p *external) spool(req provider.ApplyRequest) (s program.Spool) {
	if req.Intent == "" || p.opts.Spool == nil {
		return s
	}
	s = p.opts.Spool()
	if s.Token = req.Intent; s.Dir != "" && req.Record != nil {
		s.Record = req.Record()
	}
	return s
}

// Answered returns the response to a call of Apply, except for a deletion, whose program ended after its caller. A
// state of cty.NilVal means that the result is unknown. If the end of a program was not observed, it has succeeded if
// its output is complete.
func (p *external) Answered(_ context.Context, req provider.ApplyRequest,
	found *program.Spooled) provider.ApplyResponse {
	resp := provider.ApplyResponse{State: cty.NilVal, LegacyTypeSystem: true}
	if req.Type != typeResource || req.Planned.IsNull() {
		return resp
	}
	creates, failed := req.Prior.IsNull(), found.Known && found.ExitCode != 0 || found.Refused != nil
	bad := diag.List{
		problem(sumExecution,
			"The program of an interrupted run failed, or its answer cannot be read.")}
	planned := objectOf(req.Planned)
	a, err := readAnswer(found.Stdout)
	switch {
	case planned.program.IsNull():
	case found.Refused != nil && creates:
	case failed && creates:
	case failed:
		resp.State, resp.Diagnostics = req.Prior, bad
	case err == nil && !a.gone:
		resp.State = planned.with(a).value()
	case creates:
		if half := planned.salvaged(found.Stdout); half != nil {
			resp.State, resp.Diagnostics = half.value(), bad
		}
	}
	return resp
}

func (p *external) update(ctx context.Context, prior, planned object, spool program.Spool) (object, *diag.Diagnostic) {
	c, problem := planned.command("update", request{
		ID:           idOf(prior),
		Arguments:    encoded(planned.arguments),
		OldArguments: encoded(prior.arguments),
	})
	if problem != nil {
		return object{}, problem
	}
	c.spool = spool
	res, problem := p.run(ctx, typeResource, c)
	if problem != nil {
		return object{}, problem
	}
	a, err := readAnswer(res.Stdout)
	if err == nil && a.gone {
		err = fmt.Errorf(`there is no "id" of the updated object`)
	}
	if err != nil {
		return object{}, c.badResults(res, err)
	}
	return planned.with(a), nil
}

func (p *external) delete(ctx context.Context, prior object) *diag.Diagnostic {
	if prior.program.IsNull() {
		return problem(sumMissing,
			fmt.Sprintf("The object %q was imported by its id alone and has not been applied since, so the program "+
				"that deletes it is unknown. Apply its configuration first, or remove it from the "+
				"state.",
				idOf(prior)))
	}
	arguments := encoded(prior.arguments)
	c, problem := prior.command("delete", request{ID: idOf(prior), Arguments: arguments, OldArguments: arguments})
	if problem != nil {
		return problem
	}
	c.stored = true
	_, problem = p.run(ctx, typeResource, c)
	return problem
}

// Read runs the program that the state names. An object that was imported by its bare ID has no program yet and is
// returned unchanged.
func (p *external) Read(ctx context.Context, req provider.ReadRequest) provider.ReadResponse {
	if req.Type != typeResource {
		return p.Provider.Read(ctx, req)
	}
	resp := provider.ReadResponse{State: req.Prior, Private: req.Private, Identity: req.Identity}
	if req.Prior.IsNull() || req.Prior.GetAttr("program").IsNull() {
		return resp
	}
	p = p.about(req.Object)
	ctx, done := p.stopping.Interruptible(ctx)
	defer done()
	prior := objectOf(req.Prior)
	c, problem := prior.command("read", request{ID: idOf(prior), Arguments: encoded(prior.arguments)})
	if problem != nil {
		resp.Diagnostics = diag.List{problem}
		return resp
	}
	c.stored = true
	res, problem := p.run(ctx, typeResource, c)
	if problem != nil {
		resp.Diagnostics = diag.List{problem}
		return resp
	}
	a, err := readAnswer(res.Stdout)
	switch {
	case err != nil:
		resp.Diagnostics = diag.List{c.badResults(res, err)}
	case a.gone:
		resp.State = cty.NullVal(p.schema.Resources[typeResource].Block.ImpliedType())
	default:
		resp.State = prior.with(a).value()
	}
	return resp
}

func idOf(o object) string {
	if o.id.IsNull() || !o.id.IsKnown() {
		return ""
	}
	return o.id.AsString()
}

// Import accepts an ID, or a JSON object that also contains the program. With the program, the object can be read
// immediately; otherwise only its ID is known until the next apply runs update.
func (p *external) Import(ctx context.Context, req provider.ImportRequest) provider.ImportResponse {
	if req.Type != typeResource {
		return p.Provider.Import(ctx, req)
	}
	fail := func(format string, args ...any) provider.ImportResponse {
		return provider.ImportResponse{Diagnostics: diag.List{}.Errorf(nil, "Invalid import id", format, args...)}
	}
	null := cty.NullVal(cty.DynamicPseudoType)
	imported := object{
		program: null, interpreter: null, id: cty.StringVal(req.ID),
		arguments: cty.NullVal(cty.Map(cty.String)), result: cty.NullVal(cty.Map(cty.String)),
	}
	if req.ID == "" {
		return fail("The id is empty. Use the id of the object, or a JSON object with \"id\", \"program\" and, if " +
			"needed, \"interpreter\" and \"arguments\".")
	}
	in, long, err := readImportID(req.ID)
	if err != nil {
		return fail(
			"The id is a JSON object, but not one with \"id\", \"program\" and, if needed, \"interpreter\" and "+
				"\"arguments\": %s.", err)
	}
	if long {
		imported.id, imported.program, imported.interpreter = cty.StringVal(in.id), in.program, in.interpreter
		imported.arguments = stringsValue(in.arguments)
	}
	return provider.ImportResponse{Imported: []provider.ImportedObject{{Type: typeResource, State: imported.value()}}}
}
