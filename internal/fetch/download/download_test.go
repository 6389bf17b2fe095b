package download_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// place is the environment of a test: an internet, a home folder, and a getter with low limits.
type place struct {
	*fetchtest.Net
	t      *testing.T
	home   string
	dir    string
	getter *download.Getter
}

func newPlace(t *testing.T) *place {
	t.Helper()
	net := fetchtest.New(t)
	p := &place{Net: net, t: t, home: t.TempDir(), dir: t.TempDir()}
	p.getter = &download.Getter{
		Web: web.New(web.Options{Transport: net.Transport(), Timeout: time.Minute, Stall: time.Minute,
			Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}),
		Environ: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}, net.Env()...),
		Limits:  unpack.Limits{Files: 40, Bytes: 1 << 20},
	}
	return p
}

// fetch fetches a package, and checks that a failure leaves no files.
func (p *place) fetch(source string) (string, error) {
	p.t.Helper()
	dir, err := os.MkdirTemp(p.dir, "x")
	if err != nil {
		p.t.Fatal(err)
	}
	err = p.getter.Fetch(context.Background(), catalog.Package{Source: source}, filepath.Join(dir, "package"))
	for _, name := range names(p.t, dir) {
		if err != nil || name != "package" && !strings.HasPrefix(name, "package/") {
			p.t.Errorf("%s leaves %s behind (%v)", source, name, err)
		}
	}
	return filepath.Join(dir, "package"), err
}

