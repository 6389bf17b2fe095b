//go:build unix

package programtest

import (
	"os"
	"os/signal"
	"syscall"
)

// UsualHangup resets the handling of SIGHUP for processes that this one starts, for tests that send it. Programs
// inherit ignored signals, as under nohup, but not handlers.
func UsualHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}
