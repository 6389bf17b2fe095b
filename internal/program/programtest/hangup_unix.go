//go:build unix

package programtest

import (
	"os"
	"os/signal"
	"syscall"
)

// UsualHangup lets what this process starts take hangups, for tests that send them. Programs inherit ignored signals,
// as under nohup, but not those that somebody listens to.
func UsualHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}
