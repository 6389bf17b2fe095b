package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

func TestOddJSONIsRefused(t *testing.T) {
	type target struct {
		Name   string         `json:"name"`
		List   []string       `json:"list"`
		Object map[string]int `json:"object"`
	}
	for text, want := range map[string]string{
		`{"name": "x", "unknown": [{"a": 1}, {"a": 2}]}`: "",
		`{"name": "x"} {"name": "y"}`:                    "not JSON",
		``:                                               "not JSON",
		`null`:                                           "",
		`{"name": "x"`:                                   "not JSON",
		"{\"name\": \"\xff\"}":                           "UTF-8",
		`{"name": "x", "name": "y"}`:                     `"name" twice`,
		`{"name": "x", "NAME": "y"}`:                     `"NAME" twice`,
		`{"list": ["x"], "liſt": ["y"]}`:                 `"liſt" twice`,
		`{"object": {"a": 1, "a": 2}}`:                   `"a" twice`,
		`{"name": 3}`:                                    "number where a string is expected",
		`{"list": "x"}`:                                  "string where a list is expected",
		`{"object": []}`:                                 "a list where an object is expected",
		`{"object": {"a": 1e999}}`:                       "number",
		`{"object": {"a": 99999999999999999999}}`:        "number",
		strings.Repeat("[", 100_000):                     "levels deep",
		strings.Repeat(`{"a":`, 100_000):                 "levels deep",
		`{"list": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}":    "levels deep",
		`{"unknown": ` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}": "",
	} {
		var into target
		err := web.Decode([]byte(text), &into)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.60s: %v", text, err)
		case want != "":
			wantError(t, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a": [1, "x", {"b": null}], "c": 1e3}`))
	f.Add([]byte(`{"a": 1, "a": 2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var into any
		if err := web.Decode(text, &into); err != nil {
			return
		}
		if !utf8.Valid(text) || !json.Valid(text) {
			t.Errorf("%q was accepted", text)
		}
	})
}

// constant responds to every request with the same document.
type constant []byte

func (c constant) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(c))), ContentLength: int64(len(c)),
	}, nil
}

func FuzzService(f *testing.F) {
	f.Add([]byte(`{"providers.v1": "/v1/"}`))
	f.Add([]byte(`{"providers.v1": "//x:1/%2e%2e/?q#f"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		client := web.New(web.Options{Transport: constant(text)})
		u, err := client.Service(context.Background(), "example.com", "providers.v1")
		if err == nil && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			!strings.HasSuffix(u.Path, "/")) {
			t.Errorf("%q gives %s", text, u)
		}
	})
}

// A list beyond the limit is refused when it exceeds the limit, not when all of it was read.
func TestLongListsAreRefusedAtTheLimit(t *testing.T) {
	work := func(n int) float64 {
		text := []byte(`{"versions": [{}` + strings.Repeat(`,{}`, n) + `]}`)
		return testing.AllocsPerRun(1, func() {
			var into struct {
				Versions []struct {
					Version string `json:"version"`
				} `json:"versions"`
			}
			wantError(t, web.Decode(text, &into), "more than 100000 members")
		})
	}
	if few, many := work(100_000), work(2_700_000); many > few*11/10 {
		t.Errorf("2.7 million members take %.0f allocations, 100 000 take %.0f", many, few)
	}
}
