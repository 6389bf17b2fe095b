//go:build unix

package team

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// The values of an encrypted state are nowhere in plain text: in no file of the machine (saved plans, journals,
// backups, former states, answers) and not in the service, during a run, after it was killed, and after the next one.
// Without the key nothing is read, and nothing replaced.
func TestEncryptedStatesAreNotStoredInPlainText(t *testing.T) {
	const canary = "736251849"
	s := httptest.NewServer(&httpstoretest.Server{})
	t.Cleanup(s.Close)
	sealed := encryption.Variable + "=" + encryptiontest.Settings
	local := t.TempDir()
	hosted := func(workspace, block string) place {
		s := startTerraforms(t, annsToken)
		p := s.place(block, fmt.Sprintf("name = %q", workspace))
		p.noWorkspaces = true
		p.received = func() string {
			data, _ := s.State(workspace)
			return fmt.Sprint(string(data), s.Outputs(workspace))
		}
		return p
	}
	for name, p := range map[string]place{
		"local": {block: `backend "local" {}`, lockEnds: true},
		"elsewhere": {block: `backend "local" {` + "\npath = \"" + local + "/state\"\n}", lockEnds: true,
			env: []string{"TOMBOLO_STATE_HISTORY=3"}},
		"pg": {block: `backend "pg" {}`, env: []string{"PG_CONN_STR=" + pgtest.Database(t)}, lockEnds: true},
		"s3": {
			block: bucketBlock(amazon(t), "use_lockfile = true\n  access_key = \"AKID\"\n  secret_key = \"secret\"")},
		"kubernetes": {block: clusterBlock(cluster(t), "")},
		"consul":     {block: consulBlock(consulServer(t), "")},
		"http":       {block: httpBlock(s.URL+"/a", s.URL+"/a", ""), noWorkspaces: true},
		"gcs":        {block: googleBlock(google(t), ""), env: googleEnv},
		"azurerm":    ofKind(t, "azurerm"),
		"cos":        ofKind(t, "cos"),
		"oci":        ofKind(t, "oci"),
		"oss":        ofKind(t, "oss"),
		"remote":     hosted("remote", `backend "remote"`),
		"cloud":      hosted("cloud", "cloud"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &member{t: t, name: "tombolo", bin: ours, dir: t.TempDir()}
			temporary := t.TempDir()
			plain := append(p.environ(m.dir), "TMPDIR="+temporary)
			m.env = append(plain, sealed)
			m.touch("cli.tfrc")
			m.goTo(p)
			m.run("init", "-no-color")
			m.run("apply", "-auto-approve", "-no-color")
			look := func(when string) {
				t.Helper()
				files := 0
				dirs := []string{m.dir, temporary}
				if name == "elsewhere" {
					dirs = append(dirs, local)
				}
				for _, dir := range dirs {
					err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
						if errors.Is(err, fs.ErrNotExist) {
							return nil // a concurrent run has removed it
						}
						if err != nil || !d.Type().IsRegular() {
							return err
						}
						text, err := os.ReadFile(name)
						if errors.Is(err, fs.ErrNotExist) {
							return nil
						}
						files++
						for _, part := range append(unpacked(text), string(text)) {
							if strings.Contains(part, canary) {
								t.Errorf("%s: %s has it", when, name)
							}
						}
						return err
					})
					if err != nil {
						t.Errorf("%s: %v", when, err)
					}
				}
				if files < 3 {
					t.Errorf("%s: %d files were looked at", when, files)
				}
				if text := p.stored(t); strings.Contains(text, canary) {
					t.Errorf("%s: the service has it: %q", when, text)
				}
			}
			m.run("plan", "-no-color", "-out=saved", "-var=wait="+canary)
			look("with a saved plan")
			killed := m.start("apply", "-no-color", "saved")
			waitFor(t, func() bool { return m.has("started") })
			look("in the middle of an apply")
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-killed.ended
			m.touch("go")
			look("after it was killed")
			p.removeLock(m)
			before := p.stored(t)
			if p.received != nil {
				before = m.run("state", "pull")
			}
			m.env = plain
			if out := m.fails("apply", "-auto-approve", "-no-color"); !strings.Contains(out, "encrypted") {
				t.Errorf("without the key: %s", out)
			}
			if !p.lockEnds {
				p.removeLock(m)
			}
			after := p.stored(t)
			m.env = append(plain, sealed)
			if p.received != nil {
				after = m.run("state", "pull")
			}
			if after != before {
				t.Errorf("without the key %q became %q", before, after)
			}
			m.run("apply", "-auto-approve", "-no-color", "-var=wait="+canary)
			look("after the next apply")
			m.idle("-var=wait=" + canary)
			m.run("destroy", "-auto-approve", "-no-color")
			look("at the end")
		})
	}
}

// stored returns the stored bytes of a service, the state and the journal, or everything that it has received.
func (p place) stored(t *testing.T) string {
	t.Helper()
	if p.received != nil {
		return p.received()
	}
	file, diags := hclsyntax.ParseConfig([]byte(p.block), "block", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	block := file.Body.(*hclsyntax.Body).Blocks[0]
	b, problems := backend.FromValue(block.Labels[0], cty.NullVal(cty.DynamicPseudoType))
	attrs, diags := block.Body.JustAttributes()
	if problems.HasErrors() || diags.HasErrors() || b.Set(attrs).HasErrors() {
		t.Fatal(problems, diags)
	}
	if !b.InService() {
		return ""
	}
	driver, problems := b.Driver(t.Context(), remote.Surroundings{Dir: t.TempDir(), Log: func(string, ...any) {},
		Getenv: func(name string) (value string) {
			for _, entry := range p.env {
				if k, v, _ := strings.Cut(entry, "="); k == name {
					value = v
				}
			}
			return value
		}})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	defer driver.Close()
	at, err := driver.Place("default")
	if err != nil {
		t.Fatal(err)
	}
	content, err := at.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	journal, err := at.ReadJournal(t.Context())
	if err != nil && err != remote.ErrNoJournal {
		t.Fatal(err)
	}
	text := string(content.Data)
	for _, chunk := range journal.Chunks {
		text += string(chunk)
	}
	return text
}
