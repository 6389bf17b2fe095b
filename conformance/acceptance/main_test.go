package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

const address = "registry.terraform.io/tombolo/world"

// TestMain also runs the test binary as the plugin, if it is started under a plugin's name. All tests share one mirror.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-") {
		serve.Main(serve.Options{Address: address, New: world.Factory(world.Options{})})
	}
	if os.Getenv(resource.EnvTfAcc) == "" || os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		fmt.Println("skipped: TF_ACC and TF_ACC_TERRAFORM_PATH are not set; TestAcceptance in ../ sets them")
		return
	}
	dir, err := os.MkdirTemp("", "acceptance-")
	if err == nil {
		err = mirror(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// mirror installs the plugin into a mirror below dir, and makes that the only installation method.
func mirror(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	version := filepath.Join(dir, "mirror", filepath.FromSlash(address), "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(version, 0o777); err != nil {
		return err
	}
	program := filepath.Join(version, "terraform-provider-world_v1.0.0")
	if err := os.Link(exe, program); err != nil {
		data, err := os.ReadFile(exe)
		if err != nil {
			return err
		}
		if err := os.WriteFile(program, data, 0o777); err != nil {
			return err
		}
	}
	settings := filepath.Join(dir, "settings.tfrc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
		filepath.Join(dir, "mirror"))
	if err := os.WriteFile(settings, []byte(text), 0o666); err != nil {
		return err
	}
	return os.Setenv("TF_CLI_CONFIG_FILE", settings)
}

// providers holds the provider factories of every test case.
var providers = map[string]resource.ExternalProvider{"world": {Source: "tombolo/world", VersionConstraint: "~> 1.0"}}

// in returns a configuration with a provider whose world is in dir.
func in(dir, config string) string {
	return fmt.Sprintf("provider \"world\" {\n  dir = %q\n}\n%s", dir, config)
}

// events counts the events of a kind in a world.
func events(t *testing.T, dir string, kind world.Kind) int {
	t.Helper()
	w, err := world.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	list, err := w.Events()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
