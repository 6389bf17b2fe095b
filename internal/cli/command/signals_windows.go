package command

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns the signals that request a stop, until release is called. On Windows, closing the console counts
// as SIGTERM.
func watchSignals() (signals <-chan os.Signal, release func()) {
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	return asked, func() { signal.Stop(asked) }
}
