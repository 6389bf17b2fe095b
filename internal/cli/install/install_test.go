package install_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

var here = packages.Current().String()

// self is the name under which the test binary is the program.
const self = "tombolo"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == self {
		os.Exit(cli.Main())
	}
	programtest.UsualUmask() // terraform sets the modes of files in archives regardless of the umask
	os.Exit(m.Run())
}

// site is a working directory with a home directory beside it, and the program under test.
type site struct {
	t       *testing.T
	program string
	dir     string
	env     []string
	above   string // the option for commands that run in the folder above the project; "" if they run in it
}

// program returns a path by which the test binary runs as the program.
func program(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), self)
	if err := os.Symlink(own, path); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
	return path
}

func newSite(t *testing.T, program string, net *fetchtest.Net) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, program: program, dir: dir}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "cli.tfrc"),
		"TERM=dumb", "TF_CLI_ARGS=-no-color", "TF_REGISTRY_CLIENT_TIMEOUT=120",
	}, net.Env()...)
	for _, sub := range []string{"home", "tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write("cli.tfrc", "")
	return s
}

// write writes a file into the site. DIR in its content stands for the site.
func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte(strings.ReplaceAll(content, "DIR", s.dir)), 0o755))
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) remove(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) command(args ...string) *exec.Cmd {
	dir := filepath.Join(s.dir, "work")
	if s.above != "" {
		dir, args = s.dir, append([]string{s.above}, args...)
	}
	command := programtest.Bounded(s.t, s.program, args...)
	command.Dir, command.Env = dir, s.env
	return command
}

