//go:build unix

package team

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// enc are encryption settings as data, which can be written as HCL and as JSON.
type enc struct {
	keys, methods []encBlock
	targets       map[string]*encTarget // by path: "state", "plan", "remote_state_data_sources/default" or ".../it"
}

// encBlock is a key provider or a method. Values of arguments are texts, numbers, or references of type expr.
type encBlock struct {
	kind, name string
	arguments  map[string]any
}

type expr string

type encTarget struct {
	method   string
	fallback *encTarget
	enforced any // nil if absent
}

func (t *encTarget) hcl(name, indent string) string {
	text := indent + name + " {\n"
	if t.method != "" {
		text += indent + "  method = " + t.method + "\n"
	}
	if t.enforced != nil {
		text += fmt.Sprintf("%s  enforced = %v\n", indent, t.enforced)
	}
	if t.fallback != nil {
		text += t.fallback.hcl("fallback", indent+"  ")
	}
	return text + indent + "}\n"
}

func (t *encTarget) json() map[string]any {
	all := map[string]any{}
	if t.method != "" {
		all["method"] = t.method
	}
	if t.enforced != nil {
		all["enforced"] = t.enforced
	}
	if t.fallback != nil {
		all["fallback"] = t.fallback.json()
	}
	return all
}

// group returns the targets that are nested blocks, by the first part of the path.
func (e *enc) group() map[string]map[string]*encTarget {
	all := map[string]map[string]*encTarget{}
	for path, t := range e.targets {
		top, inner, _ := strings.Cut(path, "/")
		if all[top] == nil {
			all[top] = map[string]*encTarget{}
		}
		all[top][inner] = t
	}
	return all
}

// hcl returns the settings as the content of a block.
func (e *enc) hcl() string {
	text := ""
	for root, blocks := range map[string][]encBlock{"key_provider": e.keys, "method": e.methods} {
		for _, b := range blocks {
			text += fmt.Sprintf("%s %q %q {\n", root, b.kind, b.name)
			for _, name := range slices.Sorted(maps.Keys(b.arguments)) {
				value := b.arguments[name]
				if s, ok := value.(string); ok {
					value = strconv.Quote(s)
				}
				text += fmt.Sprintf("  %s = %v\n", name, value)
			}
			text += "}\n"
		}
	}
	for top, inner := range e.group() {
		if t := inner[""]; t != nil {
			text += t.hcl(top, "")
			continue
		}
		text += top + " {\n"
		for name, t := range inner {
			if name != "default" {
				name = fmt.Sprintf("remote_state_data_source %q", name)
			}
			text += t.hcl(name, "  ")
		}
		text += "}\n"
	}
	return text
}

// json returns the settings in JSON, as for the environment variable.
func (e *enc) json() string {
	document := map[string]any{}
	for root, blocks := range map[string][]encBlock{"key_provider": e.keys, "method": e.methods} {
		kinds := map[string]map[string]any{}
		for _, b := range blocks {
			all := map[string]any{}
			for name, value := range b.arguments {
				if ref, ok := value.(expr); ok && strings.HasPrefix(string(ref), "key_provider.") {
					value = string(ref)
				} else if ok {
					value = "${" + string(ref) + "}"
				}
				all[name] = value
			}
			if kinds[b.kind] == nil {
				kinds[b.kind] = map[string]any{}
			}
			kinds[b.kind][b.name] = all
		}
		if len(kinds) > 0 {
			document[root] = kinds
		}
	}
	for top, inner := range e.group() {
		if t := inner[""]; t != nil {
			document[top] = t.json()
			continue
		}
		others, named := map[string]any{}, map[string]any{}
		for name, t := range inner {
			if name == "default" {
				others[name] = t.json()
			} else {
				named[name] = t.json()
			}
		}
		if len(named) > 0 {
			others["remote_state_data_source"] = named
		}
		document[top] = others
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // it only has texts and numbers
	}
	return string(text)
}

