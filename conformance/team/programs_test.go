//go:build unix

package team

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/kits"
)

const readerManifest = `{"protocol": 1, "name": "reader", "version": "0.1.0", "command": ["python3", "./reader.py"],
"mode": %q, "schema": {"data_source_schemas": {"reader_ids": {"attributes": {
  "backend": {"type": "string", "required": true}, "config": {"type": "string", "required": true},
  "ids": {"type": ["map", "string"], "computed": true}}}}}}
`

const readerProgram = `import json
import tombolo
class Ids(tombolo.DataSource):
    def data(self, call):
        outputs = call.remote_state(call.config["backend"], json.loads(call.config["config"]))
        if outputs is None:
            raise tombolo.Error("There is no state")
        return {"ids": outputs["ids"]}
tombolo.run(data={"reader_ids": Ids})
`

// A program that is a provider reads the states of each backend, in a process for each call and in a session, and as a
// plugin of each program.
func TestProgramsReadStatesOfEachBackend(t *testing.T) {
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("needs python3: the provider is written in it")
	}
	providers := map[string]string{}
	for _, mode := range []string{"one-shot", "session"} {
		dir := filepath.Join(t.TempDir(), "reader")
		m := &member{t: t, dir: dir}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		m.file("tombolo-provider.json", fmt.Sprintf(readerManifest, mode))
		m.file("reader.py", readerProgram)
		m.file(kits.PythonName, string(kits.Python))
		providers[mode] = dir
	}
	file := filepath.Join(t.TempDir(), "kept.tfstate")
	dsn, bucket := pgtest.Database(t), amazon(t)
	s := httptest.NewServer(&httpstoretest.Server{})
	t.Cleanup(s.Close)
	shelf := generatedPlace(t)
	_, shelved := shelf.arguments()
	for name, c := range map[string]struct {
		place
		config string // of the reader
	}{
		"local": {place{block: fmt.Sprintf("backend \"local\" {\n  path = %q\n}", file)},
			fmt.Sprintf("path = %q", file)},
		"pg": {place{block: `backend "pg" {}`, env: []string{"PG_CONN_STR=" + dsn}}, ""},
		"s3": {place{block: bucketBlock(bucket, "use_lockfile = true"), env: append([]string{"AWS_ENDPOINT_URL_S3=" +
			bucket}, bucketEnv...)}, `bucket = "states", key = "team/state", region = "eu-central-1", ` +
			`use_path_style = true, skip_credentials_validation = true, skip_requesting_account_id = true`},
		"http": {place{block: httpBlock(s.URL+"/s", s.URL+"/s", ""), noWorkspaces: true},
			fmt.Sprintf("address = %q", s.URL+"/s")},
		"program": {shelf, shelved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writer := c.member(t, "the writer", ours)
			writer.run("apply", "-auto-approve", "-no-color")
			want := writer.ids()
			text := fmt.Sprintf(`terraform {
  required_providers {
    reader = { source = "example/reader" }
  }
}
data "reader_ids" "it" {
  backend = %q
  config  = jsonencode({ %s })
}
output "ids" {
  value = data.reader_ids.it.ids
}
`, name, c.config)
			for mode, dir := range providers {
				reader := &member{t: t, name: mode, bin: ours, dir: t.TempDir()}
				reader.file("main.tf", text)
				reader.touch("cli.tfrc")
				reader.env = append(c.environ(reader.dir), "TOMBOLO_PROGRAM_PROVIDERS=example/reader="+dir)
				reader.run("init", "-no-color")
				reader.run("apply", "-auto-approve", "-no-color")
				if got := reader.ids(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s reads %v, want %v", mode, got, want)
				}
			}
			withPeers(t, func(t *testing.T, other string) { // as a plugin
				if name != "s3" && testing.Short() {
					t.Skip("runs without -short: one backend is enough")
				}
				folder := t.TempDir()
				build := exec.Command(ours, "provider", "build", providers["session"], "-source", "example/reader",
					"-dev", "-out", folder)
				build.Env = c.environ(folder)
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				reader := &member{t: t, name: other, bin: other, dir: t.TempDir()}
				reader.file("main.tf", text)
				reader.file("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n"+
					"    \"example/reader\" = %q\n  }\n  direct {}\n}\n", folder))
				reader.env = c.environ(reader.dir)
				reader.run("apply", "-auto-approve", "-no-color")
				if got := reader.ids(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s reads %v, want %v", other, got, want)
				}
			})
		})
	}
}
