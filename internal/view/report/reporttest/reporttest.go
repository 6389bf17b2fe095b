// Package reporttest reads reports, for tests.
package reporttest

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"testing"
)

var payload = regexp.MustCompile(`(?s)<script type="text/plain" id="payload">(.*?)</script>`)

// Text returns all text of a page: its decompressed payload, and the page itself.
func Text(t testing.TB, page string) string {
	t.Helper()
	return Payload(t, page) + page
}

// Payload returns the document in a page.
func Payload(t testing.TB, page string) string {
	t.Helper()
	found := payload.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("this is not a report:\n%.300s", page)
	}
	unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
