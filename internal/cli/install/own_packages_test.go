package install_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// tokenOfModules is a CLI configuration.
const tokenOfModules = "credentials \"mods.example\" {\n  token = \"s3cret\"\n}\n"

// bzip2Module is a tar archive with main.tf.
const bzip2Module = "QlpoOTFBWSZTWdqQQ+QAAHP7hMmQAEJIAWeAACBxI54QAACACCAAVDKj0QDQGmJpk9QSVMmjQaGgA0aeT3g1qED3AJGeTyN1lRhQ" +
	"kgYHzBsmRnJ1aJjcRBHRe3dGoKPysnKnAqGYTVgWvy3kkD8XckU4UJDakEPk"

// ownPackages have the same modules and exit codes here and in OpenTofu, and send the same tokens, if a registry serves
// packages itself.
var ownPackages = map[string]struct {
	use      any
	location string
	code     int
	says     string // a text that our output has in any case, without line ends
	sub      string // appended to the source
	differs  string // why OpenTofu sends another token, or has another result
}{
	"with the token":       {use: true, location: "/private/a"},
	"relative":             {use: true, location: "a"},
	"tar with gzip":        {use: true, location: "/private/tar.gz"},
	"tar with bzip2":       {use: true, location: "/private/bz2"},
	"a folder":             {use: true, location: "/private/a", sub: "//sub"},
	"without the token":    {use: false, location: "/open/a"},
	"signed":               {use: false, location: "/open/a?archive=false&checksum=a+b%2F"},
	"needs the token":      {use: false, location: "/private/a", code: 1, says: "401 Unauthorized"},
	"a refused token":      {use: true, location: "/closed", code: 1, says: "403 Forbidden"},
	"elsewhere":            {use: false, location: "https://cdn.example/a"},
	"redirected elsewhere": {use: true, location: "/moved"},
	"not an archive":       {use: true, location: "/page", code: 1, says: "is not an archive"},
	"not a web address": {use: true, location: "git::https://mods.example/a", code: 1,
		says: "is not a web address"},
	"another scheme":         {use: true, location: "ftp://mods.example/a", code: 1, says: "is not a web address"},
	"a fragment":             {use: true, location: "/private/a#b", code: 1, says: "has a fragment"},
	"no address":             {use: true, location: "/gone", code: 1, says: "404 Not Found"},
	"neither true nor false": {use: "true", location: "/private/a", code: 1, says: "expected was true or false"},
	"the token elsewhere": {use: true, location: "https://cdn.example/private", code: 1, says: "It was not sent",
		differs: "OpenTofu sends the token of a registry to whatever host that names"},
	"the token in the clear": {use: true, location: "http://mods.example/private/a", code: 1,
		says: "not protected by TLS", differs: "OpenTofu sends the token without TLS"},
}

// serveOwn serves packages on the host of a registry and on another host.
func serveOwn(t *testing.T, net *fetchtest.Net) {
	t.Helper()
	module := map[string]string{"main.tf": "# a module", "sub/main.tf": "# a submodule"}
	bz2, err := base64.StdEncoding.DecodeString(bzip2Module)
	if err != nil {
		t.Fatal(err)
	}
	give := func(content []byte, token string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			if token != "" && q.Header.Get("Authorization") != "Bearer "+token {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			_, _ = w.Write(content)
		}
	}
	zip := fetchtest.Zip(module)
	for path, h := range map[string]http.HandlerFunc{
		"/private/a": give(zip, "s3cret"), "/private/tar.gz": give(tarball(t, module), "s3cret"),
		"/private/bz2": give(bz2, "s3cret"), "/open/a": give(zip, ""), "/page": give([]byte("<html>"), ""),
		"/v1/modules/corp/net/aws/1.0.0/a": give(zip, "s3cret"),
		"/closed": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusForbidden)
		},
		"/moved": func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, "https://cdn.example/a", http.StatusFound)
		},
	} {
		net.Answer("mods.example", path, h)
	}
	net.Answer("cdn.example", "/a", give(zip, ""))
	net.Answer("cdn.example", "/private", give(zip, "s3cret"))
}

// TOMBOLO_TOFU is the path of OpenTofu 1.12.6.
func TestRegistriesWithOwnPackagesMatchOpenTofu(t *testing.T) {
	programs := besideOpenTofu(t)
	for name, c := range ownPackages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen [2]observation
			for i, p := range programs {
				net := fetchtest.New(t)
				registry := &fetchtest.Modules{OwnPackages: c.use}
				registry.Add("corp/net/aws", "1.0.0", c.location)
				net.Serve("mods.example", registry)
				serveOwn(t, net)
				s := newSite(t, p, net)
				s.write("work/main.tf", calls("m", "mods.example/corp/net/aws"+c.sub))
				s.write("cli.tfrc", tokenOfModules)
				// .netrc is not used for packages that the registry serves itself.
				s.write("home/.netrc", "machine mods.example login me password other")
				s.env = append(s.env, "TOMBOLO_FLAVOR=opentofu")
				o := observe(s, &internet{Net: net}, scenario(nil, "init"))
				maps.Copy(o.trees, s.tree("work/.terraform/modules"))
				seen[i] = o
			}
			ours, theirs := seen[0], seen[1]
			if ours.code != c.code || !strings.Contains(flat(ours.output), c.says) {
				t.Errorf("init ends with %d, want %d and %q:\n%s", ours.code, c.code, c.says, ours.output)
			}
			for token := range ours.tokens {
				if token != "mods.example Bearer s3cret" {
					t.Errorf("a token goes elsewhere: %s", token)
				}
			}
			if strings.Contains(ours.output, "s3cret") {
				t.Errorf("the output has the token: %s", ours.output)
			}
			switch {
			case len(programs) == 1:
			case c.differs == "":
				compareWithOpenTofu(t, 0, theirs, ours)
			case ours.code == theirs.code:
				t.Errorf("OpenTofu does not end otherwise any more: %s", c.differs)
			}
		})
	}
}