func (p *place) refuses(source, want string) {
	p.t.Helper()
	_, err := p.fetch(source)
	if err == nil || !strings.Contains(err.Error(), want) {
		p.t.Errorf("%s: got %v, want %q", source, err, want)
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, name); err == nil && rel != "." {
			list = append(list, filepath.ToSlash(rel))
		}
		if err == nil && d.Name() == ".git" && d.IsDir() {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func content(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
}

func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestHostileArchivesAreRefused(t *testing.T) {
	p := newPlace(t)
	for name, c := range map[string]struct {
		header tar.Header
		want   string
	}{
		"up":       {tar.Header{Name: "../evil"}, "could leave"},
		"absolute": {tar.Header{Name: "/etc/evil"}, "could leave"},
		"link": {tar.Header{Name: "l", Linkname: "../../evil", Typeflag: tar.TypeSymlink},
			"outside of the folder"},
		"linkabs": {tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
			"outside of the folder"},
		"hard":   {tar.Header{Name: "l", Linkname: "a", Typeflag: tar.TypeLink}, "link to another entry"},
		"device": {tar.Header{Name: "d", Typeflag: tar.TypeChar}, "device"},
		"ours": {tar.Header{Name: ".git/l", Linkname: "../../evil", Typeflag: tar.TypeSymlink},
			"outside of the folder"},
		"setuid": {tar.Header{Name: "s", Mode: 0o4755}, "special permissions"},
		"bomb":   {tar.Header{Name: "b", Size: 2 << 20}, "more than 1048576 bytes"},
		"twice":  {tar.Header{Name: "a.tf", Linkname: "b.tf", Typeflag: tar.TypeSymlink}, "appears twice"},
		"below": {tar.Header{Name: "a.tf/l", Linkname: "b.tf", Typeflag: tar.TypeSymlink},
			"needs a folder where another entry is a file"},
	} {
		p.Answer("web.example", "/"+name+".tar.gz", content(archive(t, tar.Header{Name: "a.tf"}, c.header)))
		p.refuses("https://web.example/"+name+".tar.gz", c.want)
	}
	// d is a link to the top folder, so a path that leads up from there through d leads out.
	p.Answer("web.example", "/chain.tar.gz",
		content(archive(t, tar.Header{Name: "a.tf"},
			tar.Header{Name: "p/q/d", Linkname: "../..", Typeflag: tar.TypeSymlink}, tar.Header{
				Name: "p/q/a", Linkname: "d/../../..", Typeflag: tar.TypeSymlink})))
	p.refuses("https://web.example/chain.tar.gz", "outside of the folder")
	// An archive is not a repository: files in .git are checked like all others.
	p.Answer("web.example", "/ours-too.tar.gz",
		content(archive(t, tar.Header{Name: "a.tf"},
			tar.Header{Name: ".git/q/d", Linkname: "../..", Typeflag: tar.TypeSymlink}, tar.Header{
				Name: ".git/q/a", Linkname: "d/../../..", Typeflag: tar.TypeSymlink})))
	p.refuses("https://web.example/ours-too.tar.gz", "outside of the folder")
	p.Answer("web.example", "/links.tar.gz",
		content(archive(t, tar.Header{Name: "l", Linkname: "a.tf", Typeflag: tar.TypeSymlink})))
	p.refuses("https://web.example/links.tar.gz", "there are no files in it")
	p.Answer("web.example", "/good.tar.gz",
		content(archive(t, tar.Header{Name: "a.tf"}, tar.Header{Name: "b/l", Linkname: "../a.tf",
			Typeflag: tar.TypeSymlink})))
	dir, err := p.fetch("https://web.example/good.tar.gz")
	if target, linkErr := os.Readlink(filepath.Join(dir, "b", "l")); err != nil || linkErr != nil ||
		target != "../a.tf" {
		t.Errorf("a link within the package became %q: %v, %v", target, err, linkErr)
	}
	for _, end := range []string{"tar.xz", "gz"} {
		p.refuses("https://web.example/a."+end, "expected .zip")
	}
	p.refuses("https://web.example/a?archive=rar", "is not a known kind of archive")
}

func TestChecksumsAreCompared(t *testing.T) {
	p := newPlace(t)
	body := fetchtest.Zip(map[string]string{"main.tf": ""})
	p.Answer("web.example", "/a.zip", content(body))
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	for _, good := range []string{sum, "sha256:" + sum} {
		if _, err := p.fetch("https://web.example/a.zip?checksum=" + good); err != nil {
			t.Error(err)
		}
	}
	p.refuses("https://web.example/a.zip?checksum=sha256:"+strings.Repeat("0", 64),
		"it was changed, or it is a different package")
	p.refuses("https://web.example/a.zip?checksum=sha512:"+sum, "cannot be used")
	p.refuses("https://web.example/a.zip?checksum=file:https://web.example/sums", "cannot be used")
}

// A checksum applies to the archive to which a page refers, and is refused if no archive is fetched.
func TestAChecksumIsNeverIgnored(t *testing.T) {
	p := newPlace(t)
	git := fetchtest.NewGit(t) // skips the test if git is not installed
	git.Add("x", map[string]string{"main.tf": ""})
	p.Serve("git.example", git)
	body := fetchtest.Zip(map[string]string{"main.tf": "", "sub/main.tf": ""})
	good, bad := fmt.Sprintf("sha256:%x", sha256.Sum256(body)), "sha256:"+strings.Repeat("0", 64)
	p.Answer("web.example", "/a.zip", content(body))
	for path, location := range map[string]string{"/page": "https://web.example/a.zip",
		"/sub": "https://web.example/a.zip//sub", "/git": "git::https://git.example/x.git",
		"/bad": "https://web.example/a.zip?checksum=" + bad} {
		p.Answer("web.example", path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Terraform-Get", location)
		})
	}
	for _, source := range []string{"https://web.example/page?checksum=" + good, "https://web.example/sub?checksum=" +
		good} {
		if _, err := p.fetch(source); err != nil {
			t.Error(err)
		}
	}
	folder := filepath.ToSlash(t.TempDir())
	for source, want := range map[string]string{
		"https://web.example/page?checksum=" + bad:           "it was changed, or it is a different package",
		"https://web.example/sub?checksum=" + bad:            "it was changed, or it is a different package",
		"https://web.example/bad?checksum=" + good:           "it was changed, or it is a different package",
		"https://web.example/git?checksum=" + good:           "only archives have checksums",
		"git::https://git.example/x.git?checksum=" + good:    "only archives have checksums",
		"file://" + folder + "?checksum=" + good:             "only archives have checksums",
		"https://web.example/page?checksum=x":                "cannot be used",
		"git::https://git.example/x.git?ref=v1&checksum=md5": "cannot be used",
		"https://web.example/a.zip?checksum=" + bad + ";x":   "the parameter checksum of the source is not encoded",
		"https://web.example/a.zip?x=1;checksum=" + bad:      "the parameter checksum of the source is not encoded",
		"https://web.example/a.zip?checksum=sha256:0%":       "the parameter checksum of the source is not encoded",
		"git::https://git.example/x.git?ref=v1;x":            "the parameter ref of the source is not encoded",
	} {
		p.refuses(source, want)
	}
}

// A link may be valid in its package and lead elsewhere after it was moved to the package's place.
func TestFoldersAreMovedOutOfPackages(t *testing.T) {
	p := newPlace(t)
	dir := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	p.Answer("web.example", "/p.tar.gz", content(archive(t,
		dir("victim"), tar.Header{Name: "victim/main.tf"}, dir("d0/d1/d2"), link("d0/d1/d2/mod", "../../../victim"),
		link("d0/d1/d2/inner", "d3"),
		dir("d0/d1/d2/d3"), tar.Header{Name: "d0/d1/d2/d3/main.tf"}, link("d0/d1/d2/d3/out", "../../../../victim"),
	)))
	for path, location := range map[string]string{"/mod": "d0/d1/d2/mod", "/inner": "d0/d1/d2/inner"} {
		p.Answer("web.example", path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Terraform-Get", "https://web.example/p.tar.gz//"+location)
		})
	}
	got, err := p.fetch("https://web.example/mod")
	info, statErr := os.Lstat(got)
	if err != nil || statErr != nil || !info.IsDir() || !slices.Equal(names(t, got), []string{"main.tf"}) {
		t.Errorf("%v %v: it must be the folder itself", err, statErr)
	}
	p.refuses("https://web.example/inner", "outside of the folder")
}

