package registries_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/apparentlymart/go-versions/versions"
	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/registries"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

const host = "registry.example"

var (
	thing   = addr.Provider{Host: host, Namespace: "corp", Type: "thing"}
	linux   = packages.Platform{OS: "linux", Arch: "amd64"}
	wish    = packages.Request{Provider: thing, Version: versions.MustParseVersion("1.2.0"), Platform: linux}
	release = fetchtest.Release{Source: "corp/thing", Version: "1.2.0"}
)

// Addresses in the test registry.
const (
	versionsPath = "/v1/providers/corp/thing/versions"
	downloadPath = "/v1/providers/corp/thing/1.2.0/download/linux/amd64"
	filesPath    = "/files/corp/thing/1.2.0/terraform-provider-thing_1.2.0_"
	sumsPath     = filesPath + "SHA256SUMS"
	archivePath  = filesPath + "linux_amd64.zip"
)

type world struct {
	t *testing.T
	*fetchtest.Net
	registry *fetchtest.Registry
	client   *web.Client
	trust    registries.Anchors
	dir      string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, Net: fetchtest.New(t), registry: fetchtest.NewRegistry(t), dir: t.TempDir()}
	w.registry.Add(release)
	w.Serve(host, w.registry)
	w.client = web.New(web.Options{Transport: w.Transport(), Timeout: time.Minute, Pause: func(ctx context.Context,
		_ time.Duration) error {
		return ctx.Err()
	}})
	return w
}

func (w *world) source() registries.Registry {
	return registries.Registry{Client: w.client, Trust: w.trust}
}

func (w *world) fetch() (packages.Fetched, error) {
	w.t.Helper()
	return w.source().Fetch(context.Background(), wish, w.dir, nil)
}

// refuses checks that nothing is fetched, the reason, and that no files are left.
func (w *world) refuses(texts ...string) {
	w.t.Helper()
	got, err := w.fetch()
	if err == nil {
		w.t.Errorf("%s was fetched, want %q", got.Path, texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			w.t.Errorf("got %v, want %q", err, text)
		}
	}
	if left, _ := os.ReadDir(w.dir); len(left) > 0 {
		w.t.Errorf("left behind: %v", left)
	}
}

// says changes the registry's description of the package.
func (w *world) says(change func(map[string]any)) {
	document := w.registry.Describe(release, "linux_amd64")
	change(document)
	w.Answer(host, downloadPath, func(out http.ResponseWriter, _ *http.Request) { fetchtest.JSON(out, document) })
}

func content(text []byte) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write(text) }
}

