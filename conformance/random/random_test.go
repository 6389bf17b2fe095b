package random

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func TestTheSameSeedGivesTheSameCase(t *testing.T) {
	for seed := range uint64(20) {
		if a, b := Generate(seed).Archive(), Generate(seed).Archive(); !bytes.Equal(a, b) {
			t.Fatalf("seed %d gives two cases:\n%s\n\n%s", seed, a, b)
		}
		if a, b := GenerateTests(seed), GenerateTests(seed); !bytes.Equal(a, b) {
			t.Fatalf("seed %d gives two cases with files of tests:\n%s\n\n%s", seed, a, b)
		}
		if a, b := GenerateStates(seed), GenerateStates(seed); !bytes.Equal(a, b) {
			t.Fatalf("seed %d gives two cases with states:\n%s\n\n%s", seed, a, b)
		}
		if a, b := Mistakes(seed), Mistakes(seed); !bytes.Equal(a, b) {
			t.Fatalf("seed %d gives two cases with mistakes:\n%s\n\n%s", seed, a, b)
		}
	}
}

func TestConfigurationsCanBeParsed(t *testing.T) {
	for seed := range uint64(40) {
		for _, files := range Generate(seed).versions {
			for name, text := range files {
				if strings.HasSuffix(name, ".tf") && len(partsOf(text)) == 0 {
					t.Errorf("seed %d: %s cannot be parsed:\n%s", seed, name, text)
				}
			}
		}
	}
}

func TestFilesOfTestsCanBeParsed(t *testing.T) {
	for seed := range uint64(40) {
		for _, f := range txtar.Parse(GenerateTests(seed)).Files {
			if f.Name != "steps" && len(partsOf(string(f.Data))) == 0 {
				t.Errorf("seed %d: %s cannot be parsed:\n%s", seed, f.Name, f.Data)
			}
		}
	}
}

func TestShrinkKeepsTheFailure(t *testing.T) {
	const whole = `-- steps --
tier: 2
init
plan
use @v2
apply
-- main.tf --
variable "a" { type = string }
locals {
  b = [for x in ["p", "q"] : upper(x) if x != ""]
  c = 3
}
resource "terraform_data" "d" {
  input = { one = local.b, two = [1, 2, bad(3)] }
}
-- @v2/main.tf --
resource "terraform_data" "d" {
  input = { one = [], two = [1, 2, bad(3)] }
}
`
	fails := func(data []byte) bool {
		steps := string(txtar.Parse(data).Files[0].Data)
		return strings.Contains(steps, "apply") && bytes.Contains(data, []byte("bad("))
	}
	const want = `-- steps --
tier: 2
apply
-- main.tf --
resource "terraform_data" "d" {
  input = bad(3)
}
`
	got := strings.ReplaceAll(string(Shrink([]byte(whole), 500, fails)), "\n\n", "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