// run runs a command in the working directory.
func (s *site) run(args ...string) (output string, code int) {
	s.t.Helper()
	command := s.command(args...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// tree returns all files below a folder of the site: links, permissions, contents.
func (s *site) tree(name string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	root := filepath.Join(s.dir, name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode.IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[rel] = mode.String() + "\n" + string(content)
		case mode&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			out[rel] = "-> " + strings.ReplaceAll(target, s.dir, "DIR")
		default:
			out[rel] = mode.String()
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return out
}

const configuration = `
terraform {
  required_providers {
    null  = { source = "hashicorp/null" }
    thing = {
      source  = "example.com/corp/thing"
      version = "~> 1.0"
    }
  }
}
module "m" {
  source = "./m"
}
`

const module = `
terraform {
  required_providers {
    thing = {
      source  = "example.com/corp/thing"
      version = "< 1.3"
    }
  }
}
`

// internet is the network of all tests of this file: two registries and a mirror.
type internet struct {
	*fetchtest.Net
	official, corp *fetchtest.Registry
	mirror         *fetchtest.Mirror
}

func newInternet(t *testing.T) *internet {
	n := &internet{Net: fetchtest.New(t), official: fetchtest.NewRegistry(t), corp: fetchtest.NewRegistry(t),
		mirror: &fetchtest.Mirror{Path: "/p/", Host: "example.com"}}
	n.official.Add(fetchtest.Release{Source: "hashicorp/null", Version: "3.2.1"})
	n.official.Add(fetchtest.Release{Source: "hashicorp/null", Version: "3.2.2"})
	for _, v := range []string{"0.9.0", "1.1.0", "1.2.0", "1.3.0", "2.0.0-beta1"} {
		n.corp.Add(fetchtest.Release{Source: "corp/thing", Version: v})
		n.mirror.Add(fetchtest.Release{Source: "corp/thing", Version: v})
	}
	n.Serve("registry.terraform.io", n.official)
	n.Serve("example.com", n.corp)
	n.Serve("mirror.example", n.mirror)
	return n
}

// begin writes the configuration into a site.
func begin(s *site) {
	s.write("work/main.tf", configuration)
	s.write("work/m/m.tf", module)
}

const throughMirror = `
credentials "mirror.example" {
  token = "mirror-token"
}
provider_installation {
  network_mirror {
    url     = "https://mirror.example/p/"
    include = ["example.com/*/*"]
  }
  direct {
    exclude = ["example.com/*/*"]
  }
}
`

var withPassword = strings.Replace(throughMirror[strings.Index(throughMirror, "provider_installation"):], "https://",
	"https://me:pass-of-mirror@", 1)

// step is a command after a change of the site and the network.
type step struct {
	before  func(*site)
	net     func(*internet)
	command string
	code    int
}

func files(pairs ...string) func(*site) {
	return func(s *site) {
		for i := 0; i < len(pairs); i += 2 {
			s.write(pairs[i], pairs[i+1])
		}
	}
}

func fresh(s *site) { s.remove("work/.terraform", "work/.terraform.lock.hcl") }

func environment(entries ...string) func(*site) {
	return func(s *site) {
		for _, e := range entries {
			s.env = append(s.env, strings.ReplaceAll(e, "DIR", s.dir))
		}
	}
}

func together(all ...func(*site)) func(*site) {
	return func(s *site) {
		for _, f := range all {
			f(s)
		}
	}
}

// scenarios are command sequences with the same lock file, installed providers and exit codes in both programs.
var scenarios = map[string][]step{
	"registries": {
		{command: "init"}, {command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init -json"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init -lockfile=readonly"},
		{before: files("work/m/m.tf", ""), command: "init"}, {command: "init -upgrade"},
		{before: fresh, command: "init -get=false", code: 1},
	},
	"network mirror": {
		{before: files("cli.tfrc", throughMirror), command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init"},
		{before: fresh, net: func(n *internet) { n.mirror.NoHashes = true }, command: "init"},
		{before: files("cli.tfrc", ""), command: "init -upgrade"},
	},
	"a network mirror with a password": {
		{before: files("cli.tfrc", withPassword), command: "init"},
	},
	"several places": {
		{before: files("cli.tfrc", `
provider_installation {
  network_mirror {
    url     = "https://mirror.example/p/"
    include = ["example.com/*/*"]
  }
  direct {}
}
`), command: "init"},
	},
	"credentials": {
		{before: files("cli.tfrc", `credentials "example.com" { token = "in-file" }`), command: "init"},
		{before: together(fresh, environment("TF_TOKEN_example_com=in-environment")), command: "init"},
	},
	"credentials helper": {
		{before: files("cli.tfrc", `credentials_helper "test" { args = ["-x"] }`,
			"home/.terraform.d/plugins/terraform-credentials-test",
			"#!/bin/sh\n[ \"$*\" = '-x get example.com' ] && echo '{\"token\": \"helped\"}' || echo '{}'\n"),
			command: "init"},
	},
	"services of a host": {
		{before: files("cli.tfrc", `
host "example.com" {
  services = {
    "providers.v1" = "https://real.example/v1/providers/"
  }
}
`), net: func(n *internet) { n.Serve("real.example", n.corp); n.Serve("example.com", nil) }, command: "init"},
	},
	"plugin cache": {
		{before: together(files("cache/x", ""), environment("TF_PLUGIN_CACHE_DIR=DIR/cache")), command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init"},
		{before: fresh, command: "init"},
		{before: together(fresh, environment("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE=true")), command: "init"},
	},
	"plugin cache and lock": {
		{command: "get"},
		{before: together(files("cache/x", ""), environment("TF_PLUGIN_CACHE_DIR=DIR/cache")),
			command: "providers lock"},
		{command: "providers lock -enable-plugin-cache -platform=" + here},
		{command: "providers lock -enable-plugin-cache"},
		{command: "init"}, {before: func(s *site) { s.remove("cache") }, command: "init"},
	},
	"lock": {
		{command: "get"}, {command: "providers lock"},
		{command: "providers lock -platform=linux_amd64 -platform=darwin_arm64 -platform=windows_amd64"},
		{command: "init"},
		{command: "providers lock -platform=plan9_mips", code: 1},
		{before: func(s *site) { s.remove("work/.terraform/providers", "work/.terraform.lock.hcl") },
			command: "providers lock -net-mirror=https://mirror.example/p/ -platform=darwin_arm64 " +
				"example.com/corp/thing"},
		{command: "init", code: 1},
		{command: "providers lock"}, {command: "init"},
		{command: "providers lock -net-mirror=http://mirror.example/p/", code: 1},
	},
	"mirror": {
		{command: "get"}, {command: "providers mirror -platform=linux_amd64 -platform=darwin_arm64 ../mirror"},
		{before: files("work/m/m.tf", ""), command: "providers mirror -platform=windows_amd64 ../mirror"},
		{command: "providers mirror ../mirror"},
		{command: "init -plugin-dir=../mirror"}, {command: "providers lock -fs-mirror=../mirror"},
		{before: files("work/m/m.tf", module), command: "providers mirror ../mirror", code: 1},
		{command: "providers mirror -lock-file=false ../mirror"},
	},
	"packages that changed": {
		{command: "init"},
		{before: func(s *site) {
			s.write("work/.terraform/providers/example.com/corp/thing/1.2.0/"+here+"/README.md", "x")
		}, command: "plan", code: 1},
		{command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, net: func(n *internet) {
			n.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.2.0", Files: map[string]string{
				"terraform-provider-thing_v1.2.0": "evil"}})
		}, command: "init", code: 1},
		{command: "providers mirror ../mirror"}, {command: "providers lock"},
		{command: "providers lock -platform=darwin_arm64"},
	},
	"what is not there": {
		{before: files("work/main.tf",
			"terraform {\n  required_providers {\n    x = { source = \"example.com/corp/missing\" }\n  }\n}\n"),
			command: "init", code: 1},
		{before: files("work/main.tf",
			"terraform {\n  required_providers {\n    x = { source = \"none.example/corp/missing\" }\n  }\n}\n"),
			command: "init", code: 1},
		{before: files("work/main.tf", "terraform {\n  required_providers {\n    x = {\n source = "+
			"\"example.com/corp/thing\"\n version = \"> 7\"\n}\n  }\n}\n"), command: "init", code: 1},
	},
	"what registries say": {
		{net: func(n *internet) { n.corp.Warnings = []string{"deprecated", "really"} }, command: "init"},
		{before: fresh, net: func(n *internet) { n.corp.Trust = "nonsense" }, command: "init", code: 1},
		{before: fresh, net: func(n *internet) { n.corp.Unsigned = true }, command: "init", code: 1},
	},
	"credentials in the usual file": {
		{before: together(files("home/.terraform.d/credentials.tfrc.json",
			`{"credentials": {"example.com": {"token": "in-usual-file"}}}`), environment("TF_CLI_CONFIG_FILE=")),
			command: "init"},
		{before: together(fresh, environment("TF_CLI_CONFIG_FILE=DIR/cli.tfrc")), command: "init"},
	},
	"names of hosts": {
		{
			before: files("work/main.tf", "terraform {\n required_providers {\n c = { source = "+
				"\"example.com/corp/thing\" }\n d = { source = \"example.com/corp-x/thing\" }\n a = { source = "+
				"\"port.example:8443/corp/thing\" }\n b = { source = \"Bücher.example/corp/thing\" }\n}\n}\n",
				"cli.tfrc", "credentials \"bücher.example\" { token = \"tok-umlaut\" }\ncredentials "+
					"\"port.example:8443\" { token = \"tok-port\" }\n"),
			net: func(n *internet) {
				n.corp.Add(fetchtest.Release{Source: "corp-x/thing", Version: "1.0.0"})
				n.Serve("port.example:8443", n.corp)
				n.Serve("xn--bcher-kva.example", n.corp)
			},
			command: "init",
		},
		{command: "init"}, {command: "providers mirror ../mirror"},
	},
	"other lines in the signed list": {
		{net: func(n *internet) {
			n.corp.MoreSums = strings.Repeat("1", 64) + "  terraform-provider-thing_1.2.0_manifest.json\n" +
				strings.Repeat("A", 64) + "  upper.zip\n" + strings.Repeat("b", 64) + " one-blank.zip\n"
		}, command: "init"},
	},
	"places by pattern": {
		{before: files("cli.tfrc", `
provider_installation {
  dev_overrides {
    "hashicorp/null" = "DIR/dev"
  }
  network_mirror {
    url     = "https://mirror.example/p"
    exclude = ["example.com/corp/*", "hashicorp/*"]
  }
  direct {
    include = ["example.com/corp/thing", "hashicorp/*"]
  }
}
`, "dev/terraform-provider-null", ""), command: "init"},
	},
	"what is not for us": {
		{net: func(n *internet) {
			n.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.2.0", Platforms: []string{
				"plan9_mips", "plan9_arm"}})
		}, command: "init", code: 1},
		{before: fresh, net: func(n *internet) {
			n.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.2.0", Protocols: []string{"4.0"}})
		}, command: "init", code: 1},
		{before: fresh, net: func(n *internet) {
			n.corp.Replace(fetchtest.Release{Source: "corp/thing", Version: "1.2.0", Protocols: []string{"4.0", "6.1"}})
		}, command: "init"},
	},
	"moved answers": {
		{net: func(n *internet) {
			moved := func(path string) {
				n.Answer("example.com", path, func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, "https://moved.example"+path, http.StatusFound)
				})
			}
			n.Serve("moved.example", n.corp)
			moved("/v1/providers/corp/thing/versions")
			moved("/files/corp/thing/1.2.0/terraform-provider-thing_1.2.0_" + here + ".zip")
		}, before: files("cli.tfrc", `credentials "example.com" { token = "in-file" }`), command: "init"},
	},
	"objects of the state": {
		{before: files("work/main.tf", "", "work/terraform.tfstate",
			`{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"x","outputs":{},"resources":[{"mode":"managed","type":"thing_x","name":"a","provider":"provider[\"example.com/corp/thing\"]","instances":[]}]}`), command: "init"},
	},
}

