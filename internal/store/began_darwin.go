package store

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// began returns when a process began, which no other with its number has in common with it; "" when that is not known.
func began(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return ""
	}
	at := p.Proc.P_starttime
	return strconv.FormatInt(at.Sec, 10) + "." + strconv.FormatInt(int64(at.Usec), 10)
}
