package install_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// has checks that an output contains texts, ignoring line wrapping.
func has(t *testing.T, output string, texts ...string) {
	t.Helper()
	plain := strings.Join(strings.Fields(strings.ReplaceAll(output, "│", " ")), " ")
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			t.Errorf("%q is missing in %s", text, fmt.Sprint(output))
		}
	}
}

// leavesNothing checks that a command fails with a text and leaves no files.
func (s *site) leavesNothing(command string, texts ...string) {
	s.t.Helper()
	output, code := s.run(strings.Fields(command)...)
	if code != 1 {
		s.t.Errorf("%s exits with %d: %s", command, code, output)
	}
	has(s.t, output, texts...)
	for _, folder := range []string{"work/.terraform/providers", "work/.terraform.lock.hcl", "tmp"} {
		for name, content := range s.tree(folder) {
			if name != folder {
				s.t.Errorf("%s leaves %s behind: %s", command, name, content)
			}
		}
	}
}

func hostileZip(t *testing.T, headers ...zip.FileHeader) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, h := range headers {
		h.Method = zip.Deflate
		out, err := w.CreateHeader(&h)
		if err == nil {
			_, err = out.Write([]byte("../../../evil"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func entry(name string, mode fs.FileMode) zip.FileHeader {
	h := zip.FileHeader{Name: name}
	h.SetMode(mode)
	return h
}

const onlyThing = "terraform {\n  required_providers {\n    thing = { source = \"example.com/corp/thing\" }\n  }\n}\n"

// A publisher may also be hostile, or its key stolen: then the signature is valid for a malicious package.
func TestHostilePackagesOfARegistryAreRefused(t *testing.T) {
	own := program(t)
	net := newInternet(t)
	exe := entry("terraform-provider-thing_v9.0.0", 0o755)
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"parent":        {hostileZip(t, exe, entry("../evil", 0o644)), "could leave the folder"},
		"absolute":      {hostileZip(t, exe, entry("/tmp/evil", 0o644)), "could leave the folder"},
		"link":          {hostileZip(t, exe, entry("link", fs.ModeSymlink|0o777)), "symbolic link"},
		"device":        {hostileZip(t, exe, entry("dev", fs.ModeDevice|0o666)), "device"},
		"setuid":        {hostileZip(t, entry(exe.Name, fs.ModeSetuid|0o755)), "special permissions"},
		"no program":    {hostileZip(t, entry("README", 0o644)), "the package contains no program"},
		"not a package": {[]byte("<html>"), "_1.3.0_" + here + ".zip: it is not a zip archive"},
	} {
		t.Run(name, func(t *testing.T) {
			net.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.3.0", Raw: c.raw})
			s := newSite(t, own, net.Net)
			s.write("work/main.tf", onlyThing)
			s.leavesNothing("init", "Failed to install provider", "example.com/corp/thing v1.3.0", c.want)
			s.env = append(s.env, "TF_PLUGIN_CACHE_DIR="+filepath.Join(s.dir, "cache"))
			s.leavesNothing("init", c.want)
			for path := range s.tree("cache") {
				if path != "cache" {
					t.Errorf("in the cache: %s", path)
				}
			}
		})
	}
}

func TestHostileServersAreRefused(t *testing.T) {
	own := program(t)
	const versions = "/v1/providers/corp/thing/versions"
	archive := "/files/corp/thing/1.3.0/terraform-provider-thing_1.3.0_" + here + ".zip"
	const signature = "/files/corp/thing/1.3.0/terraform-provider-thing_1.3.0_SHA256SUMS.sig"
	for name, c := range map[string]struct {
		path   string
		answer http.HandlerFunc
		want   []string
	}{
		"odd JSON": {versions, text(`{"versions":[],"versions":[]}`), []string{
			"example.com/v1/providers/corp/thing/versions", "twice"}},
		"deep JSON": {versions, text(strings.Repeat("[", 1<<20)), []string{"levels deep"}},
		"endless":   {versions, endless, []string{"more than 8388608 bytes"}},
		"silent":    {versions, silent, []string{"no complete answer within 1s"}},
		"broken": {versions, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, []string{
			"503", "after 2 attempts"}},
		"forbidden": {versions, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, []string{
			"401", "token"}},
		"discovery": {"/.well-known/terraform.json", text("<html>"), []string{
			"the services of the host example.com", "text/html"}},
		"another archive": {archive, text("evil"), []string{"was changed in transit"}},
		"no archive":      {archive, http.NotFound, []string{"404"}},
		"not protected": {archive, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}, []string{"not protected by TLS"}},
		"no signature":      {signature, http.NotFound, []string{"the signature of the checksums", "404"}},
		"another signature": {signature, text("evil"), []string{"the signature of the checksums"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net := newInternet(t)
			net.Answer("example.com", c.path, c.answer)
			s := newSite(t, own, net.Net)
			s.write("work/main.tf", onlyThing)
			if name == "silent" {
				s.env = append(s.env, "TF_REGISTRY_CLIENT_TIMEOUT=1")
			}
			s.leavesNothing("init", c.want...)
		})
	}
}

func text(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, content) }
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func silent(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Messages of servers are printed as plain text.
func TestServersCannotControlTheTerminal(t *testing.T) {
	const attack = "\x1b[2J\x1b]0;evil\a\u202e\r"
	net := newInternet(t)
	net.corp.Warnings = []string{"beware" + attack, strings.Repeat("x", 100_000), "3", "4", "5", "6", "7", "8", "9",
		"10", "11", "12"}
	s := newSite(t, program(t), net.Net)
	s.write("work/main.tf", onlyThing)
	output, code := s.run("init")
	if code != 0 || strings.ContainsAny(output, "\x1b\a\r\u202e") || len(output) > 10_000 {
		t.Errorf("exit code %d, %d bytes: %.3000q", code, len(output), output)
	}
	has(t, output, "beware", "and 2 more")
	fresh(s)
	net.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.3.0", Protocols: []string{
		attack + strings.Repeat("9", 1<<20)}})
	output, code = s.run("init")
	if code != 1 || strings.ContainsAny(output, "\x1b\a\r\u202e") || len(output) > 10_000 {
		t.Errorf("exit code %d, %d bytes: %.3000q", code, len(output), output)
	}
}

