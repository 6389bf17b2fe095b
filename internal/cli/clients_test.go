package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/state"
)

// titles holds the titles of the program by its names.
var titles = map[string]string{"tombolo": "Tombolo", "terraform": "Terraform"}

// TestVersionIsReadByPrograms parses the output of `version` with the patterns of programs that run Terraform, under
// both names. Each must find the language version.
func TestVersionIsReadByPrograms(t *testing.T) {
	readers := []struct{ program, pattern string }{
		{"Terragrunt", `^(?:\S+)\s(v?\d+\.\d+\.\d+)`},
		{"Terragrunt before 0.60", `Terraform (v?\d+\.\d+\.\d+).*`},
		{"Terragrunt before 0.40", `Terraform (v?[\d\.]+)(?:-dev)?(?: .+)?`},
		{"Atlantis", "(?:Terraform|OpenTofu) v(.*?)(?:\\s.*)?\n"},
		{"terraform-exec, hc-install", `Terraform v?([0-9]+(?:\.[0-9]+)*(?:-[A-Za-z0-9\.]+)?)`},
		{"the last word of the first line, as scripts do", `\A[^\n]* v(\S+)\n`},
		{"the second word of the first line, as scripts do", `\A\S+ (\S+)`},
		{"version managers such as tenv: the first text that is a version",
			`((?:\d+\.)(?:\d+\.)(?:\d+)(?:-(?:alpha|beta|rc)\.?\d+)?)`},
		{"version managers such as tfenv: the first line behind its first v", `\A[^\nv]*v([^\nv]*)\n`},
	}
	calls := [][]string{{"version"}, {"-version"}, {"--version"}, {"-v"}}
	for program, title := range titles {
		for _, call := range calls {
			var out bytes.Buffer
			a := &command.App{Surroundings: engine.Surroundings{Program: program, Title: title}, Out: &out, Err: &out}
			start(context.Background(), a, call)
			for _, r := range readers {
				found := regexp.MustCompile(r.pattern).FindStringSubmatch(out.String())
				if found == nil || !strings.HasPrefix(strings.TrimPrefix(found[1], "v"), state.LanguageLevel+".") {
					t.Errorf("%s reads %q in what %s %s says:\n%s", r.program, found, program, call, out.String())
				}
			}
		}
		var out bytes.Buffer
		a := &command.App{Surroundings: engine.Surroundings{Program: program, Title: title}, Out: &out, Err: &out}
		start(context.Background(), a, []string{"version", "-json"})
		var answer struct {
			Version string `json:"terraform_version"`
		}
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil || !strings.HasPrefix(answer.Version,
			state.LanguageLevel+".") {
			t.Errorf("%s version -json says %q (%v)", program, answer.Version, err)
		}
	}
}

// TestVersionMatchesTheLanguage compares the versions with docs/promises.md.
func TestVersionMatchesTheLanguage(t *testing.T) {
	last := func(v string) int {
		rest, ok := strings.CutPrefix(v, state.LanguageLevel+".")
		n, err := strconv.Atoi(rest)
		if !ok || err != nil {
			t.Fatalf("%q is not a version of the level %s", v, state.LanguageLevel)
		}
		return n
	}
	if ours, language := last(engine.Version), last(state.LanguageVersion); ours < language {
		t.Errorf("the version %s is less than that of the language, %s", engine.Version, state.LanguageVersion)
	}
}

