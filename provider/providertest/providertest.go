// Package providertest is the test suite for all implementations of provider.Provider.
//
// The suite drives a provider like the engine does (schema, validate, configure, plan, apply, read, upgrade, import,
// delete) and checks every response by the rules of the engine, so that an implementation that passes works with the
// engine. It does not depend on what the provider manages: the caller supplies valid configurations, changes to them,
// and functions that change objects outside of the provider.
//
//	func TestProvider(t *testing.T) {
//		providertest.Run(t, providertest.Options{
//			New: func(context.Context) (provider.Provider, error) { return New(), nil },
//			Resources: []providertest.Resource{{
//				Type:    "demo_thing",
//				Config:  func(n int) providertest.Attrs { return providertest.Attrs{"name": cty.StringVal(fmt.Sprint("thing-", n))} },
//				Updates: []providertest.Update{{Name: "size", Change: providertest.Attrs{"size": cty.NumberIntVal(2)}}},
//			}},
//		})
//	}
//
// Every check is its own subtest with its own provider. Run it with -race: one check uses a provider from many
// goroutines concurrently.
package providertest

import (
	"context"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// Attrs are attributes and nested blocks of a configuration. Omitted ones are null or, for blocks, empty; values are
// converted to the types of the schema.
type Attrs map[string]cty.Value

// Options describes a provider for the suite. Only New is required; omitted parts are not checked.
type Options struct {
	// New starts a provider that shares nothing with earlier ones except the remote system.
	New provider.Factory
	// Config is the provider block.
	Config Attrs
	// InvalidConfigs are provider blocks that validation or configuration must refuse.
	InvalidConfigs []Invalid

	Resources []Resource
	Data      []Data
	Ephemeral []Ephemeral
	Functions []Function
	Lists     []List
	Actions   []Action

	// Patience is the time within which a call must return after its context has ended; 0 means ten seconds.
	Patience time.Duration
	// Limit is how long a check may take, and the deletion of what it has left, in Results; 0 means no limit.
	Limit time.Duration
	// Goroutines is the number of concurrent goroutines in the check for that; 0 means six.
	Goroutines int
	// Exempt skips checks, by name, each with a reason.
	Exempt map[string]string
	// Only selects checks by name; nil means all.
	Only func(name string) bool
	// Earlier describes an earlier version of the provider. Objects that it creates are upgraded, and continued with
	// this one: those of resources with the same names and types. Of it, only New, Config and Resources are used.
	Earlier *Options
}

// Resource is a kind of object that the suite creates, changes and deletes.
type Resource struct {
	// Name distinguishes cases of one type; empty means the type.
	Name string
	Type string
	// Config returns the configuration of the n-th object, wholly known. Objects with different numbers must be able to
	// exist at the same time.
	Config func(n int) Attrs
	// Updates are changes to that configuration, each applied to an object that was just created.
	Updates []Update
	// Invalid are changes that make the configuration invalid: validation or planning must refuse it.
	Invalid []Invalid
	// Import describes how to import the object; nil means that the type cannot be imported.
	Import *Import
	// Remove removes an object outside of the provider: the next read must report that it no longer exists. Nil skips
	// this check.
	Remove func(state cty.Value) error
	// Slow is a change with which creating an object takes longer than Options.Patience, so that it can be interrupted:
	// by the end of its context, with and without a preceding call of Stop.
	Slow Attrs
	// Numbers names attributes and blocks in which all numbers of Config are replaced by one that no machine number can
	// hold. A number attribute, or a collection of numbers, gets one if Config has none. The provider may refuse it,
	// which skips the check; otherwise it must keep it exactly.
	Numbers []string
	// Blind means that the provider does not find changes that others make to an object, which skips these checks.
	Blind bool
	// Lenient means that the provider does not count as a change what others add to maps and objects.
	Lenient bool
	// Generated are changes with generated values. The provider may refuse each; otherwise it must keep its values.
	Generated []Update
}

// Update is a change to a configuration. Replace means that the object has to be replaced.
type Update struct {
	Name   string
	Change Attrs
	// Vary returns the change of the n-th object, instead of Change.
	Vary     func(n int) Attrs
	Replaces bool
}

// Invalid is a change that makes a configuration invalid, with a diagnostic at Path (nil: anywhere).
type Invalid struct {
	Name   string
	Change Attrs
	Path   cty.Path
}

// Import describes how an object is imported by an id.
type Import struct {
	// ID returns the id of an object for an import.
	ID func(state cty.Value) string
	// Want returns the object that an import and a read must return; nil means the state itself.
	Want func(state cty.Value) cty.Value
	// Missing is an id without an object: import or the read after it must report that. Empty skips this check.
	Missing string
	// Identity returns the identity of an object if the schema has an identity that the provider does not return. Nil
	// means that all responses contain it.
	Identity func(state cty.Value) cty.Value
}

// lacksIdentity reports whether the type has an identity that the provider does not return.
func (r *Resource) lacksIdentity() bool { return r.Import != nil && r.Import.Identity != nil }

// Data is a data source to read.
type Data struct {
	Name   string
	Type   string
	Config Attrs
	// Want are attributes that the response must have.
	Want    Attrs
	Invalid []Invalid
}

// Ephemeral is an ephemeral resource to open, renew if requested, and close.
type Ephemeral struct {
	Name   string
	Type   string
	Config Attrs
	Want   Attrs
}

// Function is a call of a function of the provider.
type Function struct {
	Name string
	Args []cty.Value
	// Want is the result; cty.NilVal means that the call must fail.
	Want cty.Value
}

// List is a search for objects of a resource type. Where Resources has the type, a list must find their objects.
type List struct {
	Name    string
	Type    string
	Config  Attrs
	Invalid []Invalid
}

// Action is an action to plan and to invoke, twice.
type Action struct {
	Name   string
	Type   string
	Config Attrs
	// Invalid configurations must be refused by validation or planning.
	Invalid []Invalid
	// Invoked checks the effect; it may be nil.
	Invoked func() error
}

// Run runs the suite.
func Run(t *testing.T, o Options) {
	t.Helper()
	for _, c := range checks(&o) {
		if o.Only != nil && !o.Only(c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if why, ok := o.Exempt[c.name]; ok {
				t.Skip(why)
			}
			c.run(newSession(t.Context(), t, &o, nil))
		})
	}
}

