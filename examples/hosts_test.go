//go:build unix

package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/provision/sshtest"
)

// host is an SSH server with stand-ins for the programs that change units and users.
type host struct {
	*sshtest.Server
	t *testing.T
}

// newHost starts a server, or skips the test if there is none.
func newHost(t *testing.T) *host {
	t.Helper()
	needs(t, "ssh", "jq", "bash", "flock", "setpriv")
	h := &host{sshtest.Start(t, "SetEnv PATH=%D/bin:/usr/bin:/bin"), t}
	must(t, os.CopyFS(filepath.Join(h.Dir, "bin"), os.DirFS("testdata/host")))
	for _, name := range []string{"usermod", "userdel"} {
		must(t, os.Symlink("useradd", filepath.Join(h.Dir, "bin", name)))
	}
	must(t, os.Mkdir(filepath.Join(h.Dir, "units"), 0o755))
	return h
}

func (h *host) env() []string {
	return []string{"TF_VAR_host=127.0.0.1", "TF_VAR_port=" + strconv.Itoa(h.Port), "TF_VAR_user=" + h.User,
		"TF_VAR_private_key=" + h.PrivateKey, "TF_VAR_host_key=" + h.HostKey,
		"TF_VAR_unit_folder=" + filepath.Join(h.Dir, "units")}
}

func (h *host) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.Dir, name)) // a missing file is empty
	return string(text)
}

func (h *host) has(name string) bool {
	_, err := os.Lstat(filepath.Join(h.Dir, name))
	return err == nil
}

// configured writes a configuration of ssh for the host "the-host", and returns the environment with it.
func (h *host) configured() []string {
	h.t.Helper()
	dir := h.t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		must(h.t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	key, known := write("key", h.PrivateKey), write("known", "the-host "+h.HostKey)
	return []string{"HOSTS_SSH_CONFIG=" + write("config", fmt.Sprintf("Host the-host\nHostName 127.0.0.1\nPort %d\n"+
		"User %s\nIdentityFile %s\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile %s\n"+
		"HostKeyAlias the-host\n", h.Port, h.User, key, known))}
}

func TestHostsPassTheSuite(t *testing.T) {
	h := newHost(t)
	suite(t, "provider-hosts", []string{"resource hosts_user: import"}, h.configured()...)
	for _, name := range []string{"enabled", "running"} {
		if list, err := os.ReadDir(filepath.Join(h.Dir, name)); err == nil && len(list) > 0 {
			t.Errorf("the suite left %s in %s", list, name)
		}
	}
	if text := h.read("passwd"); text != "" {
		t.Errorf("the suite left users: %s", text)
	}
}

func TestHostsAreManagedOverSSH(t *testing.T) {
	h := newHost(t)
	path, log := spied(t, "ssh", "")
	p := newProject(t, "provider-hosts", append(h.env(), path)...)
	h.write("broken", "") // systemctl fails between the file and its activation
	p.fails("it is broken", "apply", "-auto-approve", "-no-color")
	if !h.has("units/greeting.service") {
		t.Error("the failed creation has not written its file")
	}
	must(t, os.Remove(filepath.Join(h.Dir, "broken")))
	out := p.apply("Apply complete! Resources: 1 added")
	p.settled()
	if !h.has("enabled/greeting.service") || !h.has("running/greeting.service") || !strings.Contains(h.read("passwd"),
		":Deployments:") || !strings.Contains(h.read("home/deploy/.ssh/authorized_keys"), "deploy@example.com") {
		t.Errorf("the host has not what is configured: %s", h.read("calls"))
	}
	hides(t, "the output", out, h.PrivateKey, strings.Split(h.PrivateKey, "\n")[1])
	hides(t, "a process argument", contents(t, log), strings.Split(h.PrivateKey, "\n")[1], "ExecStart", "deploy@")

	h.write("units/greeting.service", "changed")
	must(t, os.Remove(filepath.Join(h.Dir, "running/greeting.service")))
	h.write("home/deploy/.ssh/authorized_keys", "ssh-ed25519 AAAA intruder\n")
	p.drifted("intruder")
	update := []string{"-var", "greeting=good evening"}
	p.apply("0 added, 2 changed, 0 destroyed", update...)
	if text := h.read("home/deploy/.ssh/authorized_keys"); strings.Contains(text, "intruder") {
		t.Errorf("the key is still there: %s", text)
	}
	if !strings.HasSuffix(strings.TrimSpace(h.read("calls")), "systemctl restart greeting.service") {
		t.Errorf("the changed unit was not restarted last: %s", h.read("calls"))
	}
	p.imported("hosts_unit.greeting", "greeting.service", update...)
	p.run(append([]string{"destroy", "-auto-approve"}, update...)...)
	if h.has("units/greeting.service") || h.has("enabled/greeting.service") || h.read("passwd") != "" ||
		h.has("home/deploy") {
		t.Error("something is left")
	}
}

// Users that are created at the same time are all there, although the tools of the host have no lock.
func TestHostsGetManyUsersAtOnce(t *testing.T) {
	h := newHost(t)
	p := newProject(t, "provider-hosts", h.env()...)
	p.file("main.tf", contents(t, "provider-hosts/use/main.tf")+`
resource "hosts_user" "more" {
  count = 8
  name  = "user${count.index}"
}
`)
	p.apply("Apply complete! Resources: 8 added", "-target=hosts_user.more")
	if n := strings.Count(h.read("passwd"), "\n"); n != 8 {
		t.Errorf("there are %d users:\n%s", n, h.read("passwd"))
	}
}

func (h *host) write(name, text string) {
	h.t.Helper()
	must(h.t, os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o644))
}
