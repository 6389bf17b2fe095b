package serve

import (
	"context"
	"os"
)

// parentGone returns a channel that is closed when the parent process has ended.
func parentGone(context.Context) <-chan struct{} {
	gone := make(chan struct{})
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		close(gone)
		return gone
	}
	go func() {
		_, _ = parent.Wait() // works for any process with an open handle
		close(gone)
	}()
	return gone
}
