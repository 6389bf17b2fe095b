package value

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
	"github.com/tombolo-iac/tombolo/internal/texts"
	"github.com/tombolo-iac/tombolo/provider"
)

// minSecret is the minimum length of a hidden string: shorter ones occur in too many innocent places.
const minSecret = 4

// minLearned is the same for secrets that no provider has received: our own sentences are searched as well.
const minLearned = 8

// maxBits is how large, or small, a number is at most that is written out.
const maxBits = 4096

// common are words that are longer, and no secrets: they say no more than that there is a value.
var common = map[string]bool{"true": true, "false": true, "null": true, "none": true}

// Secrets is a collection of strings that must not be shown, for texts that come from outside: what a program prints,
// what a provider reports. The zero value is empty and ready for use, also by many goroutines at once.
type Secrets struct {
	mu      sync.Mutex
	known   map[string]bool
	fresh   []string // what of them is in no batch yet
	batches []batch  // see search
}

// Add takes in every string, every number and every key of a map of the parts of a value that are sensitive. Marks of
// the value are passed over; the paths count.
func (s *Secrets) Add(v cty.Value, paths []cty.Path) {
	if s == nil || len(paths) == 0 {
		return
	}
	v, _ = v.UnmarkDeep()
	for _, path := range paths {
		if part, err := path.Apply(v); err == nil {
			s.gather(part, true, minSecret)
		}
	}
}

// Learn takes in what is marked in a value of the configuration. Nobody outside may have been given it as it is, but
// maybe as a part of something: a program that gets a secret in its script may print it alone.
func (s *Secrets) Learn(v cty.Value) {
	if s != nil && v != cty.NilVal && ctyfast.ContainsMarked(v) {
		s.gather(v, false, minLearned)
	}
}

// gather takes in what is marked, or all when the value is within a secret, from a length on.
func (s *Secrets) gather(v cty.Value, within bool, least int) {
	v, marks := v.Unmark()
	within = within || len(marks) > 0
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String && within:
		s.add(v.AsString(), least)
	case ty == cty.Number && within:
		if f := v.AsBigFloat(); f.MantExp(nil) < maxBits && f.MantExp(nil) > -maxBits {
			s.add(f.Text('f', -1), least)
		}
	case v.CanIterateElements():
		for key, element := range ctyfast.Each(v) {
			if within && ty.IsMapType() {
				s.add(key.AsString(), least)
			}
			s.gather(element, within, least)
		}
	}
}

// Unmark removes the marks of a configuration, as UnmarkDeep does, for a provider or program, and collects its secrets:
// by its schema, by the origin of its values, or because they are ephemeral. Without a schema nothing is collected.
func (s *Secrets) Unmark(block *provider.Block, config cty.Value) (cty.Value, MarkedPaths) {
	v, marks := UnmarkDeep(config)
	if s != nil && block != nil {
		s.Add(v, SensitivePaths(block, v, marks.Sensitive))
		s.Add(v, marks.Ephemeral)
	}
	return v, marks
}

func (s *Secrets) add(text string, least int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A program may print the lines of a secret one by one.
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); len(part) < least || common[strings.ToLower(part)] || s.known[part] {
			continue
		}
		if s.known == nil {
			s.known = map[string]bool{}
		}
		for _, form := range quotations(part) {
			if !s.known[form] {
				s.known[form] = true
				s.fresh = append(s.fresh, form)
			}
		}
	}
}

// quotations returns the forms of a text in quotes: as it is, as Go quotes it, and as JSON does, with and without HTML
// escapes.
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

// Redact returns a text in which every secret is replaced. Of secrets that overlap nothing is left.
func (s *Secrets) Redact(text string) string {
	if s == nil || len(text) < minSecret {
		return text
	}
	batches := s.search()
	if len(batches) == 0 {
		return text
	}
	var b strings.Builder
	end, copied := 0, 0 // of what is hidden, and of what b has
	for i := 0; i+minSecret <= len(text); i++ {
		n := 0
		for _, batch := range batches {
			if batch.begins[[minSecret]byte([]byte(text[i:i+minSecret]))] {
				n = max(n, batch.Beginning(text[i:]))
			}
		}
		if n == 0 {
			continue
		}
		if i >= end {
			b.WriteString(text[copied:i])
			b.WriteString("(sensitive value)")
		}
		end = max(end, i+n)
		copied = end
	}
	if end == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

// batch are secrets that came between two searches, with those of smaller batches before it.
type batch struct {
	*texts.Sorted
	begins map[[minSecret]byte]bool
}

// search returns the secrets to search for. Each batch has more secrets than all that come after it together, so that a
// secret is sorted again a few times only, however many there are.
func (s *Secrets) search() []batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fresh) == 0 {
		return s.batches
	}
	list, keep := s.fresh, len(s.batches)
	for keep > 0 && len(s.batches[keep-1].All()) <= len(list) {
		keep--
		list = append(list, s.batches[keep].All()...)
	}
	next := batch{texts.Sort(list), make(map[[minSecret]byte]bool)}
	for _, text := range next.All() {
		next.begins[[minSecret]byte([]byte(text[:minSecret]))] = true
	}
	s.batches, s.fresh = append(slices.Clone(s.batches[:keep]), next), nil
	return s.batches
}

// Any reports whether there is anything to hide.
func (s *Secrets) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known) > 0
}
