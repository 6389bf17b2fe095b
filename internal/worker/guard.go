package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// GuardWord is the first argument of the worker's program when it is the guard of a command.
const GuardWord = "guard"

// Guard runs a command, passes interrupts on to it, and returns its exit code. When the standard input ends, because
// the worker has died, it interrupts the command once: the command finishes its operations in flight, records them and
// ends. The system's own signal at the death of a parent would not do: it comes several times, and the second interrupt
// aborts.
func Guard(args []string) int {
	if len(args) == 0 {
		return 1
	}
	ownOnly()
	interrupts := make(chan os.Signal, 8)
	signal.Notify(interrupts, os.Interrupt)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot start %s: %s\n", args[0], err)
		return 1
	}
	died := make(chan struct{})
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end, too
		close(died)
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-interrupts:
			_ = interrupt(cmd.Process) // it has ended
		case <-died:
			died = nil
			_ = interrupt(cmd.Process) // it has ended
		case err := <-ended:
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				return 1
			}
			return cmd.ProcessState.ExitCode()
		}
	}
}
