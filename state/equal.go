package state

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/zclconf/go-cty/cty"
)

// SameContent reports whether two states have the same content, ignoring serials, lineages and versions: writing b
// after a would only change the serial. Shared parts are not compared.
func (s *State) SameContent(o *State) bool {
	var none State
	if s == nil {
		s = &none
	}
	if o == nil {
		o = &none
	}
	return s == o ||
		maps.EqualFunc(s.outputs, o.outputs, sameOutput) &&
			maps.EqualFunc(s.resources, o.resources, sameResource) &&
			slices.EqualFunc(s.checks, o.checks, sameCheck)
}

func sameOutput(a, b *Output) bool {
	return a == b || a.Sensitive == b.Sensitive && ctyfast.RawEquals(a.Value, b.Value)
}

func sameResource(a, b *Resource) bool {
	return a == b || a.Addr == b.Addr && a.Provider == b.Provider && maps.EqualFunc(a.Instances, b.Instances,
		sameInstance)
}

func sameInstance(a, b *Instance) bool {
	return a == b || sameObject(a.Current, b.Current) && maps.EqualFunc(a.Deposed, b.Deposed, sameObject)
}

func sameObject(a, b *Object) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	sameProvider := a.Provider == b.Provider || a.Provider != nil && b.Provider != nil && *a.Provider == *b.Provider
	return sameProvider && a.Status == b.Status && a.SchemaVersion == b.SchemaVersion &&
		bytes.Equal(a.Attributes, b.Attributes) && maps.Equal(a.Flat, b.Flat) &&
		slices.EqualFunc(a.Sensitive, b.Sensitive, cty.Path.Equals) &&
		bytes.Equal(a.Private, b.Private) && slices.Equal(a.Dependencies, b.Dependencies) &&
		a.CreateBeforeDestroy == b.CreateBeforeDestroy &&
		a.IdentityVersion == b.IdentityVersion && bytes.Equal(a.Identity, b.Identity) &&
		a.SkipDestroy == b.SkipDestroy &&
		a.Protected == b.Protected && a.ReadAt == b.ReadAt
}

func sameCheck(a, b CheckResult) bool {
	return a.Kind == b.Kind && a.ConfigAddr == b.ConfigAddr && a.Status == b.Status &&
		slices.EqualFunc(a.Objects, b.Objects, func(a, b CheckedObject) bool {
			return a.Addr == b.Addr && a.Status == b.Status && slices.Equal(a.Failures, b.Failures)
		})
}
