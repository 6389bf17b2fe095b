package tfjson

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/tombolo-iac/tombolo/diag"
)

// Whatever errors a file with backend settings has: the value of a secret argument, or of one that may be a mistyped
// secret argument, is not shown. Other values are.
func TestSecretSettingsOfBackendsAreCovered(t *testing.T) {
	backend := "terraform {\n  backend \"http\" {\n    retry_max = \"shown\"\n    %s\n  }\n}\n"
	remote := "data \"terraform_remote_state\" \"x\" {\n  backend = \"http\"\n  config = {\n    retry_max = " +
		"\"shown\"\n" +
		"    %s\n  }\n}\n"
	forms := map[string][2]string{ // the file, and the line in it
		"main.tf":     {backend, `%s = "canary"`},
		"type.tf":     {backend, "%s = [\n\"canary\",\n]"},
		"call.tf":     {backend, `%s = upper("canary")`},
		"var.tf":      {backend, `%s = "canary${var.x}"`},
		"block.tf":    {backend, "%s {\n x = \"canary\"\n }"},
		"cut.tf":      {backend, `%s = "canary`},
		"operator.tf": {backend, "x = 1 /\n%s = \"canary\""},
		"remote.tf":   {remote, `%s = "canary"`},
		"call2.tf":    {remote, `%s = upper("canary")`},
		"quoted.tf":   {remote, `"%s" : "canary"`},
		"cut2.tf":     {remote, `%s = "canary`},
		"a.tf.json":   {`{"terraform": {"backend": {"http": {"retry_max": "shown", %s}}}}`, `"%s": "canary"`},
		"b.tf.json": {`{"data": {"terraform_remote_state": {"x": {"config": {"retry_max": "shown", %s}}}}}`,
			`"%s": ["canary"]`},
		"c.tf.json": {"{\"terraform\": {\"backend\": {\"http\": {\"retry_max\": \"shown\", \n%s", `"%s": "canary`},
	}
	names := []string{"pasword", "secert_key"}
	for file, form := range forms {
		for _, name := range append(names, secretSettings...) {
			source := fmt.Sprintf(form[0], fmt.Sprintf(form[1], name))
			e, from, all := NewExcerpts(map[string][]byte{file: []byte(source)}), 0, ""
			for n, line := range strings.SplitAfter(source, "\n") {
				d := e.Diagnostic(&diag.Diagnostic{Subject: &hcl.Range{Filename: file,
					Start: hcl.Pos{Line: n + 1, Column: 1, Byte: from},
					End:   hcl.Pos{Line: n + 1, Column: len(line) + 1, Byte: from + len(line)}}})
				if from += len(line); d.Snippet != nil {
					all += d.Snippet.Code + "\n"
				}
			}
			if strings.Contains(all, "canary") || !strings.Contains(all, "shown") {
				t.Errorf("%s is shown as\n%s", file, all)
			}
		}
	}
}
