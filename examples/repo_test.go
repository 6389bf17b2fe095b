//go:build unix

package examples_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

const forgeToken = "the-token-of-the-forge"

// forge is a running forge with the repository team/website.
type forge struct {
	t        *testing.T
	url, dir string
}

// newForge starts the forge of the example. It ends when its standard input ends, which also happens if the test is
// killed.
func newForge(t *testing.T) *forge {
	t.Helper()
	needs(t, "node", "git")
	f := &forge{t: t, dir: t.TempDir()}
	work := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "--bare", filepath.Join(f.dir, "team", "website.git")},
		{"init", "-q", work},
		{"-C", work, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit",
			"-q", "--allow-empty", "-m", "first"},
		{"-C", work, "push", "-q", filepath.Join(f.dir, "team", "website.git"), "HEAD:refs/heads/main",
			"HEAD:refs/heads/next"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Env = gitEnviron()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s\n%s", args, err, out)
		}
	}
	cmd := exec.Command("node", "provider-repo/forge.js", "--folder", f.dir, "--port", "0", "--until-eof")
	cmd.Env, cmd.Stderr = append(gitEnviron(), "REPO_TOKEN="+forgeToken), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is for the test only
	lifeline, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		must(t, lifeline.Close())
		must(t, cmd.Wait())
	})
	f.url, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	f.url = strings.TrimSpace(f.url)
	return f
}

// gitEnviron is an environment in which the settings of the user do not matter.
func gitEnviron() []string {
	return programtest.Environ("GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
}

func (f *forge) env() []string {
	return []string{"REPO_API=" + f.url, "REPO_GIT=" + f.dir, "REPO_TOKEN=" + forgeToken, "GIT_CONFIG_GLOBAL=" +
		os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull}
}

// git runs git in the repository, and returns its output.
func (f *forge) git(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir", filepath.Join(f.dir, "team", "website.git")}, args...)...)
	cmd.Env = gitEnviron()
	out, err := cmd.Output()
	must(f.t, err)
	return strings.TrimSpace(string(out))
}

// ask sends a request to the forge.
func (f *forge) ask(method, path string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, http.NoBody)
	must(f.t, err)
	r.Header.Set("Authorization", "Bearer "+forgeToken)
	answer, err := http.DefaultClient.Do(r)
	must(f.t, err)
	defer answer.Body.Close() //nolint:errcheck // it was read
	if answer.StatusCode != http.StatusOK {
		f.t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
}

func (f *forge) branches() string {
	return strings.Join(strings.Fields(f.git("for-each-ref", "--format=%(refname:short)", "refs/heads")), " ")
}

func TestReposPassTheSuite(t *testing.T) {
	f := newForge(t)
	suite(t, "provider-repo", []string{"parallel calls"}, f.env()...)
	if list := f.branches(); list != "main next" {
		t.Errorf("the suite left branches: %s", list)
	}
}

func TestReposGetPullRequests(t *testing.T) {
	f := newForge(t)
	path, log := spied(t, "git", "")
	p := newProject(t, "provider-repo", append(f.env(), path)...)
	out := p.apply("Apply complete! Resources: 5 added")
	p.settled()
	if list := f.branches(); list != "hosts/a hosts/b hosts/c hosts/d main motd next" {
		t.Errorf("the branches are %s", list)
	}
	if text := f.git("show", "motd:motd.txt"); text != "Welcome!" {
		t.Errorf("the file holds %q", text)
	}
	update := []string{"-var", "text=Hello"}
	p.apply("0 added, 1 changed, 0 destroyed", update...)
	if n := f.git("rev-list", "--count", "main..motd"); n != "2" {
		t.Errorf("the branch has %s commits", n)
	}
	// Somebody adds a commit.
	tree := f.git("rev-parse", "hosts/a^{tree}")
	commit := f.git("-c", "user.name=b", "-c", "user.email=b@example.com", "commit-tree", tree, "-p", "motd",
		"-m", "no")
	f.git("update-ref", "refs/heads/motd", commit)
	p.drifted("motd.txt", update...)
	p.apply("0 added, 1 changed, 0 destroyed", update...)
	if text := f.git("show", "motd:motd.txt"); text != "Hello" {
		t.Errorf("the file holds %q", text)
	}
	p.run("state", "rm", `repo_change.hosts["a"]`)
	p.run(append([]string{"import"}, append(update, `repo_change.hosts["a"]`, "team/website:hosts/a")...)...)
	p.settled(update...)
	// A pull request that is merged is a success, and one that is closed is opened again.
	f.ask(http.MethodPut, "/repos/team/website/pulls/1/merge")
	lost := "b" // the branches were created side by side, so the first pull request may be that of any
	if first := regexp.MustCompile(`(?m)^\s+number\s+= 1$`); first.MatchString(p.run("state", "show", "-no-color",
		`repo_change.hosts["b"]`)) {
		lost = "c"
	}
	f.git("update-ref", "-d", "refs/heads/hosts/"+lost)
	p.apply("1 added, ", update...)
	p.settled(update...)
	out += p.run(append([]string{"destroy", "-auto-approve"}, update...)...)
	if list := f.branches(); list != "main next" {
		t.Errorf("branches are left: %s", list)
	}
	hides(t, "the output", out, forgeToken)
	hides(t, "a process argument", contents(t, log), forgeToken, "Authorization", "Hello", "Welcome")
}

// The program is killed after it has pushed the branch, and before there is a pull request.
func TestReposAreMendedAfterAKill(t *testing.T) {
	f := newForge(t)
	path, log := spied(t, "git", `
if [ "$1" = push ] && ! [ -e "$0.killed" ]; then
  "$real" "$@"
  : >"$0.killed"
  kill -9 $PPID
  exit 1
fi`)
	p := newProject(t, "provider-repo", append(f.env(), path)...)
	p.fails("motd", "apply", "-auto-approve", "-no-color", "-target=repo_change.motd")
	if list := f.branches(); list != "main motd next" || !strings.Contains(contents(t, log), "push") {
		t.Fatalf("the branches are %s", list)
	}
	p.run("recover", "repo_change.motd", "--retry")
	p.apply("Apply complete! Resources: 1 added", "-target=repo_change.motd")
	p.says("http://forge.example/team/website/pull/1", "state", "show", "repo_change.motd")
	if n := f.git("rev-list", "--count", "main..motd"); n != "1" {
		t.Errorf("the branch has %s commits", n)
	}
}
