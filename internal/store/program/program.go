// Package program is the backend "program": a program of the user stores the states. The program may be written in any
// language. It is started once and performs many calls, with one JSON object per line on its standard streams, as
// providers that are programs do; docs/state-programs.md documents the verbs.
//
// The package trusts the program only with the bytes of the state. The program may exit, hang, print other lines or
// respond twice: then the call fails, its result counts as unknown, and the store checks it; the next call starts the
// program again. Calls are made one at a time.
//
//	kind := program.Kind()
//	driver, diags := kind.Open(ctx, config, remote.Surroundings{Dir: "."})
package program

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/provider"
)

// Protocol is the version of the protocol.
const Protocol = 1

// Kind describes the backend "program".
func Kind() remote.Kind {
	return remote.Kind{Name: "program", Place: "a program", Schema: schema(), Open: open,
		Programs: func(c cty.Value, _ remote.Surroundings) []remote.Program {
			words, _ := command(c)
			if words == nil {
				return nil
			}
			return []remote.Program{{Argument: "command", Line: strings.Join(words, " ")}}
		}}
}

func schema() *provider.Block {
	return &provider.Block{Attributes: map[string]*provider.Attribute{
		"command": {Type: cty.List(cty.String), Optional: true,
			Description: "The program and its arguments. No shell is used. It runs in the folder of the root module."},
		"config": {Type: cty.Map(cty.String), Optional: true,
			Description: "Settings for the program, such as where it stores states. The program defines their names."},
		"secrets": {Type: cty.Map(cty.String), Optional: true, Sensitive: true,
			Description: "Additional settings whose values are never shown."},
		"timeout": {Type: cty.String, Optional: true,
			Description: "Time limit for an answer of the program, such as 30s. The default, and the maximum, is 2m."},
	}}
}

// Options holds the program and its settings.
type Options struct {
	Command         []string
	Config, Secrets map[string]string
	// Timeout limits the wait for a response; 0 means two minutes.
	Timeout time.Duration
	// Dir is the program's working directory; "" means the one of this process.
	Dir string
	// Host is the name and version of the host as the program sees it, such as "tombolo/1.15.9".
	Host string
	// Log is called with lines about calls, and with the program's standard error. It may be nil.
	Log func(format string, args ...any)
	// Grace limits how long the program may take to end a cancelled call, and to exit; 0 means ten seconds.
	Grace time.Duration
	// Patience limits how long the program may take to start; 0 means one minute.
	Patience time.Duration
	// Pause is the first pause before a retry that the program asks for; 0 means half a second.
	Pause time.Duration
}

const (
	defaultTimeout  = 2 * time.Minute
	defaultGrace    = 10 * time.Second
	defaultPatience = time.Minute
	defaultPause    = 500 * time.Millisecond
)

// New returns a driver. It does not start the program.
func New(o Options) *Driver {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	for _, d := range []struct {
		to    *time.Duration
		usual time.Duration
	}{{&o.Timeout, defaultTimeout}, {&o.Grace, defaultGrace}, {&o.Patience, defaultPatience},
		{&o.Pause, defaultPause}} {
		if *d.to == 0 {
			*d.to = d.usual
		}
	}
	c := &client{o: o, turn: make(chan struct{}, 1), secrets: variants(o.Secrets), shown: shown(o.Command)}
	c.env = append(os.Environ(), "PYTHONUTF8=1", "TOMBOLO_STATE_PROTOCOL=1")
	return &Driver{c: c}
}

const invalid = "Invalid backend configuration"

// open reads the arguments. It does not start the program, which runs when a state is needed.
func open(_ context.Context, config cty.Value, o remote.Surroundings) (remote.Driver, diag.List) {
	options := Options{Dir: o.Dir, Host: "tombolo/" + o.Version, Log: o.Log, Config: texts(config.GetAttr("config")),
		Secrets: texts(config.GetAttr("secrets"))}
	var diags diag.List
	var problem string
	if options.Command, problem = command(config); problem != "" {
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: invalid, Detail: problem,
			Path: cty.GetAttrPath("command")})
	}
	if v := config.GetAttr("timeout"); !v.IsNull() {
		d, err := time.ParseDuration(v.AsString())
		if err != nil || d <= 0 || d > defaultTimeout {
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: invalid,
				Detail: "The argument \"timeout\" must be a time up to 2m, such as \"30s\".",
				Path:   cty.GetAttrPath("timeout")})
		}
		options.Timeout = d
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return New(options), nil
}

// command returns the words of the command, or the problem with them.
func command(config cty.Value) (words []string, problem string) {
	v := config.GetAttr("command")
	if v.IsNull() || v.LengthInt() == 0 {
		return nil,
			"The argument \"command\" must be the program that stores the states, and its arguments, such as " +
				"[\"python3\", \"./store.py\"]."
	}
	for _, word := range v.AsValueSlice() {
		if word.IsNull() || strings.ContainsRune(word.AsString(), 0) || len(words) == 0 && word.AsString() == "" {
			return nil, "The argument \"command\" must be a list of strings, and the first must name a program."
		}
		words = append(words, word.AsString())
	}
	return words, ""
}

// texts returns the elements of a map that are not null.
func texts(v cty.Value) map[string]string {
	out := map[string]string{}
	if v.IsNull() {
		return out
	}
	elements := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		if !elements[name].IsNull() {
			out[name] = elements[name].AsString()
		}
	}
	return out
}
