//go:build unix

package command

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns the signals that request a stop, until release is called.
//
// SIGPIPE is caught so that writing to a closed standard output returns an error and does not end the process. It is
// not ignored, because child processes inherit ignored signals. SIGTTIN and SIGTTOU are ignored, also in child
// processes: these have their own process groups, so that reading from or writing to the terminal would stop them
// indefinitely. SIGHUP stays ignored where it was (nohup).
func watchSignals() (signals <-chan os.Signal, release func()) {
	asked, closed := make(chan os.Signal, 4), make(chan os.Signal, 1)
	list := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	signal.Notify(asked, list...)
	signal.Notify(closed, syscall.SIGPIPE)
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	return asked, func() {
		signal.Stop(asked)
		signal.Reset(syscall.SIGTTIN, syscall.SIGTTOU)
	}
}
