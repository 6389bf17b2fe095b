package author

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// buildOptions are the flags of provider build.
type buildOptions struct {
	source, out, key          string
	from, version             string
	dev                       bool
	platforms, hosts, exclude []string
}

func cmdBuild() *command.Command {
	return &command.Command{
		Name: "build", Short: "Package a provider for all engines", Args: "DIR | PLUGIN", Mixed: true,
		Long: `Package the program provider in the folder DIR for release: an archive for each platform, the
checksums and the manifest for registries. The folders filesystem-mirror and network-mirror beside them can be used as
mirrors. If the source has no host, they have the package for the registries of Terraform and of OpenTofu.

Nothing is compiled: each archive holds a host, under the name of a plugin, and the files of the provider. -hosts
takes small hosts for all platforms from a file of a release; there is one for programs, modules and HTTP each. Without
it, the host is the ~~ binary, which is four times as large, and an archive for another platform needs the binary of
that platform. If the program reports its schema itself, the schema is written into the packaged manifest.

Files whose names begin with a dot, and files that programs leave behind when they run, are not packaged. The same
input always produces the same bytes.

PLUGIN is the binary of a provider that is a plugin, such as one in Go, for this platform. -host names those for others,
and -release the version of the release. The archives then contain only these binaries. The plugin is started, to learn
which versions of the plugin protocol it speaks.

With -dev, no archive is made. The command creates a folder for dev_overrides in the CLI configuration of ~~,
Terraform or OpenTofu, and prints the setting to write there. Each run then uses the files in DIR as they are.`,
		Example: `~ provider build ./notes -source example/notes
~ provider build ./notes -source example/notes -hosts hosts.zip
~ provider build ./notes -source example/notes -dev
~ provider build ./plugin -source example/notes -release 1.2.0`,
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
				"Use FILE as the host for a platform, as `OS_ARCH=FILE`: a ~~ binary. May be given more than once.")
			c.Flags.StringVar(&o.from, "hosts", "", "Use the hosts in `FILE`, hosts-KIND_VERSION.zip of a release, "+
				"where KIND is program, module or http, or in a folder. Without -platform, package for all of them.")
			c.Flags.StringVar(&o.version, "release", "",
				"The `VERSION` of the release of a plugin. For a folder, the manifest has the version.")
			c.StringsFlag(&o.exclude, "exclude", "Leave out files and folders whose name or path matches `PATTERN`, "+
				"such as *.bak or tests. May be given more than once.")
			c.Flags.StringVar(&o.key, "sign", "",
				"Sign the checksums with the OpenPGP key in `FILE`, which gpg --export-secret-keys wrote.")
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.Misuse("Wrong number of arguments",
						"Expected one, the folder of the provider or its plugin, and got %d.", len(c.Args))
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
	var sign func(text []byte) ([]byte, error)
	if o.key != "" && !o.dev {
		if sign, err = pack.ReadKey(o.key, []byte(c.Getenv("TOMBOLO_SIGNING_PASSPHRASE"))); err != nil {
			return c.Finish("The key cannot be used", err)
		}
	}
	if info, err := os.Stat(c.Args[0]); err == nil && info.Mode().IsRegular() {
		return buildPlugin(ctx, c, o, pack.Options{Source: source, Out: o.out, Sign: sign})
	}
	switch {
	case o.version != "":
		return c.Misuse("Nothing is packed", "-release is for a plugin, and %s is not one. The version of the release "+
			"of a folder is that in its manifest.", c.Args[0])
	case o.dev:
		return develop(c, o, source)
	}
	work, err := os.MkdirTemp("", "tombolo-hosts")
	if err != nil {
		return c.Finish(badHosts, err)
	}
	defer os.RemoveAll(work)
	hosts, diags := hosts(o, c.Args[0], work)
	if diags.HasErrors() {
		return c.End(diags)
	}
	result, more := pack.Build(ctx, pack.Options{Dir: c.Args[0], Source: source, Out: o.out, Hosts: hosts,
		Exclude: o.exclude, Sign: sign})
	if diags = diags.Extend(more); diags.HasErrors() {
		return c.End(diags)
	}
	showFiles(c, result)
	return c.End(diags)
}

