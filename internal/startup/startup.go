// Package startup makes short runs of the program cheap: a program that imports it collects garbage less often while
// its heap is small.
//
// Libraries allocate about 5 MB for their tables before main begins, and most of it stays in use. By default the
// runtime first collects garbage at 4 MB, so every command paid for one or two collections that freed next to nothing,
// and a run over a thousand objects for ten. With this package, the first collection runs when the heap has grown to
// 12 MB, and each later one when it has grown by 32 MB or by a third, whichever comes last. A large heap is
// collected more often than by default: a plan of 100 000 objects takes a fourth less memory, and hardly more time.
// GOGC in the environment takes precedence.
//
// The package must import little: a package with fewer dependencies is initialized earlier.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	least    = 33       // minimum growth of the heap between two collections, as a percentage
	most     = 300      // of the runtime's minimum heap of 4 MB, until the first collection
	headroom = 32 << 20 // least growth of the heap between two collections after the first one
)

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(most)
		watch()
	}
}

// watch allocates a token. When the next collection frees it, a cleanup adapts the setting and calls watch again.
func watch() {
	runtime.AddCleanup(new([16]byte), func(int) { adapt(); watch() }, 0)
}

// adapt sets the growth of the heap until the next collection.
func adapt() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(percent(live[0].Value.Uint64()))
}

// percent returns the setting of GOGC for a heap whose last collection left so many bytes in use.
func percent(live uint64) int {
	return max(least, min(most, int(100*headroom/max(live, 1))))
}
