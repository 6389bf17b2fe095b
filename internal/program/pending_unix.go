//go:build unix

package program

import (
	"os"
	"syscall"
	"time"
)

// readNow reads the content of a pipe without waiting. It bypasses the runtime's poller, which does not read after the
// read deadline has passed.
func readNow(f *os.File, buf []byte) (n int, state pipeState) {
	f.SetReadDeadline(time.Time{})
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, pipeEnded
	}
	err = conn.Read(func(fd uintptr) bool {
		n, state = readRaw(fd, buf)
		return true
	})
	if err != nil {
		return 0, pipeEnded
	}
	return n, state
}

// readRaw reads once from a non-blocking descriptor.
func readRaw(fd uintptr, buf []byte) (int, pipeState) {
	for {
		n, err := syscall.Read(int(fd), buf)
		switch {
		case err == syscall.EINTR:
		case err == nil && n > 0:
			return n, pipeMore
		case err == syscall.EAGAIN:
			return 0, pipeEmpty
		default:
			return 0, pipeEnded
		}
	}
}

// read reads until the pipe ends or its deadline has passed.
func (h *pipeCopy) read() {
	conn, err := h.file.SyscallConn()
	for err == nil {
		state := pipeEnded
		err = conn.Read(func(fd uintptr) bool {
			_, state = h.take(fd)
			return state != pipeEmpty
		})
		if state == pipeEnded {
			return
		}
	}
}

// catchUp forwards the content of the pipe at the time of the call, up to the size of one round.
func (h *pipeCopy) catchUp() {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { // an error means that the pipe is closed and empty
		for total, state := 0, pipeMore; state == pipeMore && total < roundSize; {
			var n int
			n, state = h.take(fd)
			total += n
		}
	})
}

// take forwards the result of one read.
func (h *pipeCopy) take(fd uintptr) (int, pipeState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, state := readRaw(fd, h.buf)
	h.to.Write(h.buf[:n])
	return n, state
}
