package excerpt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// apply replaces the parts in a text by their new forms.
func apply(t *testing.T, before string, list []Part) string {
	t.Helper()
	runes, at := []rune(before), 0
	var out strings.Builder
	for _, p := range list {
		old := []rune(p.Before)
		if p.At < at || p.At+len(old) > len(runes) || string(runes[p.At:p.At+len(old)]) != p.Before {
			t.Fatalf("%q does not stand at character %d of %q", p.Before, p.At, before)
		}
		out.WriteString(string(runes[at:p.At]) + p.After)
		at = p.At + len(old)
		if p.First != (p.At == 0) || p.Last != (at == len(runes)) {
			t.Errorf("%+v is not the first or last part of %q", p, before)
		}
	}
	return out.String() + string(runes[at:])
}

// For random pairs of texts the parts yield the new text, are short if little changes, and are empty if nothing does.
func TestReplacingThePartsYieldsTheNewText(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		alphabet := strings.Split("abc|foo|bar|x|1|2| |,|é|日本|-|\"|\\|\t|\x01", "|")
		word := func() string { return alphabet[r.IntN(len(alphabet))] }
		var before []string
		for range r.IntN(120) {
			before = append(before, word())
		}
		after := append([]string(nil), before...)
		changes := r.IntN(4)
		for range changes {
			at := r.IntN(len(after) + 1)
			switch {
			case at < len(after) && r.IntN(2) == 0:
				after[at] = word()
			case at < len(after) && r.IntN(2) == 0:
				after = append(after[:at], after[at+1:]...)
			default:
				after = append(after[:at], append([]string{word()}, after[at:]...)...)
			}
		}
		a, b := strings.Join(before, ""), strings.Join(after, "")
		list := Of(a, b)
		if got := apply(t, a, list); got != b {
			t.Fatalf("seed %d: the parts %+v of %q give %q, want %q", seed, list, a, got, b)
		}
		if (a == b) != (len(list) == 0) || len(list) > changes {
			t.Errorf("seed %d: %d changes have %d parts", seed, changes, len(list))
		}
	}
}

// The context has complete words, unless they are very long.
func TestContextHasCompleteWords(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var list []string
		for range 40 {
			list = append(list, strings.Repeat("é", 1+r.IntN(longest-around)))
		}
		at := r.IntN(len(list))
		before := strings.Join(list, " ")
		list[at] = "new"
		for _, p := range Of(before, strings.Join(list, " ")) {
			runes, end := []rune(before), p.At+utf8.RuneCountInString(p.Before)
			if cuts(runes, p.At) || cuts(runes, end) {
				t.Errorf("seed %d: %q, from character %d of %q, begins or ends within a word", seed, p.Before, p.At,
					before)
			}
		}
	}
}

// cuts reports whether an offset is within a word.
func cuts(text []rune, at int) bool {
	return at > 0 && at < len(text) && inWords(text[at-1]) && inWords(text[at])
}

func TestLargeTextsAreComparedInBoundedTime(t *testing.T) {
	text := func(word string) string { return strings.Repeat(word+" is ", 20000) }
	a, b := "first "+text("old")+" last", "first "+text("new")+" last"
	list := Of(a, b)
	if len(list) != 1 || apply(t, a, list) != b {
		t.Errorf("%d parts, or not the new text", len(list))
	}
	list = Of(text("x")+"a"+text("y"), text("x")+"b"+text("y"))
	if len(list) != 1 || utf8.RuneCountInString(list[0].Before) > 2*around+20 {
		t.Errorf("one word in the middle: %d parts", len(list))
	}
}

// A change within a word of thousands of characters, or in a text whose script has no spaces, is shown with its
// surroundings and not with the whole word.
func TestChangesWithinLongWordsAreFound(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		letters := []rune([]string{"0123456789abcdef", "ABCDEFGHIJabcdefghij0123456789", "日本語の文"}[r.IntN(3)])
		before := make([]rune, 100+r.IntN(3000))
		for i := range before {
			before[i] = letters[r.IntN(len(letters))]
		}
		after := slices.Clone(before)
		changes := 1 + r.IntN(3)
		for range changes {
			after[r.IntN(len(after))] = 'Z'
		}
		a, b := string(before), string(after)
		list := Of(a, b)
		if got := apply(t, a, list); got != b {
			t.Fatalf("seed %d: the parts %+v of %q give %q, want %q", seed, list, a, got, b)
		}
		for _, p := range list {
			if n := utf8.RuneCountInString(p.Before); n > changes*(2*longest+1) && len(before) < 1000 {
				t.Errorf("seed %d: %d changed characters are shown with %d others: %q", seed, changes, n, p.Before)
			}
		}
	}
}

func ExampleOf() {
	for _, p := range Of("apt-get update && apt-get install nginx=1.18 && systemctl restart nginx",
		"apt-get update && apt-get install nginx=1.20 && systemctl restart nginx") {
		fmt.Printf("%d: %q\n    %q\n", p.At, p.Before, p.After)
	}
	// Output:
	// 26: "install nginx=1.18 && systemctl restart"
	//     "install nginx=1.20 && systemctl restart"
}
