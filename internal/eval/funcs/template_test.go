package funcs

import (
	"strings"
	"testing"
)

func TestDeepTemplatesAreRefused(t *testing.T) {
	const million = 1000000
	for name, source := range map[string]string{
		"brackets":   "${" + strings.Repeat("[", million),
		"directives": strings.Repeat("%{ if true }", million),
	} {
		if _, err := parseTemplate(source, "deep.tftpl"); err == nil || !strings.Contains(err.Error(),
			"Nesting too deep") {
			t.Errorf("%s: error %.200v", name, err)
		}
	}
}
