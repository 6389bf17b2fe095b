package openapi

import (
	"strings"
	"unicode"
)

// snake returns a name in snake case: displayName as display_name, HTTPPort as http_port.
func snake(name string) string {
	var out []rune
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			out = append(out, r)
		case r >= 'A' && r <= 'Z':
			before := i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
			after := i > 0 && unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if before || after && !(runes[i+1] == 's' && i+2 == len(runes)) {
				out = append(out, '_')
			}
			out = append(out, unicode.ToLower(r))
		default:
			out = append(out, '_')
		}
	}
	text := string(out)
	for strings.Contains(text, "__") {
		text = strings.ReplaceAll(text, "__", "_")
	}
	text = strings.Trim(text, "_")
	switch {
	case text == "":
		return "x"
	case text[0] >= '0' && text[0] <= '9':
		return "x_" + text
	}
	return text
}

// singular returns the singular of an English noun, guessed from its ending.
func singular(word string) string {
	head, last := "", word
	if i := strings.LastIndexByte(word, '_'); i >= 0 {
		head, last = word[:i+1], word[i+1:]
	}
	switch {
	case contains([]string{"series", "species", "news", "status", "dns", "aws", "ips", "kms", "sms", "https",
		"tls", "address", "access", "process", "business", "analysis", "settings"}, last) && last != "ips":
	case strings.HasSuffix(last, "ies") && len(last) > 4:
		last = last[:len(last)-3] + "y"
	case strings.HasSuffix(last, "sses"), strings.HasSuffix(last, "shes"), strings.HasSuffix(last, "ches"),
		strings.HasSuffix(last, "xes"), strings.HasSuffix(last, "uses") && last != "uses" && last != "clauses":
		last = last[:len(last)-2]
	case strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !strings.HasSuffix(last, "us") &&
		!strings.HasSuffix(last, "is") && len(last) > 2:
		last = last[:len(last)-1]
	}
	return head + last
}

// idle are path segments without meaning.
var idle = []string{"api", "rest", "apis"}

// words returns the meaningful segments of a path, in snake case.
func words(path string) (out []string) {
	for _, segment := range segments(path) {
		name := snake(strings.TrimSuffix(stripped(segment), ".json"))
		if stripped(segment) == "" || contains(idle, name) || isVersion(name) {
			continue
		}
		out = append(out, name)
	}
	return out
}

// isVersion reports whether a segment is a version such as v1, v2.0 or 2010-04-01.
func isVersion(name string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "x_"), "v")
	if digits == name || digits == "" {
		return false
	}
	return strings.Trim(strings.NewReplacer("beta", "", "alpha", "").Replace(digits), "0123456789_") == ""
}

// stripped returns a segment without its parameters.
func stripped(segment string) string {
	for {
		before, rest, ok := strings.Cut(segment, "{")
		if !ok {
			return segment
		}
		_, after, _ := strings.Cut(rest, "}")
		segment = before + after
	}
}

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// form returns a path without the names of its parameters and without endings, so that equivalent paths are equal.
func form(path string) string {
	list := segments(path)
	for i, segment := range list {
		for _, name := range placeholders(segment) {
			segment = strings.ReplaceAll(segment, "{"+name+"}", "{}")
		}
		list[i] = strings.TrimSuffix(segment, ".json")
	}
	return "/" + strings.Join(list, "/")
}

// reserved are the names with a meaning in all blocks of the language, and those in provider blocks.
var (
	reserved         = []string{"count", "for_each", "provider", "depends_on", "lifecycle", "connection", "provisioner"}
	reservedProvider = []string{"alias", "version"}
)

// names holds the names that are in use.
type names map[string]bool

// take returns the first of the names that is free, or else the last one with a number.
func (n names) take(wanted ...string) string {
	for _, name := range wanted {
		if !n[name] {
			n[name] = true
			return name
		}
	}
	last := wanted[len(wanted)-1]
	for i := 2; ; i++ {
		if name := last + "_" + itoa(i); !n[name] {
			n[name] = true
			return name
		}
	}
}

// providerName derives the name of a provider from the title of a document.
func providerName(title string) string {
	for _, name := range strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if len(name) > 1 && name[0] >= 'a' && name[0] <= 'z' && !isVersion(name) && !contains([]string{"the",
			"api", "rest", "openapi", "swagger", "http", "specification", "reference", "public", "an", "for", "of",
			"my"}, name) {
			return name
		}
	}
	return "api"
}
