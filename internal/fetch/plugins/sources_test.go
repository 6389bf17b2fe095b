package plugins

import (
	"fmt"
	"testing"

	"github.com/apparentlymart/go-versions/versions"

	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

// A registry may list one version many times, each time for another platform.
func TestRepeatedVersionsCostLittle(t *testing.T) {
	const n = 20_000
	var list packages.Listing
	for i := range n {
		list.Offers = append(list.Offers, packages.Offer{Version: versions.MustParseVersion("1.0.0"),
			Platforms: []packages.Platform{{OS: fmt.Sprint("os", i), Arch: "x"}}})
	}
	var c catalog
	if allocations := testing.AllocsPerRun(1, func() {
		c = catalog{}
		c.add(list, packages.Mirror{Dir: "m"})
	}); allocations > n/10 {
		t.Errorf("%.0f allocations", allocations)
	}
	if len(c.offers) != 1 || len(c.offers[0].Platforms) != n || len(c.offers[0].sources) != 1 ||
		len(list.Offers[0].Platforms) != 1 {
		t.Errorf("%d offers", len(c.offers))
	}
}
