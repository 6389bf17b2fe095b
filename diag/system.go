package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// SystemAdvice returns in full sentences what to do about an error of the operating system, or "" if there is no
// advice. It names the limits of this process.
func SystemAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Sprintf("This process has reached its limit of open files%s. Raise that limit, for example with "+
			"\"ulimit -n 4096\" in the shell, or do less at the same time: plan and apply with -parallelism=1.",
			limitOf("ulimit -n", openFiles))
	case errors.Is(err, syscall.ENFILE):
		return "The processes of this machine have reached the system's limit of open files. Close some, or raise " +
			"that limit."
	case starting(err) && errors.Is(err, syscall.EAGAIN):
		return fmt.Sprintf("This user, or this container, has reached its limit of processes%s. Raise that limit, "+
			"for example with \"ulimit -u 4096\" in the shell, end other processes, or do less at the same time: "+
			"plan and apply with -parallelism=1.", limitOf("ulimit -u", processes))
	case starting(err) && errors.Is(err, syscall.ENOMEM):
		return "There is not enough memory for another process. End other processes, or use -parallelism=1."
	case starting(err):
	case errors.Is(err, syscall.EROFS):
		return "The file system is read-only, at least here: work in another directory, or mount it for writing."
	case (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)) && !connecting(err):
		return "You need access to it and to the folders above it: check the owners and permissions (ls -la), or run " +
			"this as the user who created it."
	}
	return ""
}

// connecting reports whether an error is about a connection: it then has no file whose owner to check.
func connecting(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) &&
		slices.Contains([]string{"bind", "connect", "listen", "sendto", "socket"}, call.Syscall)
}

// starting reports whether an error is about starting a process.
func starting(err error) bool {
	var path *fs.PathError
	var program *exec.Error
	return errors.As(err, &path) && path.Op == "fork/exec" || errors.As(err, &program)
}

// limitOf describes a limit, if there is one.
func limitOf(name string, of func() (uint64, bool)) string {
	if n, ok := of(); ok {
		return fmt.Sprintf(" (%s: %d)", name, n)
	}
	return ""
}
