package schematest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Check is a check of the state.
type Check func(*State) error

// PlanCheck is a check of a plan.
type PlanCheck func(*Plan) error

// All combines checks into one that runs all of them.
func All(checks ...Check) Check {
	return func(s *State) error {
		var errs []error
		for _, c := range checks {
			errs = append(errs, c(s))
		}
		return errors.Join(errs...)
	}
}

// AllPlanned combines checks into one that runs all of them.
func AllPlanned(checks ...PlanCheck) PlanCheck {
	return func(p *Plan) error {
		var errs []error
		for _, c := range checks {
			errs = append(errs, c(p))
		}
		return errors.Join(errs...)
	}
}

// Attr checks that an attribute has a value. The path is like "rule.0.port", "tags.env" or, for the number of elements,
// "rule.#". want is a Go value that JSON can represent, or one of these:
//
//	*regexp.Regexp     the text must match
//	*any               the value that Capture stored
//	func(any) error    the function must return nil
//	Unordered          the elements of a set must be these
func Attr(address, path string, want any) Check {
	return onObject(address, func(o *Object) error {
		got, ok := lookup(o.Values, path)
		if !ok {
			return fmt.Errorf("there is no %s, expected %s; there are %s", path, describe(want),
				listed(slices.Sorted(maps.Keys(o.Values))))
		}
		if err := matches(got, want); err != nil {
			if isSecret(o.sensitive, path) {
				return fmt.Errorf("%s, which is sensitive, is not as expected", path)
			}
			return fmt.Errorf("%s is %w", path, err)
		}
		return nil
	})
}

// Unordered are elements in any order.
type Unordered []any

// Set checks that attributes have values.
func Set(address string, paths ...string) Check {
	return onObject(address, func(o *Object) error {
		var errs []error
		for _, path := range paths {
			if v, ok := lookup(o.Values, path); !ok || v == nil {
				errs = append(errs, fmt.Errorf("%s has no value, expected some", path))
			}
		}
		return errors.Join(errs...)
	})
}

// Absent checks that attributes are null or missing.
func Absent(address string, paths ...string) Check {
	return onObject(address, func(o *Object) error {
		var errs []error
		for _, path := range paths {
			v, ok := lookup(o.Values, path)
			switch {
			case !ok || v == nil:
			case isSecret(o.sensitive, path):
				errs = append(errs, fmt.Errorf("%s has a sensitive value, expected none", path))
			default:
				errs = append(errs, fmt.Errorf("%s is %s, expected no value", path, show(v)))
			}
		}
		return errors.Join(errs...)
	})
}

// Capture stores the value of an attribute for Attr in a later step.
func Capture(address, path string, into *any) Check {
	return onObject(address, func(o *Object) error {
		v, ok := lookup(o.Values, path)
		if !ok {
			return fmt.Errorf("there is no %s", path)
		}
		*into = v
		return nil
	})
}

// Output checks an output value like Attr.
func Output(name string, want any) Check {
	return func(s *State) error {
		got, ok := s.Outputs[name]
		if !ok {
			return fmt.Errorf("there is no output %s, expected %s; there are %s", name, describe(want),
				listed(slices.Sorted(maps.Keys(s.Outputs))))
		}
		if err := matches(got, want); err != nil {
			return fmt.Errorf("output %s is %w", name, err)
		}
		return nil
	}
}

// Exists checks that the objects exist and are not tainted.
func Exists(addresses ...string) Check {
	var checks []Check
	for _, a := range addresses {
		checks = append(checks, onObject(a, func(o *Object) error {
			if o.Tainted {
				return errors.New("it is tainted")
			}
			return nil
		}))
	}
	return All(checks...)
}

// Gone checks that the objects do not exist.
func Gone(addresses ...string) Check {
	return func(s *State) error {
		var errs []error
		for _, a := range addresses {
			if s.Object(a) != nil {
				errs = append(errs, fmt.Errorf("%s is in the state, expected it to be gone", a))
			}
		}
		return errors.Join(errs...)
	}
}

// Tainted checks that an object exists and is tainted.
func Tainted(address string) Check {
	return onObject(address, func(o *Object) error {
		if !o.Tainted {
			return errors.New("it is not tainted")
		}
		return nil
	})
}

