//go:build !unix

package main

import (
	"os"
	"time"
)

var started = time.Now()

// maxRSS returns 0: it is not known on this system.
func maxRSS(*os.ProcessState) int64 { return 0 }

// ownCPU returns the elapsed time: CPU time is not known on this system.
func ownCPU() time.Duration { return time.Since(started) }