func TestServersCannotRedirectAnywhere(t *testing.T) {
	p := newPlace(t)
	for i, c := range []struct{ location, want string }{
		{"file:///etc", "on this machine"}, {"git::file:///etc", "on this machine"}, {"file::/etc", "on this machine"},
		{"git::ext::sh -c id", "a server must not use"},
		{"http://web.example/x.zip", "not protected by TLS"}, {"git::http://web.example/x", "not protected by TLS"},
		{"corp/net/aws", "not the address of a package"},
		{"s3::https://s3.amazonaws.com/b/k.zip", "Amazon S3"}, {"git::ssh://-oProxyCommand=id/x", "option"},
		{"./page?n=1", "more than 10 times"}, {strings.Repeat("x", 20_000), "bytes"},
		{"file::https:///etc", "on this machine"}, {"file::https://web.example/etc", "a server must not use"},
		{"file::http:///etc", "on this machine"}, {"git::https:///etc", "on this machine"},
		{"http::file:///etc", "on this machine"}, {"https::ssh://web.example/x.zip", "a server must not use"},
		{"ssh://web.example/x", "a server must not use"},
		{"https://w eb.example/x.zip?sig=secret", `"https://w eb.example/x.zip?sig=xxxxx" is not the address`},
		{"http://localhost:1/x.zip", "not protected by TLS"}, {"http://127.0.0.1:1/x.zip", "not protected by TLS"},
		{"", "is not an archive"}, {"https://web.example/x.zip//../..", "outside of the"},
	} {
		path := fmt.Sprint("/page", i)
		p.Answer("web.example", path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Terraform-Get", strings.Replace(c.location, "./page", "."+path, 1))
		})
		p.refuses("https://web.example"+path, c.want)
	}
	p.Answer("web.example", "/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	p.refuses("https://web.example/endless", "more than 1048576 bytes")
	p.Answer("web.example", "/slow.zip", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	p.getter.Web.Stall = 500 * time.Millisecond
	p.refuses("https://web.example/slow.zip", "too slow")
}

func TestPasswordsGoToTheirHostOnly(t *testing.T) {
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.home, ".netrc"),
		[]byte("machine other.example login no password no\nmachine web.example # x\n  login me password secret\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	body := fetchtest.Zip(map[string]string{"main.tf": ""})
	p.Answer("web.example", "/a.zip", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://third.example/a.zip", http.StatusFound)
	})
	p.Answer("third.example", "/a.zip", content(body))
	for _, source := range []string{"https://web.example/a.zip", "https://me:secret@web.example/a.zip"} {
		if _, err := p.fetch(source); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Requests() {
			user, password, _ := (&http.Request{Header: r.Header}).BasicAuth()
			if known := user == "me" && password == "secret"; known != (r.Host == "web.example") {
				t.Errorf("%s was sent %q", r.Host, r.Authorization)
			}
		}
	}
	_, err := p.fetch("https://me:secret@web.example/none.zip")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	for source, want := range map[string]string{
		"git::https://secret:x-oauth-basic@web.example/x": "git::https://xxxxx@web.example/x",
		"https://secret@web.example/x.zip":                "https://xxxxx@web.example/x.zip",
		"git::ssh://git@web.example/x":                    "git::ssh://git@web.example/x",
		"https://web.example/x.zip?a=b":                   "https://web.example/x.zip?a=b",
	} {
		if got := download.Shown(source); got != want {
			t.Errorf("%s shows", got)
		}
	}
	if got := download.Shown("git::ssh://me:secret@web.example/x?ref=1&sshkey=secret"); strings.Contains(got,
		"secret") {
		t.Error(got)
	}
}

