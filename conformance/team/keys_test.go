//go:build unix

package team

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// keyServices starts emulators of all cloud key services, at their usual addresses, and returns the variables to
// connect to them.
func keyServices(t *testing.T) []string {
	t.Helper()
	return keyServicesBehind(t, func(h http.Handler) http.Handler { return h })
}

// keyServicesBehind starts these services with a handler that intercepts all requests.
func keyServicesBehind(t *testing.T, behind func(http.Handler) http.Handler) []string {
	t.Helper()
	google, azure := cloudKeys(), &azuretest.Cloud{Blobs: http.NotFoundHandler()}
	services := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch host, _, _ := strings.Cut(r.Host, ":"); host {
		case "cloudkms.googleapis.com":
			google.ServeHTTP(w, r)
		case "kms.eu-central-1.amazonaws.com":
			encryptiontest.AmazonKeys{}.ServeHTTP(w, r)
		case "bao.example":
			encryptiontest.Transit{}.ServeHTTP(w, r)
		default:
			azure.ServeHTTP(w, r)
		}
	})
	return append((&drivertest.Cloud{Services: behind(services), HTTP2: true}).Start(t),
		"GOOGLE_OAUTH_ACCESS_TOKEN=token",
		"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true", "AWS_CA_BUNDLE=",
		"BAO_TOKEN="+encryptiontest.TransitToken)
}

// seal is a way to encrypt states: the blocks of a method and of its key providers.
type seal struct {
	name, blocks, method string
	mark                 string // contained in every encrypted document
}

const noKeys = `method "unencrypted" "plain" {}` + "\n"

// plain does not encrypt states.
var plain = seal{name: "plain", blocks: noKeys, method: "method.unencrypted.plain", mark: `"terraform_data"`}

// keyed returns AES with the keys of a provider.
func keyed(kind, arguments string) seal {
	return seal{name: kind, method: "method.aes_gcm." + kind, mark: "key_provider." + kind + ".a",
		blocks: fmt.Sprintf("key_provider %q \"a\" {\n%s\n}\nmethod \"aes_gcm\" %q {\n  keys = key_provider.%s.a\n}\n",
			kind, arguments, kind, kind)}
}

// keyProgram and methodProgram implement OpenTofu's protocols for external keys and methods.
const (
	keyProgram = `import sys, json, base64
print(json.dumps({"magic": "OpenTofu-External-Key-Provider", "version": 1}), flush=True)
meta = json.load(sys.stdin)
key = base64.b64encode(bytes(range(32))).decode()
out = {"keys": {"encryption_key": key}, "meta": {"external_data": {"n": 7}}}
if meta:
    out["keys"]["decryption_key"] = key
print(json.dumps(out))
`
	methodProgram = `import sys, json, base64, hashlib
print(json.dumps({"magic": "OpenTofu-External-Encryption-Method", "version": 1}), flush=True)
said = json.load(sys.stdin)
key = base64.b64decode(said.get("key", "")) or b"\x55"
text = base64.b64decode(said["payload"])
if sys.argv[1] == "encrypt":
    text = hashlib.sha256(key + text).digest() + text
text = bytes(b ^ key[n % len(key)] for n, b in enumerate(text))
if sys.argv[1] == "decrypt":
    tag, text = text[:32], text[32:]
    if tag != hashlib.sha256(key + text).digest():
        sys.exit("this was sealed by another method, or changed")
print(json.dumps({"payload": base64.b64encode(text).decode()}))
`
)

