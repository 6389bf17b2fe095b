package moving

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/state"
)

// The key of an instance is a number with count and a string with for_each. each.key is always a string, so that an
// address such as a.b[each.key] in a block that moves or removes instances may name none, although the state has one
// whose key looks the same. In files that other tools read, such a block has no effect, as there.

// spot is a resource or a call of a module, at any of its instances, with the text of a key.
type spot struct {
	module   addr.Module
	resource addr.Resource
	key      string
}

// kinds holds, for each spot, whether instances of a state have such a key as a number, or as a string, and whether one
// of these instances is no longer declared.
type kinds map[spot]*[2]struct{ exists, undeclared bool }

func kindOf(k addr.Key) int {
	if _, number := k.Int(); number {
		return 0
	}
	return 1
}

func (k kinds) add(m addr.Module, r addr.Resource, key addr.Key, declared bool) {
	if key.IsNone() {
		return
	}
	at := spot{m, r, keyText(key)}
	if k[at] == nil {
		k[at] = &[2]struct{ exists, undeclared bool }{}
	}
	of := &k[at][kindOf(key)]
	of.exists, of.undeclared = true, of.undeclared || !declared
}

// twin returns the key of the other kind with the same text if only that exists, in an instance without a declaration.
func (k kinds) twin(m addr.Module, r addr.Resource, key addr.Key) (addr.Key, bool) {
	have := k[spot{m, r, keyText(key)}]
	if have == nil || key.IsNone() {
		return addr.NoKey, false
	}
	other, ok := otherKind(key)
	return other, ok && !have[kindOf(key)].exists && have[kindOf(other)].undeclared
}

func keyText(k addr.Key) string {
	if n, number := k.Int(); number {
		return strconv.Itoa(n)
	}
	text, _ := k.Str()
	return text
}

// otherKind returns the key of the other kind with the same text; ok is false if there is none.
func otherKind(k addr.Key) (other addr.Key, ok bool) {
	if n, number := k.Int(); number {
		return addr.StringKey(strconv.Itoa(n)), true
	}
	text, _ := k.Str()
	n, err := strconv.Atoi(text)
	return addr.IntKey(n), err == nil && n >= 0 && strconv.Itoa(n) == text
}

// WrongKeys returns errors for the blocks in files of Tombolo that move or remove instances with the wrong kind of key:
// the plan would destroy the instances that have the same keys as numbers, or as strings.
func (r *Result) WrongKeys(cfg *config.Config, d Declared) (diags diag.List) {
	have, done := kinds(nil), map[hcl.Range]bool{}
	check := func(e config.Endpoint, base addr.Module) {
		if !config.IsOwn(e.Range.Filename) || done[e.Range] {
			return
		}
		if have == nil {
			have = kindsOf(r.State, d)
		}
		m := base
		for i, s := range e.Module.Steps() {
			m = m.Child(s.Call)
			if twin, wrong := have.twin(m, addr.Resource{}, s.Key); wrong {
				steps := append([]addr.Step(nil), e.Module.Steps()[:i+1]...)
				found := addr.ModuleInstanceOf(steps...).String()
				steps[i].Key = twin
				done[e.Range] = true // each.key has the same kind in all instances of a block
				diags = diags.Extend(wrongKey(e, found, addr.ModuleInstanceOf(steps...).String(), twin))
				return
			}
		}
		if twin, wrong := have.twin(m, e.Resource, e.Key); wrong && e.HasKey {
			a := addr.AbsResourceInstance{Module: e.Module, Resource: e.Resource, Key: e.Key}
			found := a.String()
			a.Key, done[e.Range] = twin, true
			diags = diags.Extend(wrongKey(e, found, a.String(), twin))
		}
	}
	for _, m := range cfg.SortedModules() {
		for _, b := range m.Moved {
			check(b.From, m.Path)
		}
		for _, b := range m.Removed {
			if b.Keyed {
				from := addr.Target{Module: addr.ModuleInstanceOf(b.Steps...), Resource: b.Resource, Key: b.Key,
					HasKey: b.HasKey}
				check(config.Endpoint{Target: from, Range: b.FromRange}, m.Path)
			}
		}
	}
	return diags
}

// kindsOf returns the kinds of all keys in a state.
func kindsOf(s *state.State, d Declared) kinds {
	out := kinds{}
	done := map[addr.ModuleInstance]bool{}
	for _, r := range s.Resources() {
		for m := r.Addr.Module; !m.IsRoot() && !done[m]; {
			done[m] = true
			parent, last, _ := m.Parent()
			out.add(m.Config(), addr.Resource{}, last.Key, d.HasModule(m))
			m = parent
		}
		for key := range r.Instances {
			out.add(r.Addr.Module.Config(), r.Addr.Resource, key, d.HasInstance(r.Addr.Instance(key)))
		}
	}
	return out
}

func wrongKey(e config.Endpoint, found, meant string, key addr.Key) diag.List {
	why := "keys are strings with for_each. Write the key as a string, or tostring(...) around it."
	if _, number := key.Int(); number {
		why = "keys are numbers with count. Write the key without quotes, or tonumber(...) around it; each.key is a " +
			"string."
	}
	return diag.List{}.Errorf(&e.Range, "Wrong kind of key", "There is no %s, but there is %s: %s", found, meant, why)
}
