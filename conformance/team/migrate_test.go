//go:build unix

package team

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// places returns two of each kind of backend: states go from each to each.
func places(t *testing.T) map[string]place {
	env := append([]string{"PG_CONN_STR=" + pgtest.Database(t), "ARM_ACCESS_KEY=" + azuretest.Key}, bucketEnv...)
	env = append(append(env, googleEnv...), alibabaEnv...)
	address, keys, other, cluster, alibaba := amazon(t), consulServer(t), google(t), cluster(t), alibaba(t)
	blobs, tencent := &azuretest.Cloud{Blobs: &azuretest.Blobs{}}, &costest.Server{Bucket: "states-1250000000"}
	env = append(env, (&drivertest.Cloud{Services: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Host, "qcloud.com") || strings.Contains(r.Host, "tencentcloudapi.com") {
			tencent.ServeHTTP(w, r)
			return
		}
		blobs.ServeHTTP(w, r)
	})}).Start(t)...)
	there := oraclecloudtest.New("acme", "states")
	oracle := oraclePlace(t, there, "OCI_private_key="+there.PEM())
	env = append(env, oracle.env...)
	env = append(env, "TENCENTCLOUD_SECRET_ID="+costest.SecretID, "TENCENTCLOUD_SECRET_KEY="+costest.SecretKey)
	all := map[string]place{"local 1": {block: ""}, "local 2": {block: "backend \"local\" {\n" +
		"  path          = \"kept/default\"\n  workspace_dir = \"kept/others\"\n}"}}
	for n := 1; n <= 2; n++ {
		for kind, block := range map[string]string{"oss": alibabaBlock(alibaba, ""), "oci": oracle.block,
			"cos": tencentBlock(`prefix = "team/network"`), "kubernetes": clusterBlock(cluster, "")} {
			all[fmt.Sprint(kind, " ", n)] = place{block: strings.NewReplacer("team/network", fmt.Sprint("place", n),
				`"team"`, fmt.Sprintf("\"place%d\"", n)).Replace(block)}
		}
		all[fmt.Sprint("azurerm ", n)] = place{
			block: strings.Replace(container(""), "team/state", fmt.Sprint("place", n), 1)}
		all[fmt.Sprint("pg ", n)] = place{block: fmt.Sprintf("backend \"pg\" {\n  schema_name = \"place%d\"\n}", n)}
		all[fmt.Sprint("s3 ", n)] = place{block: strings.Replace(bucketBlock(address, "use_lockfile = true"),
			"team/state",
			fmt.Sprint("place", n), 1)}
		all[fmt.Sprint("consul ", n)] = place{block: strings.Replace(consulBlock(keys, ""), "team/state",
			fmt.Sprint("place", n), 1)}
		all[fmt.Sprint("gcs ", n)] = place{block: strings.Replace(googleBlock(other, ""), "team/network",
			fmt.Sprint("place", n), 1)}
	}
	if _, err := exec.LookPath("python3"); err == nil {
		all["program 1"], all["program 2"] = generatedPlace(t), generatedPlace(t)
	}
	env = hosted(t, all, env)
	for name, p := range all {
		p.env = env
		all[name] = p
	}
	return all
}

// renamed is the workspace for the state of the default one, if that does not exist.
const renamed = "main"

// hosted adds places in two services like HCP Terraform, and the variables to connect to them.
func hosted(t *testing.T, all map[string]place, env []string) []string {
	t.Helper()
	dir, hosts, roots := t.TempDir(), "", ""
	for n := 1; n <= 2; n++ {
		s := startTerraforms(t, annsToken)
		hosts += fmt.Sprintf("credentials %q {\n  token = %q\n}\n", s.host, annsToken)
		_, name, _ := strings.Cut(s.env[0], "=")
		roots = mustRead(t, name) // common to all such services
		s.Make("net-"+renamed, nil)
		s.Make(renamed, map[string]string{"team": ""})
		all[fmt.Sprint("remote ", n)] = s.place(`backend "remote"`, `prefix = "net-"`)
		all[fmt.Sprint("cloud ", n)] = s.place("cloud", `tags = ["team"]`)
	}
	for _, variable := range env {
		if name, ok := strings.CutPrefix(variable, "SSL_CERT_FILE="); ok {
			roots += mustRead(t, name)
		}
	}
	for name, text := range map[string]string{"hosts.tfrc": hosts, "roots.pem": roots} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append(env, "SSL_CERT_FILE="+filepath.Join(dir, "roots.pem"), "TF_CLI_CONFIG_FILE="+
		filepath.Join(dir, "hosts.tfrc"))
}

