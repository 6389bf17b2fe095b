//go:build unix

package team

import (
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
)

// cluster starts a small API server, and returns its address.
func cluster(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(&kubernetestest.Server{})
	t.Cleanup(s.Close)
	return s.URL
}

// kubeEnv returns the variables for a kubeconfig file, which Terraform requires.
func kubeEnv(t *testing.T, address string) []string {
	t.Helper()
	return kubeConfig(t, fmt.Sprintf("server: %q", address), "")
}

// kubeConfig returns the variables for a kubeconfig file with a cluster and a user.
func kubeConfig(t *testing.T, cluster, user string) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {%s}}]
users: [{name: me, user: {%s}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
`, cluster, user)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"KUBE_CONFIG_PATH=" + name}
}

// clusterBlock returns a backend block with additional arguments.
func clusterBlock(address, more string) string {
	return fmt.Sprintf(`backend "kubernetes" {
  host          = %q
  secret_suffix = "team"
  %s
}`, address, more)
}

func TestKubernetesIsSharedWithTerraform(t *testing.T) {
	inFull(t)
	withPeers(t, func(t *testing.T, other string) {
		address := cluster(t)
		place{block: clusterBlock(address, ""), env: kubeEnv(t, address)}.live(t, other)
	})
}

// The same with Kubernetes' own API server, reached by a kubeconfig file with a certificate and a token, with plain and
// with encrypted states.
func TestAnAPIServerIsSharedWithTerraform(t *testing.T) {
	inFull(t)
	address, ca := kubernetestest.APIServer(t)
	env := kubeConfig(t, fmt.Sprintf("server: %q, certificate-authority-data: %s", address,
		base64.StdEncoding.EncodeToString([]byte(ca))), "token: "+kubernetestest.APIToken)
	for n, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			other := theirs(t, p.onPath, p.variable)
			block := fmt.Sprintf("backend \"kubernetes\" {\n  secret_suffix = \"team%d\"\n}", n)
			place{block: block, env: env}.live(t, other)
		})
	}
}

// The records of init are byte for byte the same.
func TestRecordsOfKubernetesAreTerraforms(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	address := cluster(t)
	for name, more := range map[string]string{"few": "", "more": `namespace = "a"
  labels    = { a = "b" }
  insecure  = false
  token     = "secret"`} {
		t.Run(name, func(t *testing.T) {
			p := place{block: clusterBlock(address, more), env: kubeEnv(t, address)}
			p.known(t, other)
			record := func(name, bin string) string {
				t.Helper()
				m := &member{t: t, name: name, bin: bin, dir: t.TempDir()}
				m.env = p.environ(m.dir)
				m.touch("cli.tfrc")
				m.goTo(p)
				m.run("init", "-no-color")
				return recordOf(t, m)
			}
			if got, want := record("tombolo", ours), record("terraform", other); got != want {
				t.Errorf("recorded\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// States that do not fit into one secret are split into several. OpenTofu only reads the first one.
func TestLargeStatesInKubernetesAreSharedWithTerraform(t *testing.T) {
	inFull(t)
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	address := cluster(t)
	p := place{block: clusterBlock(address, ""), env: kubeEnv(t, address)}
	p.known(t, other)
	a, b := p.member(t, "tombolo", ours), p.member(t, "terraform", other)
	for n, m := range []*member{a, b, a, b} {
		large := fmt.Sprintf(`
resource "terraform_data" "large" {
  for_each = toset([for n in range(60 * %d) : tostring(n)])
  input    = join("", [for m in range(300) : sha256("${each.key} ${m}")])
}`, n+1)
		for _, one := range []*member{a, b} {
			text := "terraform {\n" + p.block + "\n}\n" + configuration + large
			if err := os.WriteFile(filepath.Join(one.dir, "main.tf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.run("apply", "-auto-approve", "-no-color")
		a.idle()
		b.idle()
	}
	b.goTo(p)
	b.run("apply", "-auto-approve", "-no-color")
	a.goTo(p)
	a.idle()
}
