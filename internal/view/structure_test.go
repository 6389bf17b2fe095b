package view

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// shownAs returns the difference of two texts on a terminal.
func shownAs(before, after string) string {
	r := renderer{brief: true}
	r.value(compareDynamic(sides{before: cty.StringVal(before), after: cty.StringVal(after)}), 0, how{})
	return r.String()
}

func TestBase64OfTextIsShownAsText(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	before, after := "#!/bin/sh\nexport MODE=one\nstart\n", "#!/bin/sh\nexport MODE=two\nstart\n"
	got := shownAs(encode(before), encode(after))
	for _, want := range []string{"base64encode(", "- export MODE=one", "+ export MODE=two", "start"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	// A text that is not the only encoding of its value is shown unchanged.
	for _, text := range []string{"aGVsbG8gd29ybGQsIGhlbGxvIQ=", encode("\x00\x01\x02 binary, not text at all"),
		"abcdefghijklmnopqrstuvwxyzab", encode("e\u0301 is written in two signs here")} {
		if _, ok := parseBase64(text); ok {
			t.Errorf("%q is taken for base64 of text", text)
		}
	}
	// If only the surrounding white space of a text differs, the encoded texts are shown, so that the difference is
	// visible.
	if got := shownAs(encode("one two three four\n"), encode("one two three four\n\n")); !strings.Contains(got, "->") {
		t.Errorf("the difference does not show:\n%s", got)
	}
}

func TestPEMIsShownByItsBlocksWithoutContents(t *testing.T) {
	block := func(body string) string {
		return "-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte(body)) +
			"\n-----END PRIVATE KEY-----\n"
	}
	got := shownAs(block("first key")+block("same"), block("second key")+block("same"))
	if !strings.Contains(got, "pem(") || !strings.Contains(got, "sha256") || !strings.Contains(got, "PRIVATE KEY") {
		t.Errorf("got\n%s", got)
	}
	if strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("first key"))) {
		t.Errorf("the key shows:\n%s", got)
	}
	got = shownAs("# a\n"+block("key"), "# b\n"+block("key"))
	if !strings.Contains(got, "# text around the blocks changes") {
		t.Errorf("got\n%s", got)
	}
}

func TestHiddenLinesOfYAMLShowThePathOfTheNext(t *testing.T) {
	document := func(image string) string {
		return "kind: Deployment\nmetadata:\n  name: web\n  labels:\n    a: b\n    c: d\n    e: f\n    g: h\nspec:\n" +
			"  template:\n    containers:\n    - name: first\n      image: nginx\n    - name: web\n" +
			"      env: one\n      more: two\n      and: three\n      image: " + image + "\n"
	}
	got := shownAs(document("web:1"), document("web:2"))
	if !strings.Contains(got, "unchanged lines hidden, in spec.template.containers[name: web])") {
		t.Errorf("got\n%s", got)
	}
	plain := strings.Repeat("Once upon a time\n", 12)
	if got := shownAs(plain+"there was", plain+"there is"); strings.Contains(got, ", in ") {
		t.Errorf("prose has places:\n%s", got)
	}
}
