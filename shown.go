package tombolo

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// String returns the options on one line, for logs, without values of variables, which may be secret.
func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tombolo.Options{Dir: %q", o.Dir)
	for _, set := range []struct {
		name  string
		value any
		is    bool
	}{
		{"Workspace", o.Workspace, o.Workspace != ""}, {"Variables", names(o.Variables), len(o.Variables) > 0},
		{"VarFiles", o.VarFiles, len(o.VarFiles) > 0}, {"Store", "own", o.Store != nil},
		{"Providers", names(o.Providers), len(o.Providers) > 0},
		{"Functions", names(o.Functions), len(o.Functions) > 0}, {"Flavor", o.Flavor, o.Flavor != 0},
		{"Parallelism", o.Parallelism, o.Parallelism != 0}, {"Saved", true, o.Saved != nil},
		{"Query", true, o.Query},
	} {
		if set.is {
			fmt.Fprintf(&b, ", %s: %v", set.name, set.value)
		}
	}
	return b.String() + "}"
}

// GoString returns String().
func (o Options) GoString() string { return o.String() }

// LogValue implements slog.LogValuer with String().
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String returns the options on one line, for logs, without values of arguments, which may be secret.
func (o InstallOptions) String() string {
	return fmt.Sprintf("tombolo.InstallOptions{Backend: %v, Upgrade: %t, Reconfigure: %t}", names(o.Backend), o.Upgrade,
		o.Reconfigure)
}

// GoString returns String().
func (o InstallOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer with String().
func (o InstallOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String returns the options on one line, for logs, without values of variables, which may be secret.
func (o ApplyOptions) String() string {
	return fmt.Sprintf("tombolo.ApplyOptions{Ephemeral: %v}", names(o.Ephemeral))
}

// GoString returns String().
func (o ApplyOptions) GoString() string { return o.String() }

// LogValue implements slog.LogValuer with String().
func (o ApplyOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

func names[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
