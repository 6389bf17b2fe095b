// Package team has tests in which Terraform and this program share one state in turn, as a team does that uses both.
// Each backend lives the same life: created by one, changed by the other, locked by either while the other wants it,
// with workspaces, and destroyed. The backend's server is a real one.
package team
