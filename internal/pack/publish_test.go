package pack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/pack"
)

// press writes small releases in the format of Build, for any versions and platforms.
type press struct {
	t   *testing.T
	dir string
}

const corp = "registry.example.com/corp/demo"

// sumOf returns the checksum of a text.
func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func provider(t *testing.T, source string) addr.Provider {
	t.Helper()
	p, err := addr.ParseProvider(source)
	must(t, err)
	return p
}

// release writes a release with archives whose content is given by platform, and returns the name of its checksums.
func (p press) release(version string, archives map[string]string, key *pack.Key) string {
	p.t.Helper()
	base := "terraform-provider-demo_" + version
	files := map[string]string{base + "_manifest.json": `{"version":1,"metadata":{"protocol_versions":["5.0","6.0"]}}`}
	for on, content := range archives {
		files[base+"_"+on+".zip"] = content
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%s  %s\n", sumOf(files[name]), name)
		must(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(files[name]), 0o600))
	}
	name := filepath.Join(p.dir, base+"_SHA256SUMS")
	must(p.t, os.WriteFile(name, []byte(sums.String()), 0o600))
	if os.Remove(name + ".sig"); key != nil {
		signature, err := key.Sign([]byte(sums.String()))
		must(p.t, err)
		must(p.t, os.WriteFile(name+".sig", signature, 0o600))
	}
	return name
}

func (p press) publish(to string, key *pack.Key) ([]pack.Published, error) {
	return pack.Publish(context.Background(), pack.PublishOptions{From: p.dir, Dir: to, Source: provider(p.t, corp),
		Key: key})
}

// newKey returns a new key.
func newKey(t *testing.T) *pack.Key {
	t.Helper()
	k, err := pack.NewKey(filepath.Join(t.TempDir(), "key.asc"), "corp")
	must(t, err)
	return k
}

// tree returns the files below a folder with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		short, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(short)] = string(text)
		return err
	}))
	return all
}

// Releases are published in random order, in parts and repeatedly. The registry then has each of them, its documents
// name files that are there, and it is the same as if all had been published at once.
func TestTheOrderOfPublishingDoesNotMatter(t *testing.T) {
	key := newKey(t)
	contents := map[string]map[string]string{
		"1.0.0": {"linux_amd64": "a", "darwin_arm64": "b"}, "1.10.0": {"linux_amd64": "c"},
		"1.9.0": {"windows_amd64": "d", "linux_arm64": "e"}, "2.0.0-beta1": {"linux_amd64": "f"},
	}
	presses := map[string]press{}
	for version, archives := range contents {
		presses[version] = press{t, t.TempDir()}
		presses[version].release(version, archives, key)
	}
	var want map[string]string
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		to := t.TempDir()
		order := slices.Sorted(maps.Keys(contents))
		order = append(order, order[:random.IntN(len(order))]...)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		seen := map[string]bool{}
		for _, version := range order {
			done, err := presses[version].publish(to, key)
			must(t, err)
			if len(done) != 1 || done[0].Changed == seen[version] || !done[0].Signed {
				t.Fatalf("seed %d, %s: %+v", seed, version, done)
			}
			seen[version] = true
		}
		got := tree(t, to)
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: another registry than in the first order", seed)
		}
	}
	for name, text := range want {
		if !strings.Contains(name, "/download/") {
			continue
		}
		checkLinks(t, want, name, text)
	}
	var list struct{ Versions []struct{ Version string } }
	must(t, json.Unmarshal([]byte(want["v1/providers/corp/demo/versions"]), &list))
	if got := fmt.Sprint(list.Versions); got != "[{1.0.0} {1.9.0} {1.10.0} {2.0.0-beta1}]" {
		t.Errorf("versions: %s", got)
	}
}

// checkLinks checks that the files that a document of a package names are among those of the registry.
func checkLinks(t *testing.T, registry map[string]string, name, text string) {
	t.Helper()
	var d map[string]any
	must(t, json.Unmarshal([]byte(text), &d))
	for _, member := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
		at := filepath.ToSlash(filepath.Join(filepath.Dir(name), d[member].(string)))
		if _, ok := registry[at]; !ok {
			t.Errorf("%s names %s, which is missing", name, at)
		}
	}
}