// seals returns all methods, and AES with all kinds of keys.
func seals() []seal {
	all := []seal{
		keyed("pbkdf2", "passphrase = \"correct horse battery staple\"\n  iterations = 200000"),
		keyed("aws_kms", "kms_key_id = \""+encryptiontest.AmazonKey+"\"\n  key_spec = \"AES_256\"\n"+
			"  region = \"eu-central-1\"\n  skip_credentials_validation = true\n  skip_requesting_account_id = true"),
		keyed("gcp_kms", "kms_encryption_key = \"projects/p/locations/global/keyRings/r/cryptoKeys/states\"\n"+
			"  key_length = 32"),
		keyed("azure_vault", "vault_uri = \"https://team.vault.azure.net\"\n  vault_key_name = \"tofu\"\n"+
			"  key_length = 32\n  tenant_id = \"tenant\"\n  client_id = \"client\"\n  client_secret = \""+
			azuretest.Secret+"\""),
		keyed("openbao", "address = \"https://bao.example\"\n  key_name = \""+encryptiontest.TransitKey+"\""),
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return all
	}
	const program = "key_provider \"external\" \"b\" {\n  command = [\"python3\", \"keys.py\"]\n}\n"
	const commands = "  encrypt_command = [\"python3\", \"method.py\", \"encrypt\"]\n" +
		"  decrypt_command = [\"python3\", \"method.py\", \"decrypt\"]\n}\n"
	return append(all,
		keyed("external", "command = [\"python3\", \"keys.py\"]"),
		seal{"chain", program + "key_provider \"pbkdf2\" \"c\" {\n  chain = key_provider.external.b\n" +
			"  iterations = 200000\n}\nmethod \"aes_gcm\" \"chain\" {\n  keys = key_provider.pbkdf2.c\n}\n",
			"method.aes_gcm.chain", "key_provider.external.b"},
		seal{"method", "method \"external\" \"method\" {\n" + commands, "method.external.method", `"meta":{}`},
		seal{"method with keys", program + "method \"external\" \"keyed\" {\n  keys = key_provider.external.b\n" +
			commands, "method.external.keyed", "key_provider.external.b"})
}

// settings returns settings that encrypt with s, and also decrypt with a fallback.
func (s seal) settings(fallback ...seal) string {
	blocks, inside := s.blocks, ""
	for _, f := range fallback {
		if f.blocks != s.blocks {
			blocks += f.blocks
		}
		inside = fmt.Sprintf("\n  fallback {\n    method = %s\n  }", f.method)
	}
	return fmt.Sprintf("%sstate {\n  method = %s%s\n}\n", blocks, s.method, inside)
}

// with sets the encryption settings of a program.
func (m *member) with(settings string) {
	m.env = append(m.env, encryption.Variable+"="+settings)
}

// sealedMember returns a program whose state is in a shared file.
func sealedMember(t *testing.T, name, bin, file string, env []string) *member {
	t.Helper()
	p := place{block: fmt.Sprintf("backend \"local\" {\n  path = %q\n}", file), env: env}
	m := p.member(t, name, bin)
	m.file("keys.py", keyProgram)
	m.file("method.py", methodProgram)
	return m
}

// A state goes from each key to the next, beginning and ending as plain text: one program encrypts it with the new key,
// the other then decrypts it without the former key and continues, and neither decrypts or changes it with only another
// key.
func TestSealedStatesGoFromKeyToKeyWithTofu(t *testing.T) {
	inFull(t)
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	env := keyServices(t)
	for _, begins := range []string{"tombolo", "tofu"} {
		t.Run(begins+" begins", func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "state")
			both := []*member{sealedMember(t, "tombolo", ours, file, env), sealedMember(t, "tofu", other, file, env)}
			if begins == "tofu" {
				both[0], both[1] = both[1], both[0]
			}
			both[1].run("apply", "-auto-approve", "-no-color")
			stored := func() string {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			former := plain
			for i, s := range append(seals(), plain) {
				one, two := both[i%2], both[1-i%2]
				before := stored()
				for _, m := range both {
					m.with(s.settings())
					m.fails("apply", "-auto-approve", "-no-color")
				}
				if now := stored(); now != before {
					t.Errorf("%s: without the key %s became %s", s.name, before, now)
				}
				one.with(s.settings(former))
				names := fmt.Sprintf(`-var=names=["a","n%d"]`, i)
				one.run("apply", "-auto-approve", "-no-color", names)
				if text := strings.Join(strings.Fields(stored()), ""); !strings.Contains(text, s.mark) ||
					strings.Contains(text, `"resources"`) != (s.name == plain.name) {
					t.Errorf("%s wrote this for %s: %s", one.name, s.name, text)
				}
				two.with(s.settings())
				two.idle(names)
				names = fmt.Sprintf(`-var=names=["a","m%d"]`, i)
				two.run("apply", "-auto-approve", "-no-color", names)
				one.with(s.settings())
				one.idle(names)
				former = s
			}
		})
	}
}

// combination is a kind of stored state and settings for it, or for one that a data source reads.
type combination struct{ stored, settings string }

