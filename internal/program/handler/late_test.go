package handler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/provider"
)

// TestLateAnswersAreDecodedAsOthers decodes answers twice: as the run that waits for them does, and as the next run
// does if the first was killed. Both must accept the same answers with the same results.
func TestLateAnswersAreDecodedAsOthers(t *testing.T) {
	box := func(id, text string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id), "text": cty.StringVal(text)})
	}
	for _, answer := range []string{
		`{"state": {"id": "7"}}`, `{"state": {"id": "7", "text": "b"}}`, `{"state": {"id": "7", "text": "other"}}`,
		`{"state": {"id": "7", "text": null}}`, `{"state": {"id": 7}}`, `{"state": {"id": ""}}`, `{"state": {}}`, `{}`,
		`null`, `{"state": null}`, ``, `[]`, `{"state": {"id": "7"}} and more`, `{"state": {"id": "7"}`,
		`{"state": {"id": "7"}, "state": {"id": "8"}}`, `{"state": {"id": "7", "no": 1}}`,
		`{"state": {"id": "7"}, "diagnostics": [{"severity": "error", "summary": "no"}]}`,
		`{"state": {"id": "7"}, "diagnostics": [{"severity": "warning", "summary": "well"}]}`,
	} {
		for _, action := range []string{"create", "update"} {
			d := driveAnswers(t, keyed, says(action, answer), handler.Options{})
			prior := d.null("toy_box")
			if action == "update" {
				prior = box("7", "a")
			}
			config := d.config("toy_box", map[string]cty.Value{"text": cty.StringVal("b")})
			live := d.apply(t.Context(), "toy_box", prior, config)
			planned := d.plan("toy_box", prior, config)
			late := d.p.(interface {
				Answered(context.Context, provider.ApplyRequest, *program.Spooled) provider.ApplyResponse
			}).Answered(t.Context(), provider.ApplyRequest{Type: "toy_box", Prior: prior,
				Planned: value.UnknownAsNull(planned.Planned), PlannedPrivate: planned.Private},
				&program.Spooled{Stdout: []byte(answer), Known: true})
			if live.Diagnostics.HasErrors() != late.Diagnostics.HasErrors() || (live.State == cty.NilVal) !=
				(late.State == cty.NilVal) || live.State != cty.NilVal && !live.State.RawEquals(late.State) {
				t.Errorf("%s answered with %s gives\n%#v\n%s\nand late\n%#v\n%s", action, strings.TrimSpace(answer),
					live.State, texts(live.Diagnostics), late.State, texts(late.Diagnostics))
			}
		}
	}
}
