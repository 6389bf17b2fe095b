package config_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/config"
)

func TestDeepNestingIsRefusedBeforeParsing(t *testing.T) {
	const million = 1000000
	r := strings.Repeat
	for name, src := range map[string]string{
		"brackets":           "locals {\n  a = " + r("[", million) + r("]", million) + "\n}\n",
		"brackets left open": "locals {\n  a = " + r("[", million),
		"parentheses":        "locals {\n  a = " + r("(", million) + "1" + r(")", million) + "\n}\n",
		"objects":            "locals {\n  a = " + r("{a=", million) + "1" + r("}", million) + "\n}\n",
		"blocks":             r("a {\n", million) + r("}\n", million),
		"interpolations":     "locals {\n  a = " + r(`"${`, million) + "1" + r(`}"`, million) + "\n}\n",
		"calls":              "locals {\n  a = " + r("f(", million) + "1" + r(")", million) + "\n}\n",
		"directives": "locals {\n  a = \"" + r("%{ if true }", million) + r("%{ endif }", million) +
			"\"\n}\n",
		"directives in text": "locals {\n  a = <<E\n" + r("%{ for x in y ~}\n", million) + r("%{ endfor }", million) +
			"\nE\n}\n",
		"negations":            "locals {\n  a = " + r("!", million) + "true\n}\n",
		"signs":                "locals {\n  a = " + r("-", million) + "1\n}\n",
		"sums":                 "locals {\n  a = 1" + r(" + 1", million) + "\n}\n",
		"products":             "locals {\n  a = 1" + r(" * 1", million) + "\n}\n",
		"conditionals":         "locals {\n  a = " + r("x ? y : ", million) + "1\n}\n",
		"index steps":          "locals {\n  a = x" + r("[y]", million) + "\n}\n",
		"splats":               "locals {\n  a = x" + r("[*]", million) + "\n}\n",
		"legacy splats":        "locals {\n  a = x" + r(".*", million) + "\n}\n",
		"closed in strings":    "locals {\n  a = " + r(`["]",`, million) + "\n}\n",
		"closed in comments":   "locals {\n  a = " + r("[/* ] */", million) + "\n}\n",
		"brackets in brackets": "locals {\n  a = " + r("[1 + 1 + (", million) + "\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, diags := config.Load(context.Background(), config.Options{
				Files: config.SnapshotFiles(map[string][]byte{"main.tf": []byte(src)})})
			if len(diags) != 1 || diags[0].Summary != "Nesting too deep" {
				t.Errorf("got %d diagnostics, want one about the nesting: %.300v", len(diags), diags.Err())
			}
			// quadratic time takes one or two seconds, and exponential time never ends
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestDeepNestingIsRefusedInJSON(t *testing.T) {
	const many = 100000
	r := strings.Repeat
	for name, src := range map[string]string{
		"arrays":                 `{"locals": {"a": ` + r("[", many) + r("]", many) + `}}`,
		"objects":                `{"locals": {"a": ` + r(`{"a":`, many) + `1` + r("}", many) + `}}`,
		"left open":              r(`{"a":`, many),
		"brackets in a template": `{"locals": {"a": "${` + r("[", many) + r("]", many) + `}"}}`,
		"brackets in a type":     `{"variable": {"a": {"type": "` + r("list(", many) + `"}}}`,
		"brackets in a target":   `{"import": {"id": "x", "to": "` + r("a[", many) + `"}}`,
		"escaped":                `{"locals": {"a": "${` + r(`\u005b`, many) + `}"}}`,
		"directives":             `{"locals": {"a": "` + r("%{ if true }", many) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := config.Load(context.Background(), config.Options{
				Files: config.SnapshotFiles(map[string][]byte{"main.tf.json": []byte(src)})})
			if len(diags) != 1 || diags[0].Summary != "Nesting too deep" {
				t.Errorf("got %d diagnostics, want one about the nesting: %.300v", len(diags), diags.Err())
			}
		})
	}
}

func TestTextWithinLimitsIsParsedFast(t *testing.T) {
	r := strings.Repeat
	for name, src := range map[string]string{
		"brackets":       "locals {\n  a = " + r("[", 990) + r("]", 990) + "\n}\n",
		"parentheses":    "locals {\n  a = " + r("(", 990) + "x" + r(")", 990) + "\n}\n",
		"objects":        "locals {\n  a = " + r("{(x)=", 990) + "1" + r("}", 990) + "\n}\n",
		"keys":           "locals {\n  a = " + r("{(", 490) + "1" + r(")=1}", 490) + "\n}\n",
		"blocks":         r("terraform {\n", 990) + r("}\n", 990),
		"interpolations": "locals {\n  a = " + r(`"${`, 490) + "x" + r(`}"`, 490) + "\n}\n",
		"directives":     "locals {\n  a = \"" + r("%{ if true }", 990) + r("%{ endif }", 990) + "\"\n}\n",
		"sums":           "locals {\n  a = x" + r(" + x", 9990) + "\n}\n",
		"conditionals":   "locals {\n  a = " + r("x ? x : ", 4900) + "1\n}\n",
		"negations":      "locals {\n  a = " + r("!", 9990) + "x\n}\n",
		"index steps":    "locals {\n  a = x" + r("[x]", 9990) + "\n}\n",
		"splats":         "locals {\n  a = x" + r("[*]", 4990) + "\n}\n",
		"left open":      "locals {\n  a = " + r("[(", 490),
		"for":            "locals {\n  a = " + r("[for x in ", 490) + "x" + r(": x]", 490) + "\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			cfg, diags := config.Load(context.Background(), config.Options{
				Files: config.SnapshotFiles(map[string][]byte{"main.tf": []byte(src)})})
			for _, d := range diags {
				if d.Summary == "Nesting too deep" {
					t.Errorf("refused: %v", d)
				}
			}
			for _, l := range cfg.Root.SortedLocals() {
				l.Expr.Variables()
				l.Expr.Value(nil)
			}
			// quadratic time takes one or two seconds, and exponential time never ends
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
