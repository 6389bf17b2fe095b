package serve

import (
	"context"
	"os"
)

// parentGone is closed when the process that started this one has ended.
func parentGone(context.Context) <-chan struct{} {
	gone := make(chan struct{})
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		close(gone)
		return gone
	}
	go func() {
		_, _ = parent.Wait() // works for any process whose handle could be opened
		close(gone)
	}()
	return gone
}
