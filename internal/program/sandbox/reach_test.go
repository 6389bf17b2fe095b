package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	esys "github.com/tetratelabs/wazero/experimental/sys"
)

// newFolder returns a folder with a file, a folder, and links, some of which lead out of it.
func newFolder(t *testing.T, write bool) (*folder, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "granted")
	for path, text := range map[string]string{"secret": "s", "granted/a": "inside", "granted/inner/b": "b"} {
		full := filepath.Join(base, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		for name, target := range map[string]string{"out": "../secret", "far": filepath.Join(base, "secret"),
			"up": "..", "near": "a", "inner/back": "../../secret", "loop": "loop", "dangling": "../made"} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return &folder{root: root, write: write, open: &atomic.Int32{}}, base
}

func TestPathsCannotLeaveAFolder(t *testing.T) {
	d, base := newFolder(t, true)
	for _, path := range []string{"../secret", "inner/../../secret", "out", "far", "up", "up/secret", "inner/back",
		"loop", "dangling", "/etc/passwd", "..", base + "/secret", "a/../../secret"} {
		for _, flag := range []esys.Oflag{esys.O_RDONLY, esys.O_RDWR, esys.O_WRONLY | esys.O_CREAT | esys.O_TRUNC,
			esys.O_RDONLY | esys.O_DIRECTORY, esys.O_WRONLY | esys.O_CREAT | esys.O_EXCL} {
			if f, n := d.OpenFile(path, flag, 0o600); n == 0 {
				t.Errorf("%s was opened with %b: %v", path, flag, f.Close())
			}
		}
		if _, n := d.Stat(path); n == 0 {
			t.Errorf("%s has properties", path)
		}
		if strings.Contains(path, "..") && d.Unlink(path) == 0 {
			t.Errorf("%s was removed", path)
		}
		if n := d.Rename("a", path+"/x"); n == 0 {
			t.Errorf("a file was moved to %s", path)
		}
		if n := d.Mkdir(path+"/x", 0o700); n == 0 {
			t.Errorf("a folder was made in %s", path)
		}
	}
	if n := d.Rename("../secret", "mine"); n == 0 {
		t.Error("a file was moved into the folder")
	}
	if d.Symlink("../secret", "new") == 0 || d.Link("../secret", "new") == 0 || d.Link("a", "new") == 0 {
		t.Error("a link was made")
	}
	if text, err := os.ReadFile(filepath.Join(base, "secret")); err != nil || string(text) != "s" {
		t.Errorf("the secret is %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(base, "made")); err == nil {
		t.Error("a file was made outside of the folder")
	}
	if runtime.GOOS != "windows" {
		if f, n := d.OpenFile("near", esys.O_RDONLY, 0); n != 0 || f.Close() != 0 {
			t.Errorf("a link within the folder: %v", n)
		}
		if _, n := d.OpenFile("near", esys.O_RDONLY|esys.O_NOFOLLOW, 0); n != esys.ELOOP {
			t.Errorf("a link that must not be followed: %v", n)
		}
	}
}

func TestAFolderToReadIsNotChanged(t *testing.T) {
	d, base := newFolder(t, false)
	for _, flag := range []esys.Oflag{esys.O_RDWR, esys.O_WRONLY, esys.O_CREAT, esys.O_TRUNC, esys.O_APPEND} {
		if _, n := d.OpenFile("a", flag, 0o600); n != esys.EROFS {
			t.Errorf("%b: %v", flag, n)
		}
	}
	f, n := d.OpenFile("a", esys.O_RDONLY, 0)
	if n != 0 {
		t.Fatal(n)
	}
	if n := f.Truncate(0); n != esys.EROFS {
		t.Errorf("truncate: %v", n)
	}
	if _, n := f.Write([]byte("x")); n == 0 {
		t.Error("a file was written")
	}
	for _, n := range []esys.Errno{d.Mkdir("new", 0o700), d.Rmdir("inner"), d.Unlink("a"), d.Rename("a", "b"),
		f.Close()} {
		if n != esys.EROFS && n != 0 {
			t.Error(n)
		}
	}
	if text, err := os.ReadFile(filepath.Join(base, "granted", "a")); err != nil || string(text) != "inside" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFilesAreReadAndWritten(t *testing.T) {
	d, _ := newFolder(t, true)
	f, n := d.OpenFile("new", esys.O_RDWR|esys.O_CREAT|esys.O_EXCL, 0o600)
	if n != 0 {
		t.Fatal(n)
	}
	if _, n := f.Write([]byte("0123456789")); n != 0 {
		t.Error(n)
	}
	if _, n := f.Pwrite([]byte("ab"), 4); n != 0 {
		t.Error(n)
	}
	if at, n := f.Seek(2, io.SeekStart); at != 2 || n != 0 {
		t.Error(at, n)
	}
	buf := make([]byte, 20)
	if got, n := f.Read(buf); n != 0 || string(buf[:got]) != "23ab6789" {
		t.Errorf("%q, %v", buf[:got], n)
	}
	if got, n := f.Read(buf); got != 0 || n != 0 {
		t.Errorf("at the end: %d, %v", got, n)
	}
	if got, n := f.Pread(buf, 8); n != 0 || string(buf[:got]) != "89" {
		t.Errorf("%q, %v", buf[:got], n)
	}
	if n := f.Truncate(3); n != 0 {
		t.Error(n)
	}
	if st, n := f.Stat(); n != 0 || st.Size != 3 {
		t.Errorf("%+v, %v", st, n)
	}
	for _, n := range []esys.Errno{f.Sync(), f.Close(), d.Rename("new", "newer"), d.Mkdir("dir", 0o700),
		d.Rmdir("dir"), d.Unlink("newer")} {
		if n != 0 {
			t.Error(n)
		}
	}
	if d.Unlink("inner") != esys.EISDIR || d.Rmdir("a") != esys.ENOTDIR {
		t.Error("files and folders are confused")
	}
	list, n := d.OpenFile("", esys.O_RDONLY|esys.O_DIRECTORY, 0)
	if n != 0 {
		t.Fatal(n)
	}
	entries, n := list.Readdir(-1)
	if n != 0 || len(entries) < 2 {
		t.Errorf("%v, %v", entries, n)
	}
	if _, n := list.Read(buf); n != esys.EISDIR {
		t.Error(n)
	}
	if n := list.Close(); n != 0 {
		t.Error(n)
	}
	if _, n := d.OpenFile("a", esys.O_RDONLY|esys.O_DIRECTORY, 0); n != esys.ENOTDIR {
		t.Error(n)
	}
}

func TestARunHasOnlySoManyFilesOpen(t *testing.T) {
	d, _ := newFolder(t, false)
	var files []esys.File
	for {
		f, n := d.OpenFile("a", esys.O_RDONLY, 0)
		if n == esys.EAGAIN {
			break
		}
		if files = append(files, f); n != 0 || len(files) > maxOpen {
			t.Fatalf("%d files, %v", len(files), n)
		}
	}
	for _, f := range files {
		if n := f.Close(); n != 0 {
			t.Fatal(n)
		}
		f.Close() // counts once
	}
	if n := d.open.Load(); n != 0 {
		t.Errorf("%d files are counted", n)
	}
}

// asked sends a request with a module that may reach some hosts.
func asked(t *testing.T, hosts []string, r request) (*response, string) {
	t.Helper()
	m := &Module{hosts: hosts, transport: newTransport(hosts)}
	defer m.transport.CloseIdleConnections()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.perform(t.Context(), text)
	if err != nil {
		return nil, err.Error()
	}
	return got, ""
}

func TestRequestsGoToAllowedHostsOnly(t *testing.T) {
	m := &Module{hosts: []string{"api.example.com", "*.example.org:8443", "http://127.0.0.1:8080", "[::1]:1"}}
	for address, want := range map[string]bool{
		"https://api.example.com/x": true, "https://API.Example.com:443/": true, "https://[::1]:1/": true,
		"http://127.0.0.1:8080/":       true,
		"https://a.b.example.org:8443": true,
		"https://api.example.com:8443": false, "http://api.example.com/": false, "https://example.com": false,
		"https://api.example.com.evil.com": false, "https://evilapi.example.com": false,
		"https://example.org:8443": false, "https://.example.org:8443": false, "https://a.example.org": false,
		"https://aexample.org:8443": false, "https://127.0.0.1:8080": false, "http://127.0.0.1": false,
		"http://2130706433:8080": false, "https://user:pass@api.example.com": false, "file:///etc/passwd": false,
		"https://api.example.com@evil.com/": false, "https://api.example.com.": false, "//api.example.com": false,
		"unix:///run/docker.sock": false, "https://evil.com#api.example.com": false,
		"https://evil.com\\@api.example.com": false,
	} {
		u, err := url.Parse(address)
		if got := err == nil && m.allows(u) == nil; got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
}

func TestHostileRequestsAndServersEndWithAReason(t *testing.T) {
	seen := make(chan http.Header, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	defer other.Close()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/out":
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
		case "/slow":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		case "/drip":
			for {
				if _, err := w.Write([]byte("x")); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-time.After(10 * time.Millisecond):
				case <-stop:
					return
				}
			}
		case "/flood":
			for n := 0; n <= maxBody; n += 1 << 20 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			_, _ = w.Write([]byte("x"))
		case "/headers":
			for n := range 2000 {
				w.Header().Set(fmt.Sprint("X-", n), strings.Repeat("x", 1000))
			}
		case "/short":
			w.Header().Set("Content-Length", "100")
		case "/post":
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Api-Key"), body)
		case "/bytes":
			_, _ = w.Write([]byte{0xff, 0, 1})
		}
	}))
	defer server.Close()
	defer close(stop)
	key := map[string]string{"X-Api-Key": "k", "Authorization": "Bearer t", "Cookie": "c", "Accept": "text/plain"}
	both := []string{server.URL, other.URL}
	for name, c := range map[string]struct {
		r    request
		want string
	}{
		"no address":            {request{}, "must begin with https:// or http://"},
		"another host":          {request{URL: "https://example.com"}, "requests to example.com are not allowed"},
		"a method in two lines": {request{URL: server.URL, Method: "GET\r\nX: y"}, "the method or the address"},
		"a header in two lines": {request{URL: server.URL, Headers: map[string]string{"X-A": "b\r\nX-C: d"}},
			"invalid"},
		"a name that looks the same": {request{URL: "https://g\u0130thub.com"}, "are not ASCII"},
		"the same, encoded":          {request{URL: "https://g%C4%B0thub.com"}, "are not ASCII"},
		"a tunnel":                   {request{URL: server.URL, Method: "connect"}, "method connect is not allowed"},
		"many headers": {request{URL: server.URL, Headers: map[string]string{"X": strings.Repeat("x", maxHeaders)}},
			"the headers have more than 64 KiB"},
		"a long time": {request{URL: server.URL + "/out?to=https://example.com", Timeout: 1e300},
			"the server redirected"},
		"another virtual host": {request{URL: server.URL, Headers: map[string]string{"host": "x"}}, "the header Host"},
		"smuggling": {request{URL: server.URL, Headers: map[string]string{"transfer-encoding": "chunked"}},
			"the header Transfer-Encoding"},
		"for a proxy": {request{URL: server.URL, Headers: map[string]string{"proxy-authorization": "x"}},
			"the header Proxy-Authorization"},
		"not Base64":            {request{URL: server.URL, Body: "%", Base64: true}, "not valid Base64"},
		"a huge request":        {request{URL: server.URL, Body: strings.Repeat("x", maxBody+1)}, "more than 16 MiB"},
		"redirects without end": {request{URL: server.URL + "/loop"}, "more than 5 redirects"},
		"a redirect off the list": {request{URL: server.URL + "/out?to=https://example.com"},
			"the server redirected: requests to example.com are not allowed"},
		"a redirect to a file": {request{URL: server.URL + "/out?to=file:///etc/passwd"}, "the server redirected"},
		"a redirect with credentials": {request{URL: server.URL + "/out?to=http://a:b@127.0.0.1"},
			"contains credentials"},
		"a redirect of a body": {request{URL: server.URL + "/out?to=" + other.URL, Method: "POST", Body: "secret"},
			"to which the body is not sent"},
		"no answer":      {request{URL: server.URL + "/slow", Timeout: 0.1}, "there was no answer after 100ms"},
		"a slow answer":  {request{URL: server.URL + "/drip", Timeout: 0.1}, "there was no answer after 100ms"},
		"a huge answer":  {request{URL: server.URL + "/flood"}, "longer than 16 MiB"},
		"huge headers":   {request{URL: server.URL + "/headers"}, "headers exceeded"},
		"a short answer": {request{URL: server.URL + "/short"}, "the answer is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, problem := asked(t, both, c.r); !strings.Contains(problem, c.want) {
				t.Errorf("got %+v, %q, want %q", got, problem, c.want)
			}
		})
	}
	if n := len(seen); n > 0 {
		t.Errorf("the other server got %d requests", n)
	}
	if got, problem := asked(t, both, request{URL: server.URL + "/out?to=" + other.URL, Headers: key}); problem != "" ||
		got.Status != 200 {
		t.Fatal(got, problem)
	}
	if h := <-seen; h.Get("X-Api-Key")+h.Get("Authorization")+h.Get("Cookie") != "" || h.Get("Accept") != "text/plain" {
		t.Errorf("the other server got %v", h)
	}
	got, problem := asked(t, both, request{URL: server.URL + "/post", Method: "POST", Headers: key, Body: "Ym9keQ==",
		Base64: true})
	if problem != "" || got.Body != "POST k body" {
		t.Errorf("%+v, %s", got, problem)
	}
	if got, problem := asked(t, both, request{URL: server.URL + "/bytes"}); problem != "" || !got.Base64 ||
		got.Body != "/wAB" {
		t.Errorf("%+v, %s", got, problem)
	}
	m := &Module{hosts: both, transport: newTransport(both)}
	for _, text := range []string{"", "{", `{"url": 1}`, `{"url": "x", "proxy": "y"}`, `{"url": "x"} {}`, "\x00"} {
		if _, err := m.perform(t.Context(), []byte(text)); err == nil {
			t.Errorf("%q was sent", text)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(io.ErrUnexpectedEOF) })
	if _, err := m.perform(ctx, fmt.Appendf(nil, `{"url": %q}`, server.URL+"/slow")); err != io.ErrUnexpectedEOF {
		t.Errorf("the end of the call: %v", err)
	}
	m.transport.CloseIdleConnections()
}

func TestTheCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "wazero-x")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range maxCached + 10 {
		name := filepath.Join(inner, fmt.Sprintf("%03d", n))
		if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(n-1000) * time.Second)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if !tidy(dir) {
		t.Fatal("the cache is not used")
	}
	left, err := os.ReadDir(inner)
	if err != nil || len(left) != maxCached-1 || left[0].Name() != "011" {
		t.Errorf("%d files are left, %v; the first is %v", len(left), err, left[0])
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(inner, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(inner, "link")); !tidy(dir) || err != nil {
		t.Error("the cache is not used", err)
	}
	if _, err := os.Lstat(filepath.Join(inner, "link")); err == nil {
		t.Error("a link is left in the cache")
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(dir, "wazero-y")); err != nil {
		t.Fatal(err)
	}
	if tidy(dir) {
		t.Error("a cache with a link in place of a folder is used")
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

func TestNamesDoNotLeadToThisMachine(t *testing.T) {
	hosts := []string{"api.example.com", "*.example.org:8443", "http://plain.example", "127.0.0.1:80", "localhost"}
	for address, want := range map[string]bool{"api.example.com:443": true, "API.example.com:443": true,
		"a.example.org:8443": true, "plain.example:80": true, "127.0.0.1:80": false, "localhost:443": false,
		"proxy.example:3128": false, "[::1]:443": false} {
		if got := namesDomain(hosts, address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
	for address, refused := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "169.254.169.254:80": true,
		"[fe80::1%eth0]:80": true, "[::ffff:127.0.0.1]:80": true, "0.0.0.0:80": true, "224.0.0.1:80": true,
		"192.0.2.1:443": false, "10.1.2.3:443": false, "[2001:db8::1]:443": false} {
		if err := onlyOutside("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v, refused should be %t", address, err, refused)
		}
	}
}

// A module must not put a link in the place of another of its folders.
func TestLinksDoNotMove(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a system where links need no privilege")
	}
	base, outside := t.TempDir(), t.TempDir()
	for link, to := range map[string]string{"link": outside, "inner": "folder"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(base, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, allowed := range map[string]bool{"folder": true, "inner": true, "link": false} {
		root, err := (Folder{Path: filepath.Join(base, name), Below: base}).open()
		if (err == nil) != allowed {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = root.Close()
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &folder{root: root, write: true, open: &atomic.Int32{}}
	if n := d.Rename("link", "other"); n == 0 {
		t.Error("a link was moved")
	}
	if n := d.Rename("folder", "other"); n != 0 {
		t.Errorf("a folder was not moved: %v", n)
	}
}
