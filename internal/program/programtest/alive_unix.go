//go:build unix

package programtest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Alive reports whether a process exists. A zombie does not count: in a container it may never be reaped.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