// A release that is damaged in any of its files is refused, and the registry stays as it was.
func TestDamagedReleasesAreNotPublished(t *testing.T) {
	key, other := newKey(t), newKey(t)
	archives := map[string]string{"linux_amd64": "a", "darwin_arm64": "b"}
	to := t.TempDir()
	good := press{t, t.TempDir()}
	good.release("1.0.0", archives, key)
	_, err := good.publish(to, key)
	must(t, err)
	before := tree(t, to)
	file := func(p press, end string) string { return filepath.Join(p.dir, "terraform-provider-demo_1.1.0_"+end) }
	change := func(end, text string) func(press) error {
		return func(p press) error { return os.WriteFile(file(p, end), []byte(text), 0o600) }
	}
	link := func(end string) func(press) error {
		return func(p press) error {
			elsewhere := filepath.Join(p.t.TempDir(), "x")
			return errors.Join(os.Rename(file(p, end), elsewhere), os.Symlink(elsewhere, file(p, end)))
		}
	}
	again := func(version string, archives map[string]string, key *pack.Key) func(press) error {
		return func(p press) error { p.release(version, archives, key); return nil }
	}
	for name, c := range map[string]struct {
		damage func(press) error
		want   string
	}{
		"archive":       {change("linux_amd64.zip", "x"), "it was changed, or is not complete"},
		"manifest":      {change("manifest.json", "{}"), "it was changed, or is not complete"},
		"sums":          {change("SHA256SUMS", "x"), "not a checksum"},
		"signed sums":   {change("SHA256SUMS", sumOf("a")+"  x.zip\n"), "is not valid for the key"},
		"signature":     {change("SHA256SUMS.sig", "x"), "is not valid for the key"},
		"missing":       {func(p press) error { return os.Remove(file(p, "darwin_arm64.zip")) }, "darwin_arm64.zip"},
		"other key":     {again("1.1.0", archives, other), "not valid for the key"},
		"link":          {link("linux_amd64.zip"), "is a link"},
		"linked sums":   {link("SHA256SUMS"), "is a link"},
		"no archive":    {again("1.1.0", nil, key), "no archive"},
		"same version":  {again("1.0.0", map[string]string{"linux_amd64": "z"}, key), "not replaced"},
		"fewer systems": {again("1.0.0", map[string]string{"linux_amd64": "a"}, key), "not replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			p := press{t, t.TempDir()}
			p.release("1.1.0", archives, key)
			if err := c.damage(p); err != nil {
				t.Skip("needs links: ", err)
			}
			if _, err := p.publish(to, key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if !maps.Equal(tree(t, to), before) {
				t.Error("the registry has changed")
			}
		})
	}
	p := press{t, t.TempDir()} // further platforms may follow
	p.release("1.0.0", map[string]string{"linux_amd64": "a", "darwin_arm64": "b", "linux_arm64": "c"}, key)
	done, err := p.publish(to, key)
	if err != nil || !done[0].Changed || len(done[0].Platforms) != 3 {
		t.Errorf("%+v, %v", done, err)
	}
}

// Releases that are not signed need a private key, which signs them once, or the explicit wish.
func TestUnsignedReleasesAreSignedOrRefused(t *testing.T) {
	key := newKey(t)
	_, public, err := key.Public()
	must(t, err)
	name := filepath.Join(t.TempDir(), "public.asc")
	must(t, os.WriteFile(name, []byte(public), 0o600))
	reader, err := pack.OpenKey(name, nil)
	must(t, err)
	p, to := press{t, t.TempDir()}, t.TempDir()
	p.release("1.0.0", map[string]string{"linux_amd64": "a"}, nil)
	if _, err := p.publish(to, reader); err == nil || !strings.Contains(err.Error(), "only the public part") {
		t.Errorf("with a public key: %v", err)
	}
	_, err = p.publish(to, key)
	must(t, err)
	before := tree(t, to)
	done, err := p.publish(to, key)
	if err != nil || done[0].Changed || !maps.Equal(tree(t, to), before) {
		t.Errorf("again: %+v, %v", done, err)
	}
	unsigned := t.TempDir()
	done, err = p.publish(unsigned, nil)
	if err != nil || done[0].Signed {
		t.Errorf("unsigned: %+v, %v", done, err)
	}
	p.release("1.0.0", map[string]string{"linux_amd64": "a"}, key)
	if _, err := p.publish(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "is signed") {
		t.Errorf("a signed release without a key: %v", err)
	}
}

