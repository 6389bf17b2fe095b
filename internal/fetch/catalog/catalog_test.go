package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

var module = catalog.Module{Host: "mods.example", Namespace: "corp", Name: "net", System: "aws"}

func TestRegistriesListVersionsAndLocations(t *testing.T) {
	net := fetchtest.New(t)
	registry := &fetchtest.Modules{}
	net.Serve("mods.example", registry)
	client := web.New(web.Options{Transport: net.Transport(), Credentials: func(_ context.Context, host string) (string,
		error) {
		return "token of " + host, nil
	}})
	c := catalog.Catalog{Client: client}
	registry.Add("corp/net/aws", "1.0.0", "/files/a.zip//top/*?archive=zip&x=a%2Fb")
	registry.Add("corp/net/aws", "odd", "git::https://git.example/x?ref=v1")
	for _, registry.InBody = range []bool{false, true} {
		list, err := c.Versions(context.Background(), module)
		if diff := cmp.Diff([]string{"1.0.0", "odd"}, list); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		source, err := c.Locate(context.Background(), module, "1.0.0")
		want := catalog.Package{Source: "https://mods.example/files/a.zip//top/*?archive=zip&x=a%2Fb"}
		if err != nil || source != want {
			t.Errorf("got %+v, %v, want %+v", source, err, want)
		}
	}
	var unknown *catalog.NotFoundError
	if _, err := c.Versions(context.Background(), catalog.Module{Host: "mods.example", Namespace: "corp", Name: "no",
		System: "aws"}); !errors.As(err, &unknown) {
		t.Error(err)
	}
	if _, err := c.Locate(context.Background(), module, "3.0.0"); !errors.As(err, &unknown) ||
		unknown.Version != "3.0.0" {
		t.Error(err)
	}
	for _, r := range net.Requests() {
		if r.Path != "/.well-known/terraform.json" && r.Authorization != "Bearer token of mods.example" {
			t.Errorf("%s was asked for with %q", r.Path, r.Authorization)
		}
	}
}

func TestOddAnswersAreRefused(t *testing.T) {
	net := fetchtest.New(t)
	net.Serve("mods.example", &fetchtest.Modules{})
	c := catalog.Catalog{Client: web.New(web.Options{Transport: net.Transport()})}
	for text, want := range map[string]string{
		`{}`:                             "list of modules is empty",
		`{"modules": [{}], "modules":1}`: "twice",
		`{"modules": {}}`:                "expected",
		`[`:                              "not JSON",
		`{"modules": [{"versions": [` + strings.Repeat(`{"version":"1"},`, 20_001) + `{}]}]}`: "more than 20000",
	} {
		net.Answer("mods.example", "/v1/modules/corp/net/aws/versions", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, text)
		})
		if _, err := c.Versions(context.Background(), module); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"location": ""}`: "has no address for", `{"location": "./a b\u0000"}`: "not a path",
		`{"location": 1}`: "expected", `x`: "not JSON", `{"location": "https://a:b@c/"}`: "",
		`{"location": "file:///etc/x.zip"}`: "this machine", `{"location": "git::file:///etc"}`: "this machine",
		`{"location": "../../../../../x.zip"}`: "", `{"location": "//evil.example/x.zip"}`: "not a path",
	} {
		net.Answer("mods.example", "/v1/modules/corp/net/aws/1.0.0/download",
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		if got, err := c.Locate(context.Background(), module, "1.0.0"); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %+v, %v, want %q", text, got, err, want)
		}
	}
}

// constant responds to every request with the same document.
type constant struct{ header, body string }

func (c constant) RoundTrip(r *http.Request) (*http.Response, error) {
	body := c.body
	if strings.HasPrefix(r.URL.Path, "/.well-known") {
		body = `{"modules.v1": "/v1/"}`
	}
	return &http.Response{StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {"application/json"},
			"X-Terraform-Get": {c.header}}, Body: io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body))},
		nil
}

func FuzzRegistry(f *testing.F) {
	f.Add("", `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`)
	f.Add("git::https://x/y?ref=1", `{"location": "./x//y?z"}`)
	f.Add("file:///etc", `{"location": "http://x/y.zip"}`)
	for _, location := range []string{
		"https://mods.example:443/x", "https://mods.example:8443/x", "http://mods.example/x",
		"https://mods.example@evil.example/x", "//evil.example/x", "https:mods.example", "../../../x", "#x",
	} {
		f.Add("", fmt.Sprintf(`{"location": %q, "use_registry_credentials": true}`, location))
	}
	for _, location := range []string{
		"/::", "/a::b", "git::file::/x", "git::git::https://x", "./../..//..", "/?a//b", "/%2e%2e//x%00", "//x/y",
		"https://x/y\n::file:///z", "FILE:///x", "git@x:y::z", "/\xff", "github.com/a/b::c", "hg::/x",
		"x.amazonaws.com/::", "https://[::1]:x/", "./\\..",
	} {
		f.Add(location,
			`{"modules": [{"versions": [{"version": "1e999"}, {"version": "1.0.0-\u0000"}, {"VERSION": "1"}]}]}`)
		f.Add("", fmt.Sprintf(`{"location": %q}`, location))
	}
	f.Fuzz(func(t *testing.T, header, body string) {
		c := catalog.Catalog{Client: web.New(web.Options{Transport: constant{header, body}})}
		_, _ = c.Versions(context.Background(), module)
		pkg, err := c.Locate(context.Background(), module, "1.0.0")
		if err != nil {
			return
		}
		source := pkg.Source
		_, rest := config.SplitForced(source) // a path may also contain "::"
		u, err := url.Parse(rest)
		if err != nil || u.Scheme != "https" && u.Scheme != "ssh" && (u.Scheme != "http" && u.Scheme != "git" ||
			web.Protected(&url.URL{Scheme: "https"}, u) != nil) {
			t.Errorf("%q and %q lead to %q", header, body, source)
		}
		if pkg.Host != "" && (u.Scheme != "https" || !strings.EqualFold(u.Hostname(), module.Host) ||
			u.Port() != "" && u.Port() != "443") {
			t.Errorf("%q and %q send the token to %q", header, body, source)
		}
	})
}

// Whatever a server responds, the result is only fetched from a network host, with a getter and a scheme that are
// allowed for untrusted sources.
func FuzzFollow(f *testing.F) {
	for _, location := range []string{"https://a.example/x.zip//sub?archive=zip", "git::ssh://git@a.example/x?ref=1",
		"file::https:///etc", "./x//y", "../x", "/etc", "git::file:///x", "a/b/c", "git@h:p", "s3::https://x/y"} {
		f.Add(location)
	}
	from := &url.URL{Scheme: "https", Host: "from.example", Path: "/d/page"}
	f.Fuzz(func(t *testing.T, location string) {
		source, err := catalog.Follow(from, location)
		if err != nil {
			return
		}
		getter, rest, forced := strings.Cut(source, "::")
		if !forced || strings.ContainsAny(getter, "/:?") {
			getter, rest = "", source
		}
		u, err := url.Parse(rest)
		switch {
		case err != nil || u.Host == "":
			t.Errorf("%q leads to %q, which names no host", location, source)
		case u.Scheme == "ssh" && getter == "git":
		case u.Scheme != "https":
			t.Errorf("%q leads to %q by the scheme %q", location, source, u.Scheme)
		case !slices.Contains([]string{"", "http", "https", "git", "hg", "s3", "gcs"}, getter):
			t.Errorf("%q leads to %q in the way %q", location, source, getter)
		}
	})
}
