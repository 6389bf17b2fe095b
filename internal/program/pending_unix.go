//go:build unix

package program

import (
	"os"
	"syscall"
	"time"
)

// readNow reads from a pipe what is there. The call goes around the runtime's poller, which would not even try once the
// read deadline has passed.
func readNow(f *os.File, buf []byte) (n int, state pipeState) {
	f.SetReadDeadline(time.Time{})
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, pipeEnded
	}
	var readErr error
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, readErr = syscall.Read(int(fd), buf)
			if readErr != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err == nil && readErr == nil && n > 0:
		return n, pipeMore
	case err == nil && readErr == syscall.EAGAIN:
		return 0, pipeEmpty
	default:
		return 0, pipeEnded
	}
}
