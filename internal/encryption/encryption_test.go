package encryption_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// plainScope evaluates expressions that refer to key providers and to nothing else.
func plainScope(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
	return e.Value(&hcl.EvalContext{Variables: more})
}

// start returns the encryption that the settings configure.
func start(t testing.TB, settings, dir string) *encryption.Encryption {
	t.Helper()
	c, diags := encryption.Parse(settings, "settings.hcl")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	e, diags := encryption.New(c, encryption.Options{Scope: plainScope, Dir: dir})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return e
}

// vector is a document that OpenTofu wrote, with its settings.
type vector struct {
	name, settings     string
	dir                string // contains programs of the settings
	state, plain, plan []byte
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no vectors", err)
	}
	_, err = exec.LookPath("python3")
	for _, name := range names {
		a, parseErr := txtar.ParseFile(name)
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		v := vector{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), dir: t.TempDir()}
		for _, f := range a.Files {
			switch f.Name {
			case "settings.hcl":
				v.settings = string(f.Data)
			case "terraform.tfstate":
				v.state = f.Data
			case "plain.tfstate":
				v.plain = f.Data
			case "plan.sealed":
				v.plan = f.Data
			default:
				if err := os.WriteFile(filepath.Join(v.dir, f.Name), f.Data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		if strings.Contains(v.settings, "python3") && err != nil {
			t.Logf("%s is left out: it needs python3 on PATH", v.name)
			continue
		}
		all = append(all, v)
	}
	return all
}

// TestDocumentsOfOpenTofuAreOpened decrypts states and plans that OpenTofu wrote, and documents that we write with the
// same settings.
func TestDocumentsOfOpenTofuAreOpened(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			e := start(t, v.settings, v.dir)
			got, outdated, err := e.State().Open(t.Context(), v.state)
			if err != nil || outdated {
				t.Fatalf("outdated %v, %v", outdated, err)
			}
			if !sameJSON(t, got, v.plain) {
				t.Errorf("got %s\nwant %s", got, v.plain)
			}
			if plan, _, err := e.Plan().Open(t.Context(), v.plan); err != nil || !bytes.HasPrefix(plan, []byte("PK")) {
				t.Errorf("the plan: %v, %.20q", err, plan)
			}
			lineage, serial := "l", uint64(18446744073709551615)
			mine := []byte(`{"version":4,"serial":18446744073709551615,"lineage":"l","outputs":{}}`)
			sealed, err := e.State().Seal(t.Context(), mine, &lineage, serial)
			if err != nil {
				t.Fatal(err)
			}
			if !encryption.IsSealed(sealed) || bytes.Contains(sealed, []byte("outputs")) {
				t.Errorf("it is not sealed: %s", sealed)
			}
			for range 2 { // the second time with the keys of another run
				back, _, err := e.State().Open(t.Context(), sealed)
				if err != nil || !bytes.Equal(back, mine) {
					t.Fatalf("%v: %s", err, back)
				}
				e = start(t, v.settings, v.dir)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var one, two any
	if err := errors.Join(json.Unmarshal(a, &one), json.Unmarshal(b, &two)); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(one)
	y, _ := json.Marshal(two)
	return bytes.Equal(x, y)
}

// quick has a key provider that runs no program and needs little time.
const quick = `
key_provider "pbkdf2" "a" {
  passphrase = "a passphrase of some length"
  iterations = 200000
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.a
}
`

// TestDamagedDocumentsAreRefused changes encrypted documents at random positions: none decrypts to other content, and
// none causes a panic.
func TestDamagedDocumentsAreRefused(t *testing.T) {
	keys := `{"encryption_key":[` + strings.Repeat("7,", 31) + `7],"decryption_key":[` + strings.Repeat("7,", 31) +
		`7]}`
	settings := `{"method":{"aes_gcm":{"m":{"keys":` + keys + `}}},"state":{"method":"method.aes_gcm.m"}}`
	c := start(t, settings, "").State()
	lineage, plain := "the lineage", []byte(`{"version":4,"serial":7,"lineage":"the lineage"}`)
	sealed, err := c.Seal(t.Context(), plain, &lineage, 7)
	if err != nil {
		t.Fatal(err)
	}
	encryptiontest.Damage(t, c, sealed, plain, 10_000)
}

// Serial and lineage are also stored unencrypted, for programs without a key. Changes of these fields are detected.
func TestUnencryptedFieldsMustMatch(t *testing.T) {
	c := encryptiontest.Turn(1)
	lineage, plain := "a", []byte(`{"version":4,"serial":7,"lineage":"a"}`)
	for _, outside := range []struct {
		lineage string
		serial  uint64
		opens   bool
	}{{"a", 7, true}, {"", 7, true}, {"a", 8, false}, {"a", 6, false}, {"b", 7, false}} {
		lineage = outside.lineage
		sealed, err := c.Seal(t.Context(), plain, &lineage, outside.serial)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := c.Open(t.Context(), sealed)
		if outside.opens != (err == nil) || err == nil && !bytes.Equal(got, plain) {
			t.Errorf("%+v: opened %s, %v", outside, got, err)
		}
	}
}

// TestFallbacksOpen checks which of several settings decrypt a document written with the first.
func TestFallbacksOpen(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(quick, `"a"`, `"b"`), "pbkdf2.a", "pbkdf2.b")
	other = strings.ReplaceAll(strings.ReplaceAll(other, "a passphrase", "another phrase"), `"m"`, `"n"`)
	plainMethod := "method \"unencrypted\" \"u\" {}\n"
	first := start(t, quick+"state {\nmethod = method.aes_gcm.m\n}", "").State()
	document := []byte(`{"version":4,"serial":1,"lineage":"l"}`)
	lineage := "l"
	sealed, err := first.Seal(t.Context(), document, &lineage, 1)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		settings         string
		sealed, plain    string // "" means decrypted, "outdated", or a part of the error
		sealsWhatItGives bool
	}{
		"same":  {quick + "state {\nmethod = method.aes_gcm.m\n}", "", "is not encrypted", true},
		"other": {other + "state {\nmethod = method.aes_gcm.n\n}", "cannot decrypt it", "is not encrypted", true},
		"rotation": {quick + other + "state {\nmethod = method.aes_gcm.n\nfallback {\nmethod = method.aes_gcm.m\n}\n}",
			"outdated", "is not encrypted", true},
		"from plain": {quick + plainMethod +
			"state {\nmethod = method.aes_gcm.m\nfallback {\nmethod = method.unencrypted.u\n}\n}", "", "outdated",
			true},
		"to plain": {quick + plainMethod +
			"state {\nmethod = method.unencrypted.u\nfallback {\nmethod = method.aes_gcm.m\n}\n}", "outdated", "",
			false},
		"plain": {plainMethod + "state {\nmethod = method.unencrypted.u\n}", "cannot decrypt it", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, tt.settings, "").State()
			for want, d := range map[string][]byte{"sealed " + tt.sealed: sealed, "plain " + tt.plain: document} {
				_, want, _ = strings.Cut(want, " ")
				got, outdated, err := c.Open(t.Context(), d)
				switch {
				case want != "" && want != "outdated":
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want %q", err, want)
					}
				case err != nil || !bytes.Equal(got, document) || outdated != (want == "outdated"):
					t.Errorf("got %s, outdated %v, %v; want %q", got, outdated, err, want)
				}
			}
			if c.Seals() != tt.sealsWhatItGives {
				t.Errorf("seals: %v", c.Seals())
			}
		})
	}
}

