package tombolo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// words are the names that an embedding program has for what the command line calls otherwise.
var words = diag.Words{
	Command: func(c diag.Command) string {
		if len(c.Words) > 2 && c.Words[0] == "recover" {
			field := map[string]string{"--adopt": "Adopt: ID", "--retry": "Retry: true", "--forget": "Forget: true"}
			return fmt.Sprintf("Run.Recover(ctx, %q, tombolo.Recovery{%s})", c.Words[1], field[c.Words[2]])
		}
		switch c.String() {
		case "init":
			return "tombolo.Install"
		case "init -upgrade":
			return "tombolo.Install with InstallOptions.Upgrade"
		case "init -reconfigure":
			return "tombolo.Install with InstallOptions.Reconfigure"
		}
		return diag.Program + " " + c.String()
	},
	Means: func(m diag.Means) string {
		if own, ok := means[m]; ok {
			return own
		}
		return string(m)
	},
}

var means = map[diag.Means]string{
	"-var or -var-file":                   "Options.Variables or Options.VarFiles",
	"state rm":                            "Session.Write of Run.Session",
	"state mv":                            "Session.Write of Run.Session",
	"-lock-timeout=60s":                   "OpenOptions.Timeout",
	"-lock=false":                         "OpenOptions.NoLock and OpenOptions.Reading",
	"force-unlock":                        "ForceUnlock of the workspace in Project.Store",
	"-generate-config-out=FILE with plan": "PlanOptions.GenerateConfig",
	"--adopt ID":                          "Recovery.Adopt",
	"--retry":                             "Recovery.Retry",
	"--forget":                            "Recovery.Forget",
}

// conclude ends a call: it has to be deferred. It brings the problems into the form that embedding programs get: with
// advice in their terms, and, when the context ended, with its reason among the errors. A panic becomes one of a
// *diag.PanicError.
func conclude(ctx context.Context, diags *diag.List) {
	if value := recover(); value != nil {
		panic(diag.AsPanic(value))
	}
	if len(*diags) == 0 {
		return
	}
	*diags = diags.In(words)
	if !diags.HasErrors() || ctx.Err() == nil {
		return
	}
	for i, d := range *diags {
		if d.Severity == diag.Error {
			c := *d
			c.Err = errors.Join(d.Err, context.Canceled, ctx.Err(), context.Cause(ctx))
			(*diags)[i] = &c
			return
		}
	}
}

// Diagnostics writes problems as people read them, with the lines of the files in Dir that they are about: also those
// of Load and Install, which have no project.
func (o Options) Diagnostics(w io.Writer, diags diag.List) error {
	known := map[string][]byte{}
	if o.Saved != nil {
		maps.Copy(known, o.Saved.Config)
	}
	return writeDiagnostics(w, o.Dir, known, diags)
}

// Diagnostics writes problems as people read them, with the lines of the configuration that they are about.
func (p *Project) Diagnostics(w io.Writer, diags diag.List) error {
	if p == nil {
		return writeDiagnostics(w, "", nil, diags)
	}
	known := maps.Clone(p.engine.Config().Files)
	if known == nil {
		known = map[string][]byte{}
	}
	if text := p.expression.Load(); text != nil {
		known[expressionName] = []byte(*text)
	}
	return writeDiagnostics(w, p.dir, known, diags)
}

// expressionName stands for the argument of Run.Evaluate in problems.
const expressionName = "<expression>"

// writeDiagnostics writes problems with the lines of known files, and of others that can be read in a directory.
func writeDiagnostics(w io.Writer, dir string, known map[string][]byte, diags diag.List) error {
	for _, d := range diags {
		if known == nil || d.Subject == nil || known[d.Subject.Filename] != nil ||
			strings.HasPrefix(d.Subject.Filename, "<") {
			continue
		}
		name := filepath.FromSlash(d.Subject.Filename)
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if text, err := regular.Read(name, regular.Text); err == nil { // otherwise the problem has its place alone
			known[d.Subject.Filename] = text
		}
	}
	o := view.Options{Embedded: true, Sources: func() map[string][]byte { return known }}
	_, err := io.WriteString(w, view.Diagnostics(o, diags))
	return err
}
