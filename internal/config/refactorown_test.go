package config_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/config"
)

// address is the address of an instance in parts, so that keys can be omitted.
type address struct {
	calls []string
	keys  []string // keys of the calls; "" for none
	key   string   // key of the resource
}

// text returns the address, or that of the module if resource is not set; keep selects the keys to include.
func (a address) text(resource bool, keep func(i int) bool) string {
	var parts []string
	for i, call := range a.calls {
		part := "module." + call
		if a.keys[i] != "" && keep(i) {
			part += "[" + a.keys[i] + "]"
		}
		parts = append(parts, part)
	}
	if resource {
		part := "terraform_data.x"
		if a.key != "" && keep(len(a.calls)) {
			part += "[" + a.key + "]"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

func (a address) instance(t *testing.T) addr.AbsResourceInstance {
	t.Helper()
	out, diags := addr.ParseInstance(a.text(true, func(int) bool { return true }))
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return out
}

// A removed block with some keys of an instance contains that instance, and not those with another value for one of the
// keys.
func TestRemovedBlocksMatchInstancesByKeys(t *testing.T) {
	keys := []string{"", "0", "1", `"a"`, `"b"`, `"a.b"`}
	r := rand.New(rand.NewPCG(1, 2))
	named, others := 0, 0
	for range 500 {
		a := address{key: keys[r.IntN(len(keys))]}
		for i := range r.IntN(3) {
			a.calls, a.keys = append(a.calls, fmt.Sprint("m", i)), append(a.keys, keys[r.IntN(len(keys))])
		}
		resource := len(a.calls) == 0 || r.IntN(3) > 0
		kept := map[int]bool{}
		for i := range len(a.calls) + 1 {
			kept[i] = r.IntN(2) == 0
		}
		text := a.text(resource, func(i int) bool { return kept[i] })
		if !strings.Contains(text, "[") {
			continue
		}
		cfg, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(map[string][]byte{
			"main.tombolo": []byte("removed {\n  from = " + text + "\n}\n")})})
		if diags.HasErrors() || len(cfg.Root.Removed) != 1 || !cfg.Root.Removed[0].Keyed {
			t.Fatalf("%s: %+v, %v", text, cfg.Root.Removed, diags.Err())
		}
		block := cfg.Root.Removed[0]
		if named++; !block.Names(a.instance(t)) {
			t.Fatalf("%s does not name %s", text, a.instance(t))
		}
		for i := range len(a.calls) + 1 {
			other := a
			other.keys = append([]string(nil), a.keys...)
			at := &other.key
			if i < len(a.calls) {
				at = &other.keys[i]
			}
			was := *at
			if *at = keys[1+r.IntN(len(keys)-1)]; *at == was {
				continue
			}
			means := kept[i] && was != "" && (resource || i < len(a.calls))
			if others++; block.Names(other.instance(t)) == means {
				t.Fatalf("%s names %s: %v", text, other.instance(t), !means)
			}
		}
	}
	if named < 100 || others < 100 {
		t.Errorf("%d instances and %d others", named, others)
	}
}

func TestOwnFeaturesAreRefusedInOtherFiles(t *testing.T) {
	for text, want := range map[string]string{
		"moved {\n for_each = {}\n from = a.b\n to = a.c\n}":     "for_each",
		"moved {\n from = a.b[local.k]\n to = a.c\n}":            "must be literals",
		"removed {\n from = a.b[\"k\"]\n}":                       "Remove the key",
		"removed {\n for_each = {}\n from = a.b\n}":              "for_each",
		"removed {\n from = module.m[local.k].a.b\n}":            "must be literals",
		"moved {\n from = module.m[each.key]\n to = module.n\n}": "must be literals",
	} {
		_, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(map[string][]byte{
			"main.tf": []byte(text)})})
		found := fmt.Sprint(diags.Err())
		if !strings.Contains(found, want) || !strings.Contains(found, ".tombolo") {
			t.Errorf("%s: %s, want %q", text, found, want)
		}
	}
}

func TestMovesThatCannotBeEvaluatedAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"moved {\n for_each = []\n from = a.b[each.key]\n to = a.c[each.key]\n}":   "must be a map",
		"moved {\n for_each = null\n from = a.b[each.key]\n to = a.c[each.key]\n}": "this is null",
		"moved {\n for_each = toset([1])\n from = a.b[each.key]\n to = a.c\n}":     "set of number",
		"moved {\n from = a.b[each.key]\n to = a.c\n}":                             "before anything",
		"moved {\n from = a.b[local.none]\n to = a.c\n}":                           "has not been declared",
		"moved {\n for_each = { a = [] }\n from = a.b[each.value]\n to = a.c\n}":   "cannot be the key",
		"moved {\n for_each = { a = 1.5 }\n from = a.b[each.value]\n to = a.c\n}":  "cannot be the key",
		"moved {\n for_each = { a = null }\n from = a.b[each.value]\n to = a.c\n}": "cannot be the key",
		"moved {\n for_each = { a = 1 }\n from = module.m[each.key]\n to = a.c\n}": "of different kinds",
		"moved {\n for_each = { a = 1 }\n from = upper(each.key)\n to = a.c\n}":    "must be that of a resource",
		"removed {\n from = data.a.b[0]\n}":                                        "are never destroyed",
		"removed {\n from = a.b[0]\n provisioner \"x\" {\n when = destroy\n }\n}":  "cannot have provisioner",
	} {
		_, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(map[string][]byte{
			"main.tombolo": []byte(text)})})
		if found := fmt.Sprint(diags.Err()); !strings.Contains(found, want) || diags[0].Subject == nil {
			t.Errorf("%s: %s, want %q", text, found, want)
		}
	}
	if _, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(map[string][]byte{
		"x.tombolo": nil, "x_override.tombolo": []byte("moved {\n from = a.b[local.k]\n to = a.c\n}\n")})}); !strings.
		Contains(fmt.Sprint(diags.Err()), "Cannot override 'moved' blocks") {
		t.Errorf("in a file of overrides: %v", diags.Err())
	}
	json := `{"moved": {"for_each": {"k": 1}, "from": "a.b[each.key]", "to": "module.m[each.key].a.b"}}`
	cfg, diags := config.Load(context.Background(), config.Options{Files: config.SnapshotFiles(map[string][]byte{
		"x.tombolo.json": []byte(json)})})
	if diags.HasErrors() || len(cfg.Root.Moved) != 1 || cfg.Root.Moved[0].To.String() != `module.m["k"].a.b` {
		t.Errorf("as JSON: %v, %+v", diags.Err(), cfg.Root.Moved)
	}
}
