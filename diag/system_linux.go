package diag

import "syscall"

// openFiles returns how many files this process may have open at a time.
func openFiles() (uint64, bool) { return limit(syscall.RLIMIT_NOFILE) }

// processes returns how many processes and threads the user of this process may have.
func processes() (uint64, bool) {
	const nproc = 6 // which package syscall does not define
	return limit(nproc)
}

func limit(which int) (uint64, bool) {
	var l syscall.Rlimit
	if syscall.Getrlimit(which, &l) != nil || l.Cur == ^uint64(0) {
		return 0, false
	}
	return l.Cur, true
}
