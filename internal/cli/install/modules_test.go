package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// forge is a network with modules: a registry with two host names, a git server, and a web server with archives.
type forge struct {
	*fetchtest.Net
	git      *fetchtest.Git
	registry *fetchtest.Modules
	other    *fetchtest.Modules
	web      map[string][]byte
}

func moduleOf(name string) string {
	return fmt.Sprintf("output \"name\" {\n  value = %q\n}\n", name)
}

func calls(name, source string) string {
	return fmt.Sprintf("module %q {\n  source = %q\n}\n", name, source)
}

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{Net: fetchtest.New(t), git: fetchtest.NewGit(t), registry: &fetchtest.Modules{},
		other: &fetchtest.Modules{}, web: map[string][]byte{}}
	f.git.Add("net", map[string]string{
		"main.tf": moduleOf("v1") + calls("inner", "./inner"), "inner/main.tf": calls("up", "../other"),
		"other/x.tf": moduleOf("other"), "link.txt": "-> main.tf", "run.sh": "#!/bin/sh\n",
	}, map[string]string{"main.tf": moduleOf("v2"), "other/x.tf": moduleOf("other 2")})
	for _, v := range []string{"0.9.0", "1.0.0", "1.1.0", "1.2.0-beta1", "1.10.0", "2.0.0"} {
		f.registry.Add("corp/net/aws", v, "git::https://git.example/net.git?ref=v1")
		f.other.Add("corp/zip/aws", v, "/files/all.zip//top?archive=zip")
		f.other.Add("corp/only/aws", "1.0.0-rc1", "https://web.example/all.zip")
	}
	zip := fetchtest.Zip(map[string]string{"top/main.tf": moduleOf("zip"), "top/part/main.tf": calls("deep", "./deep"),
		"top/part/deep/main.tf": moduleOf("deep")})
	f.web["web.example/all.zip"], f.web["other.example/files/all.zip"] = zip, zip
	f.web["web.example/a.tar.gz"] = tarball(t, map[string]string{"main.tf": moduleOf("tar"),
		"b/main.tf": moduleOf("b")})
	f.Serve("registry.terraform.io", f.registry)
	f.Serve("other.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content := f.web[r.Host+r.URL.Path]; content != nil {
			_, _ = w.Write(content)
			return
		}
		f.other.ServeHTTP(w, r)
	}))
	f.Serve("git.example", f.git)
	f.Serve("web.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch content := f.web[r.Host+r.URL.Path]; {
		case content != nil:
			_, _ = w.Write(content)
		case r.URL.Path == "/header" && r.URL.Query().Get("terraform-get") == "1":
			w.Header().Set("X-Terraform-Get", "https://web.example/all.zip//top/part")
		case r.URL.Path == "/page":
			fmt.Fprint(w, `<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="terraform-get" `+
				`content="git::https://git.example/net.git?ref=v2" /></head><body></body></html>`)
		case r.URL.Path == "/away.zip":
			http.Redirect(w, r, "https://other.example/files/all.zip", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	return f
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, content := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
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

// goodSources are configurations that both programs install in the same way, one after the other in the same directory.
var goodSources = []struct{ name, configuration, args string }{
	{"git", calls("head", "git::https://git.example/net.git") +
		calls("tag", "git::https://git.example/net.git?ref=v1") +
		calls("branch", "git::https://git.example/net.git//other?ref=feature/x") +
		calls("again", "git::https://git.example/net.git?ref=v1") +
		calls("shallow", "git::https://git.example/net.git//inner?ref=v1&depth=1") +
		calls("pattern", "git::https://git.example/net.git//oth*?ref=v2"), "get"},
	{"git in files", calls("bare", "git::file://GIT/net.git?ref=v1"), "get"},
	{"nothing new", calls("bare", "git::file://GIT/net.git?ref=v1"), "get"},
	{"update", calls("bare", "git::file://GIT/net.git?ref=v1"), "get -update"},
	{"archives", calls("zip", "https://web.example/all.zip//top") + calls("tar", "https://web.example/a.tar.gz") +
		calls("part", "https://web.example/a.tar.gz//b") +
		calls("away", "https://web.example/away.zip//top/part") +
		calls("asked", "https://other.example/files/all.zip?archive=zip"), "get"},
	{"pages", calls("header", "https://web.example/header") + calls("meta", "https://web.example/page"), "init"},
	{"registry", "module \"r\" {\n  source = \"corp/net/aws\"\n  version = \"~> 1.0\"\n}\nmodule \"sub\" {\n  source " +
		"= \"corp/net/aws//inner\"\n  version = \"1.0.0, < 2\"\n}\n" +
		calls("newest", "corp/net/aws//other"), "init"},
	{"pre-release", "module \"beta\" {\n  source = \"corp/net/aws\"\n  version = \"1.2.0-beta1\"\n}\nmodule \"no\" " +
		"{\n  source = \"corp/net/aws\"\n  version = \">= 1.2.0-alpha, < 1.10\"\n}\n", "get"},
	{"pre-release alone", calls("rc", "other.example/corp/only/aws"), "get"},
	{"pre-release by range",
		"module \"rc\" {\n  source = \"other.example/corp/only/aws\"\n  version = \"~> 1.0.0-rc1\"\n}\n", "get"},
	{"none fits", "module \"none\" {\n  source = \"corp/net/aws\"\n  version = \"> 5\"\n}\n", "get"},
	{"unknown", calls("none", "corp/nothing/aws"), "get"},
	{"no registry", calls("none", "web.example/corp/net/aws"), "get"},
	{"other registry", "module \"z\" {\n  source = \"other.example/corp/zip/aws\"\n  version = \"< 1.0\"\n}\n" +
		calls("part", "other.example/corp/zip/aws//part"), "init"},
	{"upgrade", "module \"z\" {\n  source = \"other.example/corp/zip/aws\"\n  version = \"< 3\"\n}\n", "init -upgrade"},
	{"stays", "module \"z\" {\n  source = \"other.example/corp/zip/aws\"\n}\n", "init"},
	{"no modules", calls("new", "https://web.example/all.zip//top"), "init -get=false"},
	{"links", calls("direct", "./there") + calls("linked", "./link") + calls("through", "./link/sub"), "get"},
	{"folder", calls("dir", "GIT/../local") + calls("copy", "GIT/../local//sub") +
		calls("archive", "GIT/../local.zip//top"), "init -json"},
}

// moduleLines returns the output of a program about modules, and the titles and places of its errors.
func moduleLines(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "│╷╵"))
		if i := strings.Index(line, `"@message":"`); i >= 0 {
			line, _, _ = strings.Cut(line[i+len(`"@message":"`):], `"`)
		}
		for _, begin := range []string{"Downloading", "- ", "Error: ", "on main.tf", "Upgrading",
			"Initializing modules"} {
			if strings.HasPrefix(line, begin) && !strings.Contains(line, "encountered problems during initialisation") {
				out = append(out, line)
			}
		}
	}
	return out
}

