package handler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// hostileModules lists faults of a module in one call, with a pattern of the error for each mode. The rows of
// docs/hostile.md have the same names.
var hostileModules = map[string]struct {
	text             string
	slow             bool   // the call never ends by itself
	oneShot, session string // patterns
	next             string // of the next call in a session
}{
	"an endless loop": {"loop", true, "timeout of 1s", "timeout of 1s", ""},
	"no answer":       {"sleep", true, "timeout of 1s", "timeout of 1s", ""},
	"endless memory":  {"grow", false, "exit status 2", "exit status 2", ""},
	"endless recursion": {"recurse", true, "exit status 2|timeout of 1s", "exit status 2|timeout of 1s",
		""},
	"endless output":                  {"flood", false, "printed more than 64 MiB", "a line of more than 64 MiB", ""},
	"endless messages":                {"flood messages", true, "timeout of 1s", "timeout of 1s", ""},
	"a failure without an answer":     {"exit", false, "exit status 3", "exit status 3", ""},
	"a crash":                         {"panic", false, "out of order", "out of order", ""},
	"an end without an answer":        {"end", false, "printed nothing", "ended in the middle of the session", ""},
	"half an answer":                  {"half", false, "cannot be used", "cannot be used: it printed a line", ""},
	"two answers":                     {"twice", false, "text after the end", "^$", ""},
	"output after the answer":         {"more", false, "text after the end", "^$", "a line on standard output between"},
	"an answer that is not JSON":      {"no JSON", true, "'h' was found", "timeout of 1s", ""},
	"an answer that is nested deeply": {"deep", false, "more than 500 nested", "it is an array", ""},
	"a number that is too large":      {"large number", false, "the exponent of", "the exponent of", ""},
	"an answer that is not UTF-8":     {"no text", true, "the string is not UTF-8", "timeout of 1s", ""},
	"an empty answer":                 {"nothing", true, "printed nothing", "timeout of 1s", ""},
}

const slowType = `"guest_slow": {"timeouts": {"create": "1s"}, "attributes": {
      "id":    {"type": "string", "computed": true, "stable": true},
      "text":  {"type": "string", "required": true},
      "upper": {"type": "string", "computed": true}
    }}, `

// The page of hostile programs has a row for each module of the list.
func TestHostileModulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/hostile.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(page), "## Modules\n")
	rows, _, _ = strings.Cut(rows, "\n## ")
	for name := range hostileModules {
		if !strings.Contains(rows, "| "+name+" |") {
			t.Errorf("docs/hostile.md has no row for %q", name)
		}
	}
	if got := strings.Count(rows, "\n| ") - 1; got != len(hostileModules) {
		t.Errorf("docs/hostile.md has %d rows for %d modules", got, len(hostileModules))
	}
}

// TestHostileModulesOfTheList checks that each module ends within its limits, that the error names the provider and the
// call and says more than that, and that the next call works.
func TestHostileModulesOfTheList(t *testing.T) {
	for name, c := range hostileModules {
		for _, mode := range modes {
			t.Run(name+", "+mode, func(t *testing.T) {
				_, s := newGuest(t, mode)
				module, err := guestModule()
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "guest.wasm"), module, 0o600); err != nil {
					t.Fatal(err)
				}
				m, diags := manifest.Parse([]byte(strings.Replace(fmt.Sprintf(guestManifest, mode, 1),
					`"guest_text": `, slowType+`"guest_text": `, 1)), "m.json", dir)
				if diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				d := drive(t, func(context.Context) (provider.Provider, error) {
					return handler.New(m, handler.NewCaller(m, s), handler.Options{}), nil
				})
				create := func(typ, text string) string {
					got := d.apply(t.Context(), typ, d.null(typ), d.config(typ, map[string]cty.Value{
						"text": cty.StringVal(text)}))
					if !got.Diagnostics.HasErrors() {
						return ""
					}
					return got.Diagnostics.Err().Error()
				}
				typ, want, next := "guest_text", c.oneShot, ""
				if c.slow {
					typ = "guest_slow"
				}
				if mode == "session" {
					want, next = c.session, c.next
				}
				got := create(typ, c.text)
				if !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("got %s, want %q", got, want)
				}
				if got != "" && !strings.Contains(got, "provider guest was asked to create "+typ) {
					t.Errorf("the error does not name provider and call: %s", got)
				}
				if got := create("guest_text", "good"); (got != "") != (next != "") || !strings.Contains(got, next) {
					t.Errorf("the next call: %s", got)
				}
				if err := d.p.Close(); err != nil {
					t.Error(err)
				}
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				if strings.Contains(string(stacks), "sandbox.(*Module).Run") {
					t.Errorf("a run is left behind:\n%s", stacks)
				}
			})
		}
	}
}