// showFiles shows the files of a release.
func showFiles(c *command.Call, result *pack.Result) {
	for _, a := range result.Archives {
		fmt.Fprintf(c.Out, "Packed %s (%d files, %.1f MB)\n", a.Path, a.Files, float64(a.Size)/1e6)
	}
	for _, name := range result.Files {
		if !strings.HasSuffix(name, ".zip") {
			fmt.Fprintf(c.Out, "Wrote  %s\n", name)
		}
	}
	fmt.Fprintf(c.Out, "Added  to %s and %s\n", result.FilesystemMirror, result.NetworkMirror)
	if result.Smaller != "" {
		fmt.Fprintf(c.Err, "The host in the archives is the whole program. They are about four times smaller with a "+
			"host from %s of the release: -hosts=FILE.\n", result.Smaller)
	}
}

// defaultOut is the default of -out.
const defaultOut = "dist"

// develop creates the folder of -dev.
func develop(c *command.Call, o buildOptions, source addr.Provider) command.Outcome {
	if len(o.platforms)+len(o.hosts)+len(o.exclude) > 0 || o.key+o.from != "" {
		return c.Misuse("Nothing is packed",
			"With -dev, the files are used as they are, only on this machine: omit -platform, -host, -hosts, "+
				"-exclude and -sign.")
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

// hosts returns the binaries to put into the archives for the provider in dir, by platform. work is a folder for those
// that have to be unpacked.
func hosts(o buildOptions, dir, work string) (map[packages.Platform]string, diag.List) {
	own, err := os.Executable()
	if err != nil {
		return nil, diag.FromError("The path of this program is unknown", err)
	}
	available := map[packages.Platform]string{packages.Current(): own}
	if o.from == "" {
		return choose(o, available, nil)
	}
	m, diags := manifest.Load(dir)
	if diags.HasErrors() {
		return nil, diags
	}
	found, err := pack.FindHosts(o.from, m.Kind(), work)
	if err != nil {
		return nil, diags.AppendError(badHosts, err)
	}
	for on, file := range found {
		if m.Kind() != manifest.Program || m.Command.For(on.OS, on.Arch) != nil {
			available[on] = file
			continue
		}
		delete(available, on)
		if len(o.platforms) == 0 {
			diags = diags.Warnf(nil, badPlatform, "There is no package for %s, because \"command\" in the manifest "+
				"has no entry for it.", on)
		}
	}
	return choose(o, available, diags)
}

// choose adds the binaries of -host to those that are available, and returns those for the platforms of -platform.
func choose(o buildOptions, available map[packages.Platform]string, diags diag.List) (map[packages.Platform]string,
	diag.List) {
	for _, text := range o.hosts {
		platform, file, ok := strings.Cut(text, "=")
		on, err := packages.ParsePlatform(platform)
		if err != nil || !ok || file == "" {
			diags = diags.Errorf(nil, badPlatform,
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
			diags = diags.AppendError(badPlatform, err)
			continue
		}
		if available[on] == "" {
			diags = diags.Errorf(nil, badPlatform, "An archive for %s needs a host for that platform. Download the "+
				"hosts from where you got this program, and set -hosts=FILE, or -host=%s=FILE with the Tombolo "+
				"binary.", on, on)
			continue
		}
		wanted[on] = available[on]
	}
	for _, text := range o.hosts {
		platform, _, _ := strings.Cut(text, "=")
		if !slices.Contains(o.platforms, platform) {
			diags = diags.Warnf(nil, badPlatform, "The host for %s is not used, because -platform does not include "+
				"that platform.", platform)
		}
	}
	return wanted, diags
}

const (
	badPlatform = "Invalid platform"
	badHosts    = "Provider cannot be packed"
)
