package store

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// boot identifies the current boot of the system.
var boot = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
})

// processStart returns when a process started, which distinguishes processes that had the same ID. It returns "" if
// that is unknown, and "ended" for a process that has ended but is still listed.
func processStart(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil || boot() == "" {
		return ""
	}
	// The second field, a name in parentheses, may contain any characters.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	switch {
	case len(fields) < 20:
		return ""
	case fields[0] == "Z" || fields[0] == "X":
		return "ended"
	}
	return boot() + " " + fields[19]
}