// Every user of the machine can read the arguments of processes. Git writes those of all processes that it starts into
// its trace.
func TestPasswordsAreNotInArgumentsOrErrors(t *testing.T) {
	git := fetchtest.NewGit(t) // skips the test if git is not installed
	git.Add("x", map[string]string{"main.tf": ""})
	for _, c := range []struct{ name, user, allowed string }{
		{"password", "me:s3cret-w%2Brd@", "me:s3cret-w+rd"}, {"token and password", "t0ken-t0ken:x-oauth-basic@",
			"t0ken-t0ken:x-oauth-basic"},
		{"wrong password", "me:s3cret-w%2Brd@", ""}, {"token alone", "t0ken-t0ken@", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.Serve("git.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				if user+":"+password != c.allowed {
					w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				git.ServeHTTP(w, r)
			}))
			trace := filepath.Join(p.home, "trace")
			p.getter.Environ = append(p.getter.Environ, "GIT_TRACE="+trace, "GIT_CONFIG_COUNT=1",
				"GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Test")
			dir, err := p.fetch("git::https://" + c.user + "git.example/x.git?ref=v1")
			if (err == nil) != (c.allowed != "") {
				t.Errorf("got %v", err)
			}
			seen, traceErr := os.ReadFile(trace)
			if traceErr != nil || len(seen) == 0 {
				t.Fatalf("git wrote no trace: %v", traceErr)
			}
			stored, _ := os.ReadFile(filepath.Join(dir, ".git", "config"))
			for _, secret := range []string{"s3cret", "t0ken", "x-oauth-basic"} {
				for where, text := range map[string]string{"an argument": string(seen), "an error": fmt.Sprint(err),
					"the repository": string(stored)} {
					if strings.Contains(text, secret) {
						t.Errorf("%s is in %s:\n%s", secret, where, text)
					}
				}
			}
		})
	}
}

