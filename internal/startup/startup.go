// Package startup keeps the start of the program cheap: a program that imports it collects no garbage until its heap
// has grown to 12 MB.
//
// Libraries allocate about 5 MB for their tables before main begins, most of which stays. The runtime collects garbage
// for the first time at 4 MB, so every command paid for one or two collections that found next to nothing. Here the
// first one is put off; from then on the usual setting counts again. GOGC in the environment has precedence.
//
// It has to import little: the fewer packages it waits for, the earlier it is initialized.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent is the setting of GOGC until the first collection: a percentage of the runtime's 4 MB.
const percent = 300

func init() {
	if os.Getenv("GOGC") == "" {
		wait()
	}
}

// wait puts the first collection off; what that one collects first of all is a token whose end resets the setting.
func wait() {
	before := debug.SetGCPercent(percent)
	runtime.AddCleanup(new([16]byte), func(before int) { debug.SetGCPercent(before) }, before)
}
