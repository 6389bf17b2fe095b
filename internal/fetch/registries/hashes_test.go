package registries_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
)

// OpenTofu's registry states the hashes of the installed files of all platforms. They are used beside a signed archive;
// those of other registries are ignored.
func TestOnlyOpenTofusRegistryStatesInstalledHashes(t *testing.T) {
	const official = "registry.opentofu.org"
	w := newWorld(t)
	release := release
	release.Platforms = []string{"linux_amd64", "windows_amd64"}
	registry := fetchtest.NewRegistry(t)
	registry.Add(release)
	w.registry = registry
	w.Serve(host, registry)
	w.Serve(official, registry)
	plain, err := w.fetch()
	if err != nil {
		t.Fatal(err)
	}
	own, err := plain.Package.Hash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := func(platform string) string { return "zh:" + registry.Describe(release, platform)["shasum"].(string) }
	raw := sha256.Sum256([]byte("windows"))
	other := "h1:" + base64.StdEncoding.EncodeToString(raw[:])
	mine, others := []string{sum("linux_amd64"), string(own)}, []string{other, sum("windows_amd64")}
	unsigned := "zh:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		host           string
		here, there    []string
		here1, another bool   // hashes in the proof
		problem        string // of the fetch
	}{
		"all":           {host: official, here: mine, there: others, here1: true, another: true},
		"elsewhere":     {host: host, here: mine, there: others},
		"none here":     {host: official, there: others, another: true},
		"unsigned":      {host: official, there: []string{other, unsigned}},
		"alone":         {host: official, there: []string{other}},
		"no hash":       {host: official, there: []string{sum("windows_amd64"), "h1:x", "h2:" + other[3:], ""}},
		"two":           {host: official, there: []string{sum("windows_amd64"), other, string(own)}},
		"another here":  {host: official, here: []string{sum("linux_amd64"), other}, problem: "registry lists"},
		"nothing there": {host: official, here: []string{}, there: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			document := registry.Describe(release, "linux_amd64")
			document["packages"] = map[string]any{"linux_amd64": map[string]any{"hashes": c.here, "package_size": 1},
				"windows_amd64": map[string]any{"hashes": c.there}}
			w.Answer(c.host, downloadPath, func(out http.ResponseWriter, _ *http.Request) {
				fetchtest.JSON(out, document)
			})
			wish := wish
			wish.Provider.Host = c.host
			got, err := w.source().Fetch(t.Context(), wish, t.TempDir(), nil)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("got %v, want an error with %q", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			has := func(text string) bool { return slices.Contains(got.Proof.Hashes, lockfile.Hash(text)) }
			if has(string(own)) != c.here1 || has(other) != c.another || got.Proof.Trust < packages.SelfSigned {
				t.Errorf("got %v; want own %v, other %v", got.Proof, c.here1, c.another)
			}
		})
	}
}

// A network mirror states hashes for all platforms. They are used if the settings allow that and one of them matches.
func TestAMirrorMayBeTrustedWithAllHashes(t *testing.T) {
	w := newWorld(t)
	archive := w.registry.Describe(release, "linux_amd64")["shasum"].(string)
	raw := sha256.Sum256([]byte("windows"))
	other := "h1:" + base64.StdEncoding.EncodeToString(raw[:])
	w.Serve("mirror.example", w.registry)
	at := "/m/" + host + "/corp/thing/"
	states := func(here string) {
		w.Answer("mirror.example", at+"1.2.0.json", func(out http.ResponseWriter, _ *http.Request) {
			fetchtest.JSON(out, map[string]any{"archives": map[string]any{
				"linux_amd64":   map[string]any{"url": archivePath, "hashes": []string{here}},
				"windows_amd64": map[string]any{"url": "x.zip", "hashes": []string{other, "h1:x", "zh:00", "no"}}}})
		})
	}
	for _, trusted := range []bool{false, true} {
		m := registries.Mirror{Client: w.client, URL: &url.URL{Scheme: "https", Host: "mirror.example", Path: "/m/"},
			TrustAll: trusted}
		states("zh:" + archive)
		got, err := m.Fetch(t.Context(), wish, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []lockfile.Hash{lockfile.Hash("zh:" + archive), lockfile.Hash(other)}
		if !trusted {
			want = nil
		}
		if !slices.Equal(got.Proof.Hashes, want) {
			t.Errorf("trusted %v: got %v, want %v", trusted, got.Proof.Hashes, want)
		}
		states("zh:" + strings.Repeat("0", 64))
		if got, err := m.Fetch(t.Context(), wish, t.TempDir(), nil); err == nil {
			t.Errorf("trusted %v: got %v for another hash", trusted, got)
		}
	}
}
