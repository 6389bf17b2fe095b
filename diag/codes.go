package diag

import (
	_ "embed"
	"strings"
	"sync"
)

// A Kind is a kind of problem. The meaning of its code never changes, because people and scripts rely on it.
type Kind struct {
	Code string // such as "TB0203"
	// Title is the Summary of such a problem. An asterisk stands for any text.
	Title string
	// Says is a part of the Detail that distinguishes the kind from others with the same title; empty if none has.
	Says string
	// Role is the relation to other problems: see Causes.
	Role Role
	// Retired means that no problem has this code now. It is never reused.
	Retired bool
}

// Role is the relation of a kind of problem to other problems of a configuration.
type Role string

// The roles. Most kinds have none.
const (
	Whole      Role = "whole"      // found by a parser that skips no text
	Unknown    Role = "unknown"    // an unexpected name
	Absent     Role = "absent"     // a missing name
	Unrepeated Role = "unrepeated" // each or count without the argument that defines it
)

//go:embed codes.txt
var codes string

// kinds returns the register: see codes.txt.
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

// Kinds returns all kinds of problems in the order of their codes.
func Kinds() []Kind { return append([]Kind(nil), kinds()...) }

// exactly returns the kinds by their titles, for titles without an asterisk.
var exactly = sync.OnceValue(func() map[string][]Kind {
	out := map[string][]Kind{}
	for _, k := range kinds() {
		if !k.Retired && !strings.Contains(k.Title, "*") {
			out[k.Title] = append(out[k.Title], k)
		}
	}
	return out
})

// Code returns the code of the problem's kind, such as "TB0203", or "" for a problem of a provider or a third-party
// program, which have their own titles.
func (d *Diagnostic) Code() string { return d.kind().Code }

// kind returns the kind of a problem, or the zero value for one that was reported by other software.
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

// like returns the kinds with the longest pattern that matches a title. Kinds with the same pattern are adjacent.
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
