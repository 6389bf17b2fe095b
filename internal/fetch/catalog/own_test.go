package catalog_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// A registry may serve packages itself. Its token is only sent if the registry requests that, and only to its own host.
func TestTokensOfRegistriesAreOnlySentToTheirOwnHosts(t *testing.T) {
	net := fetchtest.New(t)
	for host, services := range map[string]string{
		"mods.example": "/v1/", "front.example": "https://back.example/v1/",
	} {
		net.Answer(host, "/.well-known/terraform.json", func(w http.ResponseWriter, _ *http.Request) {
			fetchtest.JSON(w, map[string]any{"modules.v1": services})
		})
	}
	net.Answer("moved.example", "/.well-known/terraform.json", func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "https://mods.example/.well-known/terraform.json", http.StatusFound)
	})
	var location, use string
	for _, host := range []string{"mods.example", "back.example"} {
		net.Answer(host, "/v1/corp/net/aws/1.0.0/download", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"location": %q, "use_registry_credentials": %s}`, location, use)
		})
	}
	const own, sent, withheld = "an archive", "an archive, with the token", "an archive, without the token"
	for _, c := range []struct{ host, use, location, want string }{
		{"mods.example", "false", "/a.zip", own + " https://mods.example/a.zip"},
		{"mods.example", "true", "/a.zip", sent + " https://mods.example/a.zip"},
		{"mods.example", "true", "a//b?archive=zip&x=%2F", sent +
			" https://mods.example/v1/corp/net/aws/1.0.0/a//b?archive=zip&x=%2F"},
		{"mods.example", " true ", "https://MODS.example:443/a", sent + " https://MODS.example:443/a"},
		{"mods.example", "true", "https://mods.example:8443/a", withheld + " https://mods.example:8443/a"},
		{"mods.example", "true", "https://files.mods.example/a", withheld + " https://files.mods.example/a"},
		{"mods.example", "true", "//evil.example/a", withheld + " https://evil.example/a"},
		{"mods.example", "true", "https://mods.example@evil.example/a", withheld +
			" https://mods.example@evil.example/a"},
		{"mods.example", "false", "https://evil.example/a", own + " https://evil.example/a"},
		{"mods.example", "true", "http://mods.example/a", "not protected by TLS"},
		{"mods.example", "true", "git::https://mods.example/a", "not a web address"},
		{"mods.example", "true", "file:///etc/a.zip", "not a web address"},
		{"mods.example", "true", "/a#b", "fragment"},
		{"mods.example", "true", "", "not a web address"},
		{"mods.example", "true", "https://%zz/", "not a web address"},
		{"mods.example", "null", "/a", "expected was true or false"},
		{"mods.example", `"true"`, "/a", "expected was true or false"},
		{"mods.example", "1", "/a", "expected was true or false"},
		{"front.example", "true", "/a", sent + " https://back.example/a"},
		{"front.example", "true", "https://front.example/a", sent + " https://front.example/a"},
		{"front.example", "true", "https://mods.example/a", withheld + " https://mods.example/a"},
		{"moved.example", "true", "/a", withheld + " https://mods.example/a"},
		{"moved.example", "true", "https://moved.example/a", sent + " https://moved.example/a"},
	} {
		location, use = c.location, c.use
		catalogs := catalog.Catalog{Client: web.New(web.Options{Transport: net.Transport()})}
		m := module
		m.Host = c.host
		pkg, err := catalogs.Locate(context.Background(), m, "1.0.0")
		got := fmt.Sprint(err)
		if err == nil {
			got = map[bool]string{true: withheld, false: own}[pkg.Withheld]
			if pkg.Host != "" {
				got = sent
			}
			got += " " + pkg.Source
		}
		if err == nil && (!pkg.Archive || pkg.Host != "" && pkg.Host != c.host || got != c.want) ||
			err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s says %q with %s:\ngot %s (%+v)\nwant %s", c.host, c.location, c.use, got, pkg, c.want)
		}
	}
}
