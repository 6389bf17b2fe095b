package store

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// boot names this start of the system.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
})

// began returns the start of a process, which distinguishes it from others with the same number. It returns "" if the
// start is unknown, and "ended" for a process that has ended but is still listed.
func began(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || boot() == "" {
		return ""
	}
	// The second field, a name in parentheses, may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	switch {
	case len(fields) < 20:
		return ""
	case fields[0] == "Z" || fields[0] == "X":
		return "ended"
	}
	return boot() + " " + fields[19]
}