func terraform(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform 1.11 on PATH to compare with")
	}
	out, err := programtest.Bounded(t, path, "version").Output()
	if err != nil || !bytes.HasPrefix(out, []byte("Terraform v1.11.")) {
		t.Skipf("needs terraform 1.11 on PATH: %s", out)
	}
	return path
}

// The same registries serve both programs.
func TestInstallationMatchesTerraform(t *testing.T) {
	oracle, own := terraform(t), program(t)
	for name, steps := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen [2][]observation
			for i, p := range []string{oracle, own} {
				net := newInternet(t)
				// The same keys make the output equal.
				if i == 1 {
					net.official.Key, net.corp.Key = seen[0][0].net.official.Key, seen[0][0].net.corp.Key
				}
				s := newSite(t, p, net.Net)
				begin(s)
				for _, step := range steps {
					seen[i] = append(seen[i], observe(s, net, step))
				}
			}
			for i, step := range steps {
				compare(t, step, seen[0][i], seen[1][i])
			}
		})
	}
}

// observation holds the results of a step that must be equal, and its output.
type observation struct {
	net    *internet
	code   int
	trees  map[string]string
	lines  []string
	tokens map[string]bool
	output string
}

func observe(s *site, net *internet, step step) observation {
	if step.before != nil {
		step.before(s)
	}
	if step.net != nil {
		step.net(net)
	}
	net.Requests()
	o := observation{net: net, trees: map[string]string{}, tokens: map[string]bool{}}
	args := strings.Fields(step.command)
	o.output, o.code = s.run(args...)
	for _, folder := range []string{"work/.terraform.lock.hcl", "work/.terraform/providers", "cache", "mirror", "tmp"} {
		for path, content := range s.tree(folder) {
			o.trees[path] = content
		}
	}
	for _, r := range net.Requests() {
		if r.Authorization != "" {
			o.tokens[r.Host+" "+r.Authorization] = true
		}
	}
	o.lines = linesOf(o.output)
	return o
}