// tb is the part of testing.T that a check needs. The suite's own tests use a recorder instead.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(func())
}

// check is one subtest.
type check struct {
	name string
	run  func(s *session)
}

// checks returns the checks that apply to a provider.
func checks(o *Options) []check {
	all := []check{
		{"schema is sane", checkSchema},
		{"schema never changes and can be asked for concurrently", checkSchemaConcurrently},
		{"configure", checkConfigure},
	}
	// A provider that cannot create, read and delete fails all checks: this one runs first and reports it plainly.
	for _, r := range o.Resources {
		all = append(all, check{prefixOf(&r) + lifeName, func(s *session) { checkLife(s, &r) }})
	}
	all = append(all, []check{
		{"unknown type names give diagnostics", checkWrongNames},
		{"calls return when their context has ended", checkCancelled},
		{"close twice", checkClose},
		{"parallel calls", checkParallel},
	}...)
	for _, r := range o.Resources {
		all = append(all, resourceChecks(&r)...)
	}
	for _, d := range o.Data {
		all = append(all, check{"data " + nameOf(d.Name, d.Type), func(s *session) { checkData(s, &d) }})
	}
	for _, e := range o.Ephemeral {
		all = append(all, check{"ephemeral " + nameOf(e.Name, e.Type), func(s *session) { checkEphemeral(s, &e) }})
	}
	for _, l := range o.Lists {
		all = append(all, check{"list " + nameOf(l.Name, l.Type), func(s *session) { checkList(s, &l) }})
	}
	for _, a := range o.Actions {
		all = append(all, check{"action " + nameOf(a.Name, a.Type), func(s *session) { checkAction(s, &a) }})
	}
	for _, f := range o.Functions {
		all = append(all, check{"function " + f.Name, func(s *session) { checkFunction(s, &f) }})
	}
	return append(all, lateChecks(o)...)
}

// lifeName is the check that everything else depends on.
const lifeName = "create, read, plan again, destroy"

func prefixOf(r *Resource) string { return "resource " + nameOf(r.Name, r.Type) + ": " }

func resourceChecks(r *Resource) []check {
	prefix := prefixOf(r)
	var all []check
	add := func(name string, run func(s *session, r *Resource)) {
		all = append(all, check{prefix + name, func(s *session) { run(s, r) }})
	}
	add("validate", checkValidate)
	add("plan with unknown values", checkUnknown)
	add("upgrade what is stored", checkUpgrade)
	add("import", checkImport)
	for _, u := range r.Updates {
		add("update "+u.Name, func(s *session, r *Resource) { checkUpdate(s, r, &u) })
	}
	for _, name := range r.Numbers {
		add("a big number in "+name, func(s *session, r *Resource) { checkBig(s, r, name) })
	}
	if r.Remove != nil {
		add("read what was removed outside", checkRemoved)
	}
	if r.Slow != nil {
		add("interrupt a slow creation", checkSlow)
	}
	return all
}

func nameOf(name, typ string) string {
	if name == "" {
		return typ
	}
	return name
}

// session is a provider under one check. Each check has its own.
type session struct {
	tb
	o      *Options
	ctx    context.Context
	p      provider.Provider
	schema *provider.Schema
	next   *counter // numbers of objects

	secrets *secrets
	made    *made
}

// patience returns how long a call may take once its context has ended.
func (s *session) patience() time.Duration {
	if s.o.Patience > 0 {
		return s.o.Patience
	}
	return 10 * time.Second
}