// encWriter generates random settings. Most are valid; all programs must agree on which.
type encWriter struct{ *rand.Rand }

func (r encWriter) chance(n int) bool { return r.IntN(n) == 0 }

func (r encWriter) one(of ...string) string { return of[r.IntN(len(of))] }

// phrases are passphrases by the name of their key provider.
var phrases = map[string]any{"a": "correct horse battery staple", "b": "another passphrase for states",
	"v": expr("var.phrase"), "l": expr("local.phrase"), "short": "too short", "open": expr("var.unset")}

// settings returns new settings.
func (r encWriter) settings() *enc {
	e := &enc{targets: map[string]*encTarget{}}
	for _, name := range []string{"a", "b", "v", "l", "c", "short", "open"} {
		if (name == "short" || name == "open") && !r.chance(12) || r.chance(12) {
			continue
		}
		b := encBlock{"pbkdf2", name, map[string]any{"passphrase": phrases[name], "iterations": 200000}}
		if name == "c" {
			b.arguments["chain"] = expr("key_provider.pbkdf2." + r.one("a", "b"))
			delete(b.arguments, "passphrase")
		}
		if r.chance(6) {
			b.arguments["hash_function"] = r.one("sha256", "sha512", "sha512", "md5")
		}
		if r.chance(8) {
			b.arguments["encrypted_metadata_alias"] = r.one("one", "two")
		}
		if r.chance(20) {
			b.arguments["key_length"] = r.IntN(3)*8 + 16
		}
		e.keys = append(e.keys, b)
		method := encBlock{"aes_gcm", name, map[string]any{"keys": expr("key_provider.pbkdf2." + name)}}
		if r.chance(10) {
			method.arguments["aad"] = expr("[1, 2]")
		}
		if !r.chance(15) {
			e.methods = append(e.methods, method)
		}
	}
	if r.IntN(9) < 5 {
		u := encBlock{"unencrypted", "u", map[string]any{}}
		if r.chance(3) { // ignored by all programs
			u.arguments = map[string]any{"x": "y",
				"keys": expr(r.one("key_provider.pbkdf2.nowhere", "method.aes_gcm.a"))}
		}
		e.methods = append(e.methods, u)
	}
	if r.chance(25) {
		e.methods = append(e.methods, encBlock{"rot13", "x", map[string]any{}})
	}
	for _, path := range []string{"state", "state", "plan", "remote_state_data_sources/default",
		"remote_state_data_sources/it"} {
		if r.chance(2) {
			e.targets[path] = r.target(e, 0)
		}
		if t := e.targets[path]; t != nil && r.chance(4) {
			t.enforced = !r.chance(4) // only valid for two of them
		}
	}
	return e
}

func (r encWriter) target(e *enc, depth int) *encTarget {
	t := &encTarget{}
	if n := len(e.methods); n > 0 && !r.chance(25) {
		m := e.methods[r.IntN(n)]
		t.method = "method." + m.kind + "." + m.name
	} else if r.chance(2) {
		t.method = r.one("method.aes_gcm.nowhere", "method.aes_gcm", "key_provider.pbkdf2.a")
	}
	if r.chance(2+depth) && depth < 3 {
		t.fallback = r.target(e, depth+1)
	}
	return t
}

// changed returns settings that follow others: one thing is different, or they are entirely new.
func (r encWriter) changed(e *enc) *enc {
	if e == nil || r.chance(4) {
		return r.settings()
	}
	c := &enc{keys: slices.Clone(e.keys), methods: slices.Clone(e.methods), targets: maps.Clone(e.targets)}
	path := r.one("state", "state", "plan", "remote_state_data_sources/default")
	switch t := c.targets[path]; {
	case t == nil:
		c.targets[path] = r.target(c, 0)
	case r.chance(2): // a key rotation
		c.targets[path] = r.target(c, 3)
		c.targets[path].fallback = &encTarget{method: t.method}
	case r.chance(2): // its end
		c.targets[path] = &encTarget{method: t.method, enforced: t.enforced}
	default:
		delete(c.targets, path)
	}
	return c
}

