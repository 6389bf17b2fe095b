package httpstore_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/httpstore"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Headers are sent with each request, but not to another host, and no message shows them.
func TestHeadersAreOnlySentToTheirHost(t *testing.T) {
	const canary = "canary-token"
	seen := func(got *string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			*got += r.Header.Get("X-Token") + "."
			w.WriteHeader(http.StatusForbidden)
			w.Write([]byte("no " + r.Header.Get("X-Token")))
		}
	}
	var here, elsewhere string
	other := httptest.NewServer(seen(&elsewhere))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/s", seen(&here))
	mux.Handle("/away", http.RedirectHandler(other.URL+"/s", http.StatusTemporaryRedirect))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, path := range []string{"/s", "/away"} {
		p := place(t, map[string]cty.Value{"address": cty.StringVal(server.URL + path), "retry_max": cty.Zero,
			"headers": cty.MapVal(map[string]cty.Value{"x-token": cty.StringVal(canary)})})
		if _, err := p.Read(t.Context()); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if !strings.HasPrefix(here, canary) || strings.Contains(elsewhere, canary) || elsewhere == "" {
		t.Errorf("the server saw %q, the other one %q", here, elsewhere)
	}
}

// OpenTofu 1.12 refuses the same headers.
func TestHeadersThatCannotBeSent(t *testing.T) {
	for header, want := range map[[2]string]string{
		{"bad name", "x"}:       `"bad name" is not the name of a header`,
		{"", "x"}:               `"" is not the name of a header`,
		{"Authorization", "x"}:  `The username is sent in the header "Authorization"`,
		{"content-type", "x"}:   `Tombolo sets the header "content-type" itself`,
		{"Content-MD5", "x"}:    `Tombolo sets the header "Content-MD5" itself`,
		{"X", ""}:               `The value of "X" is empty, or has characters`,
		{"X", "canary\r\nY: z"}: `The value of "X" is empty, or has characters`,
		{"X", "fine"}:           "",
	} {
		_, diags := httpstore.Kind().Open(t.Context(), cty.ObjectVal(map[string]cty.Value{
			"address": cty.StringVal("http://127.0.0.1:1/"), "username": cty.StringVal("u"),
			"headers": cty.MapVal(map[string]cty.Value{header[0]: cty.StringVal(header[1])})}), remote.Surroundings{})
		got := ""
		for _, d := range diags {
			got += d.Summary + ": " + d.Detail
			if strings.Contains(d.Detail, "canary") {
				t.Errorf("the value is shown: %s", d.Detail)
			}
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
