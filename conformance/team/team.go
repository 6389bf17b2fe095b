// Package team tests Terraform and this program sharing one state in turn, as in a team that uses both. Each backend
// has the same life cycle: created by one program, changed by the other, locked by either while the other tries to
// acquire the lock, with workspaces, and destroyed. The backend's server is a real one.
package team
