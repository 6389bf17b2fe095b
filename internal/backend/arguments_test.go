package backend_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
)

const storedArguments = "testdata/arguments.json"

// peers are programs whose arguments are stored: with the variable that names each, or the command on PATH.
var peers = map[string][2]string{"terraform 1.11.4": {"TOMBOLO_TERRAFORM", "terraform"},
	"tofu 1.12.6": {"TOMBOLO_TOFU", "tofu"}}

// ownKinds are backends that neither program has, or not in a build that was at hand.
var ownKinds = map[string]string{"program": "is ours", "cloud": "is a block of its own",
	"oci": "came with Terraform 1.12"}

// types are the arguments of a backend with what they take, in the words of Terraform.
type types map[string]string

// ours returns the arguments of a kind: those that Terraform has, and those that only others have.
func ours(kind string) (theirs, more types) {
	theirs, more = types{}, types{}
	k := backend.Kinds()[kind]
	for name, a := range k.Schema.Attributes {
		theirs[name] = a.ImpliedType().FriendlyName()
		if k.Blocks[name] {
			theirs[name] = "a block"
		}
	}
	for name, a := range k.More {
		more[name] = a.ImpliedType().FriendlyName()
	}
	return theirs, more
}

// The blocks of all backends take the arguments of Terraform and OpenTofu, with their types. What is stored here are
// the answers of these programs; TOMBOLO_BACKEND_ARGUMENTS=write has them asked anew, and =check compares.
func TestBackendsHaveTheArgumentsOfOthers(t *testing.T) {
	var stored map[string]map[string]types
	text, err := os.ReadFile(storedArguments)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if mode := os.Getenv("TOMBOLO_BACKEND_ARGUMENTS"); mode != "" {
		now := askedArguments(t)
		if mode == "check" && !reflect.DeepEqual(now, stored) {
			t.Errorf("they answer %v, and %v is stored", now, stored)
		}
		if mode == "write" {
			text, _ = json.MarshalIndent(now, "", "  ")
			stored, err = now, os.WriteFile(storedArguments, append(text, '\n'), 0o666)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for kind := range backend.Kinds() {
		if ownKinds[kind] != "" {
			continue
		}
		all, more := ours(kind)
		terraform, tofu := stored["terraform 1.11.4"][kind], stored["tofu 1.12.6"][kind]
		if len(terraform) < 1 || len(tofu) < 1 {
			t.Errorf("%s: there are no answers", kind)
		}
		if !maps.Equal(all, terraform) {
			t.Errorf("%s has %v, in Terraform it has %v", kind, all, terraform)
		}
		maps.Copy(all, more)
		for name, ty := range tofu {
			if all[name] != ty {
				t.Errorf("%s: %s takes %q, in OpenTofu %q", kind, name, all[name], ty)
			}
		}
		for name := range more {
			if tofu[name] == "" {
				t.Errorf("%s: nobody else has %s", kind, name)
			}
		}
	}
}

// askedArguments asks the programs.
func askedArguments(t *testing.T) map[string]map[string]types {
	t.Helper()
	all := map[string]map[string]types{}
	for peer, where := range peers {
		bin := os.Getenv(where[0])
		if bin == "" {
			bin = where[1]
		}
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("needs %s, named with %s", peer, where[0])
		}
		all[peer] = map[string]types{}
		for kind := range backend.Kinds() {
			if ownKinds[kind] == "" {
				all[peer][kind] = askedTypes(t, bin, kind, recordedNames(t, bin, kind))
			}
		}
	}
	return all
}

// initialized runs init with a block, and returns what it says, in one line, and what it records.
func initialized(t *testing.T, bin, block string, env []string) (said string, record []byte) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": "terraform {\n" + block + "\n}\n", "cli.tfrc": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bin, "init", "-input=false", "-no-color")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+dir+"/cli.tfrc",
		"HOME="+dir, "AWS_EC2_METADATA_DISABLED=true")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		t.Fatal(err)
	}
	record, _ = os.ReadFile(filepath.Join(dir, ".terraform", "terraform.tfstate"))
	return strings.Join(strings.Fields(string(out)), " ") + " ", record
}

func asExit(err error, to **exec.ExitError) (ok bool) {
	*to, ok = err.(*exec.ExitError)
	return ok
}

// recordedNames returns the arguments that a program records, where there is a service for the backend, and ours.
func recordedNames(t *testing.T, bin, kind string) []string {
	t.Helper()
	names, more := ours(kind)
	maps.Copy(names, more)
	if slices.Contains(backendtest.Kinds(), kind) {
		s := backendtest.Serve(t, kind)
		file := filepath.Join(t.TempDir(), "config") // of kubectl, without which Terraform does not begin
		text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: a}}]\n" +
			"users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, recorded := initialized(t, bin, fmt.Sprintf("backend %q %s", kind, s.Object("place")),
			append(slices.Clone(s.Env), "KUBE_CONFIG_PATH="+file))
		var record struct {
			Backend struct{ Config map[string]any }
		}
		if err := json.Unmarshal(recorded, &record); err != nil || len(record.Backend.Config) == 0 {
			t.Errorf("%s records nothing of %s: %s", bin, kind, said)
		}
		for name := range record.Backend.Config {
			names[name] = ""
		}
	}
	return slices.Sorted(maps.Keys(names))
}

var takes = regexp.MustCompile(`Inappropriate value for attribute "(\w+)": (?:element "zz": )?((?:\w+ of )?\w+) required`)

// askedTypes returns what arguments take: a program says it when they have a value that none takes.
func askedTypes(t *testing.T, bin, kind string, names []string) types {
	t.Helper()
	block := fmt.Sprintf("backend %q {\n", kind)
	for _, name := range names {
		block += name + " = { zz = [true] }\n"
	}
	said, _ := initialized(t, bin, block+"}", nil)
	all := types{}
	for _, found := range takes.FindAllStringSubmatch(said, -1) {
		if all[found[1]] = found[2]; strings.Contains(found[0], `"zz"`) {
			all[found[1]] = "map of " + found[2]
		}
	}
	for _, name := range names {
		switch expected := fmt.Sprintf("An argument named %q is not expected here.", name); {
		case strings.Contains(said, expected+" Did you mean to define a block"):
			all[name] = "a block"
		case !strings.Contains(said, expected) && all[name] == "":
			all[name] = "object" // which has attributes of its own
		}
	}
	return all
}