// TestMistakesInSettings has one mistake per row, and a part of the message. No message contains the passphrase.
func TestMistakesInSettings(t *testing.T) {
	const secret = "a passphrase of some length"
	target := "state {\nmethod = method.aes_gcm.m\n}\n"
	tests := map[string]struct{ settings, want string }{
		"no method":      {quick + "state {\n}\n", "No encryption method"},
		"unknown method": {quick + "state {\nmethod = method.aes_gcm.x\n}\n", `Did you mean "method.aes_gcm.m"?`},
		"no reference":   {quick + "state {\nmethod = \"x\"\n}\n", "method.TYPE.NAME"},
		"kind of method": {"method \"rot13\" \"m\" {}\nstate {\nmethod = method.rot13.m\n}\n",
			"aes_gcm, external, unencrypted"},
		"kind of provider": {strings.ReplaceAll(quick, "pbkdf2", "scrypt") + target, "external, openbao, pbkdf2"},
		"short":            {strings.ReplaceAll(quick, secret, "short") + target, "too short"},
		"rounds":           {strings.ReplaceAll(quick, "200000", "1000") + target, "at least 200000"},
		"argument":         {strings.ReplaceAll(quick, "iterations", "rounds") + target, "Unsupported argument"},
		"twice":            {quick + quick + target, "There are two "},
		"enforced": {"method \"unencrypted\" \"u\" {}\nstate {\nmethod = method.unencrypted.u\nenforced = true\n}\n",
			"Encryption is enforced"},
		"circle": {
			"key_provider \"pbkdf2\" \"a\" {\nchain = key_provider.pbkdf2.b\n}\nkey_provider \"pbkdf2\" \"b\" {\n" +
				"chain = key_provider.pbkdf2.a\n}\nmethod \"aes_gcm\" \"m\" {\nkeys = key_provider.pbkdf2.a\n}\n" +
				target,
			"Circular reference"},
		"undeclared": {"method \"aes_gcm\" \"m\" {\nkeys = key_provider.pbkdf2.a\n}\n" + target,
			"Unknown key provider"},
		"key length": {strings.ReplaceAll(quick, "iterations = 200000", "key_length = 17") + target, "16, 24 or 32"},
		"syntax": {"key_provider \"pbkdf2\" \"a\" {\npassphrase = \"" + secret + "\" x\n}",
			"cannot be read at line 2"},
		"program": {"key_provider \"external\" \"a\" {\ncommand = [\"false\"]\n}\nmethod \"aes_gcm\" \"m\" {\n" +
			"keys = key_provider.external.a\n}\n" + target, "exit status 1"},
		"no token": {"key_provider \"openbao\" \"a\" {\nkey_name = \"k\"\n}\nmethod \"aes_gcm\" \"m\" {\n" +
			"keys = key_provider.openbao.a\n}\n" + target, "there is no token"},
	}
	for _, name := range []string{"BAO_TOKEN", "VAULT_TOKEN"} {
		t.Setenv(name, "")
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, diags := encryption.Parse(tt.settings, encryption.Variable)
			var e *encryption.Encryption
			if !diags.HasErrors() {
				e, diags = encryption.New(c, encryption.Options{Scope: plainScope})
			}
			err := diags.Err()
			if err == nil {
				err = e.State().Ready(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			} else if strings.Contains(err.Error(), secret) {
				t.Errorf("the passphrase is shown: %v", err)
			}
		})
	}
}

