// Package require handles the version requirements of providers, constraints such as ">= 3.0, < 4.0": it parses and
// combines them, writes them in a normal form, and selects versions that satisfy them.
//
// The rules are those of provider requirements, which treat pre-releases in another way than those of module versions
// and of required_version: one is accepted only if a condition requires exactly that version.
//
//	c, err := require.Parse(">= 3.0, < 4")
//	c = c.And(other)
//	v, ok := c.Newest(available)
//	c.String()                                // ">= 3.0.0, < 4.0.0", as in lock files
package require

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Constraints is a set of conditions that all must hold. The zero value accepts every released version.
type Constraints struct {
	// terms are sorted and unique: by boundary version, then by operator.
	terms []term
}

// term is one condition in its normal form.
type term struct {
	op       string
	rank     int // rank of the operator among conditions on the same version
	boundary versions.Version
	// minorOnly marks ~> with two numbers, which does not restrict the minor version.
	minorOnly bool
	spec      constraints.SelectionSpec
}

// hugeNumber matches numbers that are too large for the library: it would panic.
var hugeNumber = regex.Lazy(`[0-9]{19,}`)

// Parse parses a comma-separated list of conditions. An empty text has none.
func Parse(text string) (Constraints, error) {
	if strings.TrimSpace(text) == "" {
		return Constraints{}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			return Constraints{}, fmt.Errorf("version constraint %q: a constraint between or after the commas is empty",
				text)
		}
	}
	if number := hugeNumber().FindString(text); number != "" {
		return Constraints{}, fmt.Errorf("version constraint %q: the number %s is too large", text, number)
	}
	specs, err := constraints.ParseRubyStyleMulti(text)
	if err != nil {
		return Constraints{}, fmt.Errorf("version constraint %q: %w", text, err)
	}
	var c Constraints
	for _, spec := range specs {
		t, err := newTerm(spec)
		if err != nil {
			return Constraints{}, fmt.Errorf("version constraint %q: %w", text, err)
		}
		c.terms = append(c.terms, t)
	}
	c.normalize()
	return c, nil
}

// operators are in the order in which conditions on the same version are written.
var operators = []struct {
	op   constraints.SelectionOp
	text string
}{
	{constraints.OpGreaterThan, ">"},
	{constraints.OpGreaterThanOrEqual, ">="},
	{constraints.OpEqual, ""},
	{constraints.OpGreaterThanOrEqualPatchOnly, "~>"},
	{constraints.OpGreaterThanOrEqualMinorOnly, "~>"},
	{constraints.OpLessThanOrEqual, "<="},
	{constraints.OpLessThan, "<"},
	{constraints.OpNotEqual, "!="},
}

func newTerm(spec constraints.SelectionSpec) (term, error) {
	for i, known := range operators {
		if known.op != spec.Operator {
			continue
		}
		boundary, err := boundaryOf(spec.Boundary)
		if err != nil {
			return term{}, err
		}
		minorOnly := spec.Operator == constraints.OpGreaterThanOrEqualMinorOnly
		return term{op: known.text, rank: i, boundary: boundary, minorOnly: minorOnly, spec: spec}, nil
	}
	return term{}, fmt.Errorf("the operator of %q is not one of =, !=, >, >=, <, <=, ~>", spec.Boundary)
}

func boundaryOf(spec constraints.VersionSpec) (versions.Version, error) {
	zero := spec.ConstrainToZero()
	text := fmt.Sprintf("%d.%d.%d", zero.Major.Num, zero.Minor.Num, zero.Patch.Num)
	if spec.Prerelease != "" {
		text += "-" + spec.Prerelease
	}
	if spec.Metadata != "" {
		text += "+" + spec.Metadata
	}
	return versions.ParseVersion(text)
}

func (c *Constraints) normalize() {
	slices.SortFunc(c.terms, func(a, b term) int {
		return cmp.Or(Compare(a.boundary, b.boundary), cmp.Compare(a.rank, b.rank))
	})
	c.terms = slices.CompactFunc(c.terms, func(a, b term) bool { return a.String() == b.String() })
}

// Compare orders versions by precedence; equal ones are ordered by build metadata, so that the order is total.
func Compare(a, b versions.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return strings.Compare(string(a.Metadata), string(b.Metadata))
}

// And returns constraints that require both c and other.
func (c Constraints) And(other Constraints) Constraints {
	both := Constraints{terms: slices.Concat(c.terms, other.terms)}
	both.normalize()
	return both
}

// IsEmpty reports whether there are no conditions.
func (c Constraints) IsEmpty() bool { return len(c.terms) == 0 }

// String returns the normal form, which is the same for equal sets of conditions, whatever their order and spelling.
func (c Constraints) String() string {
	texts := make([]string, len(c.terms))
	for i, t := range c.terms {
		texts[i] = t.String()
	}
	return strings.Join(texts, ", ")
}

func (t term) String() string {
	version := t.boundary.String()
	if t.minorOnly {
		version = strconv.FormatUint(t.boundary.Major, 10) + "." + strconv.FormatUint(t.boundary.Minor, 10)
		if t.boundary.Prerelease != "" {
			version += "-" + string(t.boundary.Prerelease)
		}
		if t.boundary.Metadata != "" {
			version += "+" + string(t.boundary.Metadata)
		}
	}
	if t.op == "" {
		return version
	}
	return t.op + " " + version
}

// Allow reports whether a version satisfies all conditions.
func (c Constraints) Allow(v versions.Version) bool { return c.set().Has(v) }

func (c Constraints) set() versions.Set {
	if len(c.terms) == 0 {
		return versions.Released
	}
	spec := make(constraints.IntersectionSpec, len(c.terms))
	for i, t := range c.terms {
		spec[i] = t.spec
	}
	return versions.MeetingConstraints(spec)
}

// Newest returns the newest of the versions that satisfy all conditions, or false if there is none.
func (c Constraints) Newest(available []versions.Version) (versions.Version, bool) {
	set := c.set()
	newest, found := versions.Version{}, false
	for _, v := range available {
		if set.Has(v) && (!found || Compare(v, newest) > 0) {
			newest, found = v, true
		}
	}
	return newest, found
}