// TestTheUsersHelperSuppliesThePassword uses an address with only a user: git asks the user's credential helper, with
// the host and that user, and the user is not sent to any other server.
func TestTheUsersHelperSuppliesThePassword(t *testing.T) {
	git := fetchtest.NewGit(t) // skips the test if git is not installed
	git.Add("x", map[string]string{"main.tf": ""})
	p := newPlace(t)
	seen := map[string]bool{}
	var mu sync.Mutex // guards seen
	answer := func(allowed string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			mu.Lock()
			seen[fmt.Sprintf("%s %s:%s", r.Host, user, password)] = ok
			mu.Unlock()
			if user+":"+password != allowed {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			git.ServeHTTP(w, r)
		}
	}
	p.Serve("git.example", answer("me:helped-s3cret"))
	p.Serve("other.example", answer("nobody:else"))
	asked := filepath.Join(p.home, "asked")
	p.getter.Environ = append(p.getter.Environ, "ASKED="+asked, "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=credential.helper",
		`GIT_CONFIG_VALUE_0=!f() { echo "$1" >>"$ASKED"; cat >>"$ASKED"; `+
			`test "$1" != get || echo password=helped-s3cret; }; f`)
	if _, err := p.fetch("git::https://me@git.example/x.git?ref=v1"); err != nil {
		t.Fatal(err)
	}
	output, err := os.ReadFile(asked)
	for _, line := range []string{"get\n", "protocol=https\n", "host=git.example\n", "username=me\n"} {
		if !strings.Contains(string(output), line) {
			t.Errorf("the helper did not hear %q (%v):\n%s", line, err, output)
		}
	}
	if _, err := p.fetch("git::https://other.example/x.git?ref=v1"); err == nil ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("another server: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for what := range seen {
		if strings.HasPrefix(what, "other.example me") {
			t.Errorf("another server sees the user: %s", what)
		}
	}
}

func TestSourcesCannotMakeGitRunPrograms(t *testing.T) {
	p := newPlace(t)
	fetchtest.NewGit(t) // skips the test if git is not installed
	for source, want := range map[string]string{
		"git::https://git.example/x?ref=-q":                        "not the name of",
		"git::https://git.example/x?ref=--upload-pack%3Dtouch%20x": "not the name of",
		"git::https://git.example/x?ref=a%0ab":                     "not the name of",
		"git::https://git.example/x?depth=-1":                      "not a number",
		"git::https://git.example/x?depth=--exec":                  "not a number",
		"git::ssh://-oProxyCommand=touch%20x/x":                    "not a URL",
		"git::ssh://-oProxyCommand=x@git.example/x":                "option",
		"git::ext::sh -c id":                                       "packages cannot be fetched from",
		"git::ext://sh":                                            "is not supported",
		"git::fd://17":                                             "is not supported",
		"git::https:///x":                                          "has no host",
		"git::https://me:a%0ahost=evil.example@git.example/x":      "option",
		"git::ssh://git.example/x?sshkey=%21":                      "base64",
		"hg::https://hg.example/x":                                 "Mercurial",
		"gcs::https://www.googleapis.com/storage/v1/b/x.zip":       "Google",
		"rsync::https://web.example/x":                             "packages cannot be fetched with",
		"/relative":                                                "packages cannot be fetched from",
		"file://host/x":                                            "is not an absolute path",
		"git::file://" + p.dir + "/none":                           "git reported",
	} {
		p.refuses(source, want)
	}
}

func TestRepositoriesAreCheckedBeforeTheyAreWritten(t *testing.T) {
	p := newPlace(t)
	git := fetchtest.NewGit(t)
	p.Serve("git.example", git)
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprint("f", i)] = ""
	}
	git.Add("many", many)
	git.Add("large", map[string]string{"large": strings.Repeat("0", 2<<20)})
	git.Add("link", map[string]string{"l": "-> /etc/passwd"})
	git.Add("up", map[string]string{"a/l": "-> ../../x"})
	git.Add("good", map[string]string{"main.tf": "", "a/l": "-> ../main.tf"}, map[string]string{"main.tf": "2"})
	for name, want := range map[string]string{"many": "more than 40 files", "large": "more than 1048576 bytes",
		"link": "outside of the", "up": "outside of the"} {
		p.refuses("git::https://git.example/"+name+".git", want)
		p.refuses("git::https://git.example/"+name+".git?depth=1", want)
	}
	p.refuses("git::https://git.example/good.git?ref=none", `no tag, branch or commit "none"`)
	commit := git.Run(filepath.Join(git.Dir, "good.git"), "rev-parse", "v1")
	for _, query := range []string{"?ref=v1", "?ref=feature/x", "?ref=" + commit, "?ref=" + commit[:10],
		"?ref=v1&depth=1", "?ref=main~1"} {
		dir, err := p.fetch("git::https://git.example/good.git" + query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if got, want := names(t, dir), []string{".git", "a", "a/l", "main.tf"}; !slices.Equal(got, want) {
			t.Errorf("%s gives %q", query, got)
		}
	}
}