// Both programs decrypt or refuse the same documents: plain and encrypted states, for each method and each fallback,
// enforced or not.
func TestSettingsDecryptTheSameDocumentsAsInTofu(t *testing.T) {
	inFull(t)
	a := keyed("pbkdf2", "passphrase = \"correct horse battery staple\"\n  iterations = 200000")
	b := seal{"other", strings.NewReplacer("staple", "stable", `"a"`, `"b"`, "pbkdf2.a", "pbkdf2.b",
		`"aes_gcm" "pbkdf2"`, `"aes_gcm" "other"`).Replace(a.blocks), "method.aes_gcm.other", ""}
	var all []combination
	methods := map[string]string{"nothing": "", "plain": plain.method, "a": a.method, "b": b.method}
	blocks := noKeys + a.blocks + b.blocks
	target := func(name, method, more string) string {
		if method == "" {
			return ""
		}
		return fmt.Sprintf("%s {\n  method = %s\n%s}\n", name, method, more)
	}
	for _, stored := range []string{"plain", "a"} {
		for _, method := range []string{"plain", "a", "b"} {
			for fallback := range methods {
				for _, enforced := range []string{"", "  enforced = true\n"} {
					all = append(all, combination{stored, blocks + target("state", methods[method],
						target("  fallback", methods[fallback], "")+enforced)})
				}
			}
		}
		for usual := range methods {
			for named := range methods {
				all = append(all, combination{stored, blocks + "remote_state_data_sources {\n" +
					target("  default", methods[usual], "") +
					target("  remote_state_data_source \"it\"", methods[named], "") + "}\n"})
			}
		}
	}
	comparePrograms(t, all, a)
}

// comparePrograms has each program read its own state, or that of a data source, under the same settings.
func comparePrograms(t *testing.T, all []combination, a seal) {
	t.Helper()
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	dir := t.TempDir()
	for name, settings := range map[string]string{"plain": "", "a": a.settings()} {
		m := sealedMember(t, "tombolo", ours, filepath.Join(dir, name), nil)
		m.with(settings)
		m.run("apply", "-auto-approve", "-no-color")
	}
	refused := 0
	for _, c := range all {
		var opened [2]bool
		var output [2]string
		for i, bin := range []string{ours, other} {
			m := &member{t: t, name: bin, bin: bin, dir: t.TempDir()}
			m.env = append(place{}.environ(m.dir), encryption.Variable+"="+c.settings)
			m.touch("cli.tfrc")
			file := filepath.Join(dir, c.stored)
			if strings.Contains(c.settings, "remote_state") {
				m.file("main.tf", fmt.Sprintf("data \"terraform_remote_state\" \"it\" {\n  backend = \"local\"\n"+
					"  config = { path = %q }\n}\noutput \"ids\" {\n"+
					"  value = data.terraform_remote_state.it.outputs.ids\n}\n", file))
			} else {
				m.goTo(place{block: fmt.Sprintf("backend \"local\" {\n  path = %q\n}", file)})
				m.env = append(m.env, "TF_CLI_ARGS_plan=-detailed-exitcode")
			}
			if _, err := m.try("init", "-no-color"); err == nil { // a mistake may be reported here, or later
				out, err := m.try("plan", "-no-color")
				output[i], opened[i] = out, err == nil || strings.Contains(out, "+ ids")
			}
		}
		if opened[0] != opened[1] {
			t.Errorf("a state that is %s: we open it: %v, tofu: %v, with\n%s%s\n%s", c.stored, opened[0], opened[1],
				c.settings, output[0], output[1])
		}
		if !opened[0] {
			refused++
		}
	}
	if refused == 0 || refused == len(all) {
		t.Errorf("%d of %d are refused", refused, len(all))
	}
}

const sealedVectors = "testdata/sealed"

