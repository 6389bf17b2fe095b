package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/suite/report"
	"github.com/tombolo-iac/tombolo/internal/tfjson"
)

// ProblemFiles are output files with the problems of a command, for services.
type ProblemFiles struct {
	call         *Call
	sarif, junit string
}

// ProblemFiles adds the flags -sarif and -junit-xml.
func (c *Call) ProblemFiles() *ProblemFiles {
	r := &ProblemFiles{call: c}
	c.Flags.StringVar(&r.sarif, "sarif", "", "Also write the problems to `FILE`, in the format SARIF.")
	c.Flags.StringVar(&r.junit, "junit-xml", "", "Also write the result to `FILE`, in the JUnit format.")
	return r
}

// Write writes the files that the flags select, and returns an error if one cannot be written. A nil receiver writes
// none.
func (r *ProblemFiles) Write(diags diag.List) (problems diag.List) {
	if r == nil || r.sarif == "" && r.junit == "" {
		return nil
	}
	c := r.call
	c.ReadSources(diags)
	list := c.Named(diags).Sorted()
	problems = r.file("SARIF", r.sarif, func(w io.Writer) error {
		doc := tfjson.Sarif{Tool: c.Title, Version: engine.Version, Dir: c.Repository(), Sources: c.Sources()}
		return doc.Write(w, list)
	})
	return problems.Extend(r.file("JUnit XML", r.junit, func(w io.Writer) error {
		files := []string{}
		for _, pattern := range []string{"*.tf", "*.tf.json", "*.tombolo", "*.tofu"} {
			found, _ := filepath.Glob(pattern)
			files = append(files, found...)
		}
		slices.Sort(files)
		doc, err := report.JUnitOfProblems(files, list, report.Options{View: c.ViewOptions()})
		if err != nil {
			return err
		}
		_, err = w.Write(doc)
		return err
	}))
}

func (r *ProblemFiles) file(format, name string, write func(io.Writer) error) (problems diag.List) {
	if name == "" {
		return nil
	}
	err := replace.Detach(r.call.Surroundings.In("."), name)
	if err == nil {
		err = replace.File(name, 0o640, write)
	}
	if err != nil {
		return problems.Errorf(nil, fmt.Sprintf("error saving %s to file %q", format, name), "%s.",
			strings.TrimSuffix(err.Error(), "."))
	}
	return nil
}
