package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
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

// minSecret is the minimum length of a hidden string: shorter ones occur in too many other texts.
const minSecret = 4

// minLearned is the minimum length of secrets that no provider has received: Tombolo's own messages are searched
// for these as well.
const minLearned = 8

// minValue is the minimum length for values that are not declared as secret: these are the main content of a plan.
const minValue = 6

// maxBits is the maximum exponent of numbers that are formatted.
const maxBits = 4096

// common are longer words that are not secrets: they reveal no more than that there is a value.
var common = map[string]bool{"true": true, "false": true, "null": true, "none": true, "default": true, "enabled": true,
	"disabled": true}

// Secrets is a collection of strings that must not be shown: in texts from outside (the output of a program, the
// messages of a provider), and in values that are not declared as secret (which a provider may have derived from one).
// The zero value is empty and ready for use. It may be used concurrently.
type Secrets struct {
	mu sync.Mutex
	// texts are searched for in messages; values, which are longer, in the values of objects.
	texts, values finder
	// shown are the strings that the configuration declares nonsensitive, which are not hidden. They are stored in all
	// of their forms, and in shownAs unchanged. The maps are not modified once a search uses them: the next string
	// creates new ones.
	shown, shownAs map[string]bool
	shared         bool
	// plain are the strings in arguments of ephemeral resources that are not secret themselves. Their values are
	// ephemeral afterwards, because they are read from the opened object.
	plain map[string]bool
}

// Add adds every string, number and map key in the sensitive parts of a value. Marks of the value are ignored; only
// paths are used.
func (s *Secrets) Add(v cty.Value, paths []cty.Path) {
	if s == nil || len(paths) == 0 {
		return
	}
	if ctyfast.ContainsMarked(v) {
		v, _ = v.UnmarkDeep()
	}
	for _, path := range paths {
		if part, err := path.Apply(v); err == nil {
			s.gather(part, whole, minSecret)
		}
	}
}

// AddOpened adds the strings and numbers of an opened ephemeral resource, except for arguments that its configuration
// contains in plain: without a mark, and not secret according to the schema.
func (s *Secrets) AddOpened(block *provider.Block, opened, config cty.Value, marks MarkedPaths) {
	if s == nil {
		return
	}
	opened, _ = opened.UnmarkDeep()
	config, _ = config.UnmarkDeep()
	config = MarkSensitive(config, SensitivePaths(block, config, append(slices.Clone(marks.Sensitive),
		marks.Ephemeral...)))
	s.addOpened(opened, config)
}

func (s *Secrets) addOpened(opened, config cty.Value) {
	switch {
	case config == cty.NilVal || config.IsMarked() || !config.IsKnown() || config.IsNull() || !opened.IsKnown() ||
		opened.IsNull() || !opened.Type().Equals(config.Type()):
		s.gather(opened, whole, minSecret)
	case opened.Type() == cty.String && opened.AsString() == config.AsString():
		s.keepPlain(opened.AsString())
	case opened.Type().IsPrimitiveType() && opened.RawEquals(config):
	case !opened.CanIterateElements() || opened.Type().IsSetType():
		s.gather(opened, whole, minSecret)
	default:
		had := map[string]cty.Value{}
		for key, element := range ctyfast.Each(config) {
			had[keyText(key)] = element
		}
		for key, element := range ctyfast.Each(opened) {
			before, known := had[keyText(key)]
			switch {
			case !opened.Type().IsMapType():
			case known:
				s.keepPlain(key.AsString())
			default:
				s.addText(key.AsString(), minSecret)
			}
			s.addOpened(element, before)
		}
	}
}

// keyText returns a key or an index as text.
func keyText(key cty.Value) string {
	if key.Type() == cty.String {
		return key.AsString()
	}
	return key.AsBigFloat().String()
}

// Learn adds the marked parts of a value in the configuration. No other program may have received the value itself, but
// perhaps a part of something: a program that gets a secret in its script may print only the secret.
func (s *Secrets) Learn(v cty.Value) {
	if s != nil && v != cty.NilVal && ctyfast.ContainsMarked(v) {
		s.gather(v, unmarked, minLearned)
	}
}

// LearnDerived is like Learn, for the value of an expression: an argument that an ephemeral resource has in plain is
// not secret where it is read from there.
func (s *Secrets) LearnDerived(v cty.Value) {
	if s != nil && v != cty.NilVal && ctyfast.ContainsMarked(v) {
		s.gather(v, derived, minLearned)
	}
}

// LearnOutput is like Learn, for an output. A collection may be sensitive as a whole because of one part, which was
// added where it came from: all of it is hidden in messages, but other values may contain its other parts.
func (s *Secrets) LearnOutput(v cty.Value) {
	if s == nil || v == cty.NilVal || !v.IsMarked() || v.Type().IsPrimitiveType() {
		s.LearnDerived(v)
		return
	}
	v, _ = v.Unmark()
	s.LearnDerived(v)
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if part.Type() == cty.String && part.IsKnown() && !part.IsNull() {
			s.addText(part.AsString(), minLearned)
		}
		return true, nil
	})
}

