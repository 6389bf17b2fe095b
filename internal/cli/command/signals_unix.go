//go:build unix

package command

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSignals returns the signals that ask to stop, until release is called.
//
// SIGPIPE is caught so that writing to a closed standard output is an error of the write and not the end of the
// process. It is caught and not ignored, because programs that are started inherit ignored signals. SIGTTIN and SIGTTOU
// are ignored, and so in programs: these run in process groups of their own, so reading from or writing to the terminal
// would stop them for ever. SIGHUP stays ignored where it was (nohup).
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