func TestRegistryPackagesHaveProofs(t *testing.T) {
	w := newWorld(t)
	got, err := w.fetch()
	if err != nil {
		t.Fatal(err)
	}
	_, archive := release.Archive("linux_amd64")
	if there, err := os.ReadFile(got.Path); err != nil || !bytes.Equal(there, archive) {
		t.Errorf("another archive, %v", err)
	}
	if got.Trust != packages.SelfSigned || got.KeyID != w.registry.Key.ID() || got.String() != "self-signed" {
		t.Errorf("got %s by %s", got.Proof, got.KeyID)
	}
	if !slices.Contains(got.Hashes, lockfile.Hash(fetchtest.ArchiveHash(archive))) ||
		len(got.Hashes) != len(fetchtest.Platforms) {
		t.Errorf("got the hashes %v", got.Hashes)
	}
	list, err := w.source().Versions(context.Background(), thing)
	if err != nil || len(list.Offers) != 1 || list.Offers[0].Version != wish.Version ||
		len(list.Offers[0].Platforms) != len(fetchtest.Platforms) || list.Offers[0].Protocols[0] != "5.0" {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestSignerTrustIsReported(t *testing.T) {
	w := newWorld(t)
	partners := fetchtest.NewKey(t, fetchtest.KeyOptions{})
	w.trust = registries.Anchors{Official: fetchtest.NewKey(t, fetchtest.KeyOptions{}).Public(),
		Partners: partners.Public()}
	block, err := armor.Decode(strings.NewReader(w.registry.Key.Public()))
	if err != nil {
		t.Fatal(err)
	}
	key, err := io.ReadAll(block.Body)
	if err != nil {
		t.Fatal(err)
	}
	w.registry.Trust = partners.SignArmored(key)
	if got, err := w.fetch(); err != nil || got.Trust != packages.PartnerSigned || got.KeyID != w.registry.Key.ID() {
		t.Errorf("got %v, %v", got.Proof, err)
	}
	w.registry.Trust = partners.SignArmored([]byte("another key"))
	w.dir = t.TempDir()
	w.refuses("as signed by the partner program, but that signature is not valid")
	w.registry.Trust = "nonsense"
	w.refuses("as signed by the partner program")
	w.registry.Trust = ""
	w.trust.Official = w.registry.Key.Public()
	if got, err := w.fetch(); err != nil || got.Trust != packages.OfficialSigned ||
		got.String() != "signed by HashiCorp" {
		t.Errorf("got %v, %v", got.Proof, err)
	}
}

func TestMissingProvidersAndVersions(t *testing.T) {
	w := newWorld(t)
	other := thing
	other.Type = "other"
	if list, err := w.source().Versions(context.Background(), other); err != nil || len(list.Offers) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	var problem *packages.PlatformError
	plan9 := wish
	plan9.Platform = packages.Platform{OS: "plan9", Arch: "mips"}
	if _, err := w.source().Fetch(context.Background(), plan9, w.dir, nil); !errors.As(err, &problem) {
		t.Errorf("got %v", err)
	}
	w.Serve("none.example", http.NotFoundHandler())
	other.Host = "none.example"
	var missing *web.NoServiceError
	if _, err := w.source().Versions(context.Background(), other); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

// The description of a package is checked, because anyone may have changed it.
func TestWrongDescriptionsAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"no key": {
			func(d map[string]any) { d["signing_keys"] = map[string]any{"gpg_public_keys": []any{}} },
			"origin is unknown"},
		"no keys at all": {func(d map[string]any) { delete(d, "signing_keys") }, "origin is unknown"},
		"broken key":     {func(d map[string]any) { d["signing_keys"] = keys("nonsense") }, "cannot be read"},
		"another key": {
			func(d map[string]any) { d["signing_keys"] = keys(fetchtest.NewKey(t, fetchtest.KeyOptions{}).Public()) },
			"not made with any of the publisher's keys"},
		"too many keys": {func(d map[string]any) { d["signing_keys"] = keys(make([]string, 101)...) },
			"more than 100"},
		"a huge key": {func(d map[string]any) { d["signing_keys"] = keys(strings.Repeat("x", 300<<10)) },
			"more than"},
		"no list":          {func(d map[string]any) { delete(d, "shasums_url") }, "did not send its address"},
		"no signature":     {func(d map[string]any) { delete(d, "shasums_signature_url") }, "did not send its address"},
		"no checksum":      {func(d map[string]any) { delete(d, "shasum") }, "not a SHA-256 checksum"},
		"a short checksum": {func(d map[string]any) { d["shasum"] = "00" }, "not a SHA-256 checksum"},
		"another checksum": {func(d map[string]any) { d["shasum"] = strings.Repeat("0", 64) },
			"the signed list has"},
		"another platform": {func(d map[string]any) { d["os"] = "windows" },
			"describes a package for windows_amd64"},
		"another file":        {func(d map[string]any) { d["filename"] = "x.zip" }, `has none for "x.zip"`},
		"a path":              {func(d map[string]any) { d["filename"] = "../x.zip" }, "not the name of a file"},
		"an unknown protocol": {func(d map[string]any) { d["protocols"] = []string{"9.0"} }, "uses version 9.0"},
		"a wrong type":        {func(d map[string]any) { d["filename"] = 3 }, "where a string is expected"},
		"a local address":     {func(d map[string]any) { d["download_url"] = "file:///etc/passwd" }, "cannot be used"},
		"a password": {func(d map[string]any) { d["download_url"] = "https://a:secret@x.example/" },
			"cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.says(c.change)
			w.refuses(c.want)
		})
	}
	// An empty address is that of the description itself, which is not an archive.
	w.t = t
	w.says(func(d map[string]any) { delete(d, "download_url") })
	w.refuses("checksum")
}

func keys(armors ...string) map[string]any {
	var list []any
	for _, a := range armors {
		list = append(list, map[string]any{"ascii_armor": a})
	}
	return map[string]any{"gpg_public_keys": list}
}

func TestAnyOfThePublishersKeysMaySign(t *testing.T) {
	w := newWorld(t)
	w.says(func(d map[string]any) {
		d["signing_keys"] = keys(fetchtest.NewKey(t, fetchtest.KeyOptions{}).Public(), w.registry.Key.Public())
	})
	if got, err := w.fetch(); err != nil || got.KeyID != w.registry.Key.ID() {
		t.Errorf("got %v, %v", got.Proof, err)
	}
}