func TestModulesAreInstalledAsByTheRealProgram(t *testing.T) {
	f := newForge(t)
	own, oracle := newSite(t, program(t), f.Net), newSite(t, terraform(t), f.Net)
	local := filepath.Join(filepath.Dir(f.git.Dir), "local")
	for name, content := range map[string]string{"/main.tf": moduleOf("local"), "/sub/main.tf": calls("up", "../other"),
		"/other/main.tf": moduleOf("other"), ".zip": string(f.web["web.example/all.zip"])} {
		if err := os.MkdirAll(filepath.Dir(local+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(local+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*site{oracle, own} {
		s.write("work/there/main.tf", calls("up", "./sub"))
		s.write("work/there/sub/main.tf", moduleOf("sub"))
		if err := os.Symlink("there", filepath.Join(s.dir, "work", "link")); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range goodSources {
		t.Run(tt.name, func(t *testing.T) {
			var lines [2][]string
			var trees [2]map[string]string
			var codes [2]int
			for i, s := range []*site{oracle, own} {
				s.t = t
				s.write("work/main.tf", strings.ReplaceAll(tt.configuration, "GIT", f.git.Dir))
				output, code := s.run(strings.Fields(tt.args)...)
				lines[i], trees[i], codes[i] = moduleLines(output), map[string]string{}, code
				if testing.Verbose() {
					t.Log(output)
				}
				for name, content := range s.tree("work/.terraform/modules") {
					if !strings.Contains(name, "/.git") && (code == 0 || !strings.HasSuffix(name, "modules.json")) {
						trees[i][name] = content
					}
				}
				if code != 0 {
					s.remove("work/.terraform") // terraform leaves the modules that it fetched before the error
				}
			}
			if diff := cmp.Diff(lines[0], lines[1]); diff != "" {
				t.Errorf("other lines (-terraform +ours):\n%s", diff)
			}
			if codes[0] != codes[1] {
				t.Errorf("terraform exits with %d, ours with %d", codes[0], codes[1])
			}
			if diff := cmp.Diff(trees[0], trees[1]); diff != "" && codes[0] == 0 {
				t.Errorf("other files (-terraform +ours):\n%s", diff)
			}
		})
	}
}

func TestInitFromModuleCopiesTheModule(t *testing.T) {
	f := newForge(t)
	own := program(t)
	for source, want := range map[string]string{
		"git::https://git.example/net.git//other?ref=v1": "work/x.tf", "corp/net/aws//inner/../other": "work/x.tf",
		"https://web.example/all.zip//top": "work/main.tf",
	} {
		s := newSite(t, own, f.Net)
		output, code := s.run("init", "-from-module="+source)
		if there := s.tree("work"); code != 0 || there[want] == "" || there["work/.git"] != "" {
			t.Errorf("%s gives %d, %s", source, code, output)
		}
		s.leavesNothing("init -from-module="+source, "non-empty directory")
	}
}

func TestInstalledVersionsAreShown(t *testing.T) {
	f := newForge(t)
	s := newSite(t, program(t), f.Net)
	s.write("work/main.tf", "module \"r\" {\n  source = \"corp/net/aws//other\"\n  version = \"~> 1.0\"\n}\n")
	if output, code := s.run("get"); code != 0 {
		t.Fatal(output)
	}
	f.Requests()
	output, _ := s.run("modules", "-json")
	has(t, output, `{"key":"r","source":"registry.terraform.io/corp/net/aws//other","version":"1.10.0"}`)
	if asked := f.Requests(); len(asked) > 0 {
		t.Errorf("the network was asked: %v", asked)
	}
	s.write("work/main.tf", calls("r", "corp/net/aws//other")+calls("q", "https://nowhere.example/a.zip"))
	s.write("work/m.tf", "")
	output, code := s.run("get")
	if has(t, output, `Could not download module code from "https://nowhere.example/a.zip":`, "404",
		"It is that of module.q."); code != 1 {
		t.Errorf("get exits with %d", code)
	}
}
