package install_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

const ociMirror = `
provider_installation {
  oci_mirror {
    repository_template = "oci.example/providers/${namespace}/${type}"
    include             = ["example.com/*/*"]
  }
}
`

const ociProvider = `
terraform {
  required_providers {
    thing = {
      source  = "example.com/corp/thing"
      version = "~> 1.0"
    }
  }
}
`

// ociModules returns a function that writes a call of a module for each source, in this order.
func ociModules(sources ...string) func(*site) {
	text := ""
	for i, source := range sources {
		text += "module \"m" + string(rune('a'+i)) + "\" {\n  source = \"" + source + "\"\n}\n"
	}
	return files("work/main.tf", text)
}

// docker is a file of credentials: user me, password pass.
const docker = `{"auths": {"oci.example/corp": {"auth": "bWU6cGFzcw=="}, "oci.example": {"auth": "eW91OndvcnNl"}}}`

// ociScenarios have the same lock file, modules, providers and exit codes here and in OpenTofu, and send the same
// credentials.
var ociScenarios = map[string][]struct {
	before  func(*site)
	oci     func(*fetchtest.OCI)
	command string
	code    int
	says    string // a text that our output has in any case, without line ends
}{
	"modules": {
		{before: ociModules("oci://oci.example/corp/network", "oci://oci.example/corp/network?tag=1.0.0",
			"oci://oci.example/corp/network//sub?tag=1.0.0", "oci://oci.example/corp/network//sub"), command: "init"},
		{command: "init"}, {command: "init -upgrade"},
		{before: ociModules("oci://oci.example/corp/network?tag=absent"), command: "init", code: 1,
			says: "404 Not Found"},
		{before: ociModules("oci://oci.example/corp/network//absent"), command: "init", code: 1},
		{before: ociModules("oci://oci.example/corp/absent"), command: "init", code: 1,
			says: "oci.example/corp/absent"},
		{before: ociModules("oci://oci.example/corp/network:1.0.0"), command: "init", code: 1,
			says: "is not a repository"},
		{before: ociModules("oci://oci.example"), command: "init", code: 1, says: "is not a repository"},
		{before: ociModules("oci://oci.example/corp/network?digest=sha256:12"), command: "init", code: 1,
			says: "is not a digest"},
		{before: ociModules("oci://oci.example/corp/network?tag=1.0.0&digest=sha256:12"), command: "init", code: 1,
			says: "expected one of the arguments"},
		{before: ociModules("oci://oci.example/corp/network?ref=1.0.0"), command: "init", code: 1,
			says: `have no argument "ref"`},
		{before: ociModules("oci://oci.example/corp/network?archive=zip"), command: "init", code: 1},
		{before: ociModules("oci::https://oci.example/corp/network"), command: "init", code: 1,
			says: "expected oci"},
		{before: ociModules("oci://oci.example/providers/corp/thing?tag=1.1.0"), command: "init", code: 1,
			says: "is of the type"},
	},
	"a mirror": {
		{before: files("cli.tfrc", ociMirror, "work/main.tf", ociProvider), command: "init"},
		{command: "init"},
		{before: func(s *site) { s.remove("work/.terraform") }, command: "init"},
		{before: fresh, oci: func(o *fetchtest.OCI) {
			o.AddProvider("providers/corp/thing", fetchtest.Release{Source: "corp/thing", Version: "1.3.0+build.7"},
				here)
		}, command: "init"},
		{before: fresh, oci: func(o *fetchtest.OCI) {
			o.AddProvider("providers/corp/thing", fetchtest.Release{Source: "corp/thing", Version: "1.4.0"},
				"plan9_mips")
		}, command: "init", code: 1, says: "plan9_mips"},
		{before: together(fresh, files("work/main.tf", strings.Replace(ociProvider, "thing\"", "absent\"", 1))),
			command: "init", code: 1},
	},
	"logins": {
		{before: files("work/main.tf", ociProvider, "cli.tfrc", ociMirror,
			"home/.docker/config.json", strings.ReplaceAll(docker, "/corp\"", "/providers/corp\"")),
			oci: func(o *fetchtest.OCI) { o.User, o.Password = "me", "pass" }, command: "init"},
		{before: together(fresh, files("home/.docker/config.json", "{}")), command: "init", code: 1,
			says: "a token for the host may be missing"},
		{before: together(fresh, files("cli.tfrc", ociMirror+"oci_credentials \"oci.example\" {\n username = \"me\"\n "+
			"password = \"pass\"\n}\n")), command: "init"},
		{before: together(fresh, files("cli.tfrc", ociMirror+"oci_default_credentials {\n docker_style_config_files = "+
			"[\"DIR/logins.json\"]\n}\n", "logins.json", strings.ReplaceAll(docker, "/corp\"", "/providers/corp\""))),
			oci: func(o *fetchtest.OCI) { o.Tokens = true }, command: "init"},
		{before: together(fresh, files("cli.tfrc", ociMirror+"oci_default_credentials {\n docker_style_config_files = "+
			"[\"DIR/logins.json\"]\n discover_ambient_credentials = false\n}\n")), command: "init", code: 1,
			says: "Remove one of them"},
		{before: together(fresh,
			files("cli.tfrc", ociMirror+"oci_default_credentials {\n discover_ambient_credentials = "+
				"false\n}\n", "home/.docker/config.json", strings.ReplaceAll(docker, "/corp\"", "/providers/corp\""))),
			command: "init", code: 1},
		{before: together(fresh, files("cli.tfrc", ociMirror, "home/.config/containers/auth.json",
			`{"credHelpers": {"oci.example": "test"}}`, "bin/docker-credential-test",
			"#!/bin/sh\nread server; [ \"$*\" = get ] && [ \"$server\" = oci.example ] && "+
				"echo '{\"Username\": \"me\", \"Secret\": \"pass\"}'\n")), command: "init"},
	},
	"logins of modules": {
		{before: together(ociModules("oci://oci.example/corp/network"), files("home/.docker/config.json", docker)),
			oci: func(o *fetchtest.OCI) { o.User, o.Password, o.Tokens = "me", "pass", true }, command: "init"},
	},
	"settings": {
		{before: files("work/main.tf", ociProvider, "cli.tfrc", strings.Replace(ociMirror, "${type}", "", 1)),
			command: "init", code: 1, says: "must contain ${type}"},
		{before: files("work/main.tf", ociProvider, "cli.tfrc", strings.Replace(ociMirror, "include", "include = "+
			"[\"a.example/corp/*\", \"b.example/corp/*\"] # ", 1)), command: "init", code: 1,
			says: "must contain ${hostname}"},
		{before: files("cli.tfrc", strings.Replace(ociMirror, "${type}", "${typo}", 1)), command: "init", code: 1,
			says: `refers to "typo"`},
		{before: files("cli.tfrc", `oci_credentials "oci.example" {
  username = "me"
}
`), command: "init", code: 1, says: "username and password must be set together"},
		{before: files("cli.tfrc", `oci_credentials "oci.example" {
  username = "me"
  password = "pass"
  access_token = "x"
  refresh_token = "y"
}
`), command: "init", code: 1, says: "expected one of username"},
	},
}

