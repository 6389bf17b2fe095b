package program

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// numberedBy identifies the system that assigns process IDs: a boot of a machine, and a container on it.
var numberedBy = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
})

// began returns when a process started, in clock ticks, or "" if it is not running.
func began(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field, a name in parentheses, may contain any characters.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// whoHas lists the other processes that have a file open. Those of other users are not visible.
func whoHas(f *os.File) (pids []int) {
	var want, is syscall.Stat_t
	if syscall.Fstat(int(f.Fd()), &want) != nil {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue
		}
		open, _ := os.ReadDir(dir + "/fd")
		for _, fd := range open {
			if syscall.Stat(dir+"/fd/"+fd.Name(), &is) == nil && is.Dev == want.Dev && is.Ino == want.Ino {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// end kills processes.
func end(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