// reach is the reason why a part of a value is secret.
type reach uint8

const (
	unmarked  reach = iota // it is not secret
	derived                // the same; ephemeral parts are read from somewhere
	ephemeral              // read from something ephemeral, where it may be in plain
	whole                  // it is secret
)

// within returns the reach of a part with some marks.
func (r reach) within(marks cty.ValueMarks) reach {
	_, isEphemeral := marks[Ephemeral]
	switch {
	case len(marks) == 0:
		return r
	case r == whole || r == unmarked || !isEphemeral || len(marks) > 1:
		return whole
	}
	return ephemeral
}

// gather adds the marked parts of a value, or all if the value is within a secret, of at least the length least.
func (s *Secrets) gather(v cty.Value, r reach, least int) {
	v, marks := v.Unmark()
	r = r.within(marks)
	secret := r == whole || r == ephemeral
	switch ty := v.Type(); {
	case !v.IsKnown() || v.IsNull():
	case ty == cty.String && secret:
		if r == whole || !s.isPlain(v.AsString()) {
			s.add(v.AsString(), least)
		}
	case ty == cty.Number && secret:
		if f := v.AsBigFloat(); f.MantExp(nil) < maxBits && f.MantExp(nil) > -maxBits {
			s.add(f.Text('f', -1), least)
		}
	case v.CanIterateElements():
		for key, element := range ctyfast.Each(v) {
			if secret && ty.IsMapType() && (r == whole || !s.isPlain(key.AsString())) {
				s.addText(key.AsString(), least)
			}
			s.gather(element, r, least)
		}
	}
}

func (s *Secrets) keepPlain(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plain == nil {
		s.plain = map[string]bool{}
	}
	s.plain[text] = true
}

// isPlain reports whether an ephemeral resource has a string in plain.
func (s *Secrets) isPlain(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plain[text]
}

// Unmark removes the marks of a configuration, like UnmarkDeep, for a provider or program, and collects its secrets:
// those according to its schema, those from secret values, and ephemeral ones. If there is no schema, it collects
// nothing.
func (s *Secrets) Unmark(block *provider.Block, config cty.Value) (cty.Value, MarkedPaths) {
	v, marks := UnmarkDeep(config)
	if s != nil && block != nil {
		s.Add(v, SensitivePaths(block, v, marks.Sensitive))
		for _, path := range marks.Ephemeral {
			if part, err := path.Apply(v); err == nil {
				s.gather(part, ephemeral, minSecret)
			}
		}
	}
	return v, marks
}

// add adds a secret string.
func (s *Secrets) add(text string, least int) {
	s.addText(text, least)
	if text = strings.TrimSpace(text); len(text) >= minValue && !common[strings.ToLower(text)] {
		s.mu.Lock()
		s.values.add(text)
		s.mu.Unlock()
	}
}

// addText adds a string that must not be in messages.
func (s *Secrets) addText(text string, least int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A program may print the lines of a secret separately.
	for _, part := range append(strings.Split(text, "\n"), text) {
		if part = strings.TrimSpace(part); len(part) >= least && !common[strings.ToLower(part)] {
			s.texts.add(part)
		}
	}
}

// Show adds values that the configuration declares nonsensitive: they are not hidden. Parts with other marks are
// ignored.
func (s *Secrets) Show(v cty.Value) {
	switch {
	case s == nil || v == cty.NilVal || v.IsMarked() || !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		s.ShowTexts(v.AsString())
	case v.CanIterateElements():
		for _, element := range ctyfast.Each(v) {
			s.Show(element)
		}
	}
}

// ShowTexts is like Show, for strings.
func (s *Secrets) ShowTexts(list ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range list {
		if len(text) < minSecret || s.shownAs[text] {
			continue
		}
		switch {
		case s.shownAs == nil:
			s.shownAs, s.shown = map[string]bool{}, map[string]bool{}
		case s.shared:
			s.shownAs, s.shown = maps.Clone(s.shownAs), maps.Clone(s.shown)
		}
		s.shared = false
		s.shownAs[text] = true
		for _, form := range forms(strings.TrimSpace(text)) {
			s.shown[form] = true
		}
	}
}

// Shown returns the strings that Show has added, sorted.
func (s *Secrets) Shown() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.shownAs))
}

