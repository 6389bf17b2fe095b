package author

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
)

// buildOptions are the flags of provider build.
type buildOptions struct {
	source, out, key          string
	dev                       bool
	platforms, hosts, exclude []string
}

func cmdBuild() *command.Command {
	return &command.Command{
		Name: "build", Short: "Package a program provider for other engines", Args: "DIR", Mixed: true,
		Long: `Package the program provider in the folder DIR for release: an archive for each platform, the
checksums and the manifest for registries. The folders filesystem-mirror and network-mirror beside them can be used as
mirrors. If the source has no host, they have the package for the registries of Terraform and of OpenTofu.

Nothing is compiled: each archive holds the ~~ binary, under the name of a plugin, and the files of the provider. An
archive for another platform needs the ~~ binary of that platform. If the program reports its schema itself, the
schema is written into the packaged manifest.

Files whose names begin with a dot, and files that programs leave behind when they run, are not packaged. The same
input always produces the same bytes.

With -dev, no archive is made. The command creates a folder for dev_overrides in the CLI configuration of ~~,
Terraform or OpenTofu, and prints the setting to write there. Each run then uses the files in DIR as they are.`,
		Example: `~ provider build ./notes -source example/notes
~ provider build ./notes -source example/notes -sign key.asc
~ provider build ./notes -source example/notes -dev`,
		Setup: func(c *command.Call) command.Run {
			var o buildOptions
			c.Flags.StringVar(&o.source, "source", "",
				"The source `ADDRESS` of the provider in configurations, such as example/notes. Required.")
			c.Flags.StringVar(&o.out, "out", defaultOut,
				"Write to `DIRECTORY`. If it has earlier releases, the mirrors keep them.")
			c.Flags.BoolVar(&o.dev, "dev", false, "Create a folder for dev_overrides, at -out or dist/dev.")
			c.StringsFlag(&o.platforms, "platform", "Package for the platform `OS_ARCH`, such as linux_amd64. May be "+
				"given more than once. The default is this platform and those given with -host.")
			c.StringsFlag(&o.hosts, "host",
				"Use FILE as the ~~ binary for a platform, as `OS_ARCH=FILE`. May be given more than once.")
			c.StringsFlag(&o.exclude, "exclude", "Leave out files and folders whose name or path matches `PATTERN`, "+
				"such as *.bak or tests. May be given more than once.")
			c.Flags.StringVar(&o.key, "sign", "",
				"Sign the checksums with the OpenPGP key in `FILE`, which gpg --export-secret-keys wrote.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments",
						"Expected one, the folder of the provider, and got %d.", len(c.Args))
				}
				return build(ctx, c, o)
			})
		},
	}
}

func build(ctx context.Context, c *command.Call, o buildOptions) command.Outcome {
	if o.source == "" {
		return c.Misuse("The address is missing",
			"Set the address of the provider in configurations with -source=NAMESPACE/NAME.")
	}
	source, err := addr.ParseProvider(o.source)
	if err != nil {
		return c.Finish("Invalid provider address", err)
	}
	if o.dev {
		return develop(c, o, source)
	}
	hosts, diags := hosts(o)
	if diags.HasErrors() {
		return c.End(diags)
	}
	options := pack.Options{Dir: c.Args[0], Source: source, Out: o.out, Hosts: hosts, Exclude: o.exclude}
	if o.key != "" {
		if options.Sign, err = pack.ReadKey(o.key, []byte(c.Getenv("TOMBOLO_SIGNING_PASSPHRASE"))); err != nil {
			return c.Finish("The key cannot be used", err)
		}
	}
	result, more := pack.Build(ctx, options)
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	for _, a := range result.Archives {
		fmt.Fprintf(c.Out, "Packed %s (%d files, %.1f MB)\n", a.Path, a.Files, float64(a.Size)/1e6)
	}
	for _, name := range result.Files {
		if !strings.HasSuffix(name, ".zip") {
			fmt.Fprintf(c.Out, "Wrote  %s\n", name)
		}
	}
	fmt.Fprintf(c.Out, "Added  to %s and %s\n", result.FilesystemMirror, result.NetworkMirror)
	return c.End(diags)
}

// defaultOut is the default of -out.
const defaultOut = "dist"

// develop creates the folder of -dev.
func develop(c *command.Call, o buildOptions, source addr.Provider) command.Outcome {
	if len(o.platforms)+len(o.hosts)+len(o.exclude) > 0 || o.key != "" {
		return c.Misuse("Nothing is packed",
			"With -dev, the files are used as they are, only on this machine: omit -platform, -host, -exclude and "+
				"-sign.")
	}
	if o.out == defaultOut {
		o.out = filepath.Join(defaultOut, "dev")
	}
	folder, diags := pack.Develop(c.Args[0], source, o.out)
	if !diags.HasErrors() {
		fmt.Fprintf(c.Out, "provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n",
			source.ForDisplay(), folder)
		fmt.Fprintf(c.Err, "Write this into the CLI configuration, ~/.terraformrc or the file that "+
			"TF_CLI_CONFIG_FILE names.\nNo init is needed for the provider then.\n")
	}
	return c.End(diags)
}

// hosts returns the binaries to put into the archives, by platform.
func hosts(o buildOptions) (map[packages.Platform]string, diag.List) {
	var diags diag.List
	const misuse = "Invalid platform"
	own, err := os.Executable()
	if err != nil {
		return nil, diag.FromError("The path of this program is unknown", err)
	}
	available := map[packages.Platform]string{packages.Current(): own}
	for _, text := range o.hosts {
		platform, file, ok := strings.Cut(text, "=")
		on, err := packages.ParsePlatform(platform)
		if err != nil || !ok || file == "" {
			diags = diags.Errorf(nil, misuse,
				"-host=%s is not valid. Expected OS_ARCH=FILE, such as -host=windows_amd64=./tombolo.exe.", text)
			continue
		}
		available[on] = file
	}
	if len(o.platforms) == 0 || diags.HasErrors() {
		return available, diags
	}
	wanted := map[packages.Platform]string{}
	for _, text := range o.platforms {
		on, err := packages.ParsePlatform(text)
		if err != nil {
			diags = diags.AppendError(misuse, err)
			continue
		}
		if available[on] == "" {
			diags = diags.Errorf(nil, misuse, "An archive for %s needs the Tombolo binary of that platform. Download "+
				"it from where you got this one, and set it with -host=%s=FILE.", on, on)
			continue
		}
		wanted[on] = available[on]
	}
	for _, on := range slices.SortedFunc(maps.Keys(available), func(a, b packages.Platform) int {
		return strings.Compare(a.String(), b.String())
	}) {
		if wanted[on] == "" && on != packages.Current() && !slices.Contains(o.platforms, on.String()) {
			diags = diags.Warnf(nil, misuse, "The binary for %s is not used, because -platform does not include that "+
				"platform.", on)
		}
	}
	return wanted, diags
}
