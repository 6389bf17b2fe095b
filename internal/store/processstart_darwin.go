package store

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// processStart returns when a process started, or "" if that is unknown. The time distinguishes processes that had the
// same ID.
func processStart(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return ""
	}
	at := p.Proc.P_starttime
	return strconv.FormatInt(at.Sec, 10) + "." + strconv.FormatInt(int64(at.Usec), 10)
}