// A key derived from another one may replace it, and vice versa: a method and its fallback share a key provider.
// (OpenTofu 1.12 treats it as two, and cannot decrypt documents that only the fallback decrypts.)
func TestKeysAreReplacedByDerivedKeys(t *testing.T) {
	other := strings.NewReplacer(`"a"`, `"b"`, "pbkdf2.a", "pbkdf2.b", `"m"`, `"n"`,
		`passphrase = "a passphrase of some length"`, "chain = key_provider.pbkdf2.a").Replace(quick)
	lineage, document := "l", []byte(`{"version":4,"serial":1,"lineage":"l"}`)
	for _, c := range [][2]string{{"m", "n"}, {"n", "m"}} {
		before := start(t, quick+other+"state {\nmethod = method.aes_gcm."+c[0]+"\n}\n", "").State()
		sealed, err := before.Seal(t.Context(), document, &lineage, 1)
		if err != nil {
			t.Fatal(err)
		}
		after := start(t, quick+other+"state {\nmethod = method.aes_gcm."+c[1]+"\nfallback {\nmethod = method.aes_gcm."+
			c[0]+"\n}\n}\n", "").State()
		if plain, old, err := after.Open(t.Context(), sealed); err != nil || !old || string(plain) != string(document) {
			t.Errorf("from %s to %s: %q, %t, %v", c[0], c[1], plain, old, err)
		}
	}
}

