package moving_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/moving"
)

// form is an address of one of many instances, with each.key and with a literal key.
type form struct {
	dynamic string
	byHand  func(key, value string) string
}

// forms returns n addresses.
func forms(n int) []form {
	return []form{
		{fmt.Sprintf("terraform_data.a%d[each.key]", n), func(k, _ string) string {
			return fmt.Sprintf("terraform_data.a%d[%q]", n, k)
		}},
		{fmt.Sprintf("terraform_data.b%d[\"x-${each.value}\"]", n), func(_, v string) string {
			return fmt.Sprintf("terraform_data.b%d[%q]", n, "x-"+v)
		}},
		{fmt.Sprintf("module.m%d[each.key].terraform_data.c", n), func(k, _ string) string {
			return fmt.Sprintf("module.m%d[%q].terraform_data.c", n, k)
		}},
		{fmt.Sprintf("module.n%d[upper(each.key)].terraform_data.d[local.numbers[each.key]]", n),
			func(k, _ string) string {
				return fmt.Sprintf("module.n%d[%q].terraform_data.d[%d]", n, strings.ToUpper(k), int(k[0]-'a'))
			}},
	}
}

// Random chains of moves with for_each have the same result as literal moves.
func TestMovesWithForEachEqualLiteralMoves(t *testing.T) {
	const locals = "locals {\n numbers = { a = 0, b = 1, c = 2, d = 3, e = 4 }\n}\n"
	count := 0
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		var dynamic, byHand strings.Builder
		var objects []string
		at := forms(0)[r.Intn(4)]
		for i, n := 0, 1+r.Intn(4); i < n; i++ {
			elements := map[string]string{}
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				if r.Intn(3) > 0 {
					elements[key] = fmt.Sprint("v", key)
				}
			}
			next := forms(i + 1)[r.Intn(4)]
			forEach := "{"
			for _, key := range slices.Sorted(maps.Keys(elements)) {
				value := elements[key]
				forEach += fmt.Sprintf(" %s = %q,", key, value)
				byHand.WriteString(moved(at.byHand(key, value), next.byHand(key, value)))
				if i == 0 || r.Intn(5) == 0 {
					objects = append(objects, at.byHand(key, value))
				}
			}
			dynamic.WriteString(fmt.Sprintf("moved {\n for_each = %s}\n from = %s\n to = %s\n}\n", forEach, at.dynamic,
				next.dynamic))
			at = next
		}
		slices.Sort(objects)
		prior := stored(t, slices.Compact(objects)...)
		got := moving.Run(load(t, map[string]string{"main.tf": locals, "moves.tombolo": dynamic.String()}), prior, nil)
		want := moving.Run(load(t, map[string]string{"main.tf": locals + byHand.String()}), prior, nil)
		if diff := cmp.Diff(places(want.State), places(got.State)); diff != "" {
			t.Fatalf("seed %d (-by hand +for_each):\n%s\n%s", seed, diff, dynamic.String())
		}
		if diff := cmp.Diff(want.Blocked, got.Blocked); diff != "" {
			t.Fatalf("seed %d: blocked (-by hand +for_each):\n%s\n%s", seed, diff, dynamic.String())
		}
		count += len(got.From)
	}
	if count < 400 {
		t.Errorf("only %d objects have moved", count)
	}
}

// In called modules, variables have the values of the call, and keys may be expressions without for_each.
func TestMovesInModulesAreEvaluatedThere(t *testing.T) {
	cfg := load(t, map[string]string{
		"main.tf": `
module "m" {
  source = "./m"
  old    = "x"
}
`,
		".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},` +
			`{"Key":"m","Source":"./m","Dir":"m"}]}`,
		"m/main.tombolo": `
variable "old" {
  type  = string
  const = true
}
resource "terraform_data" "new" {}
moved {
  from = terraform_data.a[var.old]
  to   = terraform_data.new
}
`,
	})
	got := moving.Run(cfg, stored(t, `module.m.terraform_data.a["x"]`, `module.m.terraform_data.a["y"]`), nil)
	want := []string{`module.m.terraform_data.a["x"] -> module.m.terraform_data.new`,
		`module.m.terraform_data.a["y"] -> module.m.terraform_data.a["y"]`}
	if diff := cmp.Diff(want, places(got.State)); diff != "" {
		t.Error(diff)
	}
}
