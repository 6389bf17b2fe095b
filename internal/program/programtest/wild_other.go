//go:build !linux || !amd64

package programtest

import "errors"

// WildImpossible is the code with which a process ends where no clock can be wild.
const WildImpossible = 77

// WildClock returns an error: the clock of a process can be set on Linux only.
func WildClock(uint64) ([]string, error) {
	return nil, errors.New("the clock of a process can be set on Linux and amd64 only")
}

// UnderWildClock does nothing.
func UnderWildClock() {}
