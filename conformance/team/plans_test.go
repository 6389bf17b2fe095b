//go:build unix

package team

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planSettings returns settings that encrypt plans with s, and leave states plain.
func (s seal) planSettings() string { return strings.Replace(s.settings(), "state {", "plan {", 1) }

// Plans are encrypted with every method and key provider: shown and applied with the key, refused without it and with
// another. Tombolo's plans are not readable by OpenTofu, or the reverse; but each decrypts those of the other, and
// reports that.
func TestPlansAreSealedWithEveryKey(t *testing.T) {
	inFull(t)
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	env := keyServices(t)
	for _, s := range seals() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			made := map[string]string{}
			var members []*member
			for name, bin := range map[string]string{"tombolo": ours, "tofu": other} {
				m := sealedMember(t, name, bin, filepath.Join(dir, name), env)
				m.with(s.planSettings())
				made[name] = filepath.Join(dir, name+".plan")
				m.run("plan", "-no-color", "-out="+made[name])
				text, err := os.ReadFile(made[name])
				if err != nil || !strings.Contains(string(text), `"encrypted_data":`) ||
					s.mark != `"meta":{}` && !strings.Contains(string(text), s.mark) {
					t.Errorf("%s: the plan is not sealed: %.300s, %v", name, text, err)
				}
				members = append(members, m)
			}
			const alien = "Terraform or OpenTofu made it"
			for _, m := range members {
				theirs, foreign := made["tofu"], alien
				if m.name == "tofu" {
					theirs, foreign = made["tombolo"], "not a valid plan file"
				}
				text := strings.Join(strings.Fields(m.fails("show", "-no-color", theirs)), " ")
				if !strings.Contains(text, foreign) {
					t.Errorf("%s does not open the seal of the other: %s", m.name, text)
				}
				m.run("show", "-no-color", made[m.name])
				for _, settings := range []string{wrongKeys.planSettings(), ""} {
					m.with(settings)
					text := m.fails("show", "-no-color", made[m.name])
					if strings.Contains(text, "terraform_data.thing") {
						t.Errorf("%s shows the plan with %q: %s", m.name, settings, text)
					}
					if text = m.fails("show", "-no-color", theirs); strings.Contains(text, alien) {
						t.Errorf("%s opens the seal of the other with %q: %s", m.name, settings, text)
					}
					m.fails("apply", "-no-color", made[m.name])
				}
				m.with(s.planSettings())
				m.run("apply", "-no-color", made[m.name])
				m.idle()
			}
		})
	}
}

// wrongKeys are keys that nothing is encrypted with.
var wrongKeys = func() seal {
	s := keyed("pbkdf2", "passphrase = \"a passphrase of somebody else\"\n  iterations = 200000")
	s.blocks = strings.ReplaceAll(strings.ReplaceAll(s.blocks, `"a"`, `"z"`), "pbkdf2.a", "pbkdf2.z")
	return s
}()