// forms returns the forms that a secret may have in a text: unchanged, quoted, in base64 and in a URL.
func forms(text string) []string {
	list := quotations(text)
	if len(text) < minValue {
		return list
	}
	for before := range 3 {
		// In base64, three bytes become four letters, so the letters depend on the bytes before and after.
		whole := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:before] + text))
		from := [...]int{0, 2, 3}[before]
		part := whole[from : (before+len(text))*8/6]
		list = append(list, part)
		if strings.ContainsAny(part, "+/") {
			list = append(list, strings.NewReplacer("+", "-", "/", "_").Replace(part))
		}
	}
	for _, escape := range []func(string) string{url.QueryEscape, url.PathEscape} {
		if escaped := escape(text); escaped != text {
			list = append(list, escaped)
		}
	}
	return list
}

// quotations returns the forms of a text in quotes: unchanged, quoted by Go, and quoted by JSON with and without HTML
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

// Redact returns a message in which every secret is replaced. Overlapping secrets are replaced completely.
func (s *Secrets) Redact(text string) string {
	if s == nil || len(text) < minSecret {
		return text
	}
	list := s.search(&s.texts)
	if len(list) == 0 {
		return text
	}
	return redact(text, list, minSecret, func(found string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.shown[found]
	})
}

// Values returns a function that replaces the secrets in values, and the same for many of them. whole reports whether
// the text consists only of a secret.
func (s *Secrets) Values() func(text string) (shown string, whole bool) {
	if s == nil {
		return nil
	}
	list := s.search(&s.values)
	if len(list) == 0 {
		return nil
	}
	s.mu.Lock()
	shown, shownAs := s.shown, s.shownAs
	s.shared = true
	s.mu.Unlock()
	return func(text string) (string, bool) {
		if len(text) < minValue || shownAs[text] {
			return text, false
		}
		text = redact(text, list, minValue, func(found string) bool { return shown[found] })
		return text, strings.TrimSpace(text) == Withholding
	}
}

// Withholding replaces a secret.
const Withholding = "(sensitive value)"

// redact replaces the secrets in batches, except for those that shown selects.
func redact(text string, batches []batch, least int, shown func(found string) bool) string {
	if len(batches) == 0 {
		return text
	}
	var b strings.Builder
	end, copied := 0, 0 // end of the hidden part, and of the part in b
	for i := 0; i+least <= len(text); i++ {
		n := 0
		for k := range batches {
			if of := &batches[k]; of.mayBegin(text[i : i+least]) {
				n = max(n, of.PrefixLength(text[i:]))
			}
		}
		if n == 0 || shown(text[i:i+n]) {
			continue
		}
		if i >= end {
			b.WriteString(text[copied:i])
			b.WriteString(Withholding)
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

// finder collects strings to search for, all of a minimum length.
type finder struct {
	known   map[string]bool
	fresh   []string // strings that are in no batch yet
	batches []batch  // see search
}

// add adds a string in all of its forms.
func (f *finder) add(text string) {
	if f.known[text] {
		return
	}
	if f.known == nil {
		f.known = map[string]bool{}
	}
	f.known[text] = true
	f.fresh = append(f.fresh, forms(text)...)
}

// batch holds secrets that were added between two searches, merged with smaller earlier batches. Its filter excludes
// prefixes that no secret has, which applies to nearly all positions of a text.
type batch struct {
	*texts.Sorted
	filter []uint64
	least  int
}

func newBatch(list []string, least int) batch {
	b := batch{texts.Sort(list), nil, least}
	words := 64 // a power of two
	for words < len(b.All())/4 && words < 1<<20 {
		words *= 2
	}
	b.filter = make([]uint64, words)
	for _, text := range b.All() {
		h := b.hash(text[:least])
		b.filter[h>>6] |= 1 << (h & 63)
	}
	return b
}

// hash returns a number below the bits of the filter.
func (b *batch) hash(text string) uint64 {
	h := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24
	if b.least == minValue {
		h |= uint64(text[4])<<32 | uint64(text[5])<<40
	}
	h *= 0x9e3779b97f4a7c15
	return h >> 32 & uint64(len(b.filter)*64-1)
}

func (b *batch) mayBegin(text string) bool {
	h := b.hash(text)
	return b.filter[h>>6]&(1<<(h&63)) != 0
}

// search returns the secrets to search for. Each batch has more secrets than all later ones together, so that each
// secret is only sorted a logarithmic number of times.
func (s *Secrets) search(f *finder) []batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.fresh) == 0 {
		return f.batches
	}
	least := minSecret
	if f == &s.values {
		least = minValue
	}
	list, keep := f.fresh, len(f.batches)
	for keep > 0 && len(f.batches[keep-1].All()) <= len(list) {
		keep--
		list = append(list, f.batches[keep].All()...)
	}
	f.batches, f.fresh = append(slices.Clone(f.batches[:keep]), newBatch(list, least)), nil
	return f.batches
}

// Any reports whether there is anything to hide.
func (s *Secrets) Any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.texts.known) > 0
}
