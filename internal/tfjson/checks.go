package tfjson

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/state"
)

// checks writes the results of conditions and check blocks, in the order of their addresses.
func (s *stream) checks(results []state.CheckResult) {
	byAddress := slices.Clone(results)
	slices.SortStableFunc(byAddress, func(a, b state.CheckResult) int {
		return strings.Compare(a.ConfigAddr, b.ConfigAddr)
	})
	s.open('[')
	for _, r := range byAddress {
		s.open('{')
		s.key("address")
		s.checkable(r.Kind, r.ConfigAddr)
		s.member("status", r.Status)
		if len(r.Objects) > 0 {
			s.key("instances")
			s.open('[')
			objects := slices.Clone(r.Objects)
			slices.SortStableFunc(objects, func(a, b state.CheckedObject) int {
				return strings.Compare(a.Addr, b.Addr)
			})
			for _, o := range objects {
				s.checkedObject(r.Kind, o)
			}
			s.close(']')
		}
		s.close('}')
	}
	s.close(']')
}

// checkable writes the address of a configuration object that has conditions, split into its parts.
func (s *stream) checkable(kind, address string) {
	s.open('{')
	defer s.close('}')
	s.member("to_display", address)
	switch kind {
	case "resource":
		s.member("kind", "resource")
		if r, diags := addr.ParseConfigResource(address); !diags.HasErrors() {
			s.member("mode", r.Resource.Mode.String())
			s.member("type", r.Resource.Type)
			s.member("name", r.Resource.Name)
			s.optional("module", r.Module.String())
		}
		return
	case "output":
		s.member("kind", "output_value")
	default:
		s.member("kind", kind)
	}
	module, name := cutLast(address)
	s.member("name", name)
	s.optional("module", module)
}

// cutLast splits `module.a.output.x` into the module and the name. Names contain no dots, but keys of modules may.
func cutLast(address string) (module, name string) {
	dot := strings.LastIndexByte(address, '.')
	if dot < 0 {
		return "", address
	}
	rest, name := address[:dot], address[dot+1:]
	if dot = strings.LastIndexByte(rest, '.'); dot >= 0 {
		module = rest[:dot]
	}
	return module, name
}

func (s *stream) checkedObject(kind string, o state.CheckedObject) {
	s.open('{')
	s.key("address")
	s.open('{')
	s.member("to_display", o.Addr)
	if kind == "resource" {
		if r, diags := addr.ParseInstance(o.Addr); !diags.HasErrors() {
			s.instanceKey("instance_key", r.Key)
			s.optional("module", r.Module.String())
		}
	} else {
		module, _ := cutLast(o.Addr)
		s.optional("module", module)
	}
	s.close('}')
	s.member("status", o.Status)
	if len(o.Failures) > 0 {
		s.key("problems")
		s.open('[')
		for _, f := range o.Failures {
			s.open('{')
			s.member("message", f)
			s.close('}')
		}
		s.close(']')
	}
	s.close('}')
}
