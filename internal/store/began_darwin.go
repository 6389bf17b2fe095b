package store

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// began returns when a process started, which distinguishes it from other processes with the same ID, or "" if that is
// unknown.
func began(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return ""
	}
	at := p.Proc.P_starttime
	return strconv.FormatInt(at.Sec, 10) + "." + strconv.FormatInt(int64(at.Usec), 10)
}
