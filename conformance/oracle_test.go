package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// An oracle is a program that cases are compared with. Other versions behave differently and would cause failures.
type oracle struct {
	name    string // in a case's line "oracle:"
	version string
	env     string // the variable with the program's path; "" for terraform on PATH
}

// terraform1_11 is the oracle of every case that names no other.
var terraform1_11 = &oracle{name: "terraform-" + terraformVersion, version: terraformVersion}

// terraform1_16 is the newest one.
var terraform1_16 = &oracle{name: "terraform-1.16.0-rc2", version: "1.16.0-rc2", env: "TOMBOLO_TERRAFORM_NEXT"}

var oracles = []*oracle{
	terraform1_11,
	{name: "terraform-1.15.9", version: "1.15.9", env: "TOMBOLO_TERRAFORM_NEW"},
	terraform1_16,
	{name: "tofu-1.12.6", version: "1.12.6", env: "TOMBOLO_TOFU"},
}

func oracleNamed(name string) *oracle {
	for _, o := range oracles {
		if o.name == name {
			return o
		}
	}
	return nil
}

// where returns the environment in which a test finds the oracle.
func (o *oracle) where() string {
	if o.env == "" {
		return o.name + " on PATH as terraform"
	}
	return fmt.Sprintf("%s, its path in %s", o.name, o.env)
}

// look returns the oracle's path, or "" if it is not installed or has another version.
func (o *oracle) look(t *testing.T) string {
	path := os.Getenv(o.env)
	if o.env == "" {
		path, _ = exec.LookPath("terraform") // "" on error
	}
	if path == "" {
		return ""
	}
	cmd := programtest.Bounded(t, path, "version", "-json")
	cmd.Env = []string{"CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + emptyFile(t), "HOME=" + t.TempDir()}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s version: %v", path, err)
	}
	var doc struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%s version -json: %v", path, err)
	}
	if doc.Version != o.version {
		t.Logf("%s is version %s, its part of the corpus is written for %s", path, doc.Version, o.version)
		return ""
	}
	return path
}

// oracle returns the path of the program that a case is compared with, or "" if it is not installed.
func (h *harness) oracle(c *Case) string { return h.oracles[c.oracle.name] }

// flavor returns the oracle's flavor.
func (o *oracle) flavor() flavor.Flavor {
	name, _, _ := strings.Cut(o.name, "-")
	return flavor.OfCommand(name)
}

// ours returns the path of tombolo under the name of a case's oracle.
func (h *harness) ours(c *Case) string {
	return filepath.Join(filepath.Dir(h.tombolo), c.oracle.flavor().Command())
}

// reportedVersion reports whether a version is one that we or an oracle report. For a release candidate, states only
// have the numbers.
func reportedVersion(version any) bool {
	return slices.ContainsFunc(oracles, func(o *oracle) bool {
		numbers, _, _ := strings.Cut(o.version, "-")
		return version == o.version || version == numbers
	})
}

// anyVersion replaces the versions that programs report, and those of their events, by one word: with swapped binaries
// both programs write to one state, and the version that we report does not depend on the oracle. Newer versions also
// store the version of a missing identity, and that an object of terraform_data has no store.
func anyVersion(doc Document) {
	forgetVersion(doc)
	for _, part := range []string{"text", "stdout"} {
		if text, ok := doc[part].(string); ok {
			doc[part] = toldVersion.ReplaceAllString(text, "Terraform v<version>")
		}
	}
}

var toldVersion = regexp.MustCompile(`\bTerraform v\d+\.\d+\.\d+`)

func forgetVersion(v any) {
	switch v := v.(type) {
	case Document:
		forgetVersion(map[string]any(v))
	case map[string]any:
		for key, e := range v {
			message, _ := e.(string)
			switch {
			case key == "identity_schema_version" && compact(e) == "0" || key == "store" && e == nil:
				delete(v, key)
			case key == "ui" && v["type"] == "version":
				v[key] = "<version>"
			case key == "@message" && reportedVersion(strings.TrimPrefix(message, "Terraform ")):
				v[key] = "Terraform <version>"
			case (key == "terraform_version" || key == "terraform" || key == "tofu") && reportedVersion(e):
				v[key] = "<version>"
			default:
				forgetVersion(e)
			}
		}
	case []any:
		for _, e := range v {
			forgetVersion(e)
		}
	}
}

// withoutIdentities removes what newer versions write to documents about objects, changes and their counts, and 1.11
// does not have.
func withoutIdentities(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["provider_name"] != nil && v["values"] != nil {
			delete(v, "identity")
			delete(v, "identity_schema_version")
		}
		if v["actions"] != nil {
			delete(v, "before_identity")
			delete(v, "after_identity")
		}
		if v["operation"] != nil && compact(v["action_invocation"]) == "0" {
			delete(v, "action_invocation")
		}
		for _, e := range v {
			withoutIdentities(e)
		}
	case Document:
		withoutIdentities(map[string]any(v))
	case []any:
		for _, e := range v {
			withoutIdentities(e)
		}
	}
}

// withoutNewerSchemas removes what newer versions of Terraform add to the schema of the built-in provider.
func withoutNewerSchemas(v any) {
	switch v := v.(type) {
	case map[string]any:
		if schema, ok := v["terraform.io/builtin/terraform"].(map[string]any); ok {
			delete(schema, "resource_identity_schemas")
			if block, ok := schema["provider"].(map[string]any); ok {
				delete(block, "block")
			}
		}
		for _, e := range v {
			withoutNewerSchemas(e)
		}
	case Document:
		withoutNewerSchemas(map[string]any(v))
	case []any:
		for _, e := range v {
			withoutNewerSchemas(e)
		}
	}
}

// TestThePageOfNewerFeaturesNamesTheirCases compares docs/newer.md with the cases that name an oracle.
func TestThePageOfNewerFeaturesNamesTheirCases(t *testing.T) {
	page, err := os.ReadFile("../docs/newer.md")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := loadCases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, found := range regexp.MustCompile("`(\\w+/\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !strings.HasPrefix(found[1], "cli/") {
			named[found[1]] = true
		}
	}
	for _, c := range cases {
		if c.oracle != terraform1_11 && !named[c.Name] {
			t.Errorf("docs/newer.md does not name the case %s", c.Name)
		}
		delete(named, c.Name)
	}
	for name := range named {
		t.Errorf("docs/newer.md names %s, which is no case", name)
	}
}
