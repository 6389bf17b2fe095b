// Package startup keeps the start of the program cheap: in a program that imports it, the first garbage collection runs
// when the heap has grown to 12 MB.
//
// Libraries allocate about 5 MB for their tables before main begins, and most of it stays in use. By default the
// runtime first collects garbage at 4 MB, so every command paid for one or two collections that freed next to nothing.
// This package delays the first collection; from then on the default setting applies again. GOGC in the environment
// takes precedence.
//
// The package must import little: a package with fewer dependencies is initialized earlier.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent is the setting of GOGC until the first collection: a percentage of the runtime's minimum heap of 4 MB.
const percent = 300

func init() {
	if os.Getenv("GOGC") == "" {
		wait()
	}
}

// wait delays the first collection. It allocates a token: when the first collection frees it, a cleanup resets
// the setting.
func wait() {
	before := debug.SetGCPercent(percent)
	runtime.AddCleanup(new([16]byte), func(before int) { debug.SetGCPercent(before) }, before)
}
