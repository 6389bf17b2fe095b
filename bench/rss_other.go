//go:build !unix

package main

import (
	"os"
	"time"
)

var started = time.Now()

// maxRSS is not known here.
func maxRSS(*os.ProcessState) int64 { return 0 }

// ownCPU is the time that has passed: the time of the process is not known here.
func ownCPU() time.Duration { return time.Since(started) }