func TestInvalidCLIConfigurationIsNotUsed(t *testing.T) {
	s := newSite(t, program(t), newInternet(t).Net)
	begin(s)
	if output, code := s.run("get"); code != 0 {
		t.Fatal(output)
	}
	s.write("cli.tfrc", "provider_installation {\n  network_mirror {\n    url = \"http://mirror.example/\"\n  }\n}\n")
	for _, command := range []string{"init", "providers lock", "providers mirror ../mirror"} {
		s.leavesNothing(command, "Invalid URL for provider installation source")
	}
}

func TestRequestsHaveAUserAgent(t *testing.T) {
	net := newInternet(t)
	s := newSite(t, program(t), net.Net)
	begin(s)
	s.env = append(s.env, "TF_APPEND_USER_AGENT= pipeline/7 ")
	if output, code := s.run("init"); code != 0 {
		t.Fatal(output)
	}
	for _, r := range net.Requests() {
		if got := r.Header.Get("User-Agent"); got != "Tombolo pipeline/7" {
			t.Errorf("%s: %q asks", r.Path, got)
		}
	}
}

func TestRetriesAreCounted(t *testing.T) {
	net := newInternet(t)
	net.Answer("example.com", "/v1/providers/corp/thing/versions", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
	})
	s := newSite(t, program(t), net.Net)
	s.write("work/main.tf", onlyThing)
	for _, c := range []struct {
		variable string
		asked    int
	}{{"0", 1}, {"2", 3}, {"nonsense", 2}, {"-1", 2}} {
		s.env = append(s.env, "TF_REGISTRY_DISCOVERY_RETRY="+c.variable)
		net.Requests()
		s.leavesNothing("init", "500")
		if got := len(net.Requests()) - 1; got != c.asked { // one for the services
			t.Errorf("%s: asked %d times", c.variable, got)
		}
	}
}

// Without a network, everything that is installed works, and errors about missing items name the place where they were
// looked for.
func TestOfflineErrorsNameMissingItems(t *testing.T) {
	net := newInternet(t)
	s := newSite(t, program(t), net.Net)
	begin(s)
	online := s.env
	offline := append(append([]string{}, online...), "HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1",
		"TF_REGISTRY_DISCOVERY_RETRY=0")
	s.env = offline
	s.leavesNothing("init", "Could not choose a version of provider example.com/corp/thing",
		"the services of the host example.com could not be read",
		"Could not choose a version of provider hashicorp/null",
		"https://registry.terraform.io/.well-known/terraform.json", "connection refused")
	s.env = online
	if output, code := s.run("init"); code != 0 {
		t.Fatal(output)
	}
	s.env = offline
	if output, code := s.run("init"); code != 0 {
		t.Error(output)
	}
	s.remove("work/.terraform")
	s.write("cli.tfrc",
		"provider_installation {\n  filesystem_mirror {\n    path = \"DIR/none\"\n  }\n  direct {}\n}\n")
	output, code := s.run("init")
	if code != 1 {
		t.Error(output)
	}
	has(t, output, "none")
}