func TestRepositoriesCannotRunPrograms(t *testing.T) {
	p := newPlace(t)
	git := fetchtest.NewGit(t)
	p.Serve("git.example", git)
	git.Add("part", map[string]string{"part.tf": ""})
	git.Add("evil", map[string]string{"main.tf": "", ".gitattributes": "*.tf filter=evil\n",
		".gitconfig": "[filter \"evil\"]\nsmudge = touch ran\n"})
	submodule := func(name, url string) {
		work := t.TempDir()
		git.Run(work, "clone", "--quiet", filepath.Join(git.Dir, "part.git"), ".")
		commit := git.Run(work, "rev-parse", "HEAD")
		if err := os.WriteFile(filepath.Join(work, ".gitmodules"), []byte("[submodule \"s\"]\n\tpath = s\n\turl = "+url+
			"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		git.Run(work, "add", ".gitmodules")
		git.Run(work, "update-index", "--add", "--cacheinfo", "160000,"+commit+",s")
		git.Run(work, "commit", "--quiet", "--message=s")
		git.Run(work, "clone", "--quiet", "--bare", ".", filepath.Join(git.Dir, name+".git"))
	}
	submodule("good", "https://git.example/part.git")
	submodule("relative", "../part.git")
	submodule("file", "file://"+git.Dir+"/part.git")
	submodule("ext", "ext::touch "+p.home+"/ran")
	submodule("option", "-utouch "+p.home+"/ran")
	// Hooks and templates of the user do not apply to untrusted repositories.
	hooks := filepath.Join(p.home, "template", "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hooks, "post-checkout"), []byte("#!/bin/sh\ntouch "+p.home+"/ran\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte("[init]\n\ttemplateDir = "+p.home+
		"/template\n[protocol]\n\tallow = always\n[core]\n\thooksPath = "+hooks+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "relative"} {
		dir, err := p.fetch("git::https://git.example/" + name + ".git")
		if _, statErr := os.Stat(filepath.Join(dir, "s", "part.tf")); err != nil || statErr != nil {
			t.Errorf("the submodule of %s is not there: %v, %v", name, err, statErr)
		}
	}
	for name, want := range map[string]string{"file": "'file' not allowed", "ext": "'ext' not allowed",
		"option": "submodules cannot be fetched"} {
		p.refuses("git::https://git.example/"+name+".git", want)
	}
	if _, err := p.fetch("git::https://git.example/evil.git"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.home, "ran")); err == nil {
		t.Error("something ran")
	}
}

func TestGitDoesNotPrompt(t *testing.T) {
	p := newPlace(t)
	fetchtest.NewGit(t) // skips the test if git is not installed
	p.Serve("git.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	p.refuses("git::https://git.example/x.git", "Passwords and keys cannot be entered")
	p.Serve("slow.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	usual := p.getter.Environ
	p.getter.Environ = append(slices.Clone(usual), "GIT_HTTP_LOW_SPEED_LIMIT=1000", "GIT_HTTP_LOW_SPEED_TIME=1")
	p.refuses("git::https://slow.example/x.git", "git reported")
	p.getter.Environ = usual
	p.Serve("broken.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	p.refuses("git::https://broken.example/x.git", "after 3 attempts")
}