// Mistakes in arguments are reported before a key is needed; those of a fallback when it is used.
func TestMistakesAreFoundWithoutKeys(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(quick, `"a"`, `"b"`), "pbkdf2.a", "pbkdf2.b")
	other = strings.ReplaceAll(other, `"m"`, `"n"`)
	chained := strings.Replace(other, `passphrase = "a passphrase of some length"`, "chain = key_provider.pbkdf2.a", 1)
	alias := func(text string) string {
		return strings.ReplaceAll(text, "iterations", "encrypted_metadata_alias = \"x\"\niterations")
	}
	document := []byte(`{"version":4,"serial":1,"lineage":"l"}`)
	for want, settings := range map[string]string{
		"too short":          quick + strings.Replace(other, "a passphrase of some length", "short", 1),
		"at least 200000":    quick + strings.Replace(other, "200000", "1000", 1),
		"is not supported":   quick + strings.Replace(other, "iterations", "hash_function = \"md5\"\niterations", 1),
		"16, 24 or 32":       quick + strings.Replace(other, "iterations", "key_length = 17\niterations", 1),
		"metadata key \"x\"": alias(quick + chained),
		"list with a program": quick + "method \"external\" \"n\" {\nencrypt_command = []\n" +
			"decrypt_command = [\"x\"]\n}\n",
		"no key_provider block": quick + strings.Replace(chained, "chain = key_provider.pbkdf2.a",
			"chain = key_provider.pbkdf2.c", 1),
		"": quick + chained,
	} {
		reference := "method.aes_gcm.n"
		if strings.Contains(settings, "external") {
			reference = "method.external.n"
		}
		c, diags := encryption.Parse(settings+"state {\nmethod = "+reference+"\n}\n", "settings")
		if !diags.HasErrors() {
			_, diags = encryption.New(c, encryption.Options{Scope: plainScope})
		}
		if err := diags.Err(); want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
		if want == "" {
			continue
		}
		lineage := "l"
		s := start(t, settings+"state {\nmethod = method.aes_gcm.m\nfallback {\nmethod = "+reference+"\n}\n}\n",
			"").State()
		sealed, err := s.Seal(t.Context(), document, &lineage, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Open(t.Context(), sealed); err != nil {
			t.Errorf("%s, in a fallback that is not needed: %v", want, err)
		}
		sealed = bytes.Replace(sealed, []byte(`_data":"`), []byte(`_data":"AAAA`), 1)
		if _, _, err := s.Open(t.Context(), sealed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, in a fallback: %v", want, err)
		}
	}
}

// TestSettingsAreMerged merges two settings: the second takes precedence.
func TestSettingsAreMerged(t *testing.T) {
	base, _ := encryption.Parse(quick+"state {\nmethod = method.aes_gcm.m\nenforced = true\n}", "base")
	over, diags := encryption.Parse("key_provider \"pbkdf2\" \"a\" {\npassphrase = \"the one that counts\"\n}\n"+
		"plan {\nmethod = method.aes_gcm.m\n}", "over")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	e, diags := encryption.New(encryption.Merge(base, over), encryption.Options{Scope: plainScope})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	sealed, err := e.Plan().Seal(t.Context(), []byte("PK"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	same := start(t, strings.ReplaceAll(quick, "a passphrase of some length", "the one that counts")+
		"state {\nmethod = method.aes_gcm.m\n}", "")
	if got, _, err := same.State().Open(t.Context(), sealed); err != nil || string(got) != "PK" {
		t.Errorf("%s, %v", got, err)
	}
	if encryption.Merge(nil, over) != over || encryption.Merge(base, nil) != base {
		t.Error("settings that are laid over nothing are no others")
	}
}

// FuzzOpen decrypts arbitrary documents.
func FuzzOpen(f *testing.F) {
	settings := `{"method":{"aes_gcm":{"m":{"keys":{"encryption_key":[` + strings.Repeat("1,", 15) + `1]}}}},` +
		`"state":{"method":"method.aes_gcm.m"}}`
	c := start(f, settings, "").State()
	for _, v := range vectors(f) {
		f.Add(v.state)
		f.Add(v.plan)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, _, err := c.Open(context.Background(), b); err == nil && len(bytes.TrimSpace(b)) > 0 {
			t.Errorf("opened without a key: %q", got)
		}
	})
}

// FuzzSettings decodes arbitrary settings.
func FuzzSettings(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.settings)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "command") || strings.Contains(text, "iterations") ||
			strings.Contains(text, "openbao") {
			return // skip programs, expensive work and the network
		}
		if c, diags := encryption.Parse(text, encryption.Variable); !diags.HasErrors() {
			encryption.New(c, encryption.Options{Scope: plainScope})
		}
	})
}

// OpenTofu ignores the content of this method's block.
func TestArgumentsOfTheMethodUnencryptedAreIgnored(t *testing.T) {
	for block, ignored := range map[string]bool{"{}": false, "{\nkeys = nothing.here\n}": true,
		"{\ninner {}\n}": true} {
		c, diags := encryption.Parse("method \"unencrypted\" \"u\" "+block+
			"\nstate {\nmethod = method.unencrypted.u\n}\n", "settings")
		var e *encryption.Encryption
		if !diags.HasErrors() {
			e, diags = encryption.New(c, encryption.Options{Scope: plainScope})
		}
		if diags.HasErrors() || e.State().Seals() || len(diags) != 1 ||
			strings.Contains(diags[0].Detail, "ignored") != ignored {
			t.Errorf("%s: %v", block, diags)
		}
	}
}
