package author

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/openapi"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/verify"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// reportName is the name of the report beside a manifest.
const reportName = "openapi-report.md"

func cmdFromOpenAPI() *command.Command {
	return &command.Command{
		Name: "from-openapi", Short: "Write an HTTP provider from an OpenAPI document", Args: "SPEC", Mixed: true,
		Long: `Write the manifest of an HTTP provider from an OpenAPI document of version 3.0 or 3.1, in JSON or YAML,
for you to review. Resources, data sources and lists are found in the paths and schemas; hints of the document
(x-speakeasy-entity, x-speakeasy-entity-operation and others) have precedence. References may point to files below the
folder of the document, and nothing is fetched.

The report lists every operation that was not mapped with the reason, and what to look at in each type. It is printed,
and written beside the manifest together with what was mapped.`,
		Example: "~ provider from-openapi shop.yaml -name shop -out shop",
		Setup: func(c *command.Call) command.Run {
			var paths []string
			name := c.Flags.String("name", "", "The `NAME` of the provider. The default is a word of the title.")
			out := c.Flags.String("out", "", "Write the files to `DIRECTORY`, which must be new or empty. The default "+
				"is the name of the provider.")
			c.StringsFlag(&paths, "path", "Map only operations whose paths begin with `PATH`. You can use this option "+
				"several times.")
			return func(context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments", "Expected one, the OpenAPI document, and got %d.",
						len(c.Args))
				}
				return c.End(fromOpenAPI(c, c.Args[0], *out, openapi.Options{Name: *name, Paths: paths}))
			}
		},
	}
}

func fromOpenAPI(c *command.Call, spec, dir string, o openapi.Options) (diags diag.List) {
	const cannot = "The provider cannot be written"
	if o.Name != "" && !providerName().MatchString(o.Name) {
		return diags.Errorf(nil, cannot, "%q is not a valid provider name: the types of a provider begin with its "+
			"name and an underscore, so use lower-case letters and digits only.", o.Name)
	}
	doc, err := openapi.Load(spec)
	if err != nil {
		return diags.AppendError(cannot, err)
	}
	if o.Name = doc.ProviderName(o.Name); dir == "" {
		dir = o.Name
	}
	o.Try = fmt.Sprintf("%s provider test %s -mock %s", c.Program, dir, spec)
	p := openapi.Map(doc, o)
	if p.Resources()+p.DataSources() == 0 {
		fmt.Fprint(c.Out, view.Clean(string(p.Report())))
		return diags.Errorf(nil, cannot, "No resource and no data source was found in %s.", spec)
	}
	text := p.Manifest()
	if _, wrong := manifest.Parse(text, manifest.FileName, dir); wrong.HasErrors() {
		return diags.Extend(wrong)
	}
	files := map[string][]byte{manifest.FileName: text, verify.FileName: p.Tests(0)} // before the report
	files[reportName] = p.Report()
	if diags = writeNew(c, cannot, dir, "Choose another one with -out.", files); diags.HasErrors() {
		return diags
	}
	report, _, _ := strings.Cut(string(p.Report()), "\n## Mapped\n")
	fmt.Fprintf(c.Out, "\n%s", view.Clean(report))
	return diags
}