// placed are settings where a program reads them: in the configuration, in the environment, or in both.
type placed struct{ block, env string }

func (r encWriter) place(e *enc) placed {
	one, two := *e, enc{}
	switch r.IntN(4) {
	case 0:
		return placed{block: e.hcl()}
	case 1:
		return placed{env: e.hcl()}
	case 2:
		return placed{env: e.json()}
	}
	one.targets = map[string]*encTarget{}
	two.targets = e.targets
	if len(e.keys) > 0 && r.chance(2) { // an argument that overrides another
		k := e.keys[0]
		over := encBlock{k.kind, k.name, map[string]any{"iterations": 200001}}
		two.keys = []encBlock{over}
	}
	return placed{one.hcl(), cmp.Or(map[bool]string{true: two.json(), false: two.hcl()}[r.chance(2)])}
}

// encMember is one of two programs that run the same steps.
type encMember struct {
	*member
	env []string
}

const encConfiguration = `
variable "phrase" {
  default   = "a phrase that is in a variable"
  sensitive = true
}
variable "unset" {
  default = null
}
variable "n" {
  default = 0
}
locals {
  phrase = "${var.phrase}, and local"
}
resource "terraform_data" "thing" {
  input = var.n
}
output "n" {
  value = terraform_data.thing.output
}
`

// set writes the settings.
func (m *encMember) set(p placed) {
	text := encConfiguration
	if p.block != "" {
		text += "terraform {\nencryption {\n" + p.block + "}\n}\n"
	}
	m.file("main.tf", text)
	m.member.env = append(slices.Clone(m.env), encryption.Variable+"="+p.env)
}

// form returns how a file is stored: whether it is encrypted, and by which key providers; "" for no file.
func (m *encMember) form(name string) string {
	b, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		return ""
	}
	var d struct {
		Meta map[string]any `json:"meta"`
	}
	if !encryption.IsSealed(b) || json.Unmarshal(b, &d) != nil {
		return "plain"
	}
	return fmt.Sprint("sealed by ", slices.Sorted(maps.Keys(d.Meta)))
}

// step is a command and its arguments.
type step struct {
	args []string
	// reads: the state of the program's other directory, as by a data source.
	reads bool
}

func (r encWriter) step(n int) []step {
	value := fmt.Sprintf("-var=n=%d", n)
	switch r.IntN(7) {
	case 0:
		made := []step{{args: []string{"plan", "-no-color", "-out=saved", value}},
			{args: []string{"apply", "-no-color", "saved"}}}
		return made[:1+r.IntN(2)]
	case 4: // under other settings than those of its plan
		return []step{{args: []string{"apply", "-no-color", "saved"}}}
	case 1:
		return []step{{args: []string{"output", "-no-color", "-json"}}}
	case 2:
		return []step{{args: []string{"apply", "-no-color", "-auto-approve"}, reads: true}}
	case 3:
		return []step{{args: []string{"show", "-no-color", "saved"}}}
	default:
		return []step{{args: []string{"apply", "-no-color", "-auto-approve", value}}}
	}
}

// Random settings, used in turn with the same state, plans and data sources, have the same outcome as in OpenTofu: what
// is refused, and how a state and a plan are encrypted afterwards. Sometimes each continues with the files of the
// other. TOMBOLO_TEAM_BLOCKS is the number of sequences, and TOMBOLO_TEAM_SEED the first seed.
func TestRandomSettingsHaveTheOutcomeOfOpenTofu(t *testing.T) {
	inFull(t)
	other := theirs(t, "tofu", "TOMBOLO_TOFU")
	lives, err := strconv.Atoi(cmp.Or(os.Getenv("TOMBOLO_TEAM_BLOCKS"), "20"))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := strconv.Atoi(os.Getenv("TOMBOLO_TEAM_SEED"))
	for seed := range lives {
		t.Run(fmt.Sprint(first+seed), func(t *testing.T) {
			t.Parallel()
			randomLife(t, encWriter{rand.New(rand.NewPCG(uint64(first+seed), 18))}, other)
		})
	}
}

