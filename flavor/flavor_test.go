package flavor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/flavor"
)

// Each flavor is found by its name, its command and its registry, and by nothing else.
func TestFlavorsAreFoundByTheirNames(t *testing.T) {
	for _, f := range []flavor.Flavor{flavor.Terraform, flavor.OpenTofu} {
		if got, ok := flavor.Parse(f.String()); !ok || got != f {
			t.Errorf("%q is read as %v, %v", f, got, ok)
		}
		if got := flavor.OfCommand(f.Command()); got != f {
			t.Errorf("the command %q is of %v", f.Command(), got)
		}
		if got := flavor.OfRegistry(f.RegistryHost()); got != f {
			t.Errorf("the registry %q is of %v", f.RegistryHost(), got)
		}
	}
	for _, name := range []string{"", "tombolo", "Terraform"} {
		if got, ok := flavor.Parse(name); ok {
			t.Errorf("%q is read as %v", name, got)
		}
		if got := flavor.OfCommand(name); got != flavor.Unset {
			t.Errorf("the command %q is of %v", name, got)
		}
		if got := flavor.OfRegistry(name); got != flavor.Unset {
			t.Errorf("the registry %q is of %v", name, got)
		}
	}
}

// Tombolo's own files replace OpenTofu's, which replace Terraform's.
func TestTwinsOfFiles(t *testing.T) {
	for name, want := range map[string][]string{
		"main.tf": {"main.tombolo", "main.tofu"}, "main.tf.json": {"main.tombolo.json", "main.tofu.json"},
		"a.tf.tf": {"a.tf.tombolo", "a.tf.tofu"}, "main.tftest.hcl": {"main.tombolotest.hcl", "main.tofutest.hcl"},
		"README.md": nil, "main.tofu": {"main.tombolo"}, "main.tombolo": nil, "main.tombolo.json": nil,
	} {
		if got := flavor.OpenTofu.Twins(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		want = slices.DeleteFunc(want, func(twin string) bool { return strings.Contains(twin, ".tofu") })
		if got := flavor.Terraform.Twins(name); !strings.Contains(name, ".tofu") && !slices.Equal(got, want) {
			t.Errorf("%s has for Terraform the twins %q, want %q", name, got, want)
		}
	}
	if got, want := flavor.OpenTofu.Extensions(".tf"), []string{".tf", ".tombolo", ".tofu"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// required_version of OpenTofu projects only applies in OpenTofu's files.
func TestRequiredVersionAppliesInOwnFiles(t *testing.T) {
	for file, want := range map[string]bool{"versions.tofu": true, "versions.tofu.json": true, "versions.tf": false,
		"versions.tombolo": true} {
		if got := flavor.OpenTofu.Requires(file); got != want {
			t.Errorf("OpenTofu, %s: %v", file, got)
		}
		if !flavor.Terraform.Requires(file) {
			t.Errorf("Terraform, %s: not judged", file)
		}
	}
	if got := flavor.Unset.Version("1.2.3"); got != "1.2.3" {
		t.Errorf("got the version %q", got)
	}
	if got := flavor.OpenTofu.Version("1.2.3"); got != flavor.OpenTofuVersion {
		t.Errorf("OpenTofu has the version %q", got)
	}
}
