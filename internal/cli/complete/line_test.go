package complete

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesAreSplitLikeInAShell(t *testing.T) {
	for _, tt := range []struct {
		text    string
		words   []string
		current string
		quote   byte
	}{
		{text: "t"[:0]},
		{text: "t", current: "t"},
		{text: "t ", words: []string{"t"}},
		{text: "t  pl", words: []string{"t"}, current: "pl"},
		{text: `t show 'a["x`, words: []string{"t", "show"}, current: `a["x`, quote: '\''},
		{text: `t a\[\"x\ y`, words: []string{"t"}, current: `a["x y`},
		{text: `t "a b" "c\"d\e`, words: []string{"t", "a b"}, current: `c"d\e`, quote: '"'},
		{text: `t -x='a'b`, words: []string{"t"}, current: `-x=ab`},
	} {
		l := parse(tt.text)
		if l.current != tt.current || l.quote != tt.quote || !cmp.Equal(l.words, tt.words) {
			t.Errorf("parse(%q) = words %q, current %q, quote %q; want %q, %q, %q", tt.text, l.words, l.current,
				l.quote, tt.words, tt.current, tt.quote)
		}
	}
}

func TestCompletionsReplaceTheWordOfBash(t *testing.T) {
	for _, tt := range []struct{ text, value, word, want string }{
		{"t pl", "plan", "pl", "plan"},
		{"t plan -out=fi", "-out=file", "fi", "file"},
		{"t plan -out=", "-out=a b", "", `a\ b`},
		{`t show a\[\"`, `a["x y"]`, `a\[\"`, `a\[\"x\ y\"\]`},
		{`t show 'a[`, `a["x y"]`, `a[`, `a["x y"]`},
		{`t show "a[`, `a["x"]`, `a[`, `a[\"x\"]`},
		{`t -target='a`, `-target=a[0]`, `a`, `a[0]`},
	} {
		if got, ok := parse(tt.text).write(tt.value, []string{"t", tt.word, ""}); !ok || got != tt.want {
			t.Errorf("%s, where %q is to be completed to %q: %q, %v; want %q", tt.text, tt.word, tt.value, got, ok,
				tt.want)
		}
	}
	if got, ok := parse(`t show a\[`).write(`a["x y"]`, nil); !ok || got != `a["x y"]` {
		t.Errorf("for a shell that quotes by itself: %q, %v", got, ok)
	}
	if _, ok := parse("t 'a").write("a'b", []string{"t", "a", ""}); ok {
		t.Error("a single quote cannot stand in single quotes")
	}
}

func TestTheCursorIsCountedInCharacters(t *testing.T) {
	for _, tt := range []struct{ line, point, want string }{
		{"t é plan", "4", "t é "}, {"t é", "3", "t é"}, {"t pl", "99", "t pl"}, {"t pl", "-1", "t pl"},
		{"t pl", "", "t pl"}, {"t pl", "0", ""},
	} {
		if got := upToCursor(tt.line, tt.point); got != tt.want {
			t.Errorf("upToCursor(%q, %q) = %q, want %q", tt.line, tt.point, got, tt.want)
		}
	}
}

// FuzzLine checks that a line with a completion appended is parsed as the completed value.
func FuzzLine(f *testing.F) {
	for _, text := range []string{"t pl", `t show 'a["x`, `t "a\`, `t a\ b=c:`, "t -x='a'\"b", "\\"} {
		f.Add(text, "x[\"k\"] 'y")
	}
	f.Fuzz(func(t *testing.T, text, rest string) {
		if strings.ContainsAny(rest, "\n\r") {
			return // there are no such completions
		}
		l := parse(text)
		written, ok := l.write(l.current+rest, []string{"t", ""})
		if !ok {
			if !l.pending && l.quote != '\'' {
				t.Errorf("%q cannot be continued with %q", text, rest)
			}
			return
		}
		again := parse(text + written)
		if again.current != l.current+rest || len(again.words) != len(l.words) {
			t.Errorf("%q, continued with %q, reads as %q behind %d words; want %q behind %d", text, written,
				again.current, len(again.words), l.current+rest, len(l.words))
		}
	})
}

func TestRemovingALineRestoresTheFile(t *testing.T) {
	for _, before := range []string{"", "\n", "x=1", "x=1\n", "x=1\n\n", "x=1\r\ny=2", "\n\n"} {
		put := appendLine([]byte(before), "complete -C /x x")
		if again := appendLine(append([]byte(nil), put...), "complete -C /x x"); string(again) != string(put) {
			t.Errorf("%q twice: %q", before, again)
		}
		if got := removeLine(put, "complete -C /x x"); string(got) != before {
			t.Errorf("%q in and out again: %q", before, got)
		}
	}
	if got := removeLine([]byte("a\ncomplete -C /x x\nb"), "complete -C /x x"); string(got) != "a\nb" {
		t.Errorf("from the middle: %q", got)
	}
}
