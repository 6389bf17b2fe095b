//go:build unix

package team

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// made is a configuration whose objects log their ids as soon as they exist.
const made = `
variable "names" {
  type    = set(string)
  default = ["a"]
}
resource "terraform_data" "thing" {
  for_each = var.names
  input    = "736251849-${each.key}"
  provisioner "local-exec" {
    command = "echo ${self.id} >>made"
  }
}
output "ids" {
  value = [for t in terraform_data.thing : t.id]
}
`

// limited runs a program as often as the file "limit" permits, if that exists.
const limited = `echo call >>calls
if [ -e limit ] && [ "$(wc -l <calls)" -gt "$(cat limit)" ]; then
  cat >/dev/null
  echo "vault-is-closed" >&2
  exit 1
fi
exec "$@"
`

// A key or method program fails from some call of an apply on. The run reports that and ends; no plain text is written,
// and objects that were already created are neither lost nor created again after the program works again.
func TestKeysAreLostInTheMiddleOfARun(t *testing.T) {
	program := quickProgram(t, t.TempDir())
	for _, s := range seals() {
		if !strings.Contains(s.blocks, "python3") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			settings := program.Replace(s.settings())
			settings = strings.NewReplacer("command = [", `command = ["sh", "limited.sh", `).Replace(settings)
			late := false // it failed after objects were created
			for n := 0; n < 200 && !t.Failed(); n++ {
				enough, objects := lostAfter(t, settings, n)
				if !enough {
					late = late || objects > 1
					continue
				}
				// Keys are read before anything is created; a method is also used when the state is stored.
				if sealsAll := strings.HasPrefix(s.name, "method"); n < 2 || late != sealsAll {
					t.Errorf("it needs %d calls, and fails late: %v", n, late)
				}
				t.Logf("the program is asked %d times", n)
				return
			}
			t.Error("no number of calls is enough")
		})
	}
}

// lostAfter lets the program of these settings succeed n times in an apply, and reports whether that was enough, and
// how many objects there were then.
func lostAfter(t *testing.T, settings string, n int) (enough bool, objects int) {
	t.Helper()
	m := &member{t: t, name: "tombolo", bin: ours, dir: t.TempDir()}
	m.env = append(place{}.environ(m.dir), encryption.Variable+"="+settings)
	m.file("main.tf", made)
	m.file("limited.sh", limited)
	m.touch("cli.tfrc")
	m.run("init", "-no-color")
	m.run("apply", "-auto-approve", "-no-color")
	calls := strings.Count(m.text("calls"), "\n")
	m.file("limit", fmt.Sprint(calls+n))
	before := m.text("terraform.tfstate")
	names := `-var=names=["a","b","c"]`
	out, err := m.try("apply", "-auto-approve", "-no-color", "-parallelism=1", names)
	if err != nil && !strings.Contains(out, "vault-is-closed") {
		t.Errorf("after %d calls: %v\n%s", n, err, out)
	}
	m.holdsNothing(fmt.Sprintf("after %d calls", n))
	exist := strings.Fields(m.text("made"))
	if len(exist) == 1 && err != nil && m.text("terraform.tfstate") != before {
		t.Errorf("after %d calls, with nothing made, the state became %s", n, m.text("terraform.tfstate"))
	}
	if err := os.Remove(filepath.Join(m.dir, "limit")); err != nil {
		t.Fatal(err)
	}
	m.run("apply", "-auto-approve", "-no-color", names)
	m.idle(names)
	ids := m.run("output", "-json", "ids")
	for _, id := range exist {
		if !strings.Contains(ids, id) {
			t.Errorf("after %d calls %s was made, and is lost: %s\n%s", n, id, ids, out)
		}
	}
	if all := strings.Fields(m.text("made")); len(all) != 3 {
		t.Errorf("after %d calls there are %d objects: %v", n, len(all), all)
	}
	m.holdsNothing("at the end")
	return err == nil, len(exist)
}

