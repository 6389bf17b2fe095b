package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/provider"
)

// Suggestions are added to the problems that report their provider as missing, and to no other problem whose text names
// it. The list that was given is not changed.
func TestSuggestionsBelongToTheProblemOfTheirProvider(t *testing.T) {
	source := func(s string) addr.Provider {
		p, err := addr.ParseProvider(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	typo, other, given := source("hashicorp/externl"), source("hashicorp/notes"), source("example.com/own/notes")
	const text = "provider registry.terraform.io/hashicorp/externl: see registry.terraform.io/hashicorp/notes:"
	wanted := plugins.Wanted{typo: require.Constraints{}, other: require.Constraints{}}
	list := diag.List{}.
		Errorf(nil, "Unrelated", text).
		Errorf(nil, "One", text).With(plugins.Missing{Providers: []addr.Provider{typo}}).
		Errorf(nil, "Both", "").With(plugins.Missing{Providers: []addr.Provider{typo, other}})
	const (
		mistake = `If "externl" is a typing mistake: the provider "external" is built in.`
		folder  = "A program provider in /notes has the address example.com/own/notes"
		calling = "The calling program provides example.com/own/notes"
	)
	got := misaddressed(misspelt(list, wanted), wanted, map[addr.Provider]string{given: "/notes"})
	factory := func(context.Context) (provider.Provider, error) { return nil, nil }
	got = unused(got, wanted, map[addr.Provider]provider.Factory{given: factory})
	for i, want := range []struct{ mistake, folder, calling bool }{
		{}, {mistake: true, calling: true}, {true, true, true},
	} {
		for part, expected := range map[string]bool{mistake: want.mistake, folder: want.folder, calling: want.calling} {
			if strings.Contains(got[i].Detail, part) != expected {
				t.Errorf("%s: %q: got %t, want %t: %s", got[i].Summary, part, !expected, expected, got[i].Detail)
			}
		}
		if original := list[i].Detail; original != text && original != "" {
			t.Errorf("%s: the given problem was changed: %s", list[i].Summary, original)
		}
	}
	if !strings.HasPrefix(got[2].Detail, "If ") {
		t.Errorf("a problem without a detail begins with %q", got[2].Detail)
	}
}