// Documents that OpenTofu 1.12.6 has encrypted with keys of services are decrypted. TOMBOLO_TEAM_VECTORS=write
// regenerates them.
func TestDocumentsOfTofuAreOpenedWithKeysOfServices(t *testing.T) {
	env := keyServices(t)
	for _, s := range seals() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(sealedVectors, strings.ReplaceAll(s.name, " ", "_")+".txtar")
			if os.Getenv("TOMBOLO_TEAM_VECTORS") == "write" {
				writeVector(t, name, s, env)
			}
			archive, err := txtar.ParseFile(name)
			if err != nil || len(archive.Files) != 3 {
				t.Fatalf("there is no document of OpenTofu: %v", err)
			}
			file := filepath.Join(t.TempDir(), "state")
			m := sealedMember(t, "tombolo", ours, file, env)
			if err := os.WriteFile(file, archive.Files[1].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			m.with(string(archive.Files[0].Data))
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal([]byte(m.run("state", "pull")), &got),
				json.Unmarshal(archive.Files[2].Data, &want)); err != nil || got["lineage"] != want["lineage"] ||
				!reflect.DeepEqual(got["resources"], want["resources"]) {
				t.Errorf("the state is %v, want %v: %v", got, want, err)
			}
			m.idle()
		})
	}
}

// writeVector has OpenTofu write a state, encrypted and plain.
func writeVector(t *testing.T, name string, s seal, env []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	m := sealedMember(t, "tofu", theirs(t, "tofu", "TOMBOLO_TOFU"), file, env)
	m.with(s.settings())
	m.run("apply", "-auto-approve", "-no-color")
	sealed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := txtar.Format(&txtar.Archive{Comment: []byte("Written by tofu 1.12.6 with these settings.\n"),
		Files: []txtar.File{{Name: "settings.hcl", Data: []byte(s.settings())},
			{Name: "terraform.tfstate", Data: sealed}, {Name: "plain.tfstate", Data: []byte(m.run("state", "pull"))}}})
	if err := os.MkdirAll(sealedVectors, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Documents of OpenTofu and our own are damaged, with every method and key provider: nothing is decrypted to other
// content, and nothing crashes the program. TOMBOLO_TEAM_DAMAGE is how often each is damaged.
func TestDamagedDocumentsAreRefusedWithEveryKey(t *testing.T) {
	if os.Getenv(within) == "" { // root certificates are only read once per process
		which := "^" + t.Name() + "$"
		if asked := flag.Lookup("test.run").Value.String(); strings.Contains(asked, t.Name()+"/") {
			which = asked // some keys
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+which, "-test.v", "-test.timeout=0")
		cmd.Env = append(append(os.Environ(), keyServices(t)...), within+"="+t.TempDir(), "ARM_USE_CLI=false")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+"/") {
			t.Error(err)
		}
		return
	}
	times := 60
	if asked := os.Getenv("TOMBOLO_TEAM_DAMAGE"); asked != "" {
		var err error
		if times, err = strconv.Atoi(asked); err != nil {
			t.Fatal(err)
		}
	}
	program := quickProgram(t, os.Getenv(within))
	for _, s := range seals() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(filepath.Join(sealedVectors, strings.ReplaceAll(s.name, " ", "_")+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			c := opener(t, program.Replace(string(archive.Files[0].Data)))
			theirs := archive.Files[1].Data
			plain, _, err := c.Open(t.Context(), theirs)
			if err != nil {
				t.Fatal(err)
			}
			encryptiontest.Damage(t, c, theirs, plain, times/2)
			lineage := "l"
			plain = []byte(`{"version":4,"serial":7,"lineage":"l"}`)
			mine, err := c.Seal(t.Context(), plain, &lineage, 7)
			if err != nil {
				t.Fatal(err)
			}
			encryptiontest.Damage(t, c, mine, plain, times-times/2)
		})
	}
}

// quickProgram compiles a program equivalent to the key and method programs, and makes settings use it: it starts in a
// fraction of their time.
func quickProgram(t *testing.T, dir string) *strings.Replacer {
	t.Helper()
	bin := filepath.Join(dir, "programs")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "testdata/programs/main.go").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.NewReplacer(`"python3", "keys.py"`, fmt.Sprintf("%q, \"keys\"", bin),
		`"python3", "method.py"`, fmt.Sprintf("%q", bin))
}

// opener returns a cipher with these settings in this process.
func opener(t *testing.T, settings string) *encryption.Cipher {
	t.Helper()
	dir := t.TempDir()
	c, diags := encryption.Parse(settings, "settings")
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	e, diags := encryption.New(c, encryption.Options{Dir: dir,
		Kinds: backend.KeyProviders(remote.Surroundings{Getenv: os.Getenv}),
		Scope: func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
			return e.Value(&hcl.EvalContext{Variables: more})
		}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return e.State()
}
