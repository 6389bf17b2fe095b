//go:build unix

package plugged

import "testing"

const killingConfig = `
terraform {
  required_providers {
    world = { source = "tombolo/bad" }
  }
}
provider "world" {
  dir = "w"
}
provider "world" {
  alias = "killer"
  dir   = "v"
}
resource "world_object" "slow" {
  name   = "slow"
  behave = { delay = "20s" }
}
resource "world_object" "bad" {
  name     = "bad"
  provider = world.killer
}
`

// A plugin that kills the others completes its own work. The others are named in errors, with their operations in
// flight, and the next run continues.
func TestRunSurvivesAPluginThatKillsOthers(t *testing.T) {
	t.Parallel()
	p := newPlugged(t, killingConfig, "BAD=kill-others", "OTHERS=1")
	r := p.run(nil, "apply", "-auto-approve")
	p.wants(r, 1, "Plugin did not respond", "tombolo/bad", "ApplyResourceChange", "with world_object.slow",
		"signal: killed", "recover world_object.slow --adopt")
	p.nothingStays()
	p.wants(p.run(nil, "state", "list"), 0, "world_object.bad")
	p.wants(p.run(nil, "recover", "world_object.slow", "--forget"), 0)
	p.wants(p.run(nil, "plan"), 0, "1 to add")
}