func randomLife(t *testing.T, r encWriter, other string) {
	var both []*encMember
	for name, bin := range map[string]string{"tombolo": ours, "tofu": other} {
		m := &member{t: t, name: name, bin: bin, dir: t.TempDir()}
		m.touch("cli.tfrc")
		both = append(both, &encMember{m, place{}.environ(m.dir)})
	}
	slices.SortFunc(both, func(a, b *encMember) int { return cmp.Compare(b.name, a.name) })
	var e *enc
	for n := range 7 {
		if n > 0 {
			e = r.changed(e)
		} else if r.chance(2) {
			e = r.settings()
		}
		p := placed{}
		if e != nil {
			p = r.place(e)
		}
		if r.chance(3) {
			exchange(t, both)
		}
		for _, s := range r.step(n) {
			if !sameOutcome(t, both, p, s) {
				return
			}
		}
	}
}

// exchange swaps the states of the two.
func exchange(t *testing.T, both []*encMember) {
	t.Helper()
	const name = "terraform.tfstate"
	one, err := os.ReadFile(filepath.Join(both[0].dir, name))
	two, otherErr := os.ReadFile(filepath.Join(both[1].dir, name))
	if err == nil && otherErr == nil {
		both[0].file(name, string(two))
		both[1].file(name, string(one))
	}
}

// mixesUp reports whether OpenTofu 1.12 has confused two key providers of one method. This happens if it uses a
// fallback whose keys are derived from the same keys as those of its method: then it decrypts nothing with the
// fallback, and encrypts no backup. Both programs refuse two with the same name in one method, before anything is
// decrypted.
func mixesUp(settings, text string) bool {
	return strings.Contains(text, "Duplicate metadata key") && strings.Contains(settings, "chain") &&
		strings.Contains(settings, "fallback")
}

// sameOutcome runs a step with both, and compares the outcomes.
func sameOutcome(t *testing.T, both []*encMember, p placed, s step) bool {
	t.Helper()
	var outcome, output [2]string
	for i, m := range both {
		m.set(p)
		before := m.form("terraform.tfstate")
		if s.reads {
			m.file("main.tf", strings.Split(encConfiguration, "resource")[0]+
				"data \"terraform_remote_state\" \"it\" {\n  backend = \"local\"\n  config = { path = "+
				"\"terraform.tfstate\" }\n}\noutput \"n\" {\n  value = data.terraform_remote_state.it.outputs.n\n}\n")
			if p.block != "" {
				m.file("encryption.tf", "terraform {\nencryption {\n"+p.block+"}\n}\n")
			}
		}
		args := slices.Clone(s.args)
		if s.reads {
			args = append(args, "-state=reader.tfstate")
		}
		text, err := m.try(args...)
		os.Remove(filepath.Join(m.dir, "encryption.tf"))
		output[i] = text
		outcome[i] = fmt.Sprintf("works: %t; the state was %s, and is %s", err == nil, before,
			m.form("terraform.tfstate"))
		if slices.Contains(args, "-out=saved") {
			outcome[i] += "; the plan is " + m.form("saved")
		}
	}
	if mixesUp(p.block+p.env, output[1]) {
		return false
	}
	if outcome[0] != outcome[1] {
		t.Errorf("%s %s:\n%s\n%s\n%s %s\n%s\nblock:\n%s\nenvironment:\n%s", both[0].name, s.args, outcome[0], output[0],
			both[1].name, outcome[1], output[1], p.block, p.env)
		return false
	}
	return true
}
