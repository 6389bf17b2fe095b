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

// words maps terms of the command line to those of the library.
var words = diag.Words{
	Command: func(c diag.Command) string {
		if len(c.Words) > 2 && c.Words[0] == "recover" {
			field := map[string]string{"--adopt": "Adopt: ID", "--retry": "Retry: true", "--forget": "Forget: true"}
			return fmt.Sprintf("Run.Recover(ctx, %q, tombolo.Recovery{%s})", c.Words[1], field[c.Words[2]])
		}
		switch c.String() {
		case "init":
			return "tombolo.Install"
		case "plan":
			return "Run.Plan"
		case "apply":
			return "Run.Apply"
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

// conclude ends a call: it must be deferred. It converts the problems for embedding programs: their advice names calls
// of the library, and if the context ended, its cause is among the errors. A panic becomes a *diag.PanicError.
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

// Diagnostics writes problems as text, with source lines from the files in Dir. It also serves for Load and Install,
// which have no project.
func (o Options) Diagnostics(w io.Writer, diags diag.List) error {
	known := map[string][]byte{}
	if o.Saved != nil {
		maps.Copy(known, o.Saved.Config)
	}
	return writeDiagnostics(w, o.Dir, known, diags)
}

// Diagnostics writes problems as text, with the source lines of the configuration.
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

// expressionName is the file name of Run.Evaluate in problems.
const expressionName = "<expression>"

// writeDiagnostics writes problems with source lines: of known files, and of others that can be read in a directory.
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
		if text, err := regular.Read(name, regular.Text); err == nil { // otherwise the problem only has its position
			known[d.Subject.Filename] = text
		}
	}
	o := view.Options{Embedded: true, Sources: func() map[string][]byte { return known }}
	_, err := io.WriteString(w, view.Diagnostics(o, diags))
	return err
}