// known matches the lines that tools parse; of problems, only the titles.
var known = regexp.MustCompile(
	`^ *- (Finding|Reusing|Installing|Installed|Using|Fetching|Retrieved|Obtained|Mirroring|Selected|Downloading|Package) |^(Error|Warning): `)

// linesOf returns the lines that tools parse, sorted.
func linesOf(output string) []string {
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		var message struct {
			Message string `json:"@message"`
			Type    string `json:"type"`
		}
		switch {
		case json.Unmarshal([]byte(line), &message) == nil:
			if message.Type == "log" && strings.Contains(message.Message, "provider version") ||
				message.Type == "diagnostic" {
				lines = append(lines, message.Message)
			}
		case strings.HasPrefix(line, "- Obtained "): // they end with words of our own
			head, _, _ := strings.Cut(line, ";")
			lines = append(lines, head)
		// which is not specific
		case known.MatchString(line) && !strings.HasPrefix(line, "Error: Terraform encountered problems"):
			lines = append(lines, line)
		}
	}
	sort.Strings(lines)
	return slices.Compact(lines)
}

func compare(t *testing.T, step step, oracle, own observation) {
	t.Helper()
	if oracle.code != step.code || own.code != step.code {
		t.Errorf("%s: terraform exits with %d, we with %d, want %d", step.command, oracle.code, own.code, step.code)
	}
	if len(own.tokens) == 0 && strings.Contains(own.output, "Using previously-installed") {
		oracle.tokens = own.tokens // installed packages are not requested again
	}
	for what, diff := range map[string]string{
		"files": cmp.Diff(oracle.trees, own.trees), "lines": cmp.Diff(oracle.lines, own.lines),
		"tokens": cmp.Diff(oracle.tokens, own.tokens),
	} {
		if diff != "" {
			t.Errorf("%s: other %s (-terraform +ours):\n%s", step.command, what, diff)
		}
	}
	for token := range own.tokens {
		secret := token[strings.LastIndex(token, " ")+1:]
		if strings.Contains(own.output, secret) {
			t.Errorf("%s: the token shows", step.command)
		}
	}
	if t.Failed() {
		t.Logf("%s\nterraform printed:\n%s\nwe printed:\n%s", step.command, oracle.output, own.output)
		t.FailNow()
	}
}
