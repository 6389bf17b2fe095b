//go:build unix

package team

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
	"github.com/tombolo-iac/tombolo/internal/store/oss/osstest"
)

// Credentials of connections that are in the environment are in no file afterwards: neither in saved plans, nor below
// .terraform, nor in journals and logs. Values of -backend-config are only in init's record, which only its owner can
// read.
func TestSecretsOfConnectionsAreInNoFile(t *testing.T) {
	const canary = "canary-of-a-connection"
	s := httptest.NewServer(&httpstoretest.Server{})
	t.Cleanup(s.Close)
	key := base64.StdEncoding.EncodeToString([]byte(canary + "...........")[:32])
	oracle, another := oraclecloudtest.New("acme", "states"), oraclecloudtest.New("acme", "states")
	tencentEnv := func(more ...string) []string { return append(tencent(t, &costest.Server{}), more...) }
	for name, c := range map[string]struct {
		place
		given  []string // to init
		secret string   // appended to the canary, if the service requires a longer one
	}{
		"oss": {place: place{block: alibabaBlock(alibaba(t), ""), env: alibabaEnv}, secret: osstest.Secret},
		"oss given": {place: place{block: alibabaBlock(alibaba(t), "")}, secret: osstest.Secret, given: []string{
			"-backend-config=access_key=" + osstest.AccessKey, "-backend-config=secret_key=" + osstest.Secret}},
		"cos": {place: place{block: tencentBlock(""), env: tencentEnv("TENCENTCLOUD_SECRET_ID="+costest.SecretID,
			"TENCENTCLOUD_SECRET_KEY="+costest.SecretKey)}, secret: costest.SecretKey},
		"cos given": {place: place{block: tencentBlock(""), env: tencentEnv()}, secret: costest.SecretKey,
			given: []string{"-backend-config=secret_id=" + costest.SecretID,
				"-backend-config=secret_key=" + costest.SecretKey}},
		"oci": {place: oraclePlace(t, oracle, "OCI_private_key="+oracle.PEM()),
			secret: strings.Split(oracle.PEM(), "\n")[3]},
		"oci given": {place: oraclePlace(t, another), given: []string{"-backend-config=private_key=" + another.PEM()},
			secret: strings.Split(another.PEM(), "\n")[3]},
		"pg": {place: place{block: `backend "pg" {}`,
			env: []string{"PG_CONN_STR=" + pgtest.Database(t) + " password=" + canary, "PGPASSWORD=" + canary}}},
		"pg given": {place: place{block: `backend "pg" {}`},
			given: []string{"-backend-config=conn_str=" + pgtest.Database(t) + " password=" + canary}},
		"s3": {place: place{block: bucketBlock(amazon(t), "use_lockfile = true"), env: []string{
			"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=" + canary, "AWS_SESSION_TOKEN=" + canary + "-token",
			"AWS_SSE_CUSTOMER_KEY=" + key}}},
		"s3 given": {place: place{block: bucketBlock(amazon(t), "use_lockfile = true")},
			given: []string{"-backend-config=access_key=AKID", "-backend-config=secret_key=" + canary}},
		"consul": {place: place{block: consulBlock(consulServer(t), ""), lockEnds: true,
			env: []string{"CONSUL_HTTP_TOKEN=" + canary, "CONSUL_HTTP_AUTH=me:" + canary}}},
		"consul given": {place: place{block: consulBlock(consulServer(t), ""), lockEnds: true},
			given: []string{"-backend-config=access_token=" + canary, "-backend-config=http_auth=me:" + canary}},
		"kubernetes": {place: place{block: clusterBlock(cluster(t), ""), env: []string{"KUBE_USER=me",
			"KUBE_PASSWORD=" + canary}}},
		"kubernetes given": {place: place{block: clusterBlock(cluster(t), "")},
			given: []string{"-backend-config=token=" + canary}},
		"gcs": {place: place{block: googleBlock(google(t), ""), env: []string{"GOOGLE_OAUTH_ACCESS_TOKEN=" + canary,
			"GOOGLE_ENCRYPTION_KEY=" + key}}},
		"gcs given": {place: place{block: googleBlock(google(t), "")},
			given: []string{"-backend-config=access_token=" + canary}},
		"azurerm": {place: place{block: container(principal("") + "use_azuread_auth = true"),
			env: append(start(t, canary), "ARM_CLIENT_SECRET="+canary)}},
		"azurerm given": {place: place{block: container(principal("") + "use_azuread_auth = true"),
			env: start(t, canary)},
			given: []string{"-backend-config=client_secret=" + canary}},
		"remote": {place: startTerraforms(t, canary).place(`backend "remote"`, `name = "one"`)},
		"remote given": {place: startTerraforms(t, canary).place(`backend "remote"`, `name = "one"`),
			given: []string{"-backend-config=token=" + canary}},
		"cloud": {place: startTerraforms(t, canary).place("cloud", `name = "one"`)},
		"http": {place: place{block: httpBlock(s.URL+"/a", s.URL+"/a", ""), noWorkspaces: true,
			env: []string{"TF_HTTP_USERNAME=me", "TF_HTTP_PASSWORD=" + canary}}},
		"http given": {place: place{block: httpBlock(s.URL+"/b", s.URL+"/b", ""), noWorkspaces: true},
			given: []string{"-backend-config=username=me", "-backend-config=password=" + canary}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &member{t: t, name: "tombolo", bin: ours, dir: t.TempDir()}
			log := filepath.Join(m.dir, "log")
			m.env = append(c.environ(m.dir), "TF_LOG=trace", "TF_LOG_PATH="+log)
			m.touch("cli.tfrc")
			m.goTo(c.place)
			text := m.run(append([]string{"init", "-no-color"}, c.given...)...)
			text += m.run("plan", "-no-color", "-out=saved", "-var=wait=1")
			killed := m.start("apply", "-no-color", "saved")
			waitFor(t, func() bool { return m.has("started") })
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-killed.ended
			m.touch("go")
			c.removeLock(m)
			text += killed.out.String() + m.run("plan", "-no-color", "-out=second") + m.run("apply", "-no-color",
				"second")
			secrets := []string{cmp.Or(c.secret, canary), canary, key,
				base64.StdEncoding.EncodeToString([]byte("me:" + canary))}
			seek := func(where, text string) {
				for _, secret := range secrets {
					if strings.Contains(text, secret) {
						t.Errorf("%s has %q", where, secret)
					}
				}
			}
			seek("the output", text)
			record := filepath.Join(m.dir, ".terraform", "terraform.tfstate")
			files := 0
			err := filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if name == record && c.given != nil {
					info, err := d.Info()
					if err == nil && info.Mode().Perm() != 0o600 {
						t.Errorf("the record has the mode %o", info.Mode().Perm())
					}
					return err
				}
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				files++
				for _, part := range append(unpacked(text), string(text)) {
					seek(name, part)
				}
				return nil
			})
			if err != nil || files < 5 {
				t.Errorf("%d files were looked at: %v", files, err)
			}
		})
	}
}

// unpacked returns the parts of a saved plan, or decompressed data.
func unpacked(b []byte) (parts []string) {
	if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
		for _, f := range z.File {
			if r, err := f.Open(); err == nil {
				text, _ := io.ReadAll(r)
				parts = append(parts, string(text))
				r.Close()
			}
		}
	}
	if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
		text, _ := io.ReadAll(z)
		parts = append(parts, string(text))
	}
	return parts
}
