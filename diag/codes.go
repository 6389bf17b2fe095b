package diag

import (
	_ "embed"
	"strings"
	"sync"
)

// A Kind is a kind of problem. Its code never changes its meaning: people and scripts keep it.
type Kind struct {
	Code string // such as "TB0203"
	// Title is the Summary of such a problem. An asterisk stands for any text.
	Title string
	// Says is a part of the Detail that distinguishes the kind from others with the same title; empty for all others.
	Says string
	// Role is how the problem relates to others beside it: see Causes.
	Role Role
	// Retired means that no problem has this code any more. It is not given to another kind.
	Retired bool
}

// Role is how a kind of problem relates to other problems of a configuration.
type Role string

// The roles. Most kinds have none.
const (
	Whole      Role = "whole"      // a parser finds it, and loses nothing of the text
	Unknown    Role = "unknown"    // something has a name that is not expected there
	Absent     Role = "absent"     // something with a name is missing
	Unrepeated Role = "unrepeated" // each or count is used without the argument that they need
)

//go:embed codes.txt
var codes string

// kinds is the register: see codes.txt.
var kinds = sync.OnceValue(func() (out []Kind) {
	for line := range strings.Lines(codes) {
		code, text, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || !strings.HasPrefix(code, "TB") {
			continue
		}
		k := Kind{Code: code}
		k.Title, k.Retired = strings.CutPrefix(text, "(retired) ")
		title, role, _ := strings.Cut(k.Title, " @")
		k.Title, k.Role = title, Role(role)
		k.Title, k.Says, _ = strings.Cut(k.Title, " ~ ")
		out = append(out, k)
	}
	return out
})

// Kinds returns all kinds of problems, by their codes.
func Kinds() []Kind { return append([]Kind(nil), kinds()...) }

// exactly finds kinds by titles that hold no asterisk.
var exactly = sync.OnceValue(func() map[string][]Kind {
	out := map[string][]Kind{}
	for _, k := range kinds() {
		if !k.Retired && !strings.Contains(k.Title, "*") {
			out[k.Title] = append(out[k.Title], k)
		}
	}
	return out
})

// Code returns the code of the kind of problem, such as "TB0203"; empty for a problem that a provider or a program of
// somebody else reports, whose titles are its own.
func (d *Diagnostic) Code() string { return d.kind().Code }

// kind returns the kind of a problem; the zero value for one that somebody else reports.
func (d *Diagnostic) kind() (general Kind) {
	if d.Foreign {
		return Kind{}
	}
	candidates, exact := exactly()[d.Summary]
	if !exact {
		candidates = like(d.Summary)
	}
	for _, k := range candidates {
		switch {
		case k.Says == "":
			general = k
		case strings.Contains(d.Detail, k.Says):
			return k
		}
	}
	return general
}

// like returns the kinds whose pattern fits a title best: the longest one. Kinds with one pattern stand together.
func like(title string) (best []Kind) {
	for _, k := range kinds() {
		switch {
		case k.Retired || !k.Matches(title) || len(best) > 0 && len(best[0].Title) > len(k.Title):
		case len(best) > 0 && best[0].Title == k.Title:
			best = append(best, k)
		default:
			best = []Kind{k}
		}
	}
	return best
}

// Matches reports whether a title is one of this kind.
func (k Kind) Matches(title string) bool {
	parts := strings.Split(k.Title, "*")
	if len(parts) == 1 {
		return title == k.Title
	}
	rest, ok := strings.CutPrefix(title, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
