package require_test

import (
	"testing"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/require"
)

// The normal forms are from the output of `terraform providers` 1.11.4 and its lock files.
func TestConstraintsHaveOneNormalForm(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		">= 3.0":                       ">= 3.0.0",
		"~> 3.0, >= 3.0.0":             ">= 3.0.0, ~> 3.0",
		">3":                           "> 3.0.0",
		"> 3.0, < 4, != 3.1.0":         "> 3.0.0, != 3.1.0, < 4.0.0",
		"3.2.1":                        "3.2.1",
		"= 3.2.1":                      "3.2.1",
		"~>3":                          "~> 3.0",
		"~> 3.2.0":                     "~> 3.2.0",
		">=2.0.0,>=3.0.0,<=9":          ">= 2.0.0, >= 3.0.0, <= 9.0.0",
		"!=1,!=2, !=1.0.0":             "!= 1.0.0, != 2.0.0",
		">= 3.0.0-beta1":               ">= 3.0.0-beta1",
		"~> 3.3.0-beta1":               "~> 3.3.0-beta1",
		"~>3.2,~>3.2.0,~> 3.2":         "~> 3.2.0, ~> 3.2",
		"<= 3.2.2, >= 3.2.2, = 3.2.2":  ">= 3.2.2, 3.2.2, <= 3.2.2",
		">= 3.2.1+abc":                 ">= 3.2.1+abc",
		">=03.1":                       ">= 3.1.0",
		"~> 3, ~> 3.0, ~> 3.0.0":       "~> 3.0.0, ~> 3.0",
		">= 3,>= 3.0,>= 3.0.0":         ">= 3.0.0",
		"= 3.1.0+b,= 3.1.0+a, 3.1.0":   "3.1.0, 3.1.0+a, 3.1.0+b",
		"~> 3.0, < 3.0, >= 3":          ">= 3.0.0, ~> 3.0, < 3.0.0",
		"~> 3.1.0-beta, > 3.1.0-alpha": "> 3.1.0-alpha, ~> 3.1.0-beta",
		"!= 3.2.2,< 3.2.2,<= 3.2.2,= 3.2.2,> 3.2.2,>= 3.2.2,~> 3.2.2": "> 3.2.2, >= 3.2.2, 3.2.2, ~> 3.2.2, <= " +
			"3.2.2, < 3.2.2, != 3.2.2",
	} {
		c, err := require.Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := c.String(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		again, err := require.Parse(c.String())
		if err != nil || again.String() != want {
			t.Errorf("%q: the normal form %q is read as %q (%v)", in, want, again, err)
		}
	}
}

func TestMalformedConstraintsAreRefused(t *testing.T) {
	for _, in := range []string{"==3.2.1", "3.*", "3.2.x", "v3.2.1", "=> 3", ">= 3.0.0 < 4", "^3", "~> 3.0.0.0",
		"1.2.3.4", ">= 3.0.0,", "x", ">=", "99999999999999999999.0.0"} {
		if c, err := require.Parse(in); err == nil {
			t.Errorf("%q was read as %q", in, c)
		}
	}
}

func TestNewestAllowsAPreReleaseOnlyWhereItIsNamed(t *testing.T) {
	var available []versions.Version
	for _, v := range []string{"3.2.1", "3.10.0", "3.2.2", "4.0.0-beta1", "4.0.0-beta2", "2.9.9"} {
		available = append(available, versions.MustParseVersion(v))
	}
	for in, want := range map[string]string{
		"":                   "3.10.0",
		"~> 3.2.0":           "3.2.2",
		"< 3.0.0":            "2.9.9",
		">= 3.0.0":           "3.10.0",
		"4.0.0-beta1":        "4.0.0-beta1",
		">= 4.0.0-beta1":     "",
		"~> 3.2, != 3.10.0":  "3.2.2",
		"> 3.10.0":           "",
		">= 3.3.0, ~> 3.2.0": "",
	} {
		c, err := require.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if v, ok := c.Newest(available); ok {
			got = v.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{">= 3.0, < 4", "~> 1.2.3-beta+x", "!= 1", "v1", "1.x", ",,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := require.Parse(text)
		if err != nil {
			return
		}
		again, err := require.Parse(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("%q has the normal form %q, which is read as %q (%v)", text, c, again, err)
		}
	})
}