// A new key can only be read by the user, and never replaces another one.
func TestNewKeysArePrivateAndReplaceNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key.asc")
	made, err := pack.NewKey(name, "corp")
	must(t, err)
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := pack.NewKey(name, "corp"); err == nil {
		t.Error("the key was replaced")
	}
	read, err := pack.OpenKey(name, nil)
	must(t, err)
	first, _, _ := made.Public()
	if second, _, err := read.Public(); err != nil || first != second {
		t.Errorf("the key %s was read as %s: %v", first, second, err)
	}
}

// Links in the folder of a registry are not followed, wherever they are, and nothing outside of it changes.
func TestLinksInARegistryAreRefused(t *testing.T) {
	key := newKey(t)
	p := press{t, t.TempDir()}
	p.release("1.0.0", map[string]string{"linux_amd64": "a"}, key)
	whole := t.TempDir()
	_, err := p.publish(whole, key)
	must(t, err)
	names := map[string]bool{}
	for name := range tree(t, whole) {
		for at := name; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
			names[at] = true
		}
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			to, elsewhere := t.TempDir(), t.TempDir()
			at := filepath.Join(to, filepath.FromSlash(name))
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			if err := os.Symlink(filepath.Join(elsewhere, "x"), at); err != nil {
				t.Skip("needs links: ", err)
			}
			if _, err := p.publish(to, key); err == nil || !strings.Contains(err.Error(), "is a link") {
				t.Errorf("got %v", err)
			}
			if left := tree(t, elsewhere); len(left) > 0 {
				t.Errorf("%v was written through the link", left)
			}
		})
	}
}

// Other services of the host are kept; another place of the registry is refused.
func TestDiscoveryKeepsOtherServices(t *testing.T) {
	key := newKey(t)
	p := press{t, t.TempDir()}
	p.release("1.0.0", map[string]string{"linux_amd64": "a"}, key)
	for name, c := range map[string]struct{ before, want string }{
		"modules": {`{"modules.v1": "/m/"}`, `"modules.v1": "/m/"`}, "same": {`{"providers.v1":"/v1/providers/"}`, ""},
		"other": {`{"providers.v1": "/else/"}`, "!at /else/"}, "text": {"x", "!not a JSON object"},
	} {
		to := t.TempDir()
		must(t, os.Mkdir(filepath.Join(to, ".well-known"), 0o755))
		at := filepath.Join(to, ".well-known", "terraform.json")
		must(t, os.WriteFile(at, []byte(c.before), 0o600))
		_, err := p.publish(to, key)
		text, readErr := os.ReadFile(at)
		must(t, readErr)
		if want, refused := strings.CutPrefix(c.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), want) || string(text) != c.before {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || !bytes.Contains(text, []byte(want)) || !bytes.Contains(text, []byte("/v1/providers/")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// countdown is a context that is canceled when it has been asked often enough.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Publishing is interrupted at every place that looks for it. What is there can be used, and the next attempt ends with
// the same registry as an undisturbed one.
func TestInterruptedPublishingIsCompletedByTheNext(t *testing.T) {
	key, p := newKey(t), press{t, t.TempDir()}
	p.release("1.0.0", map[string]string{"linux_amd64": "a", "darwin_arm64": "b"}, key)
	p.release("1.1.0", map[string]string{"linux_amd64": "c"}, key)
	whole := t.TempDir()
	_, err := p.publish(whole, key)
	must(t, err)
	want := tree(t, whole)
	for asked := range 1000 {
		to := t.TempDir()
		_, err := pack.Publish(&countdown{context.Background(), asked}, pack.PublishOptions{From: p.dir, Dir: to,
			Source: provider(t, corp), Key: key})
		if err == nil {
			if asked < 5 {
				t.Errorf("only %d places look for an interrupt", asked)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled when asked %d times: %v", asked, err)
		}
		there := tree(t, to)
		for name, text := range there {
			if want[name] != text {
				t.Errorf("canceled when asked %d times: %s differs from that of the complete registry", asked, name)
			}
			if strings.Contains(name, "/download/") {
				checkLinks(t, there, name, text)
			}
		}
		_, err = p.publish(to, key)
		must(t, err)
		if !maps.Equal(tree(t, to), want) {
			t.Errorf("canceled when asked %d times: the next attempt makes another registry", asked)
		}
	}
	t.Error("never completed")
}
