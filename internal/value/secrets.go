package value

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// minSecret is the length from which a string is hidden: shorter ones stand in too many innocent places.
const minSecret = 4

// maxBits is how large, or small, a number is at most that is written out.
const maxBits = 4096

// common are words that are longer, and no secrets: they say no more than that there is a value.
var common = map[string]bool{"true": true, "false": true, "null": true, "none": true}

// Secrets is a collection of strings that must not be shown, for texts that come from outside: what a program prints,
// what a provider reports. The zero value is empty and ready for use, also by many goroutines at once.
type Secrets struct {
	mu       sync.Mutex
	known    map[string]bool
	replacer *strings.Replacer // made when needed
}

// Add takes in every string and every number of the parts of a value that are sensitive. Marks of the value are passed
// over; the paths count.
func (s *Secrets) Add(v cty.Value, paths []cty.Path) {
	if s == nil || len(paths) == 0 {
		return
	}
	v, _ = v.UnmarkDeep()
	for _, path := range paths {
		part, err := path.Apply(v)
		if err != nil {
			continue
		}
		_ = cty.Walk(part, func(_ cty.Path, leaf cty.Value) (bool, error) {
			switch {
			case !leaf.IsKnown() || leaf.IsNull():
			case leaf.Type() == cty.String:
				s.add(leaf.AsString())
			case leaf.Type() == cty.Number:
				if f := leaf.AsBigFloat(); f.MantExp(nil) < maxBits && f.MantExp(nil) > -maxBits {
					s.add(f.Text('f', -1))
				}
			}
			return true, nil
		})
	}
}

// Unmark takes the marks off the configuration of something, as UnmarkDeep does, for those who are to see what is in
// it, and takes in what is secret there: by its schema, by where its values come from, or because it is ephemeral.
// Without a schema nothing is taken in.
func (s *Secrets) Unmark(block *provider.Block, config cty.Value) (cty.Value, MarkedPaths) {
	v, marks := UnmarkDeep(config)
	if s != nil && block != nil {
		s.Add(v, SensitivePaths(block, v, marks.Sensitive))
		s.Add(v, marks.Ephemeral)
	}
	return v, marks
}

func (s *Secrets) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A program may print the lines of a secret one by one.
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); len(part) < minSecret || common[strings.ToLower(part)] || s.known[part] {
			continue
		}
		if s.known == nil {
			s.known = map[string]bool{}
		}
		for _, form := range quotations(part) {
			s.known[form] = true
		}
		s.replacer = nil
	}
}

// quotations are the forms that a text has in quotes: as it is, as Go quotes it, and as JSON does, with and without
// what HTML asks for.
func quotations(text string) []string {
	forms := []string{text}
	if !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r >= utf8.RuneSelf ||
			strings.ContainsRune("\"\\<>&\x7f", r)
	}) {
		return forms
	}
	quoted := []string{strconv.Quote(text), strconv.QuoteToASCII(text)}
	if whole, err := json.Marshal(text); err == nil {
		quoted = append(quoted, string(whole))
	}
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err == nil {
		quoted = append(quoted, strings.TrimSuffix(plain.String(), "\n"))
	}
	for _, q := range quoted {
		forms = append(forms, q[1:len(q)-1])
	}
	return forms
}

// Redact returns a text in which every secret is replaced.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	if len(s.known) == 0 {
		s.mu.Unlock()
		return text
	}
	if s.replacer == nil {
		list := make([]string, 0, len(s.known))
		for secret := range s.known {
			list = append(list, secret)
		}
		// Longer ones first: a secret may be the beginning of another.
		sort.Slice(list, func(i, j int) bool { return len(list[i]) > len(list[j]) })
		pairs := make([]string, 0, 2*len(list))
		for _, secret := range list {
			pairs = append(pairs, secret, "(sensitive value)")
		}
		s.replacer = strings.NewReplacer(pairs...)
	}
	r := s.replacer
	s.mu.Unlock()
	return r.Replace(text)
}

// Any reports whether there is anything to hide.
func (s *Secrets) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known) > 0
}
