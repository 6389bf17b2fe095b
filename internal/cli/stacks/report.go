package stacks

import (
	"bytes"
	"fmt"
	"io"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/stack"
	"github.com/tombolo-iac/tombolo/internal/view"
)

func seen(diags diag.List, u *stack.Unit) diag.List { return stack.Seen(diags, u) }

// report writes a page about the plans of all units.
func (s *session) report(name string, list []*stack.Result) (diags diag.List) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Plans of %d units\n\n| unit | | |\n|---|---|---|\n", len(list))
	for _, r := range list {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Unit.Name, r.Phase, view.CleanLine(r.Reason))
	}
	for _, r := range list {
		if r.Phase != stack.Planned {
			continue
		}
		fmt.Fprintf(&b, "\n# Unit %s\n\n", r.Unit.Name)
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "- %s\n", view.CleanLine(note))
		}
		if err := view.Markdown(view.Options{Out: &b, Secrets: r.Secrets}, r.Plan, r.Schemas, 0, ""); err != nil {
			return diags.AppendError("Failed to write the report", err)
		}
	}
	err := replace.Detach(s.call.Surroundings.In("."), name)
	if err == nil {
		err = replace.Exact(name, 0o600, func(w io.Writer) error {
			_, err := w.Write(b.Bytes())
			return err
		})
	}
	if err != nil {
		diags = diags.AppendError("Failed to write the report", err)
	}
	return diags
}
