package program

import (
	"errors"
	"os"
	"time"
)

// readNow reads the content of a pipe. Windows has no non-blocking read of a pipe, so readNow waits briefly.
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

// read reads until the pipe ends.
func (h *pipeCopy) read() {
	for {
		n, err := h.file.Read(h.buf)
		h.mu.Lock()
		h.to.Write(h.buf[:n])
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// catchUp waits until the bytes that were read are forwarded. The rest stays in the pipe, because Windows has no
// non-blocking read.
func (h *pipeCopy) catchUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
}