func TestABadSignatureIsRefused(t *testing.T) {
	w := newWorld(t)
	sums := w.registry.Sums("corp/thing", "1.2.0")
	key := w.registry.Key
	flipped := key.Sign(sums)
	flipped[len(flipped)-1] ^= 1
	for name, c := range map[string]struct {
		signature []byte
		want      string
	}{
		"empty":        {nil, "not made with any of the publisher's keys"},
		"noise":        {[]byte("x"), "cannot be trusted"},
		"text":         {[]byte(key.SignArmored(sums)), "cannot be trusted"},
		"other text":   {key.Sign([]byte("other")), "cannot be trusted"},
		"changed":      {flipped, "cannot be trusted"},
		"other key":    {fetchtest.NewKey(t, fetchtest.KeyOptions{}).Sign(sums), "not made with any"},
		"expired":      {key.SignAt(sums, time.Second), "expired"},
		"very long":    {bytes.Repeat([]byte{0xff}, 1<<20), "more than"},
		"not there":    {nil, "404"},
		"a second one": {append(fetchtest.NewKey(t, fetchtest.KeyOptions{}).Sign(sums), 0), "cannot be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			answer := content(c.signature)
			if name == "not there" {
				answer = http.NotFound
			}
			w.Answer(host, sumsPath+".sig", answer)
			w.refuses(c.want)
		})
	}
}

// A key may have expired since: its signatures stay valid if it was valid then.
func TestASignatureOutlivesItsKey(t *testing.T) {
	w := newWorld(t)
	w.registry.Key = fetchtest.NewKey(t, fetchtest.KeyOptions{Made: time.Now().Add(-1000 * time.Hour),
		Lifetime: time.Hour})
	if _, err := w.fetch(); err != nil {
		t.Error(err)
	}
	w.dir = t.TempDir()
	w.Answer(host, sumsPath+".sig", content(w.registry.Key.SignAt(w.registry.Sums("corp/thing", "1.2.0"), time.Second)))
	w.refuses("signature expired")
}

func TestABadListOfChecksumsIsRefused(t *testing.T) {
	w := newWorld(t)
	sums := string(w.registry.Sums("corp/thing", "1.2.0"))
	for name, c := range map[string]struct{ list, want string }{
		"not signed": {sums + strings.Repeat("0", 64) + "  more.zip\n", "cannot be trusted"},
		"endless":    {strings.Repeat(sums, 5000), "more than"},
	} {
		w.Answer(host, sumsPath, content([]byte(c.list)))
		t.Run(name, func(t *testing.T) { w.t = t; w.refuses(c.want) })
	}
	for name, c := range map[string]struct{ list, want string }{
		"not there":   {"", "has none for"},
		"three words": {sums + strings.Repeat("0", 64) + " a b\n", "is not a checksum and a name"},
		"short":       {sums + "00  a\n", "is not a checksum and a name"},
		"not hex":     {sums + strings.Repeat("x", 64) + "  a\n", "no SHA-256"},
		"twice": {sums + strings.Repeat("0", 64) + "  terraform-provider-thing_1.2.0_linux_amd64.zip\n",
			"two checksums"},
		"not text": {sums + "\xff\xfe\n", "not text"},
	} {
		w.Answer(host, sumsPath, content([]byte(c.list)))
		w.Answer(host, sumsPath+".sig", content(w.registry.Key.Sign([]byte(c.list))))
		t.Run(name, func(t *testing.T) { w.t = t; w.refuses(c.want) })
	}
}

func TestInvalidArchivesAreRefused(t *testing.T) {
	w := newWorld(t)
	_, archive := release.Archive("linux_amd64")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"changed":   {content(append(bytes.Clone(archive), 0)), "was changed in transit"},
		"empty":     {content(nil), "was changed in transit"},
		"not there": {http.NotFound, "404"},
		"cut": {func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Length", fmt.Sprint(len(archive)))
			_, _ = out.Write(archive[:len(archive)/2])
			panic(http.ErrAbortHandler)
		}, "after 3 attempts"},
		"very long": {func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Length", "99999999999")
		}, "more than"},
		"without TLS": {func(out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, "http://x.example/", http.StatusFound)
		}, "not protected by TLS"},
		"round we go": {func(out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, r.URL.Path, http.StatusFound)
		}, "redirects"},
		"to this disk": {func(out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, "file:///etc/passwd", http.StatusFound)
		}, "not protected by TLS"},
	} {
		w.Answer(host, archivePath, c.answer)
		t.Run(name, func(t *testing.T) { w.t = t; w.refuses(c.want) })
	}
}