// idsOf returns the objects of two workspaces, the first of which is "blue".
func (m *member) idsOf(t *testing.T, first string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, workspace := range []string{"blue", first} {
		m.run("workspace", "select", workspace)
		for name, id := range m.ids() {
			all[strings.Replace(workspace, renamed, "default", 1)+" "+name] = id
		}
		if strings.Contains(m.run("state", "pull"), workspace+"/a") { // the objects contain the name of their workspace
			m.idle()
		}
	}
	return all
}

// TestStatesMigrateFromEachPlaceToEach tests each kind once on each side, and all pairs with TOMBOLO_TEAM_PAIRS=all.
func TestStatesMigrateFromEachPlaceToEach(t *testing.T) {
	const kinds = "local pg s3 gcs azurerm consul program oss cos oci kubernetes remote cloud"
	usual := map[string]bool{"local pg": true, "pg s3": true, "s3 local": true, "pg pg": true, "s3 program": true,
		"program local": true, "local consul": true, "local gcs": true, "local azurerm": true, "oss cos": true,
		"cos oci": true, "oci oss": true, "local cloud": true, "cloud remote": true, "remote s3": true}
	nameless := func(kind string) bool { return kind != "remote" && kind != "cloud" } // a state needs no name there
	for _, from := range strings.Fields(kinds) {
		for _, to := range strings.Fields(kinds) {
			if !usual[from+" "+to] && os.Getenv("TOMBOLO_TEAM_PAIRS") != "all" {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				all := places(t)
				old, new := all[from+" 1"], all[to+" 2"]
				if from == "program" || to == "program" {
					generatedPlace(t) // or the test is skipped
				}
				one, two := "default", "default"
				if !nameless(from) {
					one = renamed
				}
				if !nameless(from) || !nameless(to) {
					two = renamed
				}
				m := old.member(t, from, ours)
				m.run("apply", "-auto-approve")
				m.run("workspace", "new", "blue")
				m.run("apply", "-auto-approve")
				ids := m.idsOf(t, one)
				m.goTo(new)
				m.fails("plan")
				m.answers(renamed+"\n", append([]string{"init", "-force-copy"}, new.initArgs...)...)
				if got := m.idsOf(t, two); !maps.Equal(got, ids) || len(ids) != 4 {
					t.Errorf("there are %v after %v", got, ids)
				}
				m.run("apply", "-auto-approve", `-var=names=["c"]`) // not visible in the old place
				m.goTo(old)
				m.answers("1\n", append([]string{"init", "-reconfigure"}, old.initArgs...)...)
				if got := m.idsOf(t, one); !maps.Equal(got, ids) {
					t.Errorf("at the old place there are %v after %v", got, ids)
				}
			})
		}
	}
}

// answers runs a command that may ask questions.
func (m *member) answers(text string, args ...string) {
	m.t.Helper()
	cmd := exec.Command(m.bin, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = m.dir, append(slices.Clone(m.env), "TF_INPUT=1"), strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%s %s: %v\n%s", m.name, strings.Join(args, " "), err, out)
	}
}

