//go:build unix

package drivers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/world"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// pluginName is the name under which the test binary is the plugin of the tests, a world provider.
const pluginName = "terraform-provider-world_v1.0.0"

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "terraform", "tombolo":
		os.Exit(cli.Main())
	case pluginName:
		serve.Main(serve.Options{Address: "registry.terraform.io/" + world.Source, New: world.Factory(world.Options{})})
	default:
		os.Setenv("CHECKPOINT_DISABLE", "1")
		os.Exit(m.Run())
	}
}
