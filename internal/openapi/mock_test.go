package openapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/openapi"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/verify"
	"github.com/tombolo-iac/tombolo/provider/providertest"
)

// lives runs the suite with a generated provider and its tests against the mock of its document. It returns the number
// of passed checks, and the errors.
func lives(t *testing.T, file string, seed uint64) (passed int, wrong []string) {
	t.Helper()
	p := mapped(t, file, openapi.Options{})
	dir := t.TempDir()
	for name, text := range map[string][]byte{manifest.FileName: p.Manifest(), verify.FileName: p.Tests(seed)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(mock(t, file))
	defer server.Close()
	trial, diags := verify.Load(t.Context(), dir, "")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	trial.Mock = server.URL
	options, err := trial.Options(t.TempDir(), nil, func(handler.Output) {})
	if err != nil {
		t.Fatal(err)
	}
	for r := range providertest.Results(context.Background(), options) {
		if len(r.Problems) == 0 && r.Skipped == "" {
			passed++
		}
		for _, problem := range r.Problems {
			wrong = append(wrong, r.Name+": "+problem)
		}
	}
	return passed, wrong
}

func mock(t *testing.T, file string) http.Handler {
	t.Helper()
	d, err := openapi.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return openapi.NewMock(d)
}

// TestProvidersPassTheirTests runs the tests that are generated for a provider, with random values.
func TestProvidersPassTheirTests(t *testing.T) {
	for file, least := range map[string]int{"shop.yaml": 35, "pets.json": 25, "split/hints.yaml": 15} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(file, " ", seed), func(t *testing.T) {
				passed, wrong := lives(t, filepath.Join("testdata", file), seed)
				if len(wrong) > 0 || passed < least {
					t.Errorf("%d checks passed, want at least %d:\n%s", passed, least, strings.Join(wrong, "\n"))
				}
			})
		}
	}
}

// TestMockRefusesInvalidRequests sends requests with one error each.
func TestMockRefusesInvalidRequests(t *testing.T) {
	server := httptest.NewServer(mock(t, filepath.Join("testdata", "shop.yaml")))
	defer server.Close()
	const team = `{"name": "ab", "plan": "small"`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/teams", team + `}`, 201, `"team":{`},
		{"GET", "/teams", "", 200, `"teams":[{`},
		{"GET", "/teams?page=2", "", 200, `"teams":[]`},
		{"GET", "/teams?page=x", "", 400, "the parameter page: a number was expected"},
		{"GET", "/teams?limit=2", "", 400, "no parameter limit"},
		{"GET", "/teams/x", "", 400, "teamId of the path: a number was expected"},
		{"GET", "/teams/77", "", 404, "there is no team"},
		{"GET", "/none", "", 404, "no path /none"},
		{"PUT", "/teams", "", 405, "no PUT"},
		{"POST", "/teams", team, 400, "not JSON"},
		{"POST", "/teams", `{"name": "ab"}`, 400, ".plan: the member is missing"},
		{"POST", "/teams", team + `, "odd": 1}`, 400, ".odd: the document has no such member"},
		{"POST", "/teams", team + `, "id": 1}`, 400, ".id: the document has no such member"},
		{"POST", "/teams", team + `, "count": "x"}`, 400, ".count: the type is string"},
		{"POST", "/teams", team + `, "count": 1.5}`, 400, ".count: the type is number"},
		{"POST", "/teams", team + `, "count": -1}`, 400, "-1 is beyond the minimum of 0"},
		{"POST", "/teams", team + `, "kind": "blue"}`, 400, `is not one of`},
		{"POST", "/teams", team + `, "kind": null}`, 400, ".kind: null is not allowed"},
		{"POST", "/teams", team + `, "displayColor": null}`, 201, `"team":{`},
		{"POST", "/teams", team + `, "displayColor": "red"}`, 400, "does not match"},
		{"POST", "/teams", `{"name": "a", "plan": "small"}`, 400, "too short"},
		{"POST", "/teams", team + `, "ports": [{"portLabel": "x"}]}`, 400, ".ports[0].number: the member is missing"},
		{"POST", "/teams", team + `, "ports": [{"number": 0}]}`, 400, "beyond the exclusiveMinimum"},
		{"POST", "/teams", team + `, "target": 5}`, 400, ".target: the type is number"},
		{"POST", "/teams", team + `, "target": {"url": "none"}}`, 400, "not of the format uri"},
		{"POST", "/teams", team + `, "parent": {"child": {"child": {"odd": 1}}}}`, 400, ".parent.child.child.odd"},
		{"PUT", "/teams/1/members/a@b.c", `{"role": "reader", "email": "a@b.c"}`, 400, "only answers have this member"},
	} {
		req, err := http.NewRequest(c.method, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s %s %s: got %d %s, want %d %q", c.method, c.path, c.body, resp.StatusCode, body, c.status,
				c.says)
		}
	}
	resp, err := server.Client().Get(server.URL + "/teams")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request without a token was answered with %s", resp.Status)
	}
}
