package terragrunt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/internal/stack/terragrunt"
)

// FuzzConvert converts a repository of a root file, a unit that includes it, and a module. The written project file is
// valid.
func FuzzConvert(f *testing.F) {
	const unit = "include \"root\" {\n  path = find_in_parent_folders()\n}\nterraform {\n  source = \"../mod\"\n}\n" +
		"dependency \"b\" {\n  config_path = \"../b\"\n}\ninputs = { x = dependency.b.outputs.y, z = local.z }\n" +
		"locals { z = 1 }\n"
	f.Add("remote_state {\n  backend = \"s3\"\n  config = { key = path_relative_to_include() }\n}\n", unit,
		"variable \"x\" {}\nresource \"a\" \"b\" {}\n")
	f.Add("include \"a\" {\n  path = \"a/terragrunt.hcl\"\n}\n", unit, "") // a circle
	f.Add("", "inputs = { (tostring(null)) = 1 }\n", "")
	f.Add("", "dependencies {\n  paths = sensitive([\"../b\", null])\n}\n", "")
	f.Add("", "terraform {\n  source = tostring(null)\n}\ngenerate \"x\" {\n  path = \"x\"\n  contents = null\n}\n", "")
	f.Add("", "terraform {\n  source = \"../mod\"\n}\ninputs = merge({}, { x = [for a in [1] : dependency.b] })\n",
		"output \"o\" { sensitive = null }\nmodule {}\nvariable {}\n")
	f.Fuzz(func(t *testing.T, root, unit, module string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"terragrunt.hcl": root, "a/terragrunt.hcl": unit,
			"mod/main.tf": module} {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		result, err := terragrunt.Convert(dir)
		if err != nil {
			return
		}
		for _, file := range result.Files {
			if file.Name != "tombolo.hcl" {
				continue
			}
			if _, problems := hclsyntax.ParseConfig(file.Content, file.Name, hcl.InitialPos); problems.HasErrors() {
				t.Errorf("%s\nof\n%s\n%s", problems, unit, file.Content)
			}
		}
	})
}
