package author

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

func cmdNew() *command.Command {
	return &command.Command{
		Name: "new", Short: "Create a new provider", Args: "NAME", Mixed: true,
		Long: `Write a small, complete provider with a test and a README into a new folder. It manages files; replace
that with your own code. It is a program with a manifest. Providers in bash, Python, Node.js and Ruby use a kit, a
single file that is written beside them. A provider in Go is a plugin with its own Go module. Providers in C, Rust and
go-wasm are WASI modules, which run in a sandbox. With -lang http it is a manifest alone, for an HTTP API.`,
		Example: "~ provider new notes -lang python",
		Setup: func(c *command.Call) command.Run {
			return beginning(c, "provider", "bash", starter.Languages, begin)
		},
	}
}

// beginning returns a command that writes a new provider or store in one of the languages.
func beginning(c *command.Call, kind, usual string, languages []string,
	begin func(c *command.Call, name, lang, dir string) diag.List) command.Run {
	lang := c.Flags.String("lang", usual, "The `LANGUAGE`: "+strings.Join(languages, ", ")+".")
	out := c.Flags.String("out", "", "Write the files to `DIRECTORY`, which must be new or empty. The default is NAME.")
	return func(context.Context) command.Outcome {
		if len(c.Args) != 1 {
			return c.Misuse("Wrong number of arguments", "Expected one, the name of the %s, and got %d.", kind,
				len(c.Args))
		}
		if *out == "" {
			*out = c.Args[0]
		}
		return c.End(begin(c, c.Args[0], *lang, *out))
	}
}

var providerName = regex.Lazy(`^[a-z][a-z0-9]*$`)

func begin(c *command.Call, name, lang, dir string) (diags diag.List) {
	const cannot = "The provider cannot be written"
	if !providerName().MatchString(name) {
		return diags.Errorf(nil, cannot, "%q is not a valid provider name: the types of a provider begin with its "+
			"name and an underscore, so use lower-case letters and digits only.", name)
	}
	files := starter.Files(lang, name)
	if files == nil {
		return diags.Errorf(nil, cannot, "There is no template for the language %q, only for %s.%s You can still "+
			"write a provider in any other language.", lang, strings.Join(starter.Languages, ", "),
			diag.DidYouMean(lang, starter.Languages))
	}
	if diags = writeNew(c, cannot, dir, "Choose another one with -out.", files); diags.HasErrors() {
		return diags
	}
	fmt.Fprintf(c.Out, "\nTry it with: %s\n", starter.Try(lang, c.Program, name, dir))
	if advice := starter.Advice(lang, dir); advice != "" {
		fmt.Fprintf(c.Out, "\n%s\n", advice)
	}
	return diags
}

// writeNew writes files into a folder that must be new or empty. Otherwise it returns an error that ends with the
// advice.
func writeNew(c *command.Call, cannot, dir, advice string, files map[string][]byte) (diags diag.List) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return diags.Errorf(nil, cannot, "The folder %s is not empty. %s", dir, advice)
	}
	if err := command.MakeDir(dir); err != nil {
		return diags.AppendError(cannot, err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path, mode := filepath.Join(dir, file), os.FileMode(0o666)
		if strings.HasPrefix(string(files[file]), "#!") {
			mode = 0o777
		}
		if err := replace.File(path, mode, func(w io.Writer) error {
			_, err := w.Write(files[file])
			return err
		}); err != nil {
			return diags.AppendError(cannot, err)
		}
		fmt.Fprintf(c.Out, "Wrote %s\n", path)
	}
	return diags
}
