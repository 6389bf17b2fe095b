//go:build unix

package plugged

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

const wildConfig = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
provider "world" {
  dir = "w"
}
ephemeral "world_lease" "l" {
  name  = "l"
  renew = "1h"
}
resource "world_object" "a" {
  count = 5
  name  = "a${count.index}"
}
resource "world_object" "b" {
  name     = "b"
  value    = world_object.a[0].id
  password = ephemeral.world_lease.l.token
}
`

// TestPluginsRunUnderWildClocks has the clock jump by decades while an engine and its plugin work. Certificates stay
// valid, leases are not renewed more often than allowed, each edit has its own backup, and a second run has nothing to
// do.
func TestPluginsRunUnderWildClocks(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			config := wildConfig
			if protocol == "5" { // a lease that is always due is renewed once in a while
				config = strings.ReplaceAll(config, `"1h"`, `"1ms"`)
			}
			p := newPlugged(t, config, "BAD_PROTOCOL="+protocol)
			seed := uint64(len(protocol))
			wild := func(args ...string) ran {
				seed++
				env, err := programtest.WildClock(seed)
				if err != nil {
					t.Skip("needs a clock that can be set: ", err)
				}
				usual := p.env
				p.env = append(env, usual...)
				defer func() { p.env = usual }()
				r := p.run(nil, args...)
				if r.code == programtest.WildImpossible {
					t.Skipf("needs a system on which a test can control its processes: %s", r.out)
				}
				return r
			}
			p.wants(wild("apply", "-auto-approve"), 0, "6 added")
			p.wants(wild("plan", "-detailed-exitcode"), 0)
			for i := range 5 {
				p.wants(wild("taint", fmt.Sprintf("world_object.a[%d]", i)), 0)
			}
			p.wants(wild("plan", "-detailed-exitcode", "-out=saved"), 2)
			p.wants(wild("apply", "saved"), 0, "5 added")
			p.wants(wild("state", "rm", "world_object.a[0]"), 0)
			p.wants(wild("state", "rm", "world_object.a[1]"), 0)
			p.wants(p.run(nil, "state", "list"), 0, "world_object.a[2]", "world_object.b")
			p.wants(wild("destroy", "-auto-approve"), 0, "4 destroyed")
			p.nothingStays()
		})
	}
}