// onObject returns a check of one object.
func onObject(address string, check func(*Object) error) Check {
	return func(s *State) error {
		o := s.Object(address)
		if o == nil {
			return fmt.Errorf("there is no %s in the state, which has %s", address, s.list())
		}
		return about(address, check(o))
	}
}

// about returns an error with the address before each line.
func about(address string, err error) error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range many.Unwrap() {
			errs = append(errs, about(address, e))
		}
		return errors.Join(errs...)
	}
	return fmt.Errorf("%s: %w", address, err)
}

// Planned checks a planned value like Attr.
func Planned(address, path string, want any) PlanCheck {
	return onPlanned(address, func(o plannedObject) error {
		if anyTrueAt(o.unknown, path) {
			return fmt.Errorf("%s is not known before apply, expected %s", path, describe(want))
		}
		got, ok := lookup(o.after, path)
		if !ok {
			return fmt.Errorf("no %s is planned, expected %s", path, describe(want))
		}
		if err := matches(got, want); err != nil {
			return fmt.Errorf("%s is planned as %w", path, err)
		}
		return nil
	})
}

// PlannedUnknown checks that attributes are unknown until apply.
func PlannedUnknown(address string, paths ...string) PlanCheck {
	return onPlanned(address, func(o plannedObject) error {
		var errs []error
		for _, path := range paths {
			if !anyTrueAt(o.unknown, path) {
				v, _ := lookup(o.after, path)
				errs = append(errs, fmt.Errorf("%s is planned as %s, expected it not to be known", path, show(v)))
			}
		}
		return errors.Join(errs...)
	})
}

// Drifted checks that the plan reports exactly these objects as changed outside of Tombolo.
func Drifted(addresses ...string) PlanCheck {
	return func(p *Plan) error {
		want, got := slices.Sorted(slices.Values(addresses)), slices.Sorted(slices.Values(p.Drift))
		if !slices.Equal(want, got) {
			return fmt.Errorf("changed outside are %s, expected %s", listed(got), listed(want))
		}
		return nil
	}
}

func onPlanned(address string, check func(plannedObject) error) PlanCheck {
	return func(p *Plan) error {
		o, ok := p.objects[address]
		if !ok {
			return fmt.Errorf("the plan does not mention %s; it has %s", address,
				listed(slices.Sorted(maps.Keys(p.objects))))
		}
		return about(address, check(o))
	}
}

func anyTrueAt(v any, path string) bool {
	at, ok := lookup(v, path)
	return ok && anyTrue(at)
}

// matches compares a value of a document with the wanted one. The error continues a sentence after "is".
func matches(got, want any) error {
	switch want := want.(type) {
	case *regexp.Regexp:
		if text, ok := got.(string); !ok || !want.MatchString(text) {
			return fmt.Errorf("%s, expected %s", show(got), describe(want))
		}
		return nil
	case *any:
		return matches(got, *want)
	case func(any) error:
		if err := want(got); err != nil {
			return fmt.Errorf("%s: %w", show(got), err)
		}
		return nil
	case Unordered:
		return sameElements(got, want)
	}
	w, err := normalized(want)
	if err != nil {
		return fmt.Errorf("compared with what JSON cannot hold: %w", err)
	}
	if !equal(got, w) {
		return fmt.Errorf("%s, expected %s", show(got), show(w))
	}
	return nil
}

func sameElements(got any, want Unordered) error {
	list, ok := got.([]any)
	left := slices.Clone(list)
	for _, w := range want {
		i := slices.IndexFunc(left, func(e any) bool { return matches(e, w) == nil })
		if i < 0 {
			return fmt.Errorf("%s, expected %s", show(got), describe(want))
		}
		left = slices.Delete(left, i, i+1)
	}
	if !ok || len(left) > 0 {
		return fmt.Errorf("%s, expected %s", show(got), describe(want))
	}
	return nil
}

// describe returns the wanted value in words.
func describe(want any) string {
	switch want := want.(type) {
	case *regexp.Regexp:
		return fmt.Sprintf("a text that matches %q", want)
	case *any:
		return show(*want)
	case func(any) error:
		return "what the function of the test decides"
	case Unordered:
		return show([]any(want)) + " in any order"
	}
	return show(want)
}