// Several runs share one cache at the same time.
func TestRunsShareAPluginCache(t *testing.T) {
	own := program(t)
	net := newInternet(t)
	cache := filepath.Join(t.TempDir(), "cache")
	var wait sync.WaitGroup
	sites := make([]*site, 4)
	for i := range sites {
		s := newSite(t, own, net.Net)
		begin(s)
		s.env = append(s.env, "TF_PLUGIN_CACHE_DIR="+cache)
		sites[i] = s
		wait.Go(func() {
			for range 3 {
				if output, code := s.run("init"); code != 0 {
					t.Error(output)
				}
				if output, code := s.run("providers", "lock", "-enable-plugin-cache"); code != 0 {
					t.Error(output)
				}
				fresh(s)
			}
			if output, code := s.run("init"); code != 0 {
				t.Error(output)
			}
		})
	}
	wait.Wait()
	shared := &site{t: t, dir: filepath.Dir(cache)}
	var packages int
	for name := range shared.tree("cache") {
		if filepath.Base(name) == here {
			packages++
		}
		if strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("left in the cache: %s", name)
		}
	}
	if packages != 2 {
		t.Errorf("%d packages in the cache", packages)
	}
	first := sites[0].tree("work/.terraform.lock.hcl")
	for _, s := range sites[1:] {
		for name, content := range s.tree("work/.terraform.lock.hcl") {
			if first[name] != content {
				t.Errorf("another lock file: %s", content)
			}
		}
	}
}

// Several processes, such as two terminals or an editor, may start at the same time in one directory.
func TestRunsInOneDirectoryDoNotDisturbEachOther(t *testing.T) {
	s := newSite(t, program(t), newInternet(t).Net)
	begin(s)
	for range 2 {
		fresh(s)
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				if output, code := s.run("init"); code != 0 {
					t.Error(output)
				}
			})
		}
		wait.Wait()
		if output, code := s.run("plan"); code != 0 {
			t.Error(output)
		}
		for name := range s.tree("work") {
			if base := filepath.Base(name); strings.HasPrefix(base, ".install-") ||
				strings.HasPrefix(base, ".terraform.lock.hcl.") {
				t.Errorf("left behind: %s", name)
			}
		}
	}
}

func TestInterruptedInitLeavesNoFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs signals: it runs everywhere but on Windows")
	}
	net := newInternet(t)
	asked := make(chan struct{})
	var once sync.Once
	net.Answer("example.com", "/files/corp/thing/1.3.0/terraform-provider-thing_1.3.0_"+here+".zip",
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 100<<10))
			_ = http.NewResponseController(w).Flush()
			once.Do(func() { close(asked) })
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	s := newSite(t, program(t), net.Net)
	s.write("work/main.tf", onlyThing)
	command := s.command("init")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = command.Wait() // its result is in the state
	if code := command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("init exits with %d", code)
	}
	has(t, out.String(), "Provider installation was canceled")
	net.Answer("example.com", "/.well-known/terraform.json", http.NotFound)
	s.leavesNothing("init")
}

// A registry on this machine has an address with a port, and is contacted without the proxy.
func TestRegistriesOnThisMachine(t *testing.T) {
	oracle, own := terraform(t), program(t)
	net := newInternet(t)
	_, port, _ := strings.Cut(net.Addr, ":")
	for _, host := range []string{"localhost:" + port, "127.0.0.1:" + port} {
		net.Serve(host, net.corp)
		var seen [2]observation
		for i, p := range []string{oracle, own} {
			s := newSite(t, p, net.Net)
			s.write("work/main.tf", strings.ReplaceAll(onlyThing, "example.com", host))
			s.write("cli.tfrc", "credentials \""+host+"\" {\n  token = \"tok-local\"\n}\n")
			seen[i] = observe(s, net, step{command: "init"})
		}
		compare(t, step{command: "init"}, seen[0], seen[1])
	}
}
