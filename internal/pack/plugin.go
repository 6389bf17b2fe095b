package pack

import (
	"context"
	"fmt"
	"os"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// PluginOptions configures packing of a plugin, a program that speaks the plugin protocol itself.
type PluginOptions struct {
	// Options has the source, the output and the signature. Its Hosts are the binaries of the plugin. Dir and Exclude
	// are not used.
	Options
	// Version is that of the release.
	Version string
	// Protocols are the versions of the plugin protocol that the plugin speaks.
	Protocols []int
}

// BuildPlugin packs a plugin in the same way as Build packs a program provider. An archive contains only the binary of
// its platform.
func BuildPlugin(ctx context.Context, o PluginOptions) (*Result, diag.List) {
	version, err := versions.ParseVersion(o.Version)
	if err != nil {
		return nil, diag.List{}.Errorf(nil, badPackage, "The version %q is not valid: %s.", o.Version, err)
	}
	b := &build{Options: o.Options, version: version, result: &Result{Version: version}}
	for _, v := range o.Protocols {
		b.protocols = append(b.protocols, fmt.Sprintf("%d.0", v))
	}
	var diags diag.List
	for _, on := range sortedPlatforms(o.Hosts) {
		diags = diags.Extend(checkPlugin(o.Hosts[on], on))
		b.parts = append(b.parts, part{on: on})
	}
	if diags.HasErrors() {
		return nil, diags
	}
	if err := b.write(ctx); err != nil {
		return nil, diags.AppendError(badPackage, err)
	}
	return b.result, diags
}

// checkPlugin reports a binary that cannot be that of a plugin for a platform. Only Go binaries record their platform.
func checkPlugin(name string, on packages.Platform) (diags diag.List) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return diags.Errorf(nil, badPackage, "The plugin for %s, %s, is not a file. Expected the binary of the plugin "+
			"for that platform.", on, name)
	}
	if built, err := readBuildInfo(name); err == nil {
		if is := platformOf(built); is != on {
			return diags.Errorf(nil, badPackage, "The plugin for %s, %s, was built for %s.", on, name, is)
		}
	}
	if needsLibraries(name) {
		diags = diags.Warnf(nil, oddPackage, "The plugin for %s, %s, is linked with the C library of the system where "+
			"it was built, and does not start on systems with another one. Build it with CGO_ENABLED=0.", on, name)
	}
	return diags
}
