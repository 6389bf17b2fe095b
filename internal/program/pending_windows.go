package program

import (
	"errors"
	"os"
	"time"
)

// readNow reads from a pipe what is there. Windows has no read that never waits, so this one waits a moment.
func readNow(f *os.File, buf []byte) (int, pipeState) {
	f.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	n, err := f.Read(buf)
	switch {
	case err == nil:
		return n, pipeMore
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, pipeEmpty
	default:
		return n, pipeEnded
	}
}