func newOCI(net *fetchtest.Net) *fetchtest.OCI {
	o := &fetchtest.OCI{Host: "oci.example", Page: 2}
	net.Serve(o.Host, o)
	for _, tag := range []string{"1.0.0", "latest"} {
		o.AddModule("corp/network", tag, map[string]string{"main.tf": "# " + tag, "sub/sub.tf": "# sub of " + tag})
	}
	for _, v := range []string{"0.9.0", "1.1.0", "1.2.0", "2.0.0-beta1"} {
		o.AddProvider("providers/corp/thing", fetchtest.Release{Source: "corp/thing", Version: v}, here, "plan9_mips")
	}
	o.PutManifest("providers/corp/thing", map[string]any{"mediaType": "text/plain"}, "not-a-version", "v1.9.0")
	return o
}

// The same registry serves both programs. TOMBOLO_TOFU is the path of OpenTofu 1.12.6.
func TestOCIRegistriesMatchOpenTofu(t *testing.T) {
	programs := besideOpenTofu(t)
	for name, steps := range ociScenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen [2][]observation
			for i, p := range programs {
				net := fetchtest.New(t)
				registry := newOCI(net)
				s := newSite(t, p, net)
				s.write("bin/none", "")
				s.env = append(s.env, "PATH="+s.dir+"/bin:"+os.Getenv("PATH"), "TOMBOLO_FLAVOR=opentofu")
				for n, step := range steps {
					if step.oci != nil {
						step.oci(registry)
					}
					o := observe(s, &internet{Net: net}, scenario(step.before, step.command))
					for path, content := range s.tree("work/.terraform/modules") {
						o.trees[path] = content
					}
					seen[i] = append(seen[i], o)
					if i == 0 && (o.code != step.code || !strings.Contains(flat(o.output), step.says)) {
						t.Errorf("step %d ends with %d, want %d and %q:\n%s", n, o.code, step.code, step.says, o.output)
					}
				}
			}
			for n := range seen[1] {
				compareWithOpenTofu(t, n, seen[1][n], seen[0][n])
			}
		})
	}
}

// besideOpenTofu returns our program and, if TOMBOLO_TOFU is set, OpenTofu 1.12.6.
func besideOpenTofu(t *testing.T) []string {
	t.Helper()
	programs := []string{program(t)}
	if oracle := os.Getenv("TOMBOLO_TOFU"); oracle != "" {
		programs = append(programs, oracle)
	}
	return programs
}

func compareWithOpenTofu(t *testing.T, n int, theirs, ours observation) {
	t.Helper()
	if ours.code != theirs.code {
		t.Errorf("step %d ends with %d in OpenTofu, %d here:\n%s", n, theirs.code, ours.code, theirs.output)
	}
	for _, o := range []observation{theirs, ours} {
		maps.DeleteFunc(o.trees, func(name, _ string) bool { return strings.HasSuffix(name, ".lock") })
	}
	if d := cmp.Diff(theirs.trees, ours.trees); d != "" && ours.code == 0 {
		t.Errorf("step %d: files (- OpenTofu, + here):\n%s", n, d)
	}
	if d := cmp.Diff(theirs.tokens, ours.tokens); d != "" {
		t.Errorf("step %d: tokens (- OpenTofu, + here):\n%s", n, d)
	}
}

func scenario(before func(*site), command string) step { return step{before: before, command: command} }

// flat removes the line wrapping of the box around messages.
func flat(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "│", " ")), " ")
}