// A place for one state gets that of the selected workspace, which later returns as that of the default one.
func TestTheSelectedWorkspaceGoesToAPlaceWithoutWorkspaces(t *testing.T) {
	t.Parallel()
	m := place{}.member(t, "tombolo", ours)
	m.run("apply", "-auto-approve")
	m.run("workspace", "new", "blue")
	m.run("apply", "-auto-approve")
	blue := m.ids()
	m.goTo(served(t))
	out := m.run("init", "-force-copy", "-no-color")
	if got := m.ids(); !maps.Equal(got, blue) {
		t.Errorf("there are %v, want %v:\n%s", got, blue, out)
	}
	if got := strings.TrimSpace(m.run("workspace", "show")); got != "default" {
		t.Errorf("the workspace %s is selected", got)
	}
	m.run("apply", "-auto-approve", `-var=names=["c"]`, "-no-color")
	m.goTo(place{block: "backend \"local\" {\n  path = \"back\"\n}"})
	m.run("init", "-force-copy")
	m.idle(`-var=names=["c"]`)
	if !m.has("back") || !m.has("terraform.tfstate.d/blue/terraform.tfstate") {
		t.Error("the state did not come back, or the old one is gone")
	}
}

// States are not copied while another run changes them.
func TestStatesThatAreInUseDoNotMigrate(t *testing.T) {
	t.Parallel()
	all := places(t)
	one, two := all["pg 1"].member(t, "one", ours), all["pg 1"].member(t, "two", ours)
	one.run("apply", "-auto-approve")
	ended := make(chan error, 1)
	go func() {
		_, err := one.try("apply", "-auto-approve", "-var=wait=1")
		ended <- err
	}()
	waitFor(t, func() bool { return one.has("started") })
	two.goTo(all["s3 1"])
	if out := two.fails("init", "-force-copy"); !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("a state that is in use:\n%s", out)
	}
	one.touch("go")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	two.run("init", "-force-copy")
	two.idle("-var=wait=1")
}

// Init asks for required arguments, and records the answers.
func TestInitAsksForTheBucket(t *testing.T) {
	t.Parallel()
	p := places(t)["s3 1"]
	m := p.member(t, "tombolo", ours)
	partial := p
	for _, line := range []string{`  bucket                      = "states"`,
		`  key                         = "place1"`} {
		partial.block = strings.Replace(partial.block, line+"\n", "", 1)
	}
	m.goTo(partial)
	if err := os.RemoveAll(filepath.Join(m.dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	out := m.fails("init", "-input=false")
	if !strings.Contains(out, "Missing Required Value") || m.has(".terraform/terraform.tfstate") {
		t.Errorf("without answers:\n%s", out)
	}
	cmd := exec.Command(m.bin, "init")
	cmd.Dir, cmd.Env, cmd.Stdin = m.dir, append(m.env, "TF_INPUT=1"), strings.NewReader("states\nplace1\n")
	text, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(text, []byte("bucket\n")) || !bytes.Contains(text, []byte("key\n")) {
		t.Fatalf("with answers: %v\n%s", err, text)
	}
	record, err := os.ReadFile(filepath.Join(m.dir, ".terraform", "terraform.tfstate"))
	if err != nil || !bytes.Contains(record, []byte(`"bucket": "states"`)) {
		t.Errorf("the record: %v\n%s", err, record)
	}
	m.run("apply", "-auto-approve")
}

// Problems of arguments are reported where they are set, without secret values.
func TestMistakesInBackendBlocksHavePlaces(t *testing.T) {
	t.Parallel()
	p := places(t)["s3 1"]
	m := p.member(t, "tombolo", ours)
	p.block = strings.Replace(p.block, `"place1"`, `"/place1"`, 1)
	m.goTo(p)
	if out := m.fails("init", "-reconfigure", "-no-color"); !strings.Contains(out, `= "/place1"`) {
		t.Errorf("no code is shown:\n%s", out)
	}
	p.block = strings.Replace(p.block, `"/place1"`, `"place1"`+"\n  sse_customer_key = \"canary\"", 1)
	m.goTo(p)
	if out := m.fails("init", "-reconfigure", "-no-color"); strings.Contains(out, "canary") ||
		!strings.Contains(out, "sse_customer_key") {
		t.Errorf("a secret that is wrong:\n%s", out)
	}
}
