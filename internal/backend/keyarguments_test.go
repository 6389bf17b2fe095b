package backend_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

const storedKeyArguments = "testdata/keyarguments.json"

// sealers are the blocks in encryption settings: the text before their names. The method unencrypted is not in the list
// because OpenTofu ignores the content of its block.
var sealers = []string{`key_provider "pbkdf2"`, `key_provider "aws_kms"`, `key_provider "gcp_kms"`,
	`key_provider "azure_vault"`, `key_provider "openbao"`, `key_provider "external"`, `method "aes_gcm"`,
	`method "external"`, `method "unencrypted"`}

// keyAnswers holds the output of a program for blocks of encryption settings.
type keyAnswers struct {
	Names  []string                     // all names that were tried in each block
	Blocks map[string]map[string]string // block -> name -> kind of the name
}

// The blocks of encryption settings have the arguments and inner blocks of OpenTofu; types, and which arguments are
// required, are not compared. The names that are tried are all argument names in OpenTofu's binary, and ours. Its
// output is stored; TOMBOLO_BACKEND_ARGUMENTS=write runs it again, and =check compares.
func TestKeyProvidersHaveTheArgumentsOfOpenTofu(t *testing.T) {
	var stored keyAnswers
	text, err := os.ReadFile(storedKeyArguments)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if mode := os.Getenv("TOMBOLO_BACKEND_ARGUMENTS"); mode != "" {
		bin := os.Getenv("TOMBOLO_TOFU")
		if bin == "" {
			bin = "tofu"
		}
		if bin, err = exec.LookPath(bin); err != nil {
			t.Skip("needs tofu 1.12.6, named with TOMBOLO_TOFU")
		}
		now := keyAnswers{Names: namesIn(t, bin)}
		now.Blocks = askedOf(now.Names, func(settings string) string {
			output, _ := initialized(t, bin, "encryption {\n"+settings+"}", nil)
			return output
		})
		if mode == "check" && !reflect.DeepEqual(now, stored) {
			t.Errorf("it answers %v, and %v is stored", now, stored)
		}
		if mode == "write" {
			text, _ = json.MarshalIndent(now, "", "  ")
			stored, err = now, os.WriteFile(storedKeyArguments, append(text, '\n'), 0o666)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ownNames() {
		if !slices.Contains(stored.Names, name) {
			t.Errorf("OpenTofu was not asked about %s: ask it anew", name)
		}
	}
	ours := askedOf(stored.Names, wordsOf)
	for block, answers := range stored.Blocks {
		for name, what := range answers { // we accept some blocks as arguments as well, as JSON needs
			if output := wordsOf(settingsWith(block, stored.Names, name)); what == "a block" &&
				!strings.Contains(output, "Unsupported block") {
				ours[block][name] = what
				maps.Copy(ours[block], kindsOf(stored.Names, name+".", output))
			}
		}
	}
	for _, block := range sealers {
		if len(stored.Blocks[block]) == 0 {
			t.Errorf("%s: there are no answers", block)
		}
		if got, want := ours[block], stored.Blocks[block]; !maps.Equal(got, want) {
			t.Errorf("%s has %v, in OpenTofu %v", block, got, want)
		}
	}
}

// keyKinds returns the key providers that are declared in other packages.
func keyKinds() map[string]*encryption.Kind {
	return backend.KeyProviders(remote.Surroundings{Getenv: func(string) string { return "" }})
}

// ownNames returns the arguments of our key providers of clouds.
func ownNames() (all []string) {
	for _, k := range keyKinds() {
		all = slices.AppendSeq(all, maps.Keys(k.Arguments))
	}
	return all
}

var nameInProgram = regexp.MustCompile(`hcl:"([a-z][a-z0-9_]*)`)

// namesIn returns the argument names in a program's binary, and ours.
func namesIn(t *testing.T, bin string) []string {
	t.Helper()
	text, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	all := ownNames()
	for _, found := range nameInProgram.FindAllSubmatch(text, -1) {
		all = append(all, string(found[1]))
	}
	// The search of the binary does not find these.
	all = append(all, "passphrase", "chain", "iterations", "hash_function", "salt_length", "keys", "aad",
		"encrypt_command", "decrypt_command")
	slices.Sort(all)
	return slices.Compact(all)
}

// askedOf returns the kinds of all names in all blocks, including inner blocks.
func askedOf(names []string, ask func(settings string) string) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, block := range sealers {
		found := kindsOf(names, "", ask(settingsWith(block, names, "")))
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if found[name] == "a block" {
				maps.Copy(found, kindsOf(names, name+".", ask(settingsWith(block, names, name))))
			}
		}
		all[block] = found
	}
	return all
}

// settingsWith returns settings with all names in a block, or in a block inside of it.
func settingsWith(block string, names []string, inside string) string {
	list := strings.Join(names, " = \"x\"\n") + " = \"x\"\n"
	if inside != "" {
		list = inside + " {\n" + list + "}\n"
	}
	text := block + " \"a\" {\n" + list + "}\n"
	kind, name, _ := strings.Cut(strings.ReplaceAll(block, `"`, ""), " ")
	method := "method." + name + ".a"
	if kind == "key_provider" {
		text += fmt.Sprintf("method \"aes_gcm\" \"b\" {\nkeys = key_provider.%s.a\n}\n", name)
		method = "method.aes_gcm.b"
	}
	return text + "state {\nmethod = " + method + "\n}\n"
}

// kindsOf parses the output for settings with all names, which reports unexpected ones.
func kindsOf(names []string, prefix, text string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		expected := fmt.Sprintf("An argument named %q is not expected here.", name)
		switch {
		case strings.Contains(text, expected+" Did you mean to define a block"):
			all[prefix+name] = "a block"
		case !strings.Contains(text, expected):
			all[prefix+name] = "an argument"
		}
	}
	return all
}

// wordsOf returns our messages for settings, in one line.
func wordsOf(settings string) string {
	c, diags := encryption.Parse(settings, "settings")
	if !diags.HasErrors() {
		_, diags = encryption.New(c, encryption.Options{Kinds: keyKinds(),
			Scope: func(e hcl.Expression, more map[string]cty.Value) (cty.Value, hcl.Diagnostics) {
				return e.Value(&hcl.EvalContext{Variables: more})
			}})
	}
	var output strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&output, "%s %s ", d.Summary, d.Detail)
	}
	return output.String()
}
