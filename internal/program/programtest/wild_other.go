//go:build !linux || !amd64

package programtest

import "errors"

// WildImpossible is the exit status of a process if clocks cannot be changed on this system.
const WildImpossible = 77

// WildClock returns an error: the clock of a process can only be changed on Linux.
func WildClock(uint64) ([]string, error) {
	return nil, errors.New("the clock of a process can be set on Linux and amd64 only")
}

// UnderWildClock does nothing.
func UnderWildClock() {}
