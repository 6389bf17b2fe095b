package backend_test

import (
	"cmp"
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
	"github.com/tombolo-iac/tombolo/provider"
)

const storedArguments = "testdata/arguments.json"

// peers are the programs whose arguments are stored, each with the variable that names it, or the command in PATH, and
// the number of backends of ours that it has. The last is a build without the backends that are separate modules.
var peers = map[string]struct {
	variable, command string
	kinds             int
}{"terraform 1.11.4": {"TOMBOLO_TERRAFORM", "terraform", 13}, "tofu 1.12.6": {"TOMBOLO_TOFU", "tofu", 13},
	"terraform 1.15.9": {"TOMBOLO_TERRAFORM_NEW", "terraform-1.15.9", 5}}

// byDocumentation stands for the arguments of the other backends according to Terraform's documentation of version
// 1.15, or 1.14 for pages that did not change. A person has copied them; the test does not fetch them.
const byDocumentation = "terraform 1.15, its documentation"

// ownKinds are backends that neither program has, or only in a build that was not available.
var ownKinds = map[string]string{"program": "is ours", "oci": "came with Terraform 1.12"}

// types maps the arguments of a backend to their types in Terraform's syntax. OBJECT.NAME is an attribute of an object,
// or an argument of a block.
type types map[string]string

// ours returns the arguments of a kind: those that Terraform has, and those that it does not have.
func ours(kind string) (theirs, more types) {
	theirs, more = types{}, types{}
	k := backend.Kinds()[kind]
	add := func(to types, attributes map[string]*provider.Attribute) {
		for name, a := range attributes {
			ty := a.ImpliedType()
			if to[name] = ty.FriendlyName(); k.Blocks[name] {
				to[name] = "a block"
			}
			if ty.IsCollectionType() {
				ty = ty.ElementType()
			}
			if ty.IsObjectType() {
				for inner, ty := range ty.AttributeTypes() {
					to[name+"."+inner] = ty.FriendlyName()
				}
			}
		}
	}
	add(theirs, k.Schema.Attributes)
	add(more, k.More)
	return theirs, more
}

// The blocks of all backends accept the arguments of Terraform and OpenTofu, with their types. The output of these
// programs is stored; TOMBOLO_BACKEND_ARGUMENTS=write runs them again, and =check compares.
func TestBackendsHaveTheArgumentsOfOtherPrograms(t *testing.T) {
	var stored map[string]map[string]types
	text, err := os.ReadFile(storedArguments)
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if mode := os.Getenv("TOMBOLO_BACKEND_ARGUMENTS"); mode != "" {
		now := askedArguments(t)
		now[byDocumentation] = stored[byDocumentation]
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
	for peer, p := range peers {
		if len(stored[peer]) != p.kinds {
			t.Errorf("there are answers of %s for %d backends, and it has %d of ours", peer, len(stored[peer]), p.kinds)
		}
	}
	for kind := range backend.Kinds() {
		if ownKinds[kind] == "" {
			compare(t, kind, stored)
		}
	}
}

// compare compares the arguments of a kind with those of the other programs.
func compare(t *testing.T, kind string, stored map[string]map[string]types) {
	t.Helper()
	all, more := ours(kind)
	if terraform := stored["terraform 1.11.4"][kind]; !maps.Equal(all, terraform) {
		t.Errorf("%s has %v, in Terraform it has %v", kind, all, terraform)
	}
	maps.Copy(all, more)
	for _, peer := range []string{"tofu 1.12.6", "terraform 1.15.9"} {
		for name, ty := range stored[peer][kind] {
			if all[name] != ty && all[name] != "dynamic" {
				t.Errorf("%s: %s takes %q, in %s %q", kind, name, all[name], peer, ty)
			}
		}
	}
	if len(stored["terraform 1.15.9"][kind])+len(stored[byDocumentation][kind]) == 0 {
		t.Errorf("%s: nothing is known of Terraform 1.15", kind)
	}
	for name := range stored[byDocumentation][kind] {
		if all[name] == "" {
			t.Errorf("%s: there is no %s, which the documentation of Terraform 1.15 has", kind, name)
		}
	}
	for name := range more {
		if stored["tofu 1.12.6"][kind][name]+stored[byDocumentation][kind][name] == "" {
			t.Errorf("%s: nobody else has %s", kind, name)
		}
	}
}

// askedArguments runs the programs and returns their arguments.
func askedArguments(t *testing.T) map[string]map[string]types {
	t.Helper()
	all := map[string]map[string]types{}
	for peer, p := range peers {
		bin := cmp.Or(os.Getenv(p.variable), p.command)
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("needs %s, named with %s", peer, p.variable)
		}
		all[peer] = map[string]types{}
		for kind := range backend.Kinds() {
			text, _ := initialized(t, bin, header(kind)+"{\nzz = 1\n}", nil)
			if ownKinds[kind] == "" && strings.Contains(text, `An argument named "zz" is not expected here.`) {
				all[peer][kind] = askedTypes(t, bin, kind, recordedNames(t, bin, kind))
			}
		}
	}
	return all
}

