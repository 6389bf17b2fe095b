// Package group sends signals to a program and its children. It uses process groups, and job objects on Windows.
// Descendants that leave the group, as daemons do, get no signals.
package group