func TestInvalidVersionsAreOmitted(t *testing.T) {
	w := newWorld(t)
	many := strings.Repeat(`{"version":"1.0.0"},`, 20_001)
	for name, c := range map[string]struct {
		document, want string
		err            string
	}{
		"odd versions": {
			document: `{"versions":[{"version":"1.0.0","platforms":[{"os":"linux","arch":"../x"},{"os":"a","arch":"b"},{"os":"a","arch":"b"}]},{"version":"nonsense"},{"version":"99999999999999999999.0.0"},{"version":"v2"},{}]}`, want: "1.0.0 [a_b]"},
		"none":          {document: `{"versions":null}`},
		"too many":      {document: `{"versions":[` + strings.TrimSuffix(many, ",") + `]}`, err: "more than 20000"},
		"twice":         {document: `{"versions":[],"Versions":[]}`, err: "twice"},
		"a wrong type":  {document: `{"versions":{}}`, err: "where a list is expected"},
		"not an object": {document: `[]`, err: "expected"},
		"broken":        {document: `{"versions":[`, err: "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Answer(host, versionsPath, content([]byte(c.document)))
			list, err := w.source().Versions(context.Background(), thing)
			var got []string
			for _, o := range list.Offers {
				got = append(got, fmt.Sprint(o.Version, " ", o.Platforms))
			}
			if strings.Join(got, "; ") != c.want || (err == nil) != (c.err == "") || err != nil &&
				!strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestANetworkMirrorStatesHashes(t *testing.T) {
	w := newWorld(t)
	mirror := &fetchtest.Mirror{Path: "/p/", Host: host}
	mirror.Add(release)
	w.Serve("mirror.example", mirror)
	u, _ := url.Parse("https://mirror.example/p/")
	source := registries.Mirror{Client: w.client, URL: u}
	list, err := source.Versions(context.Background(), thing)
	if err != nil || len(list.Offers) != 1 || list.Offers[0].Platforms != nil {
		t.Errorf("got %v, %v", list, err)
	}
	other := thing
	other.Type = "other"
	if list, err := source.Versions(context.Background(), other); err != nil || len(list.Offers) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	fetch := func() (packages.Fetched, error) { return source.Fetch(context.Background(), wish, w.dir, nil) }
	if got, err := fetch(); err != nil || got.Trust != packages.Checksum || got.Hashes != nil {
		t.Errorf("got %v, %v", got, err)
	}
	mirror.NoHashes = true
	if got, err := fetch(); err != nil || got.Trust != packages.Unauthenticated {
		t.Errorf("got %v, %v", got, err)
	}
	_, archive := release.Archive("linux_amd64")
	base := "/p/" + host + "/corp/thing/"
	for name, c := range map[string]struct {
		entry string
		trust packages.Trust
		err   string
	}{
		"of the files":   {`"hashes":["` + fetchtest.FilesHash(archive) + `","h1:other"]`, packages.Checksum, ""},
		"of the archive": {`"hashes":["` + fetchtest.ArchiveHash(archive) + `"]`, packages.Checksum, ""},
		"unknown scheme": {`"hashes":["h9:x"]`, 0, "unsupported kinds"},
		"wrong":          {fmt.Sprintf(`"hashes":["zh:%x"]`, sha256.Sum256(nil)), 0, "the mirror lists"},
		"a wrong type":   {`"hashes":"x"`, 0, "where a list is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			w.dir = t.TempDir()
			w.Answer("mirror.example", base+"1.2.0.json",
				content([]byte(`{"archives":{"linux_amd64":{"url":"terraform-provider-thing_1.2.0_linux_amd64.zip",`+
					c.entry+`}}}`)))
			got, err := fetch()
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) ||
				got.Trust != c.trust {
				t.Errorf("got %v, %v", got.Proof, err)
			}
			if left, _ := os.ReadDir(w.dir); err != nil && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	w.Answer("mirror.example", base+"1.2.0.json", content([]byte(`{"archives":{"plan9_mips":{"url":"x"}}}`)))
	var problem *packages.PlatformError
	if _, err := fetch(); !errors.As(err, &problem) || cmp.Diff([]packages.Platform{{OS: "plan9", Arch: "mips"}},
		problem.Available) != "" {
		t.Errorf("got %v", err)
	}
	w.Answer("mirror.example", base+"1.2.0.json", content([]byte(`{"archives":{"linux_amd64":{"url":""}}}`)))
	if _, err := fetch(); err == nil {
		t.Error("no address is an address")
	}
}