// text returns the content of a file in the directory of a member.
func (m *member) text(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// holdsNothing checks that no file except for the configuration has the values of objects.
func (m *member) holdsNothing(when string) {
	m.t.Helper()
	files := 0
	err := filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(name, ".tf") {
			return err
		}
		text, err := os.ReadFile(name)
		files++
		for _, part := range append(unpacked(text), string(text)) {
			if strings.Contains(part, "736251849") {
				m.t.Errorf("%s: %s has what is sealed", when, name)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		m.t.Errorf("%s: %d files, %v", when, files, err)
	}
}

// fixedKeys returns settings with numbered keys, for states and for plans; former is that of a fallback, 0 for none.
func fixedKeys(state, former, plan int) string {
	var blocks strings.Builder
	for n := 1; n <= 2; n++ {
		key := strings.Repeat(fmt.Sprint(n, ","), 32)
		fmt.Fprintf(&blocks, "method \"aes_gcm\" \"k%d\" {\n  keys = {\n    encryption_key = [%s]\n"+
			"    decryption_key = [%s]\n  }\n}\n", n, key, key)
	}
	fallback := ""
	if former != 0 {
		fallback = fmt.Sprintf("  fallback {\n    method = method.aes_gcm.k%d\n  }\n", former)
	}
	return fmt.Sprintf("%sstate {\n  method = method.aes_gcm.k%d\n%s}\nplan {\n  method = method.aes_gcm.k%d\n}\n",
		blocks.String(), state, fallback, plan)
}

// Between a plan and its apply another member encrypts the state with another key. If the settings cannot decrypt the
// plan or the state, the apply is refused, and the state is unchanged. Otherwise the plan is applied, since no object
// has changed, and the state keeps its new key.
func TestPlansOfAFormerKey(t *testing.T) {
	for name, c := range map[string]struct {
		settings string // of the apply
		refused  string // the message of the refusal, or "" if the plan is applied
	}{
		"with the new key alone":          {fixedKeys(2, 0, 2), "encrypted"},
		"with the former key alone":       {fixedKeys(1, 0, 1), "encrypted"},
		"with the former key for plans":   {fixedKeys(2, 0, 1), ""},
		"with the former key as fallback": {fixedKeys(2, 1, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &member{t: t, name: "tombolo", bin: ours, dir: t.TempDir()}
			env := place{}.environ(m.dir)
			with := func(settings string) { m.env = append(env[:len(env):len(env)], encryption.Variable+"="+settings) }
			m.file("main.tf", made)
			m.touch("cli.tfrc")
			with(fixedKeys(1, 0, 1))
			m.run("init", "-no-color")
			m.run("apply", "-auto-approve", "-no-color")
			m.run("plan", "-no-color", "-out=saved", `-var=names=["a","b"]`)
			with(fixedKeys(2, 1, 2))
			m.run("apply", "-auto-approve", "-no-color")
			rekeyed, files := m.text("terraform.tfstate"), len(m.entries())
			with(c.settings)
			if c.refused == "" {
				m.run("apply", "-no-color", "saved")
				with(fixedKeys(2, 0, 2))
				m.run("plan", "-no-color", "-detailed-exitcode", `-var=names=["a","b"]`)
				m.holdsNothing("at the end")
				return
			}
			if out := m.fails("apply", "-no-color", "saved"); !strings.Contains(out, c.refused) {
				t.Errorf("it is refused with %s", out)
			}
			if now := m.text("terraform.tfstate"); now != rekeyed || len(m.entries()) != files {
				t.Errorf("the state became %s, it was %s, beside %v", now, rekeyed, m.entries())
			}
			with(fixedKeys(2, 0, 2))
			m.idle()
			m.holdsNothing("at the end")
		})
	}
}

// entries returns the names in the directory of a member.
func (m *member) entries() (names []string) {
	m.t.Helper()
	all, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