// TestErrorTitlesMatchTerraform causes errors that wrappers of Terraform recognize, to run a command again, to run init
// first, or to report a held lock. They recognize the titles of Terraform 1.11; the text below the title is ours.
func TestErrorTitlesMatchTerraform(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("needs a server on loopback: ", err)
	}
	closed := listener.Addr().String()
	listener.Close() // connections are refused
	const object = "resource \"terraform_data\" \"a\" {}\n"
	for name, c := range map[string]struct {
		config string
		lines  []string // the last one fails
		match  []string
	}{
		"module not installed": {"module \"a\" {\n  source = \"./a\"\n}\n", []string{"plan"}, []string{
			`Error: Module not installed`, `This module is not yet installed\. Run\s+"NAME\s+init"`,
			`(?s)Module not installed.*NAME init`, `(?s)Module not installed.*module\s*"a"`}},
		"module not downloaded": {"module \"a\" {\n  source = \"http://" + closed + "/x.zip\"\n}\n", []string{"init"},
			[]string{
				`(?s).*Failed to download module.*`, `(?s).*Could not download module.*connection\s+refused`,
				`(?s)Get|dial\s+tcp`, `Could not download module.*code from\n.*"http://` + closed + `/x\.zip":`}},
		"no version of a provider": {"terraform {\n  required_providers {\n    a = {\n" +
			"      source  = \"example.com/a/a\"\n" +
			"      version = \"> 2.0\"\n    }\n  }\n}\n", []string{"providers lock -fs-mirror=mirror"},
			[]string{`Could not retrieve providers for locking`, `no available releases match`}},
		"provider not found": {"terraform {\n  required_providers {\n    a = { source = \"" + closed +
			"/a/b\" }\n  }\n}\n", []string{"init"}, []string{
			`(?s).*(Failed to query available provider packages|Invalid provider registry host).*`,
			`(?s)connection\s+refused|no provider registry`}},
		"provider not installed": {"resource \"null_resource\" \"a\" {}\n", []string{"plan"}, []string{
			`(Inconsistent dependency lock file|Required plugins are not installed|Missing required provider)`,
			`NAME\s+init`}},
		"lock": {object, []string{"lock", "plan"}, []string{
			`Error acquiring the state lock`, `(?s)Lock Info:.*ID:\s+(\S+)`, `(?m)^\s+Who:\s+\S+`, `Path:\s+\S+`,
			`Operation:\s+\S+`, `Created:\s+\S+`}},
		"backend": {"terraform {\n  backend \"local\" {\n    path = \"x\"\n  }\n}\n" + object, []string{"plan"},
			[]string{
				`Backend initialization required`, `please\s+run\s+"NAME\s+init"`}},
		"no configuration": {"", []string{"plan"}, []string{`Error: No configuration files`}},
		"no value for a variable": {"variable \"v\" {}\n", []string{"plan -input=false"}, []string{
			`No value for required variable`, `variable "(.+)"`}},
		"no such workspace": {object, []string{"workspace select w"}, []string{`Workspace "w" doesn't exist`}},
		"workspace exists": {object, []string{"workspace new w", "workspace new w"}, []string{
			`Workspace "w" already exists`}},
		"a plan that is too old": {object, []string{"plan -out=p", "apply -auto-approve", "apply p"}, []string{
			`Saved plan is stale`}},
		"another language version": {"terraform {\n  required_version = \"< 1.0\"\n}\n", []string{"plan"}, []string{
			`Unsupported Terraform Core version`}},
		"import of what is there": {object, []string{"apply -auto-approve", "import terraform_data.a x"}, []string{
			`Resource already managed by TITLE`}},
		"an unknown option": {object, []string{"plan -nope"}, []string{`flag provided but not defined: -nope`,
			`Failed to parse command-line (flags|options)`}},
	} {
		t.Run(name, func(t *testing.T) {
			for program, title := range titles {
				m := newMistake(t)
				m.program = program
				if c.config != "" {
					m.write("main.tf", []byte(c.config))
				}
				m.write("mirror/example.com/a/a/1.0.0/"+runtime.GOOS+"_"+runtime.GOARCH+"/terraform-provider-a", nil)
				text := ""
				for _, line := range c.lines {
					if line != "lock" {
						line = "tombolo " + line
					}
					text = m.line(line)
				}
				for _, pattern := range c.match {
					pattern = strings.NewReplacer("NAME", program, "TITLE", title).Replace(pattern)
					if !regexp.MustCompile(pattern).MatchString(text) {
						t.Errorf("%s: %s is not found in\n%s", program, pattern, text)
					}
				}
			}
		})
	}
}

// TestUnreadableStateIsNotReportedAsLocked: programs wait, or ask users to unlock, when they see the title of a held
// lock. Terragrunt repeats commands that could not load the state.
func TestUnreadableStateIsNotReportedAsLocked(t *testing.T) {
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !broken.Load() && r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodGet:
			panic(http.ErrAbortHandler) // the connection is closed
		}
	}))
	defer server.Close()
	m := newMistake(t)
	m.write("main.tf", []byte("terraform {\n  backend \"http\" {\n    address = \""+server.URL+
		"\"\n    retry_max = 0\n  }\n}\nresource \"terraform_data\" \"a\" {}\n"))
	if text := m.line("tombolo init"); strings.Contains(text, "Error") {
		t.Fatal(text)
	}
	broken.Store(true)
	for _, line := range []string{"plan", "plan -lock=false", "apply -auto-approve", "refresh", "output", "show",
		"state list", "state rm terraform_data.a", "import terraform_data.a x"} {
		text := m.line("tombolo " + line)
		if !strings.Contains(text, "Error: Failed to load state\n") || strings.Contains(text, "state lock") {
			t.Errorf("%s:\n%s", line, text)
		}
	}
}

// TestSavedPlanIsNamedOnOneLine: programs read the path from that line, however long it is.
func TestSavedPlanIsNamedOnOneLine(t *testing.T) {
	m := newMistake(t)
	m.environ = m.environ[:1] // without TF_IN_AUTOMATION
	m.write("main.tf", []byte("resource \"terraform_data\" \"a\" {}\n"))
	for _, path := range []string{"p", m.dir + "/" + strings.Repeat("long ", 30) + "name.plan",
		strings.Repeat("x", 200)} {
		text := m.line("tombolo plan \"-out=" + path + "\"")
		if !strings.Contains(text, "\nSaved the plan to: "+path+"\n") || !strings.Contains(text, " apply \""+path+
			"\"\n") {
			t.Errorf("the path %q is not on one line of\n%s", path, text)
		}
	}
}