// header returns the text before the braces of a block.
func header(kind string) string {
	if kind == "cloud" {
		return "cloud "
	}
	return fmt.Sprintf("backend %q ", kind)
}

// initialized runs init with a block, and returns its output in one line and its record.
func initialized(t *testing.T, bin, block string, env []string) (text string, record []byte) {
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

// recordedNames returns the arguments that a program records, if there is a service for the backend, and ours.
func recordedNames(t *testing.T, bin, kind string) []string {
	t.Helper()
	names, more := ours(kind)
	maps.Copy(names, more)
	maps.DeleteFunc(names, func(name, _ string) bool { return strings.Contains(name, ".") })
	if slices.Contains(backendtest.Kinds(), kind) {
		s := backendtest.Serve(t, kind)
		file := filepath.Join(t.TempDir(), "config") // kubectl configuration, without which Terraform does not start
		text := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: a}}]\n" +
			"users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		output, recorded := initialized(t, bin, header(kind)+s.Object("place"),
			append(slices.Clone(s.Env), "KUBE_CONFIG_PATH="+file))
		var record struct {
			Backend struct{ Config map[string]any }
		}
		if err := json.Unmarshal(recorded, &record); err != nil || len(record.Backend.Config) == 0 {
			t.Errorf("%s records nothing of %s: %s", bin, kind, output)
		}
		for name := range record.Backend.Config {
			names[name] = ""
		}
	}
	return slices.Sorted(maps.Keys(names))
}

var takes = regexp.MustCompile(`Inappropriate value for attribute "(\w+)": (?:attribute "(\w+)": )?` +
	`(?:element "zz": )?((?:\w+ of )?\w+) required`)

// wrong is a value that no argument accepts.
const wrong = "{ zz = [true] }"

// askedTypes returns the types of arguments, which a program names when it gets an invalid value.
func askedTypes(t *testing.T, bin, kind string, names []string) types {
	t.Helper()
	all := typesIn(t, bin, kind, names, "%s")
	for name, ty := range maps.Clone(all) {
		inner := types{}
		switch ty {
		case "a block":
			inner = typesIn(t, bin, kind, innerNames(), name+" {\n%s\n}")
		case "object":
			inner = attributeTypes(t, bin, kind, name)
		}
		if all[name] == "object" && len(inner) == 0 {
			all[name] = "dynamic"
		}
		for attribute, ty := range inner {
			if ty == "object" {
				ty = "dynamic"
			}
			all[name+"."+attribute] = ty
		}
	}
	return all
}

// innerNames returns the names to try inside of objects and blocks: all names in any of our backends.
func innerNames() (all []string) {
	for kind := range backend.Kinds() {
		theirs, more := ours(kind)
		for _, names := range []types{theirs, more} {
			for name := range names {
				all = append(all, name[strings.LastIndexByte(name, '.')+1:])
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// typesIn returns the types of names in a block, or in a block inside of it.
func typesIn(t *testing.T, bin, kind string, names []string, inside string) types {
	t.Helper()
	list := strings.Join(names, " = "+wrong+"\n") + " = " + wrong
	text, _ := initialized(t, bin, header(kind)+"{\n"+fmt.Sprintf(inside, list)+"\n}", nil)
	all := types{}
	for _, found := range takes.FindAllStringSubmatch(text, -1) {
		if all[found[1]] = found[3]; strings.Contains(found[0], `"zz"`) {
			all[found[1]] = "map of " + found[3]
		}
	}
	for _, name := range names {
		switch expected := fmt.Sprintf("An argument named %q is not expected here.", name); {
		case strings.Contains(text, expected+" Did you mean to define a block"):
			all[name] = "a block"
		case !strings.Contains(text, expected) && all[name] == "":
			all[name] = "object" // its attributes are tried later
		}
	}
	return all
}

// attributeTypes returns the types of the attributes of an object. A program reports one attribute at a time, and
// ignores those that it does not have.
func attributeTypes(t *testing.T, bin, kind, object string) types {
	t.Helper()
	all, values := types{}, map[string]string{}
	for _, name := range innerNames() {
		values[name] = wrong
	}
	for range values {
		block := header(kind) + "{\n" + object + " = {\n"
		for name, value := range values {
			block += name + " = " + value + "\n"
		}
		text, _ := initialized(t, bin, block+"}\n}", nil)
		found := takes.FindStringSubmatch(text)
		if found == nil || found[1] != object || all[found[2]] != "" {
			break
		}
		if all[found[2]] = found[3]; strings.Contains(found[0], `"zz"`) {
			all[found[2]] = "map of " + found[3]
		}
		values[found[2]] = "null"
	}
	return all
}
