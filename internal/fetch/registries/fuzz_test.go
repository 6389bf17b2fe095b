package registries

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// servers responds to each request with a document selected by the end of its path.
type servers map[string][]byte

func (s servers) RoundTrip(r *http.Request) (*http.Response, error) {
	for suffix, body := range s {
		if strings.HasSuffix(r.URL.Path, suffix) {
			return &http.Response{StatusCode: 200, Request: r, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: int64(len(body))}, nil
		}
	}
	return &http.Response{StatusCode: 404, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
}

// client returns a client with services from the CLI configuration, so that no host is asked to announce them.
func (s servers) client() *web.Client {
	return web.New(web.Options{Transport: s, Services: map[string]map[string]any{"example.com": {service: "/v1/"}}})
}

var wanted = packages.Request{
	Provider: addr.Provider{Host: "example.com", Namespace: "corp", Type: "thing"}, Version: versions.MustParseVersion(
		"1.0.0"), Platform: packages.Platform{OS: "linux", Arch: "amd64"},
}

func FuzzVersions(f *testing.F) {
	f.Add([]byte(
		`{"versions":[{"version":"1.0.0-a+b","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}],"warnings":["x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Registry{Client: servers{"/versions": text}.client()}.Versions(context.Background(),
			wanted.Provider)
		if err != nil && len(list.Offers) > 0 {
			t.Error("an error and versions")
		}
	})
}

// Whatever a registry responds, an unsigned package is refused and no file is left.
func FuzzDescription(f *testing.F) {
	f.Add([]byte(`{"os":"linux","arch":"amd64","filename":"a.zip","download_url":"/a.zip","shasum":"` +
		strings.Repeat("0", 64) +
		`","shasums_url":"/sums","shasums_signature_url":"/sig","signing_keys":{"gpg_public_keys":[{"ascii_armor":"x"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		client := servers{"/amd64": text, "/a.zip": text, "/sums": []byte(strings.Repeat("0", 64) + " a.zip"),
			"/sig": []byte("x")}.client()
		if got, err := (Registry{Client: client}).Fetch(context.Background(), wanted, dir, nil); err == nil {
			t.Errorf("%q gives %s", text, got.Path)
		}
		nothingIn(t, dir)
	})
}

// A mirror proves nothing about a package, but it cannot put anything except for one archive into the directory.
func FuzzMirror(f *testing.F) {
	f.Add([]byte(`{"versions":{"1.0.0":{},"2.0.0-x":{}}}`),
		[]byte(`{"archives":{"linux_amd64":{"url":"../a.zip","hashes":["zh:0","h1:x"]}}}`))
	f.Fuzz(func(t *testing.T, index, release []byte) {
		dir := t.TempDir()
		client := servers{"/index.json": index, "/1.0.0.json": release, "a.zip": []byte("PK")}.client()
		mirror := Mirror{Client: client, URL: mustParse("https://mirror.example/p/")}
		if list, err := mirror.Versions(context.Background(), wanted.Provider); err != nil && len(list.Offers) > 0 {
			t.Error("an error and versions")
		}
		got, err := mirror.Fetch(context.Background(), wanted, dir, nil)
		if err != nil {
			nothingIn(t, dir)
		} else if got.Path != filepath.Join(dir, archiveOf) {
			t.Errorf("the package is at %s", got.Path)
		}
	})
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func FuzzSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("0", 64) + "  a.zip\n" + strings.Repeat("1", 64) + " *b.zip\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseSums(text)
		if err != nil {
			return
		}
		if len(list.hashes()) != len(list) || len(list) > maxSumsLines {
			t.Errorf("%d checksums", len(list))
		}
		for _, c := range list {
			if sum, ok := list.sum(c.name); !ok || sum != c.sum {
				t.Errorf("%q has another checksum than its line says", c.name)
			}
		}
	})
}

// Random bytes are never a valid signature.
func FuzzSignature(f *testing.F) {
	// All processes use the same key, so that an input has the same effect in each.
	key := fetchtest.NewKey(f, fetchtest.KeyOptions{Made: time.Unix(1_700_000_000, 0),
		Rand: rand.NewChaCha8([32]byte{})})
	text := []byte("text")
	f.Add(key.Sign([]byte("another text")), "")
	f.Add([]byte{0x88}, key.Public())
	public := key.Public()
	f.Fuzz(func(t *testing.T, signature []byte, armored string) {
		if proof, err := verify(text, signature, []signingKey{{Armor: public}}, Anchors{}); err == nil {
			t.Errorf("signed: %v", proof)
		}
		// Foreign keys may have signed it: verify only has to end.
		_, _ = verify(text, signature, []signingKey{{Armor: armored, TrustSignature: armored}}, Anchors{})
	})
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}
