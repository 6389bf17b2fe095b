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

// began returns when a process began, which no other with its number has in common with it; "" when that is not known,
// and "ended" for one that has ended and is still listed.
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
